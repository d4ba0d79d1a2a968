"""What is to be said to the server, gathered between two writes, so that one message carries many results."""

import time
from collections import deque
from collections.abc import Iterator

from perdure import limits
from perdure.errors import PerdureError
from perdure.v1 import worker_service_pb2
from perdure.worker.claims import ClaimTable, Held, Pool, Reply


class Sent:
    """A heartbeat without its answer."""

    __slots__ = ("heartbeat", "held", "reply")

    def __init__(self, held: Held, heartbeat: worker_service_pb2.StreamHeartbeat, reply: Reply | None) -> None:
        self.held = held
        self.heartbeat = heartbeat
        self.reply = reply


class Outgoing:
    """Everything unsaid and unanswered. Survives the stream: a new one says again what was not answered."""

    def __init__(self, claims: ClaimTable, pools: dict[str, Pool]) -> None:
        self._claims = claims
        self._pools = pools
        self._results: dict[str, Held] = {}
        self._active: dict[str, Held] = {}
        self._again: deque[Sent] = deque()
        self._paused: list[Sent] = []
        self._next_id = 0
        self.sent_results: dict[int, Held] = {}
        self.sent_heartbeats: dict[int, Sent] = {}
        self.renew_wanted = False
        self.drain_wanted: float | None = None
        self.drained = False

    def result(self, held: Held) -> None:
        """A result waits to be sent."""
        self._results[held.token] = held

    def activity(self, held: Held) -> None:
        """Frames or checkpoints of a claim wait to be sent."""
        self._active[held.token] = held

    def forget(self, held: Held, error: PerdureError) -> None:
        """The claim is lost: nothing more is said of it, and what waits for answers learns why."""
        self._results.pop(held.token, None)
        self._active.pop(held.token, None)
        replies = [save.reply for save in held.saves]
        held.saves.clear()
        held.frames.clear()
        for number, sent in list(self.sent_heartbeats.items()):
            if sent.held is held:
                del self.sent_heartbeats[number]
                replies += [sent.reply] if sent.reply is not None else []
        replies += [sent.reply for sent in (*self._again, *self._paused) if sent.held is held and sent.reply is not None]
        self._again = deque(sent for sent in self._again if sent.held is not held)
        self._paused = [sent for sent in self._paused if sent.held is not held]
        for reply in replies:
            reply(error)

    def begin_stream(self) -> None:
        """A new stream: what the old one did not answer is said again, in its order; credit starts from nothing."""
        self._again.extendleft(self.sent_heartbeats[number] for number in sorted(self.sent_heartbeats, reverse=True))
        self.sent_heartbeats.clear()
        for number in sorted(self.sent_results):
            self.result(self.sent_results[number])
        self.sent_results.clear()
        for pool in self._pools.values():
            pool.offered = 0
        for held in self._claims:
            held.named_in = 0
        self.renew_wanted = True
        if self.drained:
            self.drained, self.drain_wanted = False, self.drain_wanted or 0.0

    def pause(self, sent: Sent) -> None:
        """The server could not store a heartbeat yet: it waits for `again`."""
        self._paused.append(sent)

    def again(self, sent: Sent) -> None:
        """A paused heartbeat is sent once more, unless its claim was lost meanwhile."""
        if sent in self._paused:
            self._paused.remove(sent)
            self._again.append(sent)

    def has_news(self) -> bool:
        """Whether there is anything to say."""
        return bool(
            self._results
            or self._active
            or self._again
            or self.renew_wanted
            or self.drain_wanted is not None
            or (not self.drained and any(pool.missing_credit for pool in self._pools.values()))
        )

    def messages(self, connection_no: int, renew_id: int) -> Iterator[worker_service_pb2.ClaimRequest]:
        """All that there is to say now. A renewal first: it is what the lease hangs on."""
        if self.renew_wanted:
            self.renew_wanted = False
            yield self._renew(renew_id)
        if self.drain_wanted is not None:
            yield self._drain(self.drain_wanted)
        # Frames and checkpoints before results: a settled claim takes no more of them.
        yield from self._heartbeats()
        yield from self._settle(connection_no)
        # A slot whose result came in meanwhile is offered with that result, in the next round.
        if not self.drained and not self._results:
            yield from self._credit()

    def _renew(self, renew_id: int) -> worker_service_pb2.ClaimRequest:
        message = worker_service_pb2.ClaimRequest()
        message.renew.renew_id = renew_id
        now = time.monotonic()
        # What has sent its result is known by that; its answer may be on the way, and the server may have forgotten it.
        sent = {held.token for held in self.sent_results.values()}
        for held in self._claims.current():
            if held.token in sent:
                continue
            entry = message.renew.held.add(claim_token=held.token)
            held.acknowledged = True
            held.named_in = held.named_in or renew_id
            if held.claim.HasField("silence_timeout"):
                entry.since_alive.FromMilliseconds(int((now - held.alive_at) * 1000))
        return message

    def _drain(self, grace: float) -> worker_service_pb2.ClaimRequest:
        self.drain_wanted = None
        self.drained = True
        message = worker_service_pb2.ClaimRequest()
        message.drain.grace.FromMilliseconds(int(grace * 1000))
        return message

    def _heartbeats(self) -> Iterator[worker_service_pb2.ClaimRequest]:
        message = worker_service_pb2.ClaimRequest()
        size = 0
        while (sent := self._next_heartbeat()) is not None:
            self._next_id += 1
            sent.heartbeat.heartbeat_id = self._next_id
            self.sent_heartbeats[self._next_id] = sent
            sent.held.acknowledged = True
            message.heartbeats.heartbeats.append(sent.heartbeat)
            size += sent.heartbeat.ByteSize()
            if size > limits.STREAM_MESSAGE_BYTES:
                yield message
                message, size = worker_service_pb2.ClaimRequest(), 0
        if size:
            yield message

    def _next_heartbeat(self) -> Sent | None:
        if self._again:
            return self._again.popleft()
        while self._active:
            held = next(iter(self._active.values()))
            sent = _heartbeat_of(held)
            if sent is not None:
                return sent
            del self._active[held.token]
        return None

    def _settle(self, connection_no: int) -> Iterator[worker_service_pb2.ClaimRequest]:
        message = worker_service_pb2.ClaimRequest()
        size = 0
        # One by one: should a write fail in between, what was not taken yet waits for the next stream.
        while self._results:
            held = self._results.pop(next(iter(self._results)))
            if held.result is None:
                continue
            self._stamp(held, held.result, connection_no)
            message.results.results.append(held.result)
            size += held.result.ByteSize()
            if size > limits.STREAM_MESSAGE_BYTES:
                yield message
                message, size = worker_service_pb2.ClaimRequest(), 0
        if size:
            yield message

    def _stamp(self, held: Held, result: worker_service_pb2.Result, connection_no: int) -> None:
        self._next_id += 1
        result.result_id = self._next_id
        # Only a claim of this very stream is known to the pool whose credit its slot becomes.
        result.want_next = not self.drained and held.connection_no == connection_no and held.pool.missing_credit > 0
        if result.want_next:
            held.pool.offered += 1
        held.connection_no = -1  # said again, it offers nothing: its slot is credit already
        held.acknowledged = True
        self.sent_results[self._next_id] = held

    def _credit(self) -> Iterator[worker_service_pb2.ClaimRequest]:
        for pool in self._pools.values():
            missing = pool.missing_credit
            if missing:
                pool.offered += missing
                yield worker_service_pb2.ClaimRequest(credit=worker_service_pb2.Credit(pool=pool.name, count=missing))


def _heartbeat_of(held: Held) -> Sent | None:
    """The next frames, else the next checkpoint of one claim: at most 100 frames, about 128 KiB."""
    if held.frames:
        heartbeat = worker_service_pb2.StreamHeartbeat(claim_token=held.token)
        size = 0
        while held.frames and len(heartbeat.frames) < limits.FRAMES_PER_HEARTBEAT and size < limits.STREAM_RESULT_BYTES // 2:
            frame = held.frames.popleft()
            size += frame.ByteSize()
            heartbeat.frames.append(frame)
        return Sent(held, heartbeat, None)
    if held.saves:
        save = held.saves.popleft()
        heartbeat = worker_service_pb2.StreamHeartbeat(claim_token=held.token, checkpoint=save.checkpoint, checkpoint_no=save.checkpoint_no)
        return Sent(held, heartbeat, save.reply)
    return None
