"""What operators use: lists, the audit trail, batches, redaction, files. Built by the engine out of its parts."""

from collections.abc import Awaitable, Callable, Mapping

from perdure_server.engine.audit import Audit
from perdure_server.engine.batch_runner import BatchRunner
from perdure_server.engine.batch_verbs import Calls, verbs
from perdure_server.engine.batches import Batches
from perdure_server.engine.catalog import Catalog
from perdure_server.engine.definition_removal import DefinitionRemoval
from perdure_server.engine.listing import Listing
from perdure_server.engine.migrations import Migrations
from perdure_server.engine.orphans import Orphans
from perdure_server.engine.parts import Parts
from perdure_server.engine.queue_list import QueueList
from perdure_server.engine.queues import QueueBook
from perdure_server.engine.redaction import Redaction
from perdure_server.engine.survey import Survey
from perdure_server.engine.transfer import Transfer


class Operations:
    """One of each."""

    def __init__(self, parts: Parts, catalog: Catalog, queues: QueueBook, calls: Calls) -> None:
        self.audit = Audit(parts)
        self.listing = Listing(parts, catalog, queues)
        self.queues = QueueList(parts, catalog, queues)
        self.batches = Batches(parts, self.listing)
        self.batch_runner = BatchRunner(parts, self.listing, self.audit)
        self.migrations = Migrations(parts, catalog, calls.mailboxes, self.listing)
        self.redaction = Redaction(parts, calls.mailboxes, calls.queries, calls.rounds)
        self.batch_runner.verbs |= {**verbs(calls), "redact": self.redaction.verb(), "migrate": self.migrations.verb}
        self.transfer = Transfer(parts, catalog, calls.queries, rounds=calls.rounds, hub=calls.hub)
        self.orphans = Orphans(parts)
        self.definition_removal = DefinitionRemoval(parts, catalog)
        self.batches.on_new = self.batch_runner.wake
        self._survey = Survey(parts, self.queues, calls.permits.resources, calls.sweep) if parts.telemetry.measured else None

    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """Background loops by name."""
        return {
            "audit retention": self.audit.retention_step,
            "batches": self.batch_runner.look_step,
            "batch retention": self.batches.retention_step,
            "orphans": self.orphans.step,
            "deleted definitions": self.definition_removal.step,
            **({"survey": self._survey.step} if self._survey is not None else {}),
        }

    def leave(self) -> None:
        """Take nothing more in hand."""
        self.batch_runner.leave()
