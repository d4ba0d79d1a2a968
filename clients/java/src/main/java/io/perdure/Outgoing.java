package io.perdure;

import io.perdure.v1.ClaimRequest;
import io.perdure.v1.Credit;
import io.perdure.v1.Drain;
import io.perdure.v1.HeldClaim;
import io.perdure.v1.Heartbeats;
import io.perdure.v1.Renew;
import io.perdure.v1.Result;
import io.perdure.v1.Results;
import io.perdure.v1.StreamHeartbeat;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * Everything unsaid and unanswered, gathered so that one message carries many results. Survives the stream: a new one says again what
 * was not answered. Lives on the session's thread.
 */
final class Outgoing {
    private final Map<String, Held> claims;
    private final Collection<Pool> pools;
    private final Map<String, Held> results = new LinkedHashMap<>();
    private final Map<String, Held> active = new LinkedHashMap<>();
    private final Deque<Sent> again = new ArrayDeque<>();
    private final TreeMap<Long, Held> sentResults = new TreeMap<>();
    private final TreeMap<Long, Sent> sentHeartbeats = new TreeMap<>();
    private long lastId;
    private boolean renewWanted;
    private Duration drainWanted;
    private boolean drained;

    /** A heartbeat without its answer; the reply may be null. */
    record Sent(Held held, StreamHeartbeat heartbeat, Consumer<PerdureException> reply) {}

    Outgoing(Map<String, Held> claims, Collection<Pool> pools) {
        this.claims = claims;
        this.pools = pools;
    }

    void wantRenew() {
        renewWanted = true;
    }

    void wantDrain(Duration grace) {
        drainWanted = grace;
    }

    void result(Held held) {
        results.put(held.token(), held);
    }

    void activity(Held held) {
        active.put(held.token(), held);
    }

    /** A heartbeat that the server could not store yet is sent once more. */
    void again(Sent sent) {
        again.add(sent);
    }

    Held answered(long resultId) {
        return sentResults.remove(resultId);
    }

    Sent heartbeatAnswered(long heartbeatId) {
        return sentHeartbeats.remove(heartbeatId);
    }

    /** The claim is lost: nothing more is said of it, and what waits for answers learns why. */
    void forget(Held held, PerdureException error) {
        results.remove(held.token());
        active.remove(held.token());
        List<Consumer<PerdureException>> replies = new ArrayList<>();
        held.saves.forEach(save -> replies.add(save.reply()));
        held.saves.clear();
        held.frames.clear();
        for (Collection<Sent> unanswered : List.of(sentHeartbeats.values(), again)) {
            for (Iterator<Sent> each = unanswered.iterator(); each.hasNext(); ) {
                Sent sent = each.next();
                if (sent.held() == held) {
                    each.remove();
                    replies.add(sent.reply());
                }
            }
        }
        replies.stream().filter(reply -> reply != null).forEach(reply -> reply.accept(error));
    }

    /** A new stream: what the old one did not answer is said again, in its order; credit starts from nothing. */
    void beginStream() {
        sentHeartbeats.descendingMap().values().forEach(again::addFirst);
        sentHeartbeats.clear();
        sentResults.values().forEach(this::result);
        sentResults.clear();
        pools.forEach(pool -> pool.offered = 0);
        claims.values().forEach(held -> held.namedIn = 0);
        renewWanted = true;
        if (drained) {
            drained = false;
            drainWanted = drainWanted == null ? Duration.ZERO : drainWanted;
        }
    }

    /** What must not wait for anything: the renewal, which the lease hangs on, and the drain. */
    Optional<ClaimRequest> nextUrgent(long renewId) {
        if (renewWanted) {
            renewWanted = false;
            return Optional.of(renew(renewId));
        }
        if (drainWanted != null) {
            Drain drain = Drain.newBuilder().setGrace(Times.message(drainWanted)).build();
            drainWanted = null;
            drained = true;
            return Optional.of(ClaimRequest.newBuilder().setDrain(drain).build());
        }
        return Optional.empty();
    }

    /** The next message; empty: there is nothing to say. */
    Optional<ClaimRequest> next(long connectionNo) {
        // Frames and checkpoints before results: a settled claim takes no more of them.
        Optional<ClaimRequest> message = heartbeats();
        if (message.isPresent()) {
            return message;
        }
        if (!results.isEmpty()) {
            return Optional.of(results(connectionNo));
        }
        return drained ? Optional.empty() : credit();
    }

