"""Times and durations between Python and the wire."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message


def span_of(message: Message, field: str) -> timedelta | None:
    """A field that holds a duration; None if it is absent."""
    value = getattr(message, field)
    return value.ToTimedelta() if message.HasField(field) and isinstance(value, Duration) else None


def put_spans(message: Message, spans: Mapping[str, timedelta | None]) -> None:
    """Durations into the fields of these names; None leaves one absent."""
    for name, span in spans.items():
        if span is not None:
            getattr(message, name).FromTimedelta(span)


def put_times(message: Message, times: Mapping[str, datetime | None]) -> None:
    """Times into the fields of these names; None leaves one absent. Raises ValueError for a time without a zone."""
    for name, time in times.items():
        if time is None:
            continue
        if time.tzinfo is None:
            raise ValueError(f"`{name}` needs a time zone, such as datetime.now(UTC)")
        getattr(message, name).FromDatetime(time)
