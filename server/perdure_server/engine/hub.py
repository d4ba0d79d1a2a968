"""Who wants to know that a workflow changed: watchers, waiting callers, and streams that hold its claims."""

import asyncio
from collections.abc import Callable, Iterable

from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.kernel.workflow import Workflow
from perdure_server.ports.coordination import WakeUp
from perdure_server.ports.errors import CoordinationUnavailable

WORKFLOW = "w"
FRAMES = "f"
DEFINITIONS = "d"
SERVER = "s"
LOST_TRACK = "*"
_POLL_BATCH = 1_000


class Interest:
    """One party's interest in one workflow: `news` is set when it may have changed; `workflow` is its newest state, if made here."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.workflow: Workflow | None = None
        self.frames = True  # frames may have come
        self.frames_only = True  # nothing else has


class Hub:
    """One subscription per server, however many watchers."""

    def __init__(self, parts: Parts) -> None:
        self._coordination = parts.coordination
        self._workflows = parts.store.workflows
        self._supervisor = parts.supervisor
        self._clock = parts.clock
        self._interests: dict[bytes, set[Interest]] = {}
        self._revisions: dict[bytes, tuple[str, int]] = {}
        self._unpublished: list[WakeUp] = []
        self._publishing = False
        self.on_remote_change: Callable[[bytes], None] = lambda _: None
        self.on_definitions: Callable[[], None] = lambda: None
        self.on_server: Callable[[bytes], None] = lambda _: None
        self.claimed: Callable[[], Iterable[bytes]] = tuple  # workflows with claims of this server's streams
        self.known: Callable[[bytes], Workflow | None] = lambda _: None

    def join(self, workflow_id: bytes) -> Interest:
        """Begin to hear of a workflow."""
        interest = Interest()
        self._interests.setdefault(workflow_id, set()).add(interest)
        return interest

    def leave(self, workflow_id: bytes, interest: Interest) -> None:
        """No longer."""
        interests = self._interests.get(workflow_id)
        if interests is not None:
            interests.discard(interest)
            if not interests:
                del self._interests[workflow_id]
                self._revisions.pop(workflow_id, None)

    @property
    def watching(self) -> int:
        """How many interests there are."""
        return sum(len(interests) for interests in self._interests.values())

    def changed(self, workflow: Workflow) -> None:
        """This server stored a change: tell those here at once, the other servers by a hint."""
        workflow_id = workflow.workflow_id
        interests = self._interests.get(workflow_id)
        if interests:
            self._revisions[workflow_id] = (workflow.run_id, workflow.revision)
            for interest in interests:
                interest.workflow = workflow
                interest.frames_only = False
                interest.news.set()
        self.publish(WakeUp(WORKFLOW, workflow_id, workflow.revision))

    def frames_came(self, workflow_id: bytes) -> None:
        """Frames were appended here."""
        self._wake(workflow_id, frames=True)
        self.publish(WakeUp(FRAMES, workflow_id))

    def publish(self, wakeup: WakeUp) -> None:
        """Tell the other servers, soon and in batches."""
        self._unpublished.append(wakeup)
        if not self._publishing:
            self._publishing = True
            self._supervisor.run(self._publish_all(), "publish")

    async def listen_step(self) -> None:
        """Hear the other servers; returns when the subscription ends."""
        async for wakeup in self._coordination.subscribe():
            self._hear(wakeup)

    async def poll_step(self) -> None:
        """Compare the revisions of all watched workflows, so that a lost last message costs time only."""
        await self._clock.sleep(limits.REVISION_POLL_INTERVAL)
        ids = list({*self._interests, *self.claimed()})
        for start in range(0, len(ids), _POLL_BATCH):
            found = await self._workflows.revisions(ids[start : start + _POLL_BATCH])
            for workflow_id in ids[start : start + _POLL_BATCH]:
                self._compare(workflow_id, found.get(workflow_id))

    def _compare(self, workflow_id: bytes, stored: tuple[str, int] | None) -> None:
        here = self.known(workflow_id)
        seen = self._revisions.get(workflow_id) or ((here.run_id, here.revision) if here is not None else None)
        if stored is not None and seen is not None and stored[0] == seen[0] and stored[1] <= seen[1]:
            return
        if stored is not None and workflow_id in self._interests:
            self._revisions[workflow_id] = stored
        self._stale(workflow_id)

    def _hear(self, wakeup: WakeUp) -> None:
        if wakeup.topic == WORKFLOW:
            here = self.known(wakeup.key)
            if here is None or here.revision < wakeup.revision:
                known = self._revisions.get(wakeup.key)
                if known is None or known[1] < wakeup.revision:
                    self._stale(wakeup.key)
        elif wakeup.topic == SERVER:
            self.on_server(wakeup.key)
        elif wakeup.topic == FRAMES:
            self._wake(wakeup.key, frames=True)
        elif wakeup.topic == DEFINITIONS:
            self.on_definitions()
        elif wakeup.topic == LOST_TRACK:
            self.on_definitions()
            for workflow_id in list(self._interests):
                self._stale(workflow_id)

    def _stale(self, workflow_id: bytes) -> None:
        self.on_remote_change(workflow_id)
        self._wake(workflow_id, frames=False)

    def _wake(self, workflow_id: bytes, frames: bool) -> None:
        for interest in self._interests.get(workflow_id, ()):
            if not frames:
                interest.workflow = None
                interest.frames_only = False
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
