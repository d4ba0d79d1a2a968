"""Map and child steps on the bench of the rules: their plans, and what the engine tells the rules of their children."""

import json
from typing import Any

from perdure_server.kernel.child_state import ChildEnd, Children, Closing, closing
from perdure_server.kernel.children import children_of, count_ends, is_counting, pack, tell_progress, tended
from perdure_server.kernel.definition import INPUT, ChildPlan, Join, StepDefinition, StepKind
from perdure_server.kernel.draft import Draft
from perdure_server.kernel.outcomes import Page
from perdure_server.kernel.progress import join
from perdure_server.kernel.values import Failure, Payload, RetryPolicy
from perdure_server.kernel.workflow import Duty, DutyKind, WorkflowState
from tests.kernel.harness import Run, activity, payload, plan

ONCE = RetryPolicy(max_attempts=1)
DONE, FAILED, CANCELLED = WorkflowState.COMPLETED, WorkflowState.FAILED, WorkflowState.CANCELLED


def mapping(text: str, source: str = INPUT, joined: Join = Join.ALL, required: int = 0, **fields: Any) -> StepDefinition:
    """A map step over the input, or over what `source` names; like the API, tried once unless told otherwise."""
    child = ChildPlan("child", source=source, join=joined, required=required)
    return activity(text, **({"kind": StepKind.MAP, "child": child, "retry": ONCE} | fields))


def paging(text: str, joined: Join = Join.ALL, required: int = 0, **fields: Any) -> StepDefinition:
    """A map step whose worker brings pages."""
    return activity(text, kind=StepKind.MAP, child=ChildPlan("child", paged=True, join=joined, required=required), **fields)


def childing(text: str, source: str = INPUT, **fields: Any) -> StepDefinition:
    """A child step."""
    return activity(text, kind=StepKind.CHILD, child=ChildPlan("child", source=source), **({"retry": ONCE} | fields))


def mapped(count: int, joined: Join = Join.ALL, **fields: Any) -> Run:
    """A run whose step `m` waits for that many children; `z` comes after it."""
    return Run(plan(mapping("m", joined=joined, **fields), "z: m"), input=list(range(count)))


def paged(*pages: int, **fields: Any) -> Run:
    """A run whose paging step `m` has had these pages, with children created, and is READY for the next."""
    run = Run(plan(paging("m", **fields), "z: m"))
    for size in pages:
        run.grant("m")
        page(run, size, cursor=1)
        made(run)
    return run


def page(run: Run, count: int, cursor: object = None, name: str = "m") -> None:
    """The worker of a paging step brings a page."""
    children = pack([payload(number) for number in range(count)])
    run.report(name, Page(count, children, None if cursor is None else payload(cursor)))


def ended(run: Run, *indexes: int, state: WorkflowState = DONE, name: str = "m", generation: int | None = None) -> list[ChildEnd]:
    """Children report their ends in one write; returns those that counted."""
    failure = Failure("child.broken", "as told") if state is FAILED else None
    ends = [ChildEnd(index, state, failure, Payload(json=f'"{index}"') if state is DONE else None) for index in indexes]
    wanted = run.step(name).generation if generation is None else generation

    def report(draft: Draft) -> list[ChildEnd]:
        if not is_counting(draft, name, wanted):
            return []
        counted = count_ends(draft, name, ends)
        join(draft, name, counted)
        tell_progress(draft, name)
        return counted

    return run.do(report)


def made(run: Run, upto: int | None = None, audited: bool = False, name: str = "m") -> None:
    """The engine has created what is open."""

    def note(draft: Draft) -> None:
        tended(draft, name, children_of(draft, name).cursor if upto is None else upto, audited)
        join(draft, name)

    run.do(note)


def children(run: Run, name: str = "m") -> Children:
    """Where the children of a step stand."""
    found = run.step(name).children
    assert found is not None
    return found


def result(run: Run, name: str = "m") -> Any:
    """The output of a map step."""
    output = run.step(name).output
    assert output is not None
    assert output.content_type == "application/vnd.perdure.map-result+json"
    return json.loads(output.json or "")


def duties(run: Run, kind: DutyKind) -> list[Duty]:
    """The duties of a kind."""
    return [duty for duty in run.workflow.duties if duty.kind is kind]


def to_close(run: Run) -> list[Closing]:
    """Which children are to be closed."""
    return [closing(duty.subject) for duty in duties(run, DutyKind.CLOSE_CHILDREN)]
