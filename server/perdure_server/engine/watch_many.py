"""WatchWorkflows: what matches a filter now, then each that comes, changes or goes.

The hub tells what this server stored and what others say that they stored. Hints may be lost, so known revisions are compared and new
starts looked for every 2 s, and all is listed again every minute. The consumer pulls, and changes of one workflow that wait fold into
one, so a slow consumer holds a bounded feed; when even that overflows, all is listed and compared with what it was told.
"""

import base64
import binascii
import hashlib
from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from perdure_server.engine.clock import elapsed, happened
from perdure_server.engine.feed import Feed
from perdure_server.engine.hub import Hub
from perdure_server.engine.listing import Listing
from perdure_server.engine.selection import Selection
from perdure_server.engine.values import View
from perdure_server.engine.watch import KEEP_ALIVE
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.workflow import Workflow, WorkflowKey
from perdure_server.ports.clock import Clock
from perdure_server.ports.errors import CorruptDocument
from perdure_server.ports.store import PageKey, Workflows

_PAGE = 200
_REVISIONS = 1_000
_STARTED_BEFORE = 10 * limits.SECOND  # a start is stored a little after its time
_LIST_AGAIN = 1 * limits.MINUTE


class ChangedItem(Struct, frozen=True):
    """It matches, and is new or changed."""

    view: View
    resume_token: str


class RemovedItem(Struct, frozen=True):
    """It does not match any more, or is deleted."""

    key: WorkflowKey
    round: int
    resume_token: str


class ExistingItem(Struct, frozen=True):
    """All that there was at the beginning has been sent."""

    count: int
    resume_token: str


class MissedItem(Struct, frozen=True):
    """Forget all: what there is comes again."""

    reason: str
    resume_token: str


class AliveItem(Struct, frozen=True):
    """Nothing happened for a while."""

    resume_token: str


ManyItem = ChangedItem | RemovedItem | ExistingItem | MissedItem | AliveItem


class _Known(Struct, frozen=True):
    key: WorkflowKey
    round: int
    version: tuple[str, int]  # run id and revision


class _Token(Struct, frozen=True, array_like=True):
    query: bytes
    known: bytes  # what the consumer knows, folded; empty = the first listing was not complete


