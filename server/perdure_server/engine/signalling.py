"""Signals on their way in: a large payload is put down for the run that takes the signal."""

from msgspec.structs import replace

from perdure_server.engine.commands import SignalCommand
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.queries import Queries
from perdure_server.engine.rounds import submit_to_run
from perdure_server.engine.spill import TRIES, Spill, SpilledElsewhere
from perdure_server.engine.values import Ref, Signalled
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.start import Start, known_digest
from perdure_server.kernel.tokens import Address, decode_wake_token
from perdure_server.kernel.workflow import Signal, Workflow
from perdure_server.ports.clock import Clock
from perdure_server.ports.errors import StoreUnavailable


class Signalling:
    """Delivers signals by name and by wake token."""

    def __init__(self, clock: Clock, mailboxes: Mailboxes, queries: Queries, spill: Spill) -> None:
        self._clock = clock
        self._mailboxes = mailboxes
        self._queries = queries
        self._spill = spill

    async def send(self, target: Ref | str, signal: Signal) -> Signalled:
        """Store a signal. A str target is a wake token. Raises Rejection, StoreUnavailable."""
        address = target if isinstance(target, Ref) else decode_wake_token(target)
        workflow_id = address.key.workflow_id if isinstance(address, Ref) else address.workflow_id
        signal = replace(signal, time=self._clock.now())
        for _ in range(TRIES):
            sent, home = signal, ""
            if self._spill.needed(workflow_id, [signal.payload]):
                home = await self._home(workflow_id, address)
                sent = replace(signal, payload=await self._spill.spill(workflow_id, home, signal.payload))
            try:
                answer, workflow = await submit_to_run(self._mailboxes, workflow_id, SignalCommand(sent, address, home))
            except SpilledElsewhere:
                continue
            return Signalled(workflow, duplicate=answer[0], consumed=answer[1])
        raise StoreUnavailable("rounds of this key begin faster than a signal is stored")

    async def carry(self, command: Start, met: Workflow) -> None:
        """Send on the signals of a start that began nothing, to the workflow that it met; each counts once by its id (case C01).

        Raises Rejection WORKFLOW_CLOSED for one that came too late, FENCED, SIGNAL_INBOX_FULL; StoreUnavailable.
        """
        if met.archived or known_digest(met, command.request_id) is not None:
            return  # a repeat of the very start that brought them
        if met.tombstone is not None:
            raise Rejection(Reason.WORKFLOW_CLOSED, "The workflow has ended; the signal was not stored.", state=met.state.name)
        for signal in command.signals:
            await self.send(Ref(met.key, expected_fence=met.fence), signal)

    async def _home(self, workflow_id: bytes, address: Ref | Address) -> str:
        owner = await self._queries.load(workflow_id, address if isinstance(address, Ref) else None)
        return address.run_id if isinstance(address, Address) and address.run_id in owner.past_runs else owner.run_id
