"""The trial of a definition, as far as the wire does not show it."""

from perdure_server.engine.trial import TrialPlan, run_trial
from perdure_server.kernel.definition import Permit
from perdure_server.kernel.workflow import WorkflowState
from tests.coordination.clocks import StillClock
from tests.kernel.harness import activity, plan


async def test_permits_are_all_there() -> None:
    definition = plan(activity("a", permits=(Permit("asr", 1),)), "b: a")
    result = await run_trial(TrialPlan(definition), StillClock())
    assert result.workflow.state is WorkflowState.COMPLETED
    assert result.workflow.fingerprint == definition.fingerprint


async def test_a_large_definition_is_done_in_time() -> None:
    definition = plan(*(f"step_{number}" for number in range(400)))
    result = await run_trial(TrialPlan(definition), StillClock())
    assert result.workflow.state is WorkflowState.COMPLETED
    assert len(result.changes) == 400 * 3 + 2, "each is opened, granted and completed"
