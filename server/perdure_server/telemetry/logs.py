"""The server's own log: text, or JSON with one object a line.

Never payloads: nobody logs one, and of exceptions whose messages quote values only the type and the place are told. Tokens and credentials
are cut out wherever they slip in. Lines that concern a workflow carry it, its step, claim_no and trace id as fields (engine/subject.py).
"""

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Literal, TextIO

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

# A claim or wake token: 42 bytes in base64, a dot, a step's name.
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{56}\.[a-z][a-z0-9_]{0,62}")
_CREDENTIALS: Final = re.compile(r"://[^/\s@]*@")
_OWN_FIELDS: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
# ValueError: what int() and decoders say; LookupError: a key that is not there.
_QUOTING: Final = (ValueError, LookupError)
_QUOTING_LIBRARIES: Final = frozenset({"bson", "msgspec", "pymongo"})
# Libraries that tell more than an operator wants to know.
_QUIET: Final = ("asyncio", "grpc", "motor", "opentelemetry", "push_response", "pymongo", "redis")


def configure(level: str, form: Literal["text", "json"], stream: TextIO | None = None) -> None:
    """Send the log of the whole process to `stream` (default: stderr)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


class TextFormatter(logging.Formatter):
    """One line for people; tracebacks follow it."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """The record as text, its facts behind the message as `name=value`."""
        head, _, rest = super().format(record).partition("\n")
        facts = "".join(f" {name}={value}" for name, value in _facts(record).items())
        return redact("\n".join((head + facts, rest) if rest else (head + facts,)))

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802 -- logging's own name
        """The traceback."""
        return format_error(ei[1]) if ei[1] is not None else ""

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 -- logging's own name
        """RFC 3339, UTC."""
        return _time(record)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, error, and the facts given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        fields: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= _facts(record)
        if record.exc_info and record.exc_info[1] is not None:
            fields["error"] = format_error(record.exc_info[1])
        return redact(json.dumps(fields, ensure_ascii=False))


def format_error(error: BaseException) -> str:
    """The traceback with its causes. A message that may quote a value, which may be a payload's, is left out."""
    before = ""
    if error.__cause__ is not None:
        before = format_error(error.__cause__) + "\nThe above exception was the direct cause of the following exception:\n"
    elif error.__context__ is not None and not error.__suppress_context__:
        before = format_error(error.__context__) + "\nDuring handling of the above exception, another exception occurred:\n"
    name = type(error).__qualname__
    quotes = isinstance(error, _QUOTING) or type(error).__module__.partition(".")[0] in _QUOTING_LIBRARIES
    message = "(message left out: it may quote values)" if quotes else str(error)
    stack = "".join(traceback.format_tb(error.__traceback__))
    return f"{before}Traceback (most recent call last):\n{stack}{name}: {message}"


def redact(text: str) -> str:
    """The text without tokens and credentials."""
    return _CREDENTIALS.sub("://...@", _TOKEN.sub("<token>", text))


def _facts(record: logging.LogRecord) -> dict[str, object]:
    return {name: value if isinstance(value, int) else str(value) for name, value in record.__dict__.items() if name not in _OWN_FIELDS}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
