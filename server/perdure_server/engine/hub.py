"""Who wants to know that a workflow changed: watchers, waiting callers, and streams that hold its claims."""

import asyncio
from collections.abc import Callable, Iterable

from perdure_server.engine.clock import happened
from perdure_server.engine.feed import Feed
from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.coordination import WakeUp
from perdure_server.ports.errors import CoordinationUnavailable

WORKFLOW = "w"
FRAMES = "f"
DEFINITIONS = "d"
SERVER = "s"
SESSION = "c"
PERMITS = "p"
LOST_TRACK = "*"
LISTEN_LOOP = "listen"
_POLL_BATCH = 1_000
_UNPUBLISHED = 100_000


class Interest:
    """One party's interest in one workflow. `news` is set when there is something to take."""

    def __init__(self, end_only: bool) -> None:
        self.news = asyncio.Event()
        self.end_only = end_only  # nothing but its end is news, as far as this server makes the changes
        self.frames = True  # frames may have come
        self._changed = False
        self._workflow: Workflow | None = None

    def changed(self, workflow: Workflow | None) -> None:
        """It changed; `workflow` is its state after a write of this server, None = made elsewhere: to be read."""
        self._changed = True
        self._workflow = workflow
        self.news.set()

    def take(self) -> tuple[bool, Workflow | None]:
        """(whether it changed since the last time, the newest state if it was made here). What comes from now on is news again."""
        found = self._changed, self._workflow
        self._changed, self._workflow = False, None
        self.news.clear()
        return found


