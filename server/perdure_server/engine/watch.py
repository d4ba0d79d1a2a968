"""Watch: a snapshot, then changes in their stored order and frames in order within their claim, without silent gap or repeat.

The consumer pulls, so a slow one costs nothing: what the rings no longer hold when it comes back is announced as a gap, then a snapshot.
"""

import base64
import binascii
from collections.abc import AsyncIterator, Iterator

import msgspec
from msgspec import Struct

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.clock import elapsed, happened
from perdure_server.engine.commands import require_ref
from perdure_server.engine.framebook import FrameBook, Hole, Shown
from perdure_server.engine.hub import Hub, Interest
from perdure_server.engine.values import (
    ChangeItem,
    EndItem,
    FrameItem,
    FramesResetItem,
    GapItem,
    KeepAliveItem,
    Ref,
    SnapshotItem,
    View,
    WatchItem,
)
from perdure_server.kernel import limits
from perdure_server.kernel.rejection import Reason, Rejection
from perdure_server.kernel.rounds import archived_id
from perdure_server.kernel.workflow import Event, StepState, Workflow, WorkflowKey, round_id
from perdure_server.ports.coordination import Coordination, Frame
from perdure_server.ports.errors import CoordinationUnavailable
from perdure_server.ports.store import Read, Workflows

KEEP_ALIVE = 15 * limits.SECOND
FRAME_RETRY = limits.SECOND // 4  # a read of frames that failed is tried again after this; past the patience every FRAME_RETRY_LATER
FRAME_RETRY_LATER = 2 * limits.SECOND
FRAME_PATIENCE = 5 * limits.SECOND  # for so long the end of a claim waits for frames that cannot be read
_NO_REPLAY, _REPLAY_OPEN, _REPLAY_ALL = 0, 1, 2  # what of the past comes beside a snapshot: frames of open steps, or of all
_FRAME_READ = 500
_FRAME_READS = 4
_VOIDS_FRAMES = frozenset({"FAILED", "LOST", "TIMED_OUT", "UNDELIVERED", "CONFIRMED", "GRACE_OVER"})
_OPEN = frozenset({int(StepState.RUNNING), int(StepState.CANCELLING)})
_NO_MORE_FRAMES = frozenset({int(StepState.COMPLETED), int(StepState.FAILED), int(StepState.CANCELLED)})


class Cursor(Struct, frozen=True, array_like=True):
    """What a resume token holds: the run, the last change, the place in the frame stream, the last frame shown per step.

    `replay`: frames from before the snapshot are still to come.
    """

    run_id: str
    event_seq: int
    frame_cursor: str
    shown: Shown
    replay: int = _NO_REPLAY


def encode_cursor(cursor: Cursor) -> str:
    """The opaque token."""
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(cursor)).decode()


def decode_cursor(token: str) -> Cursor:
    """Raises Rejection RESUME_TOKEN_INVALID."""
    try:
        return msgspec.msgpack.decode(base64.b64decode(token.encode(), altchars=b"-_", validate=True), type=Cursor)
    except (ValueError, binascii.Error, msgspec.DecodeError) as error:
        raise Rejection(Reason.RESUME_TOKEN_INVALID, "This resume token is not one that Watch gave out.") from error


