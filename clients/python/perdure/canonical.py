r"""The one text that stands for equal JSON values, for keyed digests.

Members by the code points of their names, no white space, numbers as they were written; in strings only `"`, `\` and what is
below U+0020 is escaped, as \b \t \n \f \r or else \u00xx. The same in all languages: tests/conformance/codec_vectors.json.
"""

import json
import re
from typing import Final

from perdure.errors import PayloadRejected
from perdure.reasons import ErrorReason

# A number becomes a string that no JSON string in UTF-8 can be, so that the C encoder writes it as it was, between quotes that go.
_number: Final = "\ud800".__add__
_NUMBERS: Final = re.compile('"\ud800([0-9eE.+-]+)"')


def canonical(text: str) -> bytes:
    """The canonical text in UTF-8. Raises PayloadRejected for what is no JSON, has duplicate names or half of a surrogate pair."""
    try:
        value = json.loads(text, parse_float=_number, parse_int=_number, parse_constant=_refuse, object_pairs_hook=_members)
        plain = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return _NUMBERS.sub(r"\1", plain).encode()
    except (ValueError, RecursionError) as error:
        raise PayloadRejected(f"not JSON: {error}", reason=ErrorReason.PAYLOAD_INVALID) from None


def _members(items: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(items)
    if len(found) != len(items):
        raise ValueError("a name stands twice in an object")
    return found


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is no number")
