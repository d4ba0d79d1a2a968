"""When time next moves an instance: what a test's clock jumps to."""

from msgspec.structs import replace

from perdure_server.kernel.limits import HOUR, MINUTE
from perdure_server.kernel.seal import next_wake
from perdure_server.kernel.timing import earliest_due, is_due
from perdure_server.kernel.workflow import Duty, DutyKind
from tests.kernel.harness import Run, activity, after, plan, waiting


def test_windows_and_duties_are_not_in_it() -> None:
    run = Run(plan(activity("a", attempt_timeout=HOUR), waiting("w: a", after(2 * HOUR)), workflow_timeout=4 * HOUR))
    begun = run.now
    assert earliest_due(run.workflow) == begun + 4 * HOUR
    run.grant("a", acknowledged=False)
    wake = next_wake(run.workflow)
    assert wake is not None
    assert wake < begun + MINUTE, "the acknowledgement window is for the sweep"
    assert earliest_due(run.workflow) == begun + HOUR
    run.complete("a")
    assert earliest_due(run.workflow) == run.now + 2 * HOUR
    tending = replace(run.workflow, duties=(Duty(DutyKind.ACTIVATE_ROUND, 1, begun + MINUTE),))
    assert earliest_due(tending) == run.now + 2 * HOUR
    assert [is_due(tending, begun + late) for late in (0, MINUTE)] == [False, True]
    assert [is_due(run.workflow, run.now + late) for late in (MINUTE, 2 * HOUR)] == [False, True]
    run.pause()
    assert earliest_due(run.workflow) is None, "what comes due waits"
    assert earliest_due(replace(tending, inert=True)) is None
