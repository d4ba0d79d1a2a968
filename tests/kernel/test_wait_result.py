"""The output of a wait step is the wire's WaitResult in canonical protobuf JSON."""

import json
from datetime import UTC, datetime

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from perdure.v1 import wait_pb2
from perdure_server.kernel import limits
from perdure_server.kernel.values import Payload, PayloadRef, Wake
from perdure_server.kernel.wait_result import CONTENT_TYPE, timestamp, wait_result
from perdure_server.kernel.workflow import OpenCondition
from tests.kernel.harness import T0, Run, after, on_signal, plan, waiting


def as_message(output: Payload | None) -> wait_pb2.WaitResult:
    """The output as the wire's message; fails if it is not in the canonical JSON form."""
    assert output is not None
    assert output.json is not None
    assert output.content_type == CONTENT_TYPE
    message = json_format.Parse(output.json, wait_pb2.WaitResult())
    assert json_format.MessageToDict(message) == json.loads(output.json)
    return message


def test_the_result_of_a_timer() -> None:
    run = Run(plan(waiting("w", after(1_234, "late"))))
    run.pass_time(1_234)
    message = as_message(run.step("w").output)
    assert (message.condition, len(message.wakes)) == ("late", 1)
    wake = message.wakes[0]
    assert (wake.condition, wake.HasField("signal_id"), wake.HasField("payload"), wake.signal_name) == ("late", False, False, "")
    assert wake.wake_time.ToMilliseconds() == T0 + 1_234


def test_the_result_of_signals_oldest_first() -> None:
    run = Run(plan(waiting("w", on_signal("go", 2, as_name="both"))))
    run.signal("go", "s1", {"n": 1})
    run.now += 5
    run.signal("go", "s2")
    message = as_message(run.step("w").output)
    assert message.condition == "both"
    seen = [(wake.condition, wake.signal_id, wake.signal_name, wake.wake_time.ToMilliseconds()) for wake in message.wakes]
    assert seen == [("both", "s1", "go", T0), ("both", "s2", "go", T0 + 5)]
    assert message.wakes[0].payload.json == '{"n": 1}'
    assert not message.wakes[1].HasField("payload")


@pytest.mark.parametrize(
    "sent",
    [
        Payload(json="1", content_type="t", encoding="e", digest="d", metadata={"k": b"\x00\xff"}),
        Payload(binary=b"\x00\xff"),
        Payload(binary=b""),
        Payload(ref=PayloadRef("p1", 2**40)),
        Payload(json='"é😀"'),
    ],
)
def test_the_payloads_inside_a_result_stay_what_they_were(sent: Payload) -> None:
    wakes = (Wake("go", "s1", sent, "go", T0),)
    inner = as_message(wait_result(OpenCondition("go", "go"), wakes)).wakes[0].payload
    assert (inner.content_type, inner.encoding, inner.digest, dict(inner.metadata)) == (
        sent.content_type,
        sent.encoding,
        sent.digest,
        sent.metadata,
    )
    kinds = {"json": sent.json, "binary": sent.binary, "ref": sent.ref}
    kind = inner.WhichOneof("data")
    assert kind is not None
    assert kinds[kind] is not None
    if sent.ref is None:
        assert getattr(inner, kind) == kinds[kind]
    else:
        assert (inner.ref.payload_id, inner.ref.size_bytes) == ("p1", 2**40)


@given(st.integers(0, limits.TIME))
def test_times_are_written_as_protobuf_json_writes_them(time: int) -> None:
    seconds, milliseconds = divmod(time, 1_000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    assert timestamp(time) == text + (f".{milliseconds:03}" if milliseconds else "") + "Z"


@pytest.mark.parametrize(
    ("year", "month", "day"), [(1970, 1, 1), (2000, 2, 29), (2024, 2, 29), (2100, 2, 28), (2100, 3, 1), (2026, 12, 31), (9999, 12, 31)]
)
def test_the_calendar_at_its_corners(year: int, month: int, day: int) -> None:
    moment = datetime(year, month, day, 23, 59, 59, tzinfo=UTC)
    assert timestamp(int(moment.timestamp()) * 1_000) == f"{year:04}-{month:02}-{day:02}T23:59:59Z"
