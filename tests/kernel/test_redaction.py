"""Redaction: every place that can hold a payload is in the table, and what is overwritten is told from what is not."""

import typing
from collections.abc import Iterator

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from perdure_server.kernel.child_state import ChildError, Children
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.redaction import (
    OF_CHILDREN,
    OF_STEP,
    OF_WORKFLOW,
    REDACTED,
    PayloadKind,
    kinds_of,
    payloads_in,
    redact,
    refs_in,
)
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.values import Failure, Payload, PayloadRef, Trace, Wake
from perdure_server.kernel.workflow import AttemptError, Event, Signal, Step, StepState, Workflow, WorkflowKey, WorkflowState
from tests.kernel.harness import plan

MARK = "personal"
SECRET = Payload(json=f'"{MARK}"', metadata={"k": MARK.encode()})
BROKEN = Failure("t.x", MARK, SECRET)
ALL = kinds_of(())


def full(state: WorkflowState = WorkflowState.FAILED) -> Workflow:
    """An instance with something in every place."""
    children = Children(0, errors=(ChildError(0, "t.x", MARK),), page=SECRET, page_cursor=SECRET)
    step = Step(StepState.FAILED, 1, output=SECRET, checkpoint=SECRET, failure=BROKEN, children=children)
    step = replace(step, wakes=(Wake("go", "s", SECRET),), errors=(AttemptError(1, 1, 1, BROKEN),))
    return Workflow(
        key=WorkflowKey("default", "note", "k"),
        run_id="a" * 24,
        round=1,
        fence=1,
        revision=1,
        state=state,
        update_time=1,
        start_time=1,
        fingerprint="f",
        steps={"a": step, "b": replace(step, state=StepState.COMPLETED)},
        remaining=0,
        step_count=2,
        trace=Trace("0" * 32, "1" * 16),
        input=SECRET,
        output=SECRET,
        failure=BROKEN,
        inbox=(Signal("s", "go", 1, SECRET),),
        events=(Event(1, 1, "a", 1, failure_type="t.x", failure_message=MARK),),
    )


def after(workflow: Workflow, kinds: frozenset[PayloadKind] = ALL, steps: tuple[str, ...] = ()) -> tuple[Workflow, int]:
    draft = Draft(plan("a", "b: a"), workflow, 10)
    count = redact(draft, kinds, steps, "r")
    return draft.finish(), count


def holders(kind: type, seen: set[type]) -> Iterator[str]:
    """Fields of a struct under which a payload, a failure or its words may lie."""
    for field in msgspec.structs.fields(kind):
        if any(holds(part, seen) for part in parts(field.type)):
            yield field.name


def parts(annotation: object) -> Iterator[type]:
    arguments = typing.get_args(annotation)
    if not arguments and isinstance(annotation, type):
        yield annotation
    for argument in arguments:
        yield from parts(argument)


def holds(kind: type, seen: set[type]) -> bool:
    if kind in {Payload, Failure, ChildError, Event}:
        return True
    if kind in seen or not issubclass(kind, Struct):
        return False
    return any(holders(kind, seen | {kind}))


def test_every_place_that_can_hold_a_payload_is_in_the_table() -> None:
    assert set(holders(Workflow, set())) == {*OF_WORKFLOW, "steps"}
    assert set(holders(Step, set())) == {*OF_STEP, "children"}
    assert set(holders(Children, set())) == set(OF_CHILDREN)


def test_nothing_is_left_and_the_shape_stays() -> None:
    workflow = full()
    redacted, count = after(workflow)
    raw = msgspec.json.encode(redacted).decode()
    assert MARK not in raw
    assert MARK in msgspec.json.encode(workflow).decode()
    assert count == 21
    assert all(payload == REDACTED for payload in payloads_in(redacted))
    assert redacted.failure == Failure("t.x", "", REDACTED)
    assert [signal.name for signal in redacted.inbox] == ["go"]
    assert redacted.steps["a"].state is StepState.FAILED
    again = Draft(plan("a", "b: a"), redacted, 20)
    assert redact(again, ALL, (), "r2") == 0
    assert again.finish() is redacted


@pytest.mark.parametrize("kind", [kind for kind in PayloadKind if kind is not PayloadKind.FRAME])
def test_each_kind_alone(kind: PayloadKind) -> None:
    workflow = full()
    redacted, _ = after(workflow, frozenset({kind}))
    for name, of_kind in OF_WORKFLOW.items():
        assert (getattr(redacted, name) == getattr(workflow, name)) is (of_kind is not kind), name
    for name, of_kind in OF_STEP.items():
        assert (getattr(redacted.steps["a"], name) == getattr(workflow.steps["a"], name)) is (of_kind is not kind), name
    for name, of_kind in OF_CHILDREN.items():
        before, now = workflow.steps["a"].children, redacted.steps["a"].children
        assert (getattr(now, name) == getattr(before, name)) is (of_kind is not kind), name


def test_only_some_steps() -> None:
    workflow = full()
    redacted, _ = after(workflow, steps=("a",))
    assert (redacted.input, redacted.steps["b"]) == (workflow.input, workflow.steps["b"])
    assert redacted.steps["a"].output == REDACTED
    with pytest.raises(Rejection) as caught:
        after(workflow, steps=("z",))
    assert caught.value.reason is Reason.STEP_NOT_FOUND


def test_an_open_workflow_keeps_what_it_needs() -> None:
    workflow = full(WorkflowState.RUNNING)
    for kinds, steps in ((ALL, ()), (frozenset({PayloadKind.OUTPUT}), ("b",)), (frozenset({PayloadKind.FAILURE}), ("a",))):
        with pytest.raises(Rejection) as caught:
            after(workflow, kinds, steps)
        assert caught.value.reason is Reason.WORKFLOW_NOT_CLOSED
    assert after(workflow, frozenset({PayloadKind.FRAME}))[1] == 0
    redacted, count = after(workflow, frozenset({PayloadKind.FAILURE}), ("b",))
    assert (count, redacted.steps["b"].failure, redacted.steps["b"].output) == (3, Failure("t.x", "", REDACTED), SECRET)


def test_refs_are_found_everywhere() -> None:
    ref = Payload(ref=PayloadRef("id", 3))
    other = Payload(ref=PayloadRef("other", 3))
    wake = Step(StepState.READY, 1, wakes=(Wake("go", "s", ref),))
    assert refs_in(replace(full(), input=other, steps={"a": wake})) == {"id", "other"}