class ManyWatcher:
    """One WatchWorkflows call."""

    def __init__(self, hub: Hub, listing: Listing, workflows: Workflows, clock: Clock) -> None:
        self._hub = hub
        self._listing = listing
        self._workflows = workflows
        self._clock = clock
        self._feed = Feed(limits.WATCHED_WORKFLOWS)
        self._known: dict[bytes, _Known] = {}
        self._folded = 0
        self._complete = False
        self._query = b""
        self._told_at = self._compared_at = self._listed_at = 0
        self._looked_until = 0  # store time up to which starts were looked for

    async def run(self, selection: Selection, resume_token: str, skip_existing: bool) -> AsyncIterator[list[ManyItem]]:
        """The batches. Raises Rejection, StoreUnavailable."""
        selection = replace(selection, query=replace(selection.query, descending=False))
        self._query = hashlib.blake2b(msgspec.msgpack.Encoder(order="deterministic").encode(selection), digest_size=8).digest()
        token = self._decode(resume_token) if resume_token else None
        self._hub.feeds.add(self._feed)
        try:
            async for items in self._first(selection, token, skip_existing):
                yield self._told(items)
            async for items in self._live(selection):
                yield self._told(items)
        finally:
            self._hub.feeds.discard(self._feed)

    async def _first(self, selection: Selection, token: _Token | None, skip_existing: bool) -> AsyncIterator[list[ManyItem]]:
        if token is not None and token.known and await self._is_as_known(selection, token):
            yield [AliveItem(self._token())]
            return
        if token is not None:
            yield [MissedItem("it went on without you", self._token())]
        async for items in self._existing(selection, quietly=skip_existing and token is None):
            if items:
                yield items

    async def _live(self, selection: Selection) -> AsyncIterator[list[ManyItem]]:
        while True:
            async for items in self._news(selection):
                if items:
                    yield items

    def _told(self, items: list[ManyItem]) -> list[ManyItem]:
        self._told_at = elapsed()
        return items

    async def _existing(self, selection: Selection, quietly: bool = False) -> AsyncIterator[list[ManyItem]]:
        """Everything that matches now, and that this was all."""
        self._known.clear()
        self._folded = 0
        self._complete = False
        self._looked_until = self._clock.now()
        async for items in self._listed(selection):
            if not quietly:
                yield items
        self._complete = True
        yield [ExistingItem(len(self._known), self._token())]

    async def _is_as_known(self, selection: Selection, token: _Token) -> bool:
        async for _ in self._existing(selection):
            pass
        return token.known == self._folding()

    async def _news(self, selection: Selection) -> AsyncIterator[list[ManyItem]]:
        """Wait for something, and tell what it is."""
        next_look = self._compared_at + limits.REVISION_POLL_INTERVAL
        await happened(self._feed.news, max(0, min(next_look, self._told_at + KEEP_ALIVE) - elapsed()))
        changed, missed = self._feed.take()
        if missed or elapsed() >= self._listed_at + _LIST_AGAIN:
            async for items in self._listed(selection):
                yield items
        if elapsed() >= next_look:
            async for items in self._unheard(selection):
                yield items
        items = [item for workflow_id, workflow in changed.items() if (item := await self._look(selection, workflow_id, workflow))]
        if items:
            yield items
        elif elapsed() >= self._told_at + KEEP_ALIVE:
            yield [AliveItem(self._token())]

    async def _unheard(self, selection: Selection) -> AsyncIterator[list[ManyItem]]:
        """What changed, by comparison, in case nobody said so: a server may also think that it is alone because it hears nobody."""
        self._compared_at = elapsed()
        ids = list(self._known)
        for start in range(0, len(ids), _REVISIONS):
            part = ids[start : start + _REVISIONS]
            stored = await self._workflows.revisions(part)
            stale = [each for each in part if each in self._known and stored.get(each) != self._known[each].version]
            yield [item for each in stale if (item := await self._look(selection, each, None))]
        begun, self._looked_until = self._looked_until - _STARTED_BEFORE, self._clock.now()
        query = replace(selection.query, start_from=max(begun, selection.query.start_from or 0))
        async for items in self._rows(replace(selection, query=query)):
            yield items

    async def _listed(self, selection: Selection) -> AsyncIterator[list[ManyItem]]:
        """All again, compared with what is known."""
        self._listed_at = self._compared_at = elapsed()
        before = set(self._known)
        async for items in self._rows(selection, before):
            yield items
        yield [item for each in before if (item := await self._look(selection, each, None))]

    async def _rows(self, selection: Selection, unseen: set[bytes] | None = None) -> AsyncIterator[list[ManyItem]]:
        after: PageKey | None = None
        while True:
            page = await self._listing.page(selection, _PAGE, after)
            if unseen is not None:
                unseen.difference_update([view.workflow.workflow_id for view in page.views])
            yield [item for view in page.views if (item := self._changed(view)) is not None]
            after = page.after
            if after is None:
                return

    async def _look(self, selection: Selection, workflow_id: bytes, workflow: Workflow | None) -> ManyItem | None:
        if workflow is None:
            try:
                workflow = await self._workflows.load(workflow_id)
            except CorruptDocument:
                return None
        if workflow is None or not await self._listing.matches(selection, workflow):
            return self._removed(workflow_id)
        return self._changed(await self._listing.view(workflow))

    def _changed(self, view: View) -> ManyItem | None:
        workflow = view.workflow
        workflow_id = workflow.workflow_id
        known = self._known.get(workflow_id)
        if known is not None and known.version[0] == workflow.run_id and known.version[1] >= workflow.revision:
            return None
        if known is None and len(self._known) >= limits.WATCHED_WORKFLOWS:
            text = "The filter matches more workflows than one call may watch: narrow it."
            raise Rejection(Reason.OVERLOADED, text, scope="watched workflows", limit=str(limits.WATCHED_WORKFLOWS))
        self._fold(workflow_id, known)
        now_known = self._known[workflow_id] = _Known(workflow.key, workflow.round, (workflow.run_id, workflow.revision))
        self._fold(workflow_id, now_known)
        return ChangedItem(view, self._token())

    def _removed(self, workflow_id: bytes) -> ManyItem | None:
        known = self._known.pop(workflow_id, None)
        if known is None:
            return None
        self._fold(workflow_id, known)
        return RemovedItem(known.key, known.round, self._token())

    def _fold(self, workflow_id: bytes, known: _Known | None) -> None:
        if known is not None:
            part = workflow_id + known.version[0].encode() + known.version[1].to_bytes(8, "big")
            self._folded ^= int.from_bytes(hashlib.blake2b(part, digest_size=16).digest(), "big")

    def _folding(self) -> bytes:
        return self._folded.to_bytes(16, "big") + len(self._known).to_bytes(4, "big")

    def _token(self) -> str:
        found = _Token(self._query, self._folding() if self._complete else b"")
        return base64.urlsafe_b64encode(msgspec.msgpack.encode(found)).decode()

    def _decode(self, token: str) -> _Token:
        try:
            found = msgspec.msgpack.decode(base64.b64decode(token.encode(), altchars=b"-_", validate=True), type=_Token)
        except (ValueError, binascii.Error, msgspec.DecodeError) as error:
            raise Rejection(Reason.RESUME_TOKEN_INVALID, "This resume token is not one that WatchWorkflows gave out.") from error
        if found.query != self._query:
            raise Rejection(Reason.RESUME_TOKEN_INVALID, "This resume token is of another filter.")
        return found
