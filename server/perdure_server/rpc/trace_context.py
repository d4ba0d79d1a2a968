"""W3C trace context, read from the metadata of a call and written for workers. What is malformed counts as absent, as the standard says."""

import re
from collections.abc import Iterable
from typing import Final

from perdure_server.engine.entropy import Entropy
from perdure_server.kernel.values import Trace
from perdure_server.rpc import limits

_TRACEPARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?\Z")
_SAMPLED: Final = 1
_RATIO_BITS: Final = 56  # the random part of a trace id, by which samplers of all vendors decide alike

Metadata = Iterable[tuple[str, str | bytes]]


def workflow_trace(metadata: Metadata, sample_ratio: float, entropy: Entropy) -> Trace:
    """The trace of a workflow started by a call with this metadata: the caller's, else a new one, sampled with `sample_ratio` (0 to 1)."""
    parents: list[str] = []
    states: list[str] = []
    for key, value in metadata:
        if key == "traceparent":
            parents.append(str(value))
        elif key == "tracestate":
            states.append(str(value))
    parsed = parse_traceparent(parents[0]) if len(parents) == 1 else None
    root = entropy.hex(8)
    if parsed is None:
        trace_id = entropy.hex(16)
        return Trace(trace_id=trace_id, root_span_id=root, flags=_SAMPLED if _sampled(trace_id, sample_ratio) else 0)
    trace_id, span_id, flags = parsed
    state = ",".join(states)
    return Trace(
        trace_id=trace_id,
        root_span_id=root,
        parent_span_id=span_id,
        flags=flags & _SAMPLED,
        state=state if len(state) <= limits.TRACESTATE else "",
    )


def parse_traceparent(text: str) -> tuple[str, str, int] | None:
    """(trace id, span id, flags) of a `traceparent` value; None if it is not one."""
    found = _TRACEPARENT.match(text.strip())
    if found is None:
        return None
    version, trace_id, span_id, flags, rest = found.groups()
    if version == "ff" or (version == "00" and rest) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    return trace_id, span_id, int(flags, 16)


def format_traceparent(trace: Trace, span_id: str) -> str:
    """The `traceparent` of one span of a workflow's trace; empty without a span."""
    return f"00-{trace.trace_id}-{span_id}-{trace.flags:02x}" if span_id else ""


def _sampled(trace_id: str, ratio: float) -> bool:
    return int(trace_id[-_RATIO_BITS // 4 :], 16) < ratio * (1 << _RATIO_BITS)
