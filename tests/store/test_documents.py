"""The mapping: what is stored is what was meant, and it is readable."""

import bson
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec import msgpack
from msgspec.structs import fields, replace

from perdure_server.kernel.values import Failure, LossCause, Payload
from perdure_server.kernel.workflow import Duty, DutyKind, Event, Paused, Settled, Step, StepState, Workflow, WorkflowKey, WorkflowState
from perdure_server.store import documents
from perdure_server.store.memory import MemoryStore
from tests.store import generated
from tests.store.instances import NOW, claimed, completed, following, started

SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def through_bson(document: documents.Document) -> documents.Document:
    return documents.from_bson(bson.encode(document))


def test_every_field_of_an_instance_is_generated() -> None:
    """So that a field added to the kernel cannot escape the round trips below: give it a strategy in generated.py."""
    assert {field.name for field in fields(Workflow)} == {"key", *generated.FIELDS}
    assert {field.name for field in fields(Step)} == set(generated.STEP_FIELDS)


@SETTINGS
@given(generated.workflows)
def test_c84_instance_round_trip(workflow: Workflow) -> None:
    assert documents.decode(through_bson(documents.encode(workflow))) == workflow


@SETTINGS
@given(generated.changes())
async def test_change_round_trip(change: tuple[Workflow, Workflow]) -> None:
    old, new = change
    store = MemoryStore(lambda: NOW)
    assert await store.workflows.commit(None, old)
    assert await store.workflows.commit(old, new)
    assert await store.workflows.load(new.workflow_id, tombstones=True) == new


def test_document_is_readable() -> None:
    workflow = completed(claimed(started("doc-17", run_id="a" * 24, labels={"team": "search"})))
    workflow = replace(workflow, failure=Failure("Broken", "it broke", Payload(json="1", metadata={"k": b"v"})))
    document = through_bson(documents.encode(workflow))
    assert msgpack.decode(document.pop("events"))[0] == [1, NOW, "", 1, "", 0, 0, None, "", ""]
    assert document == {
        "_id": WorkflowKey("default", "ingest", "doc-17").workflow_id,
        "namespace": "default",
        "workflow_type": "ingest",
        "business_key": "doc-17",
        "run_id": "a" * 24,
        "round": 1,
        "fence": 1,
        "revision": 3,
        "state": "RUNNING",
        "update_time": NOW + 2,
        "start_time": NOW,
        "fingerprint": "f" * 64,
        "steps": {
            "read": {"state": "COMPLETED", "since": NOW + 2, "claim_no": 1, "attempt": 1, "output": {"json": '{"words": 7}'}},
            "clean": {"state": "READY", "since": NOW + 2},
        },
        "remaining": 2,
        "step_count": 3,
        "trace": {"trace_id": "0" * 32, "root_span_id": "1" * 16},
        "input": {"json": '{"path": "a.txt"}'},
        "failure": {"type": "Broken", "message": "it broke", "details": {"json": "1", "metadata": [["k", b"v"]]}},
        "event_seq": 2,
        "labels": ["team=search"],
        "ready": ["default"],
    }


def test_change_holds_only_what_changed() -> None:
    first = claimed(started(labels={"a": "b"}))
    second = completed(first)
    update = documents.encode_change(first, second)
    assert update.set.keys() == {"revision", "update_time", "steps.read", "steps.clean", "ready", "remaining"}
    assert update.unset.keys() == {"sessions", "wake_time"}
    unchanged = documents.encode_change(first, replace(first, revision=9))
    assert (unchanged.set, unchanged.unset) == ({"revision": 9}, {})


def test_enums_are_names_everywhere() -> None:
    settled = (Settled("n", cause=LossCause.EXPIRED), Settled("m"))
    document = through_bson(documents.encode(started(steps={"read": Step(StepState.HELD, NOW, settled=settled)})))
    assert document["steps"]["read"]["state"] == "HELD"
    assert document["steps"]["read"]["settled"] == [{"nonce": "n", "cause": "EXPIRED"}, {"nonce": "m"}]


