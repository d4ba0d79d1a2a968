"""The sweep: always on, on every server. It asks the store what is due; Redis timers only make it quicker."""

import asyncio
import hashlib
from collections.abc import Sequence

from perdure_server.engine.advance import Advance
from perdure_server.engine.clock import happened
from perdure_server.engine.hub import SERVER, Hub
from perdure_server.engine.judge import Judge
from perdure_server.engine.mailbox import Mailboxes
from perdure_server.engine.parts import Parts
from perdure_server.kernel import limits
from perdure_server.ports.coordination import WakeUp
from perdure_server.ports.errors import CoordinationUnavailable, StoreUnavailable
from perdure_server.ports.store import Due

_WINDOW = 500
_WINDOWS = 20  # in a row, before the other duties of this loop get their turn
_AHEAD = 1_500  # how far the sweep looks: to its next look, which may come late
_LEFT_TO_TIMERS = 1_000  # what is due for longer is not left to the timers of coordination
_WIDE = 5_000  # where more falls due soon than a window shows
_PASS = 64  # timers
_PASSES = 3  # under way at once
_TOGETHER = 20  # ms after which the next pass begins beside another
_OTHERS_AFTER = 3 * limits.SECOND
_TIMER_POLL = 1_000  # for timers that other servers have set, if these do not see to them
_TIMER_POLL_ALONE = 5_000  # while none was heard of, and so none sets any
_TELL_ALONE = 2_000  # how often a server says that it lives while nobody else does; it answers at once who does
_TIMER_HORIZON = 5 * limits.MINUTE
_TIMERS_WAITING = 100_000


