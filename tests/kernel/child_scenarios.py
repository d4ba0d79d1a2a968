"""How the rows of the table that are about children come to happen."""

from collections.abc import Callable
from functools import partial

from perdure_server.kernel.definition import Exhaustion, Join
from perdure_server.kernel.transitions import StepEvent
from perdure_server.kernel.values import RetryPolicy
from perdure_server.kernel.workflow import StepState
from tests.kernel.families import FAILED, ended, mapped, page, paged
from tests.kernel.harness import Run

S, E = StepState, StepEvent
StepRow = tuple[StepState, StepEvent, StepState]
HOLD = Exhaustion.HOLD


def between_pages(state: StepState, joined: Join, policy: Exhaustion = Exhaustion.FAIL_WORKFLOW) -> Run:
    """A paging step with two open children, in a state between two pages."""
    run = paged(2, joined=joined, on_exhausted=policy, retry=RetryPolicy(max_attempts=9))
    if state is not S.READY:
        run.grant("m")
        run.fail("m")
    if state is S.WAITING:
        run.pass_time(1_000)
        run.grant("m")
        page(run, 1, cursor=2)
    return run


def cancelled_page() -> None:
    """A page comes after the cancel."""
    run = paged(1)
    run.grant("m")
    run.cancel()
    page(run, 1)


def child_fails(state: StepState, policy: Exhaustion) -> None:
    """A child fails while the step is in that state."""
    ended(between_pages(state, Join.ALL, policy), 0, state=FAILED)


CHILD_SCENARIOS: dict[StepRow, Callable[[], object]] = {
    (S.RUNNING, E.PAGE, S.WAITING): lambda: paged(1),
    (S.RUNNING, E.PAGE, S.BACKOFF): lambda: paged(1, 0),
    (S.CANCELLING, E.PAGE, S.CANCELLED): cancelled_page,
    (S.WAITING, E.NEXT_PAGE, S.READY): lambda: paged(1),
    (S.WAITING, E.JOINED, S.COMPLETED): lambda: ended(mapped(1), 0),
    (S.READY, E.JOINED, S.COMPLETED): lambda: ended(between_pages(S.READY, Join.ANY), 1),
    (S.BACKOFF, E.JOINED, S.COMPLETED): lambda: ended(between_pages(S.BACKOFF, Join.ANY), 1),
    (S.WAITING, E.CHILD_FAILED, S.BACKOFF): lambda: ended(mapped(1, retry=RetryPolicy()), 0, state=FAILED),
}
for _state in (S.WAITING, S.READY, S.BACKOFF):
    for _target, _policy in ((S.FAILED, Exhaustion.FAIL_WORKFLOW), (S.HELD, HOLD)):
        CHILD_SCENARIOS[_state, E.CHILD_FAILED, _target] = partial(child_fails, _state, _policy)
