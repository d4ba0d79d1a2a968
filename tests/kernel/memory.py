"""What the state machine remembers of a workflow's whole life, and what must be true of it then."""

from perdure_server.kernel.workflow import Step, StepState, Workflow, WorkflowState


class Memory:
    """Told of every state of one workflow."""

    def __init__(self) -> None:
        self._tokens: dict[str, str] = {}  # every token that was ever current, and its step
        self._gone: set[str] = set()
        self._outputs: dict[tuple[str, int], object] = {}

    def check(self, workflow: Workflow) -> None:
        """Fail if a token or an output is not what it was, or nobody would look at a step."""
        self._check_tokens(workflow)
        for name, step in workflow.steps.items():
            if step.state is StepState.COMPLETED:
                known = self._outputs.setdefault((name, step.generation), step.output)
                assert known == step.output, f"{name}: its output changed, though it was not done again"
            if not workflow.is_ended:
                _check_waker(workflow, name, step)

    def _check_tokens(self, workflow: Workflow) -> None:
        current = {step.claim.nonce: name for name, step in workflow.steps.items() if step.claim is not None}
        for nonce, name in current.items():
            assert self._tokens.setdefault(nonce, name) == name, "a token went to another step"
            assert nonce not in self._gone, "a token came back"
        self._gone = self._tokens.keys() - current.keys()


def _check_waker(workflow: Workflow, name: str, step: Step) -> None:
    # Who wakes what, each by a field that an index or a person finds.
    wake = workflow.wake_time
    if step.claim is not None:
        assert step.claim.session_id in workflow.sessions, name
        assert wake is not None, name
        assert wake <= step.claim.deadline, name
    elif workflow.paused is not None:
        assert workflow.state is WorkflowState.RUNNING, name  # a person, and only there
        assert workflow.ready == ("S//default/note",), "it is counted, so that nobody forgets it"
    elif step.state is StepState.READY:
        assert workflow.ready, name
    elif step.state is StepState.BACKOFF or (step.state is StepState.WAITING and step.due is not None):
        assert step.due is not None, name
        assert wake is not None, name
        assert wake <= step.due, name
    elif step.state is StepState.WAITING:
        assert any(condition.signal for condition in step.wait), f"{name} waits for nothing that could come"
