"""The file of an exported workflow on its way to the server."""

from collections.abc import Iterator
from typing import Final

from perdure.v1 import admin_service_pb2

PIECE: Final = 256 * 1024
"""The largest piece that the server takes, in bytes."""


def import_requests(options: admin_service_pb2.ImportOptions, file: bytes) -> Iterator[admin_service_pb2.ImportWorkflowRequest]:
    """First the options, then the file in pieces."""
    yield admin_service_pb2.ImportWorkflowRequest(options=options)
    for start in range(0, len(file), PIECE):
        yield admin_service_pb2.ImportWorkflowRequest(chunk=file[start : start + PIECE])
