"""Entry limits of the small values, every one in every place, before any effect."""

import json

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from perdure.v1.payload_pb2 import Failure as WireFailure
from perdure.v1.payload_pb2 import Payload as WirePayload
from perdure.v1.wait_pb2 import Wait as WireWait
from perdure.v1.workflow_pb2 import WorkflowRef
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import FieldViolation, Reason
from perdure_server.kernel.values import Condition, Failure, Payload, PayloadRef, Wait
from perdure_server.kernel.workflow import WorkflowKey
from perdure_server.rpc.decode import values
from perdure_server.rpc.encode import values as encode
from perdure_server.rpc.faults import Faults, RequestRefused

DAY = limits.DAY // limits.SECOND
YEAR = 365 * DAY


def refused(faults: Faults) -> RequestRefused:
    with pytest.raises(RequestRefused) as caught:
        faults.check()
    return caught.value


def payload(message: WirePayload, limit: int = limits.PAYLOAD) -> Payload | None:
    faults = Faults()
    found = values.payload(message, "input", faults, limit)
    faults.check()
    return found


def payload_refused(message: WirePayload, limit: int = limits.PAYLOAD) -> RequestRefused:
    faults = Faults()
    values.payload(message, "input", faults, limit)
    return refused(faults)


class TestPayloads:
    @pytest.mark.parametrize(
        "text",
        [
            "null",
            "-0.0",
            "1e400",
            "9007199254740993",
            "340282366920938463463374607431768211456",
            '"\\u0000"',
            '{"":1}',
            '{"a.b":1,"$c":2}',
            '{"__proto__":1}',
        ],
    )
    def test_c81_c84_json_is_kept_as_it_was_written(self, text: str) -> None:
        found = payload(WirePayload(json=text))
        assert found is not None
        assert found.json == text

    @pytest.mark.parametrize(
        "text", ["NaN", "[Infinity]", '{"a":-Infinity}', "", "{", "'a'", '{"a":1,"a":2}', '"\\ud800"', "01", "[1,]", "nul"]
    )
    def test_c81_what_is_no_json_is_refused(self, text: str) -> None:
        error = payload_refused(WirePayload(json=text))
        assert (error.reason, [field for field, _ in error.violations]) == (Reason.PAYLOAD_INVALID, ["input"])

    @pytest.mark.parametrize(
        ("depth", "accepted"), [(10, True), (33, True), (90, True), (91, False), (180, False), (1_000, False), (100_000, False)]
    )
    @pytest.mark.parametrize("brackets", [("[", "]"), ('{"a":', "}")])
    def test_c83_one_limit_of_depth(self, depth: int, accepted: bool, brackets: tuple[str, str]) -> None:
        text = brackets[0] * depth + "1" + brackets[1] * depth
        message = WirePayload(json=text)
        if accepted:
            assert payload(message) is not None
        else:
            assert payload_refused(message).reason is Reason.PAYLOAD_INVALID

    @pytest.mark.parametrize(
        "message", [WirePayload(json='"' + "x" * 9 + '"'), WirePayload(json='"' + "é" * 5 + '"'), WirePayload(binary=b"x" * 11)]
    )
    def test_c05_sizes_count_bytes_and_the_refusal_names_field_and_limit(self, message: WirePayload) -> None:
        error = payload_refused(message, limit=10)
        assert error.reason is Reason.PAYLOAD_TOO_LARGE
        assert {**error.facts} == {"field": "input", "limit_bytes": "10", "size_bytes": error.facts["size_bytes"]}
        assert int(error.facts["size_bytes"]) > 10

    def test_the_largest_payload_is_taken(self) -> None:
        assert payload(WirePayload(binary=b"x" * limits.PAYLOAD)) is not None
        assert payload(WirePayload(json='"' + "x" * (limits.PAYLOAD - 2) + '"')) is not None

    def test_refs_come_from_the_server_only(self) -> None:
        message = WirePayload()
        message.ref.payload_id = "x"
        assert payload_refused(message).reason is Reason.PAYLOAD_INVALID

    def test_without_data_there_is_no_value(self) -> None:
        assert payload(WirePayload(content_type="text/plain")) is None

    def test_an_encoded_value_is_binary_and_never_looked_into(self) -> None:
        found = payload(
            WirePayload(binary=b"{NaN", encoding="aes-gcm", digest="d", content_type="application/json", metadata={"key": b"1"})
        )
        assert found == Payload(binary=b"{NaN", encoding="aes-gcm", digest="d", content_type="application/json", metadata={"key": b"1"})
        assert payload_refused(WirePayload(json="1", encoding="aes-gcm")).reason is Reason.PAYLOAD_INVALID

    def test_metadata_and_names_are_bounded(self) -> None:
        error = payload_refused(WirePayload(json="1", metadata={"k": b"x" * limits.PAYLOAD_METADATA}, content_type="t" * 129))
        assert sorted(field for field, _ in error.violations) == ["input", "input.metadata"]

    @given(
        st.builds(
            Payload,
            binary=st.binary(max_size=40),
            content_type=st.text(max_size=20),
            encoding=st.text(max_size=20),
            digest=st.text(max_size=20),
            metadata=st.dictionaries(st.text(max_size=5), st.binary(max_size=5), max_size=3),
        )
        | st.builds(Payload, json=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(json.dumps))
    )
    def test_payloads_come_back_as_they_were(self, value: Payload) -> None:
        message = WirePayload()
        encode.payload(message, value)
        assert payload(WirePayload.FromString(message.SerializeToString())) == value

    def test_refs_are_shown(self) -> None:
        message = WirePayload()
        encode.payload(message, Payload(ref=PayloadRef("p1", 12)))
        assert (message.ref.payload_id, message.ref.size_bytes) == ("p1", 12)


