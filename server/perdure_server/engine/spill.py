"""Large payloads leave the document before the state that refers to them is written."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from perdure_server.kernel import limits
from perdure_server.kernel.outcomes import Cancelled, Completed, Failed, Outcome, Page, Released, Waiting
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.start import Start
from perdure_server.kernel.values import Failure, Payload
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.clock import Clock
from perdure_server.ports.store import Payloads

_SMALL = 1_024
TRIES = 5  # a key that begins so many rounds while one payload is put down is a fault


class SpilledElsewhere(Rejection):
    """Inside the engine only: what was put down for one run came to another, which would not find it. It is to be put down again."""

    def __init__(self) -> None:
        super().__init__(Reason.REVISION_CONFLICT, "Another round of this key began meanwhile.")


def require_home(workflow: Workflow, run_id: str) -> None:
    """Raise SpilledElsewhere unless the payloads of a command were put down for this run; "" = it has none."""
    if run_id and workflow.run_id != run_id:
        raise SpilledElsewhere


class Spill:
    """Decides by size, and by how full the document is as far as this server knows."""

    def __init__(self, payloads: Payloads, known: Callable[[bytes], Workflow | None], clock: Clock) -> None:
        self._payloads = payloads
        self._known = known
        self._clock = clock

    def threshold(self, workflow_id: bytes) -> int:
        """Payloads of more bytes than this get a document of their own."""
        workflow = self._known(workflow_id)
        if workflow is not None and workflow.inline_bytes > limits.INLINE_TOTAL - limits.INLINE_PAYLOAD:
            return _SMALL
        return limits.INLINE_PAYLOAD

    def needed(self, workflow_id: bytes, payloads: Sequence[Payload | None]) -> bool:
        """Whether one of them must go."""
        most = self.threshold(workflow_id)
        return any(payload is not None and payload.inline_size > most for payload in payloads)

    async def spill(self, workflow_id: bytes, run_id: str, payload: Payload | None) -> Payload | None:
        """The payload itself, or what refers to it. Raises StoreUnavailable."""
        if payload is None or payload.inline_size <= self.threshold(workflow_id):
            return payload
        return (await self._payloads.put(run_id, [payload], self._clock.now(), workflow_id))[0]

    async def start(self, workflow_id: bytes, command: Start) -> Start:
        """The start with its payloads spilled that must be. Raises StoreUnavailable."""
        content = await self.spill(workflow_id, command.run_id, command.input)
        signals = [replace(signal, payload=await self.spill(workflow_id, command.run_id, signal.payload)) for signal in command.signals]
        return replace(command, input=content, signals=tuple(signals))

    async def outcome(self, workflow_id: bytes, run_id: str, outcome: Outcome) -> Outcome:
        """The outcome with its payload spilled if it must be. Raises StoreUnavailable."""
        match outcome:
            case Completed(output, choose):
                return Completed(await self.spill(workflow_id, run_id, output), choose)
            case Failed(failure):
                details = await self.spill(workflow_id, run_id, failure.details)
                return Failed(Failure(failure.type, failure.message, details, failure.non_retryable, failure.retry_after))
            case Waiting(wait, checkpoint, keep):
                return Waiting(wait, await self.spill(workflow_id, run_id, checkpoint), keep)
            case Released(checkpoint, keep):
                return Released(await self.spill(workflow_id, run_id, checkpoint), keep)
            case Cancelled(checkpoint, keep):
                return Cancelled(await self.spill(workflow_id, run_id, checkpoint), keep)
            case Page(count, children, cursor):
                children = await self.spill(workflow_id, run_id, children)
                return Page(count, children, await self.spill(workflow_id, run_id, cursor))


def payloads_of(outcome: Outcome) -> tuple[Payload | None, ...]:
    """The payloads that an outcome brings."""
    match outcome:
        case Completed(output):
            return (output,)
        case Failed(failure):
            return (failure.details,)
        case Waiting(_, checkpoint) | Released(checkpoint) | Cancelled(checkpoint):
            return (checkpoint,)
        case Page(_, children, cursor):
            return children, cursor
