"""MigrateWorkflows: a batch that lets open workflows go on by another definition, one conditional write each; and what it would lose."""

from msgspec import Struct, msgpack

from perdure_server.engine.batch_verbs import Item, Verb
from perdure_server.engine.catalog import Catalog, DefinitionName
from perdure_server.engine.commands import require_ref
from perdure_server.engine.listing import Listing
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.engine.selection import Selection
from perdure_server.engine.turn import Turn
from perdure_server.engine.values import Ref
from perdure_server.kernel.definition import Definition
from perdure_server.kernel.migration import Loss, Lost, Migration, check_mapping, losses, migrate
from perdure_server.kernel.options import as_run
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Workflow, WorkflowKey, WorkflowState
from perdure_server.ports.store import PageKey

_PAGE = 200
_EXAMINED = 2_000
_ISSUES = 100


class MigrateArguments(Struct, frozen=True, omit_defaults=True):
    """What is stored with the batch."""

    workflow_type: str
    source: str
    target: str
    mapping: tuple[tuple[str, str], ...] = ()
    accepted: tuple[int, ...] = ()

    def migration(self, to: Definition) -> Migration:
        """As the kernel takes it."""
        return Migration(to, dict(self.mapping), frozenset(Loss(number) for number in self.accepted))


class Issue(Struct, frozen=True):
    """One thing that one workflow would lose. `lost` None: it is not running, so it is left alone."""

    key: WorkflowKey
    round: int
    lost: Lost | None


class Examined(Struct, frozen=True):
    """What a migration would do. `estimate`: there are more workflows than were looked at."""

    matched: int
    movable: int
    refused: int
    issues: tuple[Issue, ...]
    estimate: bool


class MigrateCommand:
    """Let one workflow go on by another definition. Answers whether it did that before."""

    def __init__(self, ref: Ref, source: str, migration: Migration) -> None:
        self._ref = ref
        self._source = source
        self._migration = migration

    def begin(self) -> tuple[Definition, Workflow] | None:
        """It needs an instance that is there."""
        return None

    def shrink(self) -> bool:
        """It brings nothing that could be left out."""
        return False

    def apply(self, turn: Turn) -> bool:
        """True = nothing new."""
        workflow = turn.draft.workflow
        require_ref(workflow, self._ref)
        if workflow.fingerprint not in {self._source, self._migration.to.fingerprint}:
            text = "It runs by another definition than the one to migrate from."
            raise Rejection(Reason.WORKFLOW_STATE_INVALID, text, fingerprint=workflow.fingerprint)
        done = migrate(turn.draft, self._migration)
        turn.grant_ready(None, returned=False)
        return not done


class Migrations:
    """All methods raise Rejection DEFINITION_NOT_FOUND and StoreUnavailable."""

    def __init__(self, parts: Parts, catalog: Catalog, mailboxes: Mailboxes, listing: Listing) -> None:
        self._workflows = parts.store.workflows
        self._catalog = catalog
        self._mailboxes = mailboxes
        self._listing = listing
        self.verb = Verb("MigrateWorkflows", self._perform)

    async def check(self, namespace: str, arguments: MigrateArguments) -> None:
        """Raise FieldViolation unless the mapping fits both definitions."""
        old = await self._catalog.get(namespace, arguments.workflow_type, arguments.source)
        new = await self._catalog.usable(namespace, arguments.workflow_type, arguments.target)
        check_mapping(old, new, arguments.mapping)

    async def examine(self, selection: Selection, arguments: MigrateArguments) -> Examined:
        """Look at what matches, the first 2,000 at most."""
        namespace = selection.query.namespace
        old = await self._catalog.get(namespace, arguments.workflow_type, arguments.source)
        migration = arguments.migration(await self._catalog.usable(namespace, arguments.workflow_type, arguments.target))
        matched = movable = 0
        issues: list[Issue] = []
        after: PageKey | None = None
        while True:
            page = await self._listing.page(selection, _PAGE, after)
            for view in page.views:
                workflow = await self._workflows.load(view.workflow.workflow_id)
                if workflow is not None and workflow.fingerprint == arguments.source and not workflow.is_ended:
                    found = _issues(old, workflow, migration)
                    matched += 1
                    movable += not found
                    issues += found
            after = page.after
            if after is None or matched >= _EXAMINED:
                return Examined(matched, movable, matched - movable, tuple(issues[:_ISSUES]), after is not None)

    async def migrate(self, ref: Ref, definition: DefinitionName, migration: Migration) -> tuple[bool, Workflow]:
        """One workflow of that definition; True = it was done before. Raises also MIGRATION_LOSES_STATE, WORKFLOW_STATE_INVALID."""
        command = MigrateCommand(ref, definition.fingerprint, migration)
        return await self._mailboxes.submit(ref.key.workflow_id, command)

    async def _perform(self, item: Item, arguments: bytes) -> object:
        found = msgpack.decode(arguments, type=MigrateArguments)
        namespace = item.workflow.key.namespace
        to = await self._catalog.usable(namespace, found.workflow_type, found.target)
        name = DefinitionName(namespace, found.workflow_type, found.source)
        return await self.migrate(item.ref, name, found.migration(to))


def _issues(old: Definition, workflow: Workflow, migration: Migration) -> list[Issue]:
    if workflow.state is not WorkflowState.RUNNING:
        return [Issue(workflow.key, workflow.round, None)]
    found = losses(as_run(old, workflow), workflow, migration)
    refused = [lost for lost in found if lost.loss is Loss.OPEN_CHILDREN or lost.loss not in migration.accepted]
    return [Issue(workflow.key, workflow.round, lost) for lost in refused]