class TestTimes:
    @pytest.mark.parametrize(
        ("seconds", "nanos", "milliseconds"),
        [
            (0, 0, 0),
            (0, 1, 1),
            (0, 1_000_000, 1),
            (0, 1_000_001, 2),
            (1, 999_999_999, 2_000),
            (int(24.9 * DAY), 0, int(24.9 * DAY) * 1_000),
            (50 * DAY, 0, 50 * DAY * 1_000),
            (100 * YEAR, 0, 100 * YEAR * 1_000),
        ],
    )
    def test_c14_c15_durations_round_up_to_a_millisecond(self, seconds: int, nanos: int, milliseconds: int) -> None:
        faults = Faults()
        assert values.duration(Duration(seconds=seconds, nanos=nanos), "wait", faults) == milliseconds
        faults.check()

    @pytest.mark.parametrize(
        ("seconds", "nanos"),
        [
            (-1, 0),
            (0, -1),
            (-YEAR, 0),
            (101 * YEAR, 0),
            (2**53, 0),
            (2**63 - 1, 999_999_999),
            (-(2**63), 0),
            (1, -1),
            (-1, 1),
            (0, 1_000_000_000),
            (0, -(2**31)),
        ],
    )
    def test_c14_c15_durations_out_of_range(self, seconds: int, nanos: int) -> None:
        faults = Faults()
        values.duration(Duration(seconds=seconds, nanos=nanos), "wait", faults)
        assert [field for field, _ in refused(faults).violations] == ["wait"]

    @pytest.mark.parametrize(
        ("seconds", "nanos", "milliseconds"), [(0, 0, 0), (1, 1, 1_001), (1, 999_000_001, 2_000), (253_402_300_799, 0, 253_402_300_799_000)]
    )
    def test_times_round_up_to_a_millisecond(self, seconds: int, nanos: int, milliseconds: int) -> None:
        faults = Faults()
        assert values.time(Timestamp(seconds=seconds, nanos=nanos), "at", faults) == milliseconds
        faults.check()

    @pytest.mark.parametrize(
        ("seconds", "nanos"), [(-1, 0), (253_402_300_800, 0), (253_402_300_799, 999_999_999), (2**62, 0), (0, -1), (0, 1_000_000_000)]
    )
    def test_times_out_of_range(self, seconds: int, nanos: int) -> None:
        faults = Faults()
        values.time(Timestamp(seconds=seconds, nanos=nanos), "at", faults)
        assert [field for field, _ in refused(faults).violations] == ["at"]

    @given(st.integers(0, limits.TIME))
    def test_times_come_back(self, milliseconds: int) -> None:
        message = Timestamp()
        encode.time(message, milliseconds)
        assert values.time(message, "at", Faults()) == milliseconds

    @given(st.integers(0, limits.DURATION))
    def test_durations_come_back(self, milliseconds: int) -> None:
        message = Duration()
        encode.duration(message, milliseconds)
        assert values.duration(message, "wait", Faults()) == milliseconds