    private ClaimRequest renew(long renewId) {
        // What has sent its result is known by that; its answer may be on the way, and the server may have forgotten it.
        Set<Held> sent = new HashSet<>(sentResults.values());
        Renew.Builder renew = Renew.newBuilder().setRenewId(renewId);
        long now = System.nanoTime();
        for (Held held : claims.values()) {
            if (held.isLost || sent.contains(held)) {
                continue;
            }
            HeldClaim.Builder entry = HeldClaim.newBuilder().setClaimToken(held.token());
            if (held.claim.hasSilenceTimeout()) {
                entry.setSinceAlive(Times.message(Duration.ofMillis(Math.max(0, now - held.aliveAt) / 1_000_000)));
            }
            renew.addHeld(entry);
            held.acknowledged = true;
            held.namedIn = held.namedIn == 0 ? renewId : held.namedIn;
        }
        return ClaimRequest.newBuilder().setRenew(renew).build();
    }

    private Optional<ClaimRequest> heartbeats() {
        Heartbeats.Builder all = Heartbeats.newBuilder();
        int size = 0;
        while (size <= Limits.STREAM_MESSAGE_BYTES) {
            Optional<Sent> next = nextHeartbeat();
            if (next.isEmpty()) {
                break;
            }
            Sent sent = next.get();
            lastId++;
            StreamHeartbeat heartbeat = sent.heartbeat().toBuilder().setHeartbeatId(lastId).build();
            sentHeartbeats.put(lastId, new Sent(sent.held(), heartbeat, sent.reply()));
            sent.held().acknowledged = true;
            all.addHeartbeats(heartbeat);
            size += heartbeat.getSerializedSize();
        }
        return size == 0 ? Optional.empty() : Optional.of(ClaimRequest.newBuilder().setHeartbeats(all).build());
    }

    private Optional<Sent> nextHeartbeat() {
        if (!again.isEmpty()) {
            return Optional.of(again.poll());
        }
        for (Iterator<Held> each = active.values().iterator(); each.hasNext(); ) {
            Optional<Sent> sent = heartbeat(each.next());
            if (sent.isPresent()) {
                return sent;
            }
            each.remove();
        }
        return Optional.empty();
    }

    /** The next frames, else the next checkpoint of one claim: at most 100 frames, about 128 KiB. */
    private static Optional<Sent> heartbeat(Held held) {
        StreamHeartbeat.Builder heartbeat = StreamHeartbeat.newBuilder().setClaimToken(held.token());
        if (!held.frames.isEmpty()) {
            int size = 0;
            while (!held.frames.isEmpty()
                    && heartbeat.getFramesCount() < Limits.FRAMES_PER_HEARTBEAT
                    && size < Limits.STREAM_RESULT_BYTES / 2) {
                size += held.frames.peek().getSerializedSize();
                heartbeat.addFrames(held.frames.poll());
            }
            return Optional.of(new Sent(held, heartbeat.build(), null));
        }
        if (held.saves.isEmpty()) {
            return Optional.empty();
        }
        Held.Save save = held.saves.poll();
        heartbeat.setCheckpoint(save.checkpoint()).setCheckpointNo(save.checkpointNo());
        return Optional.of(new Sent(held, heartbeat.build(), save.reply()));
    }

    private ClaimRequest results(long connectionNo) {
        Results.Builder all = Results.newBuilder();
        int size = 0;
        while (!results.isEmpty() && size <= Limits.STREAM_MESSAGE_BYTES) {
            Held held = results.remove(results.keySet().iterator().next());
            if (held.result != null) {
                stamp(held, connectionNo);
                all.addResults(held.result);
                size += held.result.getSerializedSize();
            }
        }
        return ClaimRequest.newBuilder().setResults(all).build();
    }

    private void stamp(Held held, long connectionNo) {
        lastId++;
        // Only a claim of this very stream is known to the pool whose credit its slot becomes.
        boolean wantNext = !drained && drainWanted == null && held.connectionNo == connectionNo && held.pool.missingCredit() > 0;
        if (wantNext) {
            held.pool.offered++;
        }
        held.connectionNo = -1; // said again, it offers nothing: its slot is credit already
        held.acknowledged = true;
        Result.Builder stamped = held.result.toBuilder().setResultId(lastId).setWantNext(wantNext);
        held.result = stamped.build();
        sentResults.put(lastId, held);
    }

    private Optional<ClaimRequest> credit() {
        for (Pool pool : pools) {
            int missing = pool.missingCredit();
            if (missing > 0) {
                pool.offered += missing;
                Credit credit = Credit.newBuilder().setPool(pool.plan.name()).setCount(missing).build();
                return Optional.of(ClaimRequest.newBuilder().setCredit(credit).build());
            }
        }
        return Optional.empty();
    }
}