def test_large_workflows_pack_what_has_ended() -> None:
    steps = {f"step_{number}": Step(StepState.COMPLETED, NOW) for number in range(200)}
    steps["last"] = Step(StepState.RUNNING, NOW)
    first = started(steps=steps, step_count=201)
    document = documents.encode(first)
    assert document["steps"].keys() == {"last"}
    assert 2 <= len(document["packed_steps"]) <= 4
    second = following(first, steps={**steps, "last": Step(StepState.COMPLETED, NOW + 1)})
    update = documents.encode_change(first, second)
    (packed,) = (path for path in update.set if path.startswith("packed_steps."))
    assert update.set.keys() == {"revision", "update_time", packed}
    assert update.unset.keys() == {"steps.last"}


@pytest.mark.parametrize("after", [StepState.READY, StepState.CANCELLED], ids=["2,000 become ready", "2,000 end"])
async def test_a_change_of_many_steps_is_a_write_of_few_paths(after: StepState) -> None:
    """A step that 1,999 wait for completes; a cancel ends them all. A `$set` of 2,000 paths took secantus 16 s, longer than a call has."""
    steps = {f"step_{number}": Step(StepState.BACKOFF, NOW) for number in range(1_999)}
    first = started(steps={**steps, "first": Step(StepState.RUNNING, NOW)}, step_count=2_000)
    moved = {name: Step(after, NOW + 1) for name in steps}
    second = following(first, steps={**moved, "first": Step(StepState.COMPLETED, NOW + 1)})
    update = documents.encode_change(first, second)
    assert len(update.set) + len(update.unset) <= 50
    store = MemoryStore(lambda: NOW)
    assert await store.workflows.commit(None, first)
    assert await store.workflows.commit(first, second)
    assert await store.workflows.load(second.workflow_id) == second


def test_events_are_bounded_bytes() -> None:
    ring = tuple(Event(seq, NOW, "a" * 63, 8, "", 1, 1) for seq in range(64))
    assert len(documents.encode(started(events=ring))["events"]) < 8 * 1024


@pytest.mark.parametrize(
    "damage",
    [
        {"state": "DREAMING"},
        {"steps": {"read": {"state": "DREAMING", "since": 1}}},
        {"steps": {"read": {"state": "READY", "since": "yesterday"}}},
        {"events": b"\xc1"},
        {"business_key": "another"},
        {"labels": 7},
        {"revision": 1.5},
        {"packed_steps": {"0": b"no"}},
    ],
    ids=str,
)
def test_damaged_documents_do_not_decode(damage: documents.Document) -> None:
    document = {**documents.encode(started()), **damage}
    with pytest.raises((ValueError, KeyError, TypeError, AttributeError)):
        documents.decode(document)


def test_unknown_fields_are_passed_over() -> None:
    """A newer server may have added one."""
    workflow = started()
    document = {**documents.encode(workflow), "write_id": 7, "of_tomorrow": {"a": 1}}
    assert documents.decode(document) == workflow


def test_same_instance_changes_nothing() -> None:
    workflow = started(state=WorkflowState.RUNNING)
    assert documents.encode_change(workflow, workflow).operators() == {}


def test_an_archived_round_has_an_id_of_its_own() -> None:
    workflow = replace(started(), round=3, archived=True, inert=True)
    document = through_bson(documents.encode(workflow))
    assert document["_id"] == workflow.workflow_id != workflow.key.workflow_id
    assert documents.decode(document) == workflow
    stolen = through_bson(documents.encode(workflow)) | {"round": 4}
    with pytest.raises(ValueError, match="identity"):
        documents.decode(stolen)


def test_a_pause_and_duties_are_readable() -> None:
    duty = Duty(DutyKind.ACTIVATE_ROUND, 1, 5)
    workflow = replace(started(), paused=Paused(7, "kim", "look"), duties=(duty,))
    document = documents.encode(workflow)
    assert document["paused"] == {"since": 7, "actor": "kim", "reason": "look"}
    assert document["duties"] == [{"kind": "ACTIVATE_ROUND", "round": 1, "due": 5}]
    assert documents.decode(through_bson(document)) == workflow
