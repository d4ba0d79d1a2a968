"""The server with tiny limits, so that a case reaches them with a few calls: `python small_server.py serve ...`."""

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Final

from perdure_server.__main__ import main
from perdure_server.kernel import limits
from perdure_server.rpc import limits as rpc_limits

SMALL: Final[Mapping[ModuleType, Mapping[str, int]]] = {
    limits: {
        "INBOX_SIGNALS": 3,
        "DOCUMENT": 96 * 1024,
        "DOCUMENT_RESERVE": 64 * 1024,
        "WATCHED_WORKFLOWS": 2,
    },
    rpc_limits: {
        # A reader that does not read is cut after this.
        "WRITE_STALL": 1_000,
    },
}

if __name__ == "__main__":
    for module, values in SMALL.items():
        for name, value in values.items():
            assert hasattr(module, name), name
            setattr(module, name, value)
    sys.exit(main())