class Watcher:
    """One Watch call."""

    def __init__(self, hub: Hub, workflows: Workflows, catalog: Catalog, coordination: Coordination, include_frames: bool) -> None:
        self._hub = hub
        self._workflows = workflows
        self._catalog = catalog
        self._coordination = coordination
        self._include_frames = include_frames
        self._follow = False
        self._place = b""  # the `_id` of the document that is watched
        self._interest = Interest(end_only=False)
        self._run_id = ""
        self._event_seq = 0
        self._book = FrameBook()
        self._unread_since: int | None = None  # frames cannot be read since then
        self._read_again_at = 0
        self._replay = _NO_REPLAY
        self._told_end_of = ("", 0)  # the run, and its fence, whose end was told; a replay raises the fence
        self._told_at = 0
        self._ahead_of = 0  # the revision that was found to be behind the frames

    async def run(self, ref: Ref, resume_token: str, follow: bool) -> AsyncIterator[list[WatchItem]]:
        """The batches. Raises Rejection, StoreUnavailable."""
        cursor = decode_cursor(resume_token) if resume_token else None
        self._told_at = elapsed()
        self._follow = follow
        self._go_to(ref.key.workflow_id)
        try:
            view = await self._view(await self._find(ref, cursor))
            items = self._open(view, cursor)
            while True:
                complete = await self._news(items, view, self._interest)
                ended = complete and view.workflow.is_ended
                if ended and self._told_end_of != (self._run_id, view.workflow.fence):
                    self._told_end_of = (self._run_id, view.workflow.fence)
                    items.append(EndItem(view, self._token()))
                if items:
                    self._told_at = elapsed()
                    yield items
                if ended and not follow:
                    return
                enters = ended and view.workflow.archived
                view, items = await (self._enter(ref.key) if enters else self._next(view))
        finally:
            self._hub.leave(self._place, self._interest)

    def _go_to(self, place: bytes) -> None:
        """From now on it is the document with this `_id` that counts."""
        if place == self._place:
            return
        if self._place:
            self._hub.leave(self._place, self._interest)
        self._place, self._interest = place, self._hub.join(place)

    async def _find(self, ref: Ref, cursor: Cursor | None) -> Workflow:
        """Where to begin: in the round that is named, or that the resume token is of, as long as there is something to tell of it."""
        current = await self._workflows.load(self._place, Read.LINEARIZABLE)
        place = self._place
        if ref.round is not None and (current is None or ref.round < current.round):
            place = round_id(ref.key.workflow_id, ref.round)
        elif cursor is not None and current is not None and cursor.run_id != current.run_id:
            old = await self._archived(current, cursor.run_id)
            place = old.workflow_id if old is not None else place
        found = current
        if place != self._place:
            self._go_to(place)
            found = await self._workflows.load(place, Read.LINEARIZABLE)
        if found is None or (found.inert and current is None):
            raise Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
        require_ref(found, ref)
        self._hub.saw(found)
        return found

    async def _archived(self, current: Workflow, run_id: str) -> Workflow | None:
        """The round that was watched and is archived by now, unless `follow` leaves it behind, open as it may be."""
        place = archived_id(current, run_id)
        found = await self._workflows.load(place, Read.LINEARIZABLE) if place is not None else None
        return found if found is not None and (found.is_ended or not self._follow) else None

    async def _leave_round(self, current: Workflow) -> tuple[View, list[WatchItem]]:
        """Another round has the key: what is left to tell of the one that was watched comes before."""
        old = await self._archived(current, self._run_id) if self._run_id != self._told_end_of[0] else None
        if old is not None:
            self._go_to(old.workflow_id)
            return await self._view(await self._workflows.load(self._place, Read.LINEARIZABLE) or old), []
        if not self._follow:
            raise _deleted()
        return await self._enter(current.key)

    async def _enter(self, key: WorkflowKey) -> tuple[View, list[WatchItem]]:
        """The round that has the key now, from its snapshot on."""
        self._go_to(key.workflow_id)
        current = await self._workflows.load(self._place, Read.LINEARIZABLE)
        if current is None:
            raise _deleted()
        self._hub.saw(current)
        items: list[WatchItem] = []
        self._reset(items, self._book.shown_claims())
        self._book = FrameBook()
        view = await self._view(current)
        return view, [*items, *self._snapshot(view, _REPLAY_ALL)]

    def _open(self, view: View, cursor: Cursor | None) -> list[WatchItem]:
        workflow = view.workflow
        self._run_id = workflow.run_id
        if cursor is None or cursor.run_id != workflow.run_id:
            return self._snapshot(view, _REPLAY_ALL)
        if cursor.event_seq > workflow.event_seq:
            raise Rejection(Reason.RESUME_TOKEN_INVALID, "This resume token is ahead of the workflow.")
        self._event_seq = cursor.event_seq
        self._book = FrameBook(cursor.frame_cursor, cursor.shown)
        self._replay = cursor.replay
        return []

    def _snapshot(self, view: View, replay: int) -> list[WatchItem]:
        self._run_id = view.workflow.run_id
        self._event_seq = view.workflow.event_seq
        self._replay = replay
        return [SnapshotItem(view, self._token())]

    async def _next(self, view: View) -> tuple[View, list[WatchItem]]:
        """Wait for news; the newest view, and what must be told before its changes."""
        alive_at = self._told_at + KEEP_ALIVE
        if not await happened(self._interest.news, max(0, self._retry_at(alive_at) - elapsed())):
            return view, [KeepAliveItem(self._token())] if alive_at <= elapsed() else []
        changed, workflow = self._interest.take()
        if changed and workflow is None:
            workflow = await self._workflows.load(self._place, Read.LINEARIZABLE)
            if workflow is None:
                raise _deleted()
            self._hub.saw(workflow)
        if workflow is None or (workflow.run_id == self._run_id and workflow.revision <= view.workflow.revision):
            return view, []
        if workflow.run_id != self._run_id:
            return await self._leave_round(workflow)
        return await self._view(workflow), []

    async def _news(self, items: list[WatchItem], view: View, interest: Interest) -> bool:
        """Add what is new. False = there is more to read."""
        complete = True
        if self._include_frames and interest.frames:
            complete = await self._read_frames(interest)
        workflow = view.workflow
        events = [event for event in workflow.events if event.seq > self._event_seq]
        if workflow.event_seq > self._event_seq and (not events or events[0].seq != self._event_seq + 1):
            items.append(GapItem(True, False, "changes are no longer retained", self._token()))
            self._reset(items, self._book.void_claims(workflow))
            items += self._snapshot(view, max(self._replay, _REPLAY_OPEN))
            events = []
        if self._frames_may_come(events):
            return False
        if self._replay:
            later = {(event.step, event.claim_no) for event in events}
            self._show(items, self._book.replay(workflow, self._replay == _REPLAY_ALL, later))
            self._replay = _NO_REPLAY
        for event in events:
            self._tell(items, event, view)
        self._show(items, self._book.current(workflow))
        if len(self._book):
            self._look_ahead(interest, view)
        return complete

    def _tell(self, items: list[WatchItem], event: Event, view: View) -> None:
        """One change: frames of a claim come before its end, and what makes them void before that."""
        void = event.reason in _VOIDS_FRAMES
        ends = bool(event.step) and event.state not in _OPEN
        if ends and self._include_frames:
            self._show(items, self._book.up_to_end(event.step, event.claim_no, None if void else event.last_frame_seq))
            if void:
                self._reset(items, [(event.step, event.claim_no)])
        self._event_seq = event.seq
        items.append(ChangeItem(event, view, self._token()))
        if ends and event.state in _NO_MORE_FRAMES:
            self._book.end(event.step)

    def _reset(self, items: list[WatchItem], claims: list[tuple[str, int]]) -> None:
        for step, claim_no in claims:
            if self._book.void(step, claim_no):
                items.append(FramesResetItem(step, claim_no, self._token()))

    def _show(self, items: list[WatchItem], shown: Iterator[Frame | Hole]) -> None:
        for frame in shown:
            if isinstance(frame, Hole):
                why = "no longer retained" if self._unread_since is None else "out of reach"
                items.append(GapItem(False, True, f"{why}: {frame}", self._token()))
            else:
                items.append(FrameItem(frame, self._token()))

    async def _read_frames(self, interest: Interest) -> bool:
        interest.frames = False
        try:
            for _ in range(_FRAME_READS):
                batch = await self._coordination.read_frames(self._run_id, self._book.read_to, _FRAME_READ)
                self._book.add(batch)
                self._unread_since = None
                if len(batch.frames) < _FRAME_READ:
                    return True
        except CoordinationUnavailable:
            # No gap yet: they may all be there. Read again, by `_retry_at` if no news come before.
            interest.frames = True
            self._unread_since = self._unread_since if self._unread_since is not None else elapsed()
            self._read_again_at = elapsed() + (FRAME_RETRY if self._is_patient() else FRAME_RETRY_LATER)
            return True
        interest.frames = True
        interest.news.set()
        return False

    def _retry_at(self, latest: int) -> int:
        return min(latest, self._read_again_at) if self._unread_since is not None else latest

    def _is_patient(self) -> bool:
        return self._unread_since is not None and elapsed() < self._unread_since + FRAME_PATIENCE

    def _frames_may_come(self, events: list[Event]) -> bool:
        """Whether what is to be told would make frames void or past that could not be read: for a while it waits for them."""
        return self._is_patient() and (bool(self._replay) or any(event.step and event.state not in _OPEN for event in events))

    def _look_ahead(self, interest: Interest, view: View) -> None:
        """Frames of a claim that is newer than the view: read again. One that the store does not know by then is nobody's."""
        if self._ahead_of == view.workflow.revision:
            self._book.keep_only(lambda _: False)
        else:
            self._ahead_of = view.workflow.revision
            interest.changed(None)

    def _token(self) -> str:
        return encode_cursor(Cursor(self._run_id, self._event_seq, self._book.safe, self._book.shown, self._replay))

    async def _view(self, workflow: Workflow) -> View:
        return View(workflow, await self._catalog.of(workflow))


def _deleted() -> Rejection:
    return Rejection(Reason.WORKFLOW_NOT_FOUND, "The workflow was deleted while it was watched.")