class Sweep:
    """Due workflows and timers."""

    def __init__(self, parts: Parts, mailboxes: Mailboxes, judge: Judge, hub: Hub) -> None:
        self.advancing = Advance(parts, mailboxes, judge)
        self.advance = self.advancing.advance
        self.duties = self.advancing.duties
        self._workflows = parts.store.workflows
        self._coordination = parts.coordination
        self._hub = hub
        self._supervisor = parts.supervisor
        self._clock = parts.clock
        self._settings = parts.settings
        self._servers: dict[bytes, int] = {}  # when each was heard of last
        self._me = parts.settings.server_id.encode()
        self._unset: dict[bytes, int] = {}
        self._setting = False
        self._next_timer_here = asyncio.Event()
        self._firing = 0
        self._fired = asyncio.Event()
        self._failed: StoreUnavailable | None = None
        self._begun = parts.clock.unshifted()
        self._alone = False
        self._told = 0
        hub.on_server = self._heard_server
        hub.is_alone = self._is_alone
        self.found = 0

    async def due_step(self) -> None:
        """What is due in the store: this server's share at once, the others' after 3 s."""
        await self._clock.sleep(self._clock.together(self._settings.sweep_interval))
        now = self._clock.unshifted()
        self._alone = not self._others(now) and now - self._begun > _OTHERS_AFTER
        if not self._alone or now - self._told >= _TELL_ALONE - self._settings.sweep_interval // 2:
            self.tell_others()
        window = _WINDOW
        for _ in range(_WINDOWS):
            now = self._clock.now()
            rows = await self._workflows.due(now + _AHEAD, window)
            ids = await self._due_here(rows, now)
            self.found += len(ids)
            moved = await self.advance(ids)
            if len(rows) < window or (ids and not moved):
                return  # the window shows all there is, or what cannot move now
            if not ids and window == _WIDE:
                return
            window = _WINDOW if ids else _WIDE

    async def _due_here(self, rows: Sequence[Due], now: int) -> list[bytes]:
        """What this server does itself. What is due soon, or since a moment, goes by the timers, which are exact and in order."""
        mine = {
            row.workflow_id: row.wake_time
            for row in rows
            if not self.advancing.is_in_hand(row.workflow_id) and self.takes(row.workflow_id, row.wake_time, now)
        }
        soon = {workflow_id: due for workflow_id, due in mine.items() if due > now - _LEFT_TO_TIMERS}
        if soon:
            try:
                await self._coordination.set_timers(soon)
                self._next_timer_here.set()
                return [workflow_id for workflow_id in mine if workflow_id not in soon]
            except CoordinationUnavailable:
                pass
        return [workflow_id for workflow_id, due in mine.items() if due <= now]

    def tell_others(self) -> None:
        """This server lives, and takes its share."""
        self._told = self._clock.unshifted()
        self._hub.publish(WakeUp(SERVER, self._me))

    async def timers_step(self) -> None:
        """What is due by the timers of coordination; each goes to one server."""
        if self._failed is not None:
            error, self._failed = self._failed, None
            raise error
        self._next_timer_here.clear()
        following = await self._coordination.next_timer()
        longest = _TIMER_POLL_ALONE if self._alone else _TIMER_POLL
        wait = longest if following is None else min(longest, following - self._clock.now())
        if wait > 0 and await happened(self._next_timer_here, wait if following is not None else self._clock.together(wait)):
            return  # perhaps an earlier one
        if following is None or following > self._clock.now():
            return
        if self._firing:  # what falls due meanwhile goes together
            self._fired.clear()
            await happened(self._fired, _TOGETHER if self._firing < _PASSES else _TIMER_POLL)
        if self._firing < _PASSES:
            due = await self._coordination.due_timers(self._clock.now(), _PASS)
            self._firing += 1
            self._supervisor.run(self._fire(due), "timers")

    async def _fire(self, workflow_ids: Sequence[bytes]) -> None:
        # Beside the loop, so that the store writes what is due while what is due next is made ready.
        try:
            await self.advance([workflow_id for workflow_id in workflow_ids if not self.advancing.is_in_hand(workflow_id)])
        except StoreUnavailable as error:
            self._failed = error  # the loop rests; these are left to the sweep
        finally:
            self._firing -= 1
            self._fired.set()

    def set_timer(self, workflow_id: bytes, due: int) -> None:
        """A step falls due soon; far ones are left to the sweep, and so are more than coordination takes in."""
        if due - self._clock.now() > _TIMER_HORIZON or len(self._unset) >= _TIMERS_WAITING:
            return
        self._unset[workflow_id] = min(due, self._unset.get(workflow_id, due))
        if not self._setting:
            self._setting = True
            self._supervisor.run(self._set_all(), "set timers")

    async def _set_all(self) -> None:
        try:
            while self._unset:
                timers, self._unset = self._unset, {}
                await self._coordination.set_timers(timers)
                self._next_timer_here.set()
        except CoordinationUnavailable:
            self._unset.clear()
        finally:
            self._setting = False

    def _heard_server(self, server: bytes) -> None:
        self._servers[server] = self._clock.unshifted()
        if server != self._me and self._alone:
            self._alone = False
            self._next_timer_here.set()  # it may set some
            self.tell_others()

    def _others(self, now: int) -> list[bytes]:
        for server in [server for server, heard in self._servers.items() if now - heard > _OTHERS_AFTER]:
            del self._servers[server]
        return [server for server in self._servers if server != self._me]

    def _is_alone(self) -> bool:
        # Asked at every change, so counted once in a pass and when somebody is heard.
        return self._alone

    def takes(self, identity: bytes, due: int, now: int) -> bool:
        """Whether this server looks after a thing that is due: its own share at once, anybody's after 3 s."""
        return self.is_mine(identity, now) or now - due >= _OTHERS_AFTER

    def is_mine(self, workflow_id: bytes, now: int) -> bool:
        """Whether this one, or whatever else is named so, falls to this server's share now."""
        others = self._others(self._clock.unshifted_at(now))
        if not others:
            return True
        return max([self._me, *others], key=lambda server: hashlib.blake2b(server + workflow_id, digest_size=8).digest()) == self._me
