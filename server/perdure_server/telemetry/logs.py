"""The server's own log: text, or JSON with one object a line. Never payloads; tokens and credentials are cut out wherever they slip in."""

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Final, Literal, TextIO

# A claim or wake token: 42 bytes in base64, a dot, a step's name.
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{56}\.[a-z][a-z0-9_]{0,62}")
_CREDENTIALS: Final = re.compile(r"://[^/\s@]*@")
_OWN_FIELDS: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
# Libraries that tell more than an operator wants to know.
_QUIET: Final = ("asyncio", "grpc", "motor", "opentelemetry", "pymongo", "redis")


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
        """The record as text."""
        return redact(super().format(record))

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
        fields |= {name: str(value) for name, value in record.__dict__.items() if name not in _OWN_FIELDS}
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return redact(json.dumps(fields, ensure_ascii=False))


def redact(text: str) -> str:
    """The text without tokens and credentials."""
    return _CREDENTIALS.sub("://...@", _TOKEN.sub("<token>", text))


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
