"""Watch: a snapshot, then changes in their stored order and frames in order within their claim, without silent gap or repeat.

The consumer pulls, so a slow one costs nothing: what the rings no longer hold when it comes back is announced as a gap, then a snapshot.
"""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator

import msgspec
from msgspec import Struct

from perdure_server.engine.catalog import Catalog
from perdure_server.engine.commands import require_ref
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
from perdure_server.kernel.workflow import Event, StepState, Workflow
from perdure_server.ports.coordination import Coordination, Frame
from perdure_server.ports.errors import CoordinationUnavailable
from perdure_server.ports.store import Read, Workflows

KEEP_ALIVE = 15 * limits.SECOND
_FRAME_READ = 500
_VOIDS_FRAMES = frozenset({"FAILED", "LOST", "TIMED_OUT", "UNDELIVERED", "CONFIRMED", "GRACE_OVER"})
_OPEN = frozenset({int(StepState.RUNNING), int(StepState.CANCELLING)})


class Cursor(Struct, frozen=True, array_like=True):
    """What a resume token holds: the run, the last change, the place in the frame stream, and the last frame shown per step."""

    run_id: str
    event_seq: int
    frame_cursor: str
    shown: dict[str, tuple[int, int]]


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
        self._run_id = ""
        self._event_seq = 0
        self._frame_cursor = ""  # read up to here
        self._safe_cursor = ""  # shown up to here: what a token may say
        self._shown: dict[str, tuple[int, int]] = {}
        self._over: set[str] = set()  # steps whose last frame was shown
        self._frames: list[Frame] = []  # read and not shown yet

    async def run(self, ref: Ref, resume_token: str, follow: bool) -> AsyncIterator[list[WatchItem]]:
        """The batches. Raises Rejection, StoreUnavailable."""
        cursor = decode_cursor(resume_token) if resume_token else None
        workflow_id = ref.key.workflow_id
        interest = self._hub.join(workflow_id)
        try:
            workflow = await self._workflows.load(workflow_id, Read.LINEARIZABLE)
            if workflow is None:
                raise Rejection(Reason.WORKFLOW_NOT_FOUND, "There is no workflow with this key.")
            require_ref(workflow, ref)
            view = await self._view(workflow)
            items = self._open(view, cursor)
            while True:
                items += await self._news(view, interest)
                ended = view.workflow.is_ended and not self._frames
                if ended:
                    items.append(EndItem(view, self._token()))
                if items:
                    yield items
                if ended and not follow:
                    return
                view, items = await self._next(workflow_id, interest, view)
        finally:
            self._hub.leave(workflow_id, interest)

    def _open(self, view: View, cursor: Cursor | None) -> list[WatchItem]:
        workflow = view.workflow
        self._run_id = workflow.run_id
        if cursor is None or cursor.run_id != workflow.run_id:
            return self._snapshot(view)
        if cursor.event_seq > workflow.event_seq:
            raise Rejection(Reason.RESUME_TOKEN_INVALID, "This resume token is ahead of the workflow.")
        self._event_seq = cursor.event_seq
        self._frame_cursor = self._safe_cursor = cursor.frame_cursor
        self._shown = dict(cursor.shown)
        return []

    def _snapshot(self, view: View) -> list[WatchItem]:
        self._run_id = view.workflow.run_id
        self._event_seq = view.workflow.event_seq
        return [SnapshotItem(view, self._token())]

    async def _next(self, workflow_id: bytes, interest: Interest, view: View) -> tuple[View, list[WatchItem]]:
        try:
            async with asyncio.timeout(KEEP_ALIVE / 1000):
                await interest.news.wait()
        except TimeoutError:
            return view, [KeepAliveItem(self._token())]
        interest.news.clear()
        workflow = interest.workflow
        if workflow is None and not interest.frames_only:
            workflow = await self._workflows.load(workflow_id, Read.LINEARIZABLE)
            if workflow is None:
                raise Rejection(Reason.WORKFLOW_NOT_FOUND, "The workflow was deleted while it was watched.")
            interest.workflow = workflow
        interest.frames_only = True
        if workflow is None or (workflow.run_id == self._run_id and workflow.revision <= view.workflow.revision):
            return view, []
        fresh = await self._view(workflow)
        if workflow.run_id != self._run_id:
            self._frame_cursor, self._safe_cursor, self._shown, self._frames = "", "", {}, []
            return fresh, self._snapshot(fresh)
        return fresh, []

    async def _news(self, view: View, interest: Interest) -> list[WatchItem]:
        items: list[WatchItem] = []
        if self._include_frames and interest.frames:
            interest.frames = False
            await self._read_frames(items)
        workflow = view.workflow
        fresh = [event for event in workflow.events if event.seq > self._event_seq]
        if workflow.event_seq > self._event_seq and (not fresh or fresh[0].seq != self._event_seq + 1):
            self._show_frames(items, None)
            items.append(GapItem(True, False, "changes are no longer retained", self._token()))
            return items + self._snapshot(view)
        for event in fresh:
            if event.step and event.state not in _OPEN:
                self._show_frames(items, event)
            self._event_seq = event.seq
            items.append(ChangeItem(event, view, self._token()))
            self._after_event(items, event)
        self._show_frames(items, None)
        return items

    def _after_event(self, items: list[WatchItem], event: Event) -> None:
        shown = self._shown.get(event.step)
        if shown is None or not self._include_frames or shown[0] != event.claim_no:
            return
        if event.reason in _VOIDS_FRAMES:
            items.append(FramesResetItem(event.step, event.claim_no, self._token()))
        if event.state in (int(StepState.COMPLETED), int(StepState.FAILED), int(StepState.CANCELLED)):
            self._over.add(event.step)

    async def _read_frames(self, items: list[WatchItem]) -> None:
        try:
            while True:
                batch = await self._coordination.read_frames(self._run_id, self._frame_cursor, _FRAME_READ)
                self._frames += batch.frames
                self._frame_cursor = batch.cursor
                if len(batch.frames) < _FRAME_READ or len(self._frames) >= 4 * _FRAME_READ:
                    return
        except CoordinationUnavailable:
            items.append(GapItem(False, True, "frames cannot be read now", self._token()))

    def _show_frames(self, items: list[WatchItem], until: Event | None) -> None:
        """Frames of claims up to the one that `until` ends (None = all), then a gap if that claim had more."""
        kept: list[Frame] = []
        for frame in self._frames:
            if until is not None and (frame.step != until.step or frame.claim_no > until.claim_no):
                kept.append(frame)
                continue
            claim_no, seq = self._shown.get(frame.step, (0, 0))
            if frame.claim_no < claim_no or (frame.claim_no == claim_no and frame.seq <= seq):
                continue
            expected = seq + 1 if frame.claim_no == claim_no else 1
            if frame.seq != expected:
                items.append(GapItem(False, True, "frames are no longer retained", self._token()))
            self._shown[frame.step] = (frame.claim_no, frame.seq)
            items.append(FrameItem(frame, self._token()))
        self._frames = kept
        if not kept:
            self._safe_cursor = self._frame_cursor
            for step in self._over:
                self._shown.pop(step, None)
            self._over.clear()
        if until is not None and until.last_frame_seq and self._include_frames:
            claim_no, seq = self._shown.get(until.step, (0, 0))
            if claim_no < until.claim_no or (claim_no == until.claim_no and seq < until.last_frame_seq):
                self._shown[until.step] = (until.claim_no, until.last_frame_seq)
                items.append(GapItem(False, True, "frames are no longer retained", self._token()))

    def _token(self) -> str:
        return encode_cursor(Cursor(self._run_id, self._event_seq, self._safe_cursor, dict(self._shown)))

    async def _view(self, workflow: Workflow) -> View:
        key = workflow.key
        return View(workflow, await self._catalog.get(key.namespace, key.workflow_type, workflow.fingerprint))