class Hub:
    """One subscription per server, however many watchers."""

    def __init__(self, parts: Parts) -> None:
        self._coordination = parts.coordination
        self._workflows = parts.store.workflows
        self._supervisor = parts.supervisor
        self._clock = parts.clock
        self._interests: dict[bytes, dict[Interest, None]] = {}
        self._revisions: dict[bytes, tuple[str, int]] = {}  # of workflows that somebody here wants to know of: the newest that they know
        self._unpublished: list[WakeUp] = []
        self._publishing = False
        self._poll_now = asyncio.Event()
        self.feeds: set[Feed] = set()  # of those who watch many
        self.on_remote_change: Callable[[bytes], None] = lambda _: None
        self.on_definitions: Callable[[], None] = lambda: None
        self.on_server: Callable[[bytes], None] = lambda _: None
        self.on_session: Callable[[str, int], None] = lambda _session_id, _connection_no: None
        self.on_permits: Callable[[str], None] = lambda _: None  # told a line in which units came free, or whose resource changed
        self.is_alone: Callable[[], bool] = lambda: False  # no other server was heard of for some seconds
        self.claimed: Callable[[], Iterable[bytes]] = tuple  # workflows with claims of this server's streams
        self.known: Callable[[bytes], Workflow | None] = lambda _: None
        self.is_changing: Callable[[bytes], bool] = lambda _: False  # by a write of this server

    def join(self, workflow_id: bytes, end_only: bool = False) -> Interest:
        """Begin to hear of a workflow."""
        interest = Interest(end_only)
        self._interests.setdefault(workflow_id, {})[interest] = None
        return interest

    def leave(self, workflow_id: bytes, interest: Interest) -> None:
        """No longer."""
        interests = self._interests.get(workflow_id)
        if interests is not None:
            interests.pop(interest, None)
            if not interests:
                del self._interests[workflow_id]
                self._revisions.pop(workflow_id, None)

    @property
    def watching(self) -> int:
        """How many interests there are."""
        return sum(len(interests) for interests in self._interests.values())

    def saw(self, workflow: Workflow) -> None:
        """Somebody here has read this state."""
        workflow_id = workflow.workflow_id
        known = self._revisions.get(workflow_id)
        if known is None or known[0] != workflow.run_id or known[1] < workflow.revision:
            self._revisions[workflow_id] = (workflow.run_id, workflow.revision)

    def noticed(self, workflow: Workflow) -> None:
        """A mailbox has read this state: whoever here knows an older one reads it too, since no hint may come any more."""
        workflow_id = workflow.workflow_id
        known, found = self._revisions.get(workflow_id), (workflow.run_id, workflow.revision)
        if known is not None and workflow_id in self._interests and (known[0] != found[0] or known[1] < found[1]):
            self._revisions[workflow_id] = found
            for interest in self._interests[workflow_id]:
                interest.changed(None)

    def changed(self, workflow: Workflow) -> None:
        """This server stored a change: tell those here at once, the other servers, if there are any, by a hint."""
        if workflow.tombstone is not None:
            self.removed(workflow)  # what is left of a key is no end that anybody may be told
            return
        workflow_id = workflow.workflow_id
        interests = self._interests.get(workflow_id)
        if interests:
            self._revisions[workflow_id] = (workflow.run_id, workflow.revision)
            for interest in interests:
                if not interest.end_only or workflow.is_ended:
                    interest.changed(workflow)
        for feed in self.feeds:
            feed.changed(workflow)
        if not self.is_alone():
            self.publish(WakeUp(WORKFLOW, workflow_id, workflow.revision))

    def removed(self, workflow: Workflow) -> None:
        """This server deleted it: whoever hears of it reads again, and finds nothing."""
        workflow_id = workflow.workflow_id
        self._revisions.pop(workflow_id, None)
        for interest in self._interests.get(workflow_id, ()):
            interest.changed(None)
        for feed in self.feeds:
            feed.heard(workflow_id)
        if not self.is_alone():
            self.publish(WakeUp(WORKFLOW, workflow_id, workflow.revision + 1))

    def frames_came(self, workflow_id: bytes) -> None:
        """Frames were appended here."""
        self._wake_for_frames(workflow_id)
        if not self.is_alone():
            self.publish(WakeUp(FRAMES, workflow_id))

    def session_moved(self, session_id: str, connection_no: int) -> None:
        """A worker reconnected here: other servers may still serve its older connection."""
        if not self.is_alone():
            self.publish(WakeUp(SESSION, session_id.encode(), connection_no))

    def publish(self, wakeup: WakeUp) -> None:
        """Tell the other servers, soon and in batches. Too many at once are lost: they poll."""
        if len(self._unpublished) < _UNPUBLISHED:
            self._unpublished.append(wakeup)
        if not self._publishing:
            self._publishing = True
            self._supervisor.run(self._publish_all(), "publish")

    async def listen_step(self) -> None:
        """Hear the other servers; ends with the subscription, and is begun again."""
        async for wakeup in self._coordination.subscribe():
            self._supervisor.beat(LISTEN_LOOP)
            self._hear(wakeup)
        raise CoordinationUnavailable("the subscription has ended")

    async def poll_step(self) -> None:
        """Compare the revisions of all watched workflows, so that a lost last message costs time only."""
        await happened(self._poll_now, self._clock.together(limits.REVISION_POLL_INTERVAL))
        self._poll_now.clear()
        ids = list(dict.fromkeys((*self._interests, *self.claimed())))
        for start in range(0, len(ids), _POLL_BATCH):
            found = await self._workflows.revisions(ids[start : start + _POLL_BATCH])
            for workflow_id in ids[start : start + _POLL_BATCH]:
                self._compare(workflow_id, found.get(workflow_id))
        wanted = {*self._interests, *self.claimed()}
        for workflow_id in self._revisions.keys() - wanted:
            del self._revisions[workflow_id]

    def _compare(self, workflow_id: bytes, stored: tuple[str, int] | None) -> None:
        if self.is_changing(workflow_id):
            return  # what is newer may be our own write before its answer; what others wrote, its condition will show
        here = self.known(workflow_id)
        known = self._revisions.get(workflow_id)
        if here is not None and (known is None or (here.run_id == known[0] and here.revision > known[1])):
            known = (here.run_id, here.revision)
        if stored is not None:
            if known is not None and stored[0] == known[0] and stored[1] <= known[1]:
                return
            self._revisions[workflow_id] = stored
        self._stale(workflow_id)

    def _hear(self, wakeup: WakeUp) -> None:
        if wakeup.topic == WORKFLOW:
            here = self.known(wakeup.key)
            known = self._revisions.get(wakeup.key)
            if (here is None or here.revision < wakeup.revision) and (known is None or known[1] < wakeup.revision):
                self._stale(wakeup.key)
                for feed in self.feeds:
                    feed.heard(wakeup.key)
        elif wakeup.topic == SERVER:
            self.on_server(wakeup.key)
        elif wakeup.topic == SESSION:
            self.on_session(wakeup.key.decode(), wakeup.revision)
        elif wakeup.topic == PERMITS:
            self.on_permits(wakeup.key.decode())
        elif wakeup.topic == FRAMES:
            self._wake_for_frames(wakeup.key)
        elif wakeup.topic == DEFINITIONS:
            self.on_definitions()
        elif wakeup.topic == LOST_TRACK:
            self.on_definitions()
            self._poll_now.set()
            for feed in self.feeds:
                feed.missed()
            for workflow_id in self._interests:
                self._wake_for_frames(workflow_id)

    def _stale(self, workflow_id: bytes) -> None:
        self.on_remote_change(workflow_id)
        for interest in self._interests.get(workflow_id, ()):
            interest.changed(None)

    def _wake_for_frames(self, workflow_id: bytes) -> None:
        for interest in self._interests.get(workflow_id, ()):
            if not interest.end_only:
                interest.frames = True
                interest.news.set()

    async def _publish_all(self) -> None:
        try:
            while self._unpublished:
                wakeups, self._unpublished = self._unpublished, []
                await self._coordination.publish(wakeups)
        except CoordinationUnavailable:
            self._unpublished.clear()
        finally:
            self._publishing = False
