"""What permits do to a workflow: note that a step waits for them or no longer does, and make writes that are under way lose."""

from perdure_server.engine.commands import _Plain
from perdure_server.engine.turn import Turn
from perdure_server.kernel.effects import StepReady
from perdure_server.kernel.permits import relax, throttle


class ThrottleCommand(_Plain):
    """Store that a READY step lacks permits. Answers whether it waits: False = it is not READY any more."""

    def __init__(self, run_id: str, step: str, resource: str, key: str, since: int) -> None:
        self._claim = (run_id, step)
        self._lacks = (resource, key, since)

    def apply(self, turn: Turn) -> bool:
        """Note it; a repeat changes nothing."""
        run_id, name = self._claim
        draft = turn.draft
        if draft.workflow.run_id != run_id or draft.workflow.is_ended:
            return False
        throttle(draft, name, *self._lacks)
        return draft.step(name).throttled is not None


class RelaxCommand(_Plain):
    """The permits are there, but no worker is: the step waits in its queue again."""

    def __init__(self, run_id: str, step: str) -> None:
        self._run_id = run_id
        self._step = step

    def apply(self, turn: Turn) -> None:
        """Note it, and announce the step."""
        if turn.draft.workflow.run_id == self._run_id and relax(turn.draft, self._step):
            turn.draft.effects.append(StepReady(self._step))


class BumpCommand(_Plain):
    """Raise the revision if it still is the given one, so that no write that is based on it can succeed any more."""

    def __init__(self, run_id: str, revision: int) -> None:
        self._seen = (run_id, revision)

    def apply(self, turn: Turn) -> None:
        """Touch it."""
        if (turn.draft.workflow.run_id, turn.draft.workflow.revision) == self._seen:
            turn.draft.touch()