class TestNames:
    def test_the_namespace_is_default_unless_told(self) -> None:
        faults = Faults()
        assert values.key(WorkflowRef(workflow_type="note", business_key="k"), "workflow", faults) == WorkflowKey("default", "note", "k")
        faults.check()

    def test_every_fault_is_named_at_once(self) -> None:
        faults = Faults()
        values.ref(WorkflowRef(namespace="a/b", workflow_type="1", business_key="", round=0), "workflow", faults)
        assert sorted(field for field, _ in refused(faults).violations) == [
            "workflow.business_key",
            "workflow.namespace",
            "workflow.round",
            "workflow.workflow_type",
        ]

    @pytest.mark.parametrize(
        ("key", "accepted"), [("é" * 256, True), ("é" * 257, False), ("x" * 512, True), ("x" * 513, False), ("a\0b\n", True)]
    )
    def test_business_keys_count_bytes(self, key: str, accepted: bool) -> None:
        faults = Faults()
        values.key(WorkflowRef(workflow_type="note", business_key=key), "workflow", faults)
        if accepted:
            faults.check()
        else:
            refused(faults)

    def test_round_and_fence_are_expectations_only_if_given(self) -> None:
        faults = Faults()
        found = values.ref(WorkflowRef(workflow_type="note", business_key="k"), "workflow", faults)
        assert (found.round, found.expected_fence) == (None, None)
        found = values.ref(WorkflowRef(workflow_type="note", business_key="k", round=2, expected_fence=0), "workflow", faults)
        assert (found.round, found.expected_fence) == (2, 0)
        faults.check()

    @pytest.mark.parametrize(
        "labels",
        [{"": "x"}, {"$a": "x"}, {".a": "x"}, {"a": "x" * 257}, {"a" * 64: "x"}, {"é": "x"}, {f"l{index}": "" for index in range(33)}],
    )
    def test_c81_labels_that_are_refused(self, labels: dict[str, str]) -> None:
        faults = Faults()
        values.labels(labels, "labels", faults)
        assert refused(faults).violations[0][0].startswith("labels")

    def test_labels_that_are_taken(self) -> None:
        faults = Faults()
        wanted = {"tenant": "acme", "a.b/c-d_e": "", "0": "é" * 128}
        assert values.labels(wanted, "labels", faults) == wanted
        faults.check()


class TestFailuresAndWaits:
    def test_a_failure_with_everything(self) -> None:
        message = WireFailure(type="asr.quota", message="m", non_retryable=True)
        message.details.json = "{}"
        message.retry_after.FromMilliseconds(1_500)
        faults = Faults()
        found = values.failure(message, "failed", faults)
        faults.check()
        assert found == Failure("asr.quota", "m", Payload(json="{}"), True, 1_500)
        back = WireFailure()
        encode.failure(back, found)
        assert back == message

    def test_a_failure_with_every_fault(self) -> None:
        message = WireFailure(type="", message="é" * 2_049)
        message.details.json = "NaN"
        message.retry_after.seconds = -1
        faults = Faults()
        values.failure(message, "failed", faults)
        error = refused(faults)
        assert sorted(field for field, _ in error.violations) == ["failed.details", "failed.message", "failed.retry_after", "failed.type"]
        assert error.reason is Reason.INVALID_ARGUMENT

    def test_conditions_are_named_after_what_they_wait_for(self) -> None:
        message = WireWait()
        message.any_of.add().signal.signal_name = "asr.done"
        message.any_of.add().after.seconds = 30
        message.any_of.add().at_time.seconds = 5
        message.any_of.add(name="mine").signal.signal_name = "other"
        message.any_of[3].signal.count = 3
        faults = Faults()
        found = values.wait(message, "waiting.wait", faults)
        faults.check()
        assert found == Wait(
            (
                Condition("asr.done", "asr.done"),
                Condition("after", after=30_000),
                Condition("at_time", at=5_000),
                Condition("mine", "other", 3),
            )
        )

    def test_waits_with_faults(self) -> None:
        message = WireWait()
        message.any_of.add(name="x")
        message.any_of.add(name="x").signal.SetInParent()
        message.any_of.add(choose=["b"]).after.seconds = -1
        faults = Faults()
        values.wait(message, "wait", faults)
        fields = {field for field, _ in refused(faults).violations}
        assert {
            "wait.any_of",
            "wait.any_of[0]",
            "wait.any_of[1].signal.signal_name",
            "wait.any_of[2].choose",
            "wait.any_of[2].after",
        } <= fields

    def test_an_empty_wait(self) -> None:
        faults = Faults()
        values.wait(WireWait(), "wait", faults)
        assert [field for field, _ in refused(faults).violations] == ["wait.any_of"]


def test_one_reason_for_all_faults_is_kept_and_several_become_one() -> None:
    faults = Faults()
    faults.add("a", "is not", Reason.SCHEDULE_INVALID, feature="x")
    assert refused(faults).reason is Reason.SCHEDULE_INVALID
    assert refused(faults).facts == {"field": "a", "feature": "x"}
    faults.merge(FieldViolation([("b", "is wrong")], Reason.PAYLOAD_INVALID), "c.")
    error = refused(faults)
    assert (error.reason, error.violations[1]) == (Reason.INVALID_ARGUMENT, ("c.b", "is wrong"))
