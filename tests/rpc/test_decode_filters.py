"""The one filter of lists, counts, batches and watches, with every entry limit."""

from collections.abc import Callable

import pytest

from perdure.v1 import filter_pb2, workflow_pb2
from perdure.v1.workflow_service_pb2 import CountWorkflowsRequest, ListWorkflowsRequest
from perdure_server.engine.listing import Detail
from perdure_server.engine.selection import Selection, narrowed
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import FieldViolation
from perdure_server.kernel.workflow import ENDED, WorkflowState
from perdure_server.rpc.decode import filters
from perdure_server.rpc.faults import Faults


def fields_of(call: Callable[[], object]) -> list[str]:
    with pytest.raises(FieldViolation) as caught:
        call()
    return sorted(field for field, _ in caught.value.violations)


def selected(**fields: object) -> Selection:
    faults = Faults()
    found = filters.selection("", filter_pb2.WorkflowFilter(**fields), faults)  # type: ignore[arg-type]  # fields of the message
    faults.check()
    return found


def states(**fields: object) -> set[WorkflowState]:
    found = narrowed(selected(**fields))
    assert found is not None
    return set(found.query.states)


def test_what_an_index_answers() -> None:
    message = ListWorkflowsRequest(page_size=7, order_by=ListWorkflowsRequest.ORDER_START_TIME_ASC)
    message.filter.workflow_types.append("note")
    message.filter.states.append(workflow_pb2.Workflow.STATE_FAILED)
    message.filter.labels["tenant"] = "acme"
    message.filter.business_keys.append("k")
    message.filter.start_time.from_time.seconds = 1
    message.filter.start_time.to_time.seconds = 2
    found, size, detail = filters.list_query(message)
    query = found.query
    assert (size, detail, found.is_indexed) == (7, Detail.BASIC, True)
    assert (query.namespace, query.workflow_types, query.states) == ("default", ("note",), (WorkflowState.FAILED,))
    assert (query.labels, query.start_from, query.start_before, query.descending) == ({"tenant": "acme"}, 1_000, 2_000, False)
    assert query.business_keys == ("k",)


def test_what_is_looked_at_row_by_row() -> None:
    found = selected(
        phases=[workflow_pb2.PHASE_QUEUED],
        queues=["gpu"],
        definition_fingerprints=["f"],
        paused=False,
        failure_types=["asr.quota"],
        end_time={"from_time": {"seconds": 1}, "to_time": {"seconds": 2}},
    )
    assert (found.phases, found.queues, found.fingerprints, found.paused) == ((1,), ("gpu",), ("f",), False)
    assert (found.failure_types, found.end_from, found.end_before) == (("asr.quota",), 1_000, 2_000)
    assert not found.is_indexed


def test_children_schedules_and_archived_rounds() -> None:
    found = selected(parent={"workflow_type": "note", "business_key": "k"}, parent_step="fan", schedule_id="daily", include_archived=True)
    assert (found.parent, found.parent_step, found.schedule_id) == (("note", "k", None), "fan", "daily")
    assert found.query.include_archived
    assert selected(parent={"workflow_type": "note", "business_key": "k", "round": 2}).parent == ("note", "k", 2)
    assert fields_of(lambda: selected(parent_step="fan")) == ["filter.parent_step"]


def test_defaults() -> None:
    found, size, detail = filters.list_query(ListWorkflowsRequest())
    assert (found.query.descending, size, detail, found.is_indexed) == (True, limits.PAGE_SIZE, Detail.BASIC, True)
    assert filters.list_query(ListWorkflowsRequest(view=workflow_pb2.WORKFLOW_VIEW_FULL))[2] is Detail.FULL


def test_conditions_narrow_the_states_that_the_index_is_asked_for() -> None:
    assert states(phases=[workflow_pb2.PHASE_QUEUED]) == set(WorkflowState) - ENDED == states(queues=["gpu"])
    assert states(end_time={"from_time": {"seconds": 1}}) == ENDED
    assert states(paused=True) == set(WorkflowState) - ENDED
    assert states(paused=False) == set()
    assert narrowed(selected(queues=["gpu"], states=[workflow_pb2.Workflow.STATE_FAILED])) is None
    before = narrowed(selected(end_time={"to_time": {"seconds": 2}}))
    assert before is not None
    assert before.query.start_before == 2_000


def test_faults() -> None:
    message = ListWorkflowsRequest.FromString(ListWorkflowsRequest(page_size=1_001).SerializeToString() + b"\x30\x63")
    message.filter.queues.extend(["gpu"] * 17)
    message.filter.queues.append("not one!")
    message.filter.workflow_types.extend(["note"] * 17)
    message.filter.business_keys.extend(["k"] * 101)
    message.filter.business_keys.append("")
    message.filter.definition_fingerprints.extend(["f"] * 17)
    message.filter.failure_types.extend(["f"] * 17)
    message.filter.states.append(workflow_pb2.Workflow.STATE_UNSPECIFIED)
    message.filter.phases.append(workflow_pb2.PHASE_UNSPECIFIED)
    for between in (message.filter.start_time, message.filter.end_time):
        between.from_time.seconds = between.to_time.seconds = 2
    assert fields_of(lambda: filters.list_query(message)) == [
        "filter.business_keys",
        "filter.business_keys[101]",
        "filter.definition_fingerprints",
        "filter.end_time.to_time",
        "filter.failure_types",
        "filter.phases",
        "filter.queues",
        "filter.queues[17]",
        "filter.start_time.to_time",
        "filter.states",
        "filter.workflow_types",
        "page_size",
        "view",
    ]


def test_an_unknown_group_is_refused() -> None:
    message = CountWorkflowsRequest.FromString(b"\x18\x63")
    assert fields_of(lambda: filters.count_query(message)) == ["group_by"]
