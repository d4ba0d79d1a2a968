package io.perdure;

import io.perdure.Held.Phase;
import io.perdure.v1.Claim;
import io.perdure.v1.ClaimLossCause;
import io.perdure.v1.Frame;
import io.perdure.v1.FrameUpload;
import io.perdure.v1.HeartbeatAnswer;
import io.perdure.v1.Payload;
import io.perdure.v1.PoolStatus;
import io.perdure.v1.Result;
import io.perdure.v1.Settled;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * What becomes of each claim: the rules between what the server says and what the activities do. No input or output of its own; all
 * methods run on the session's thread.
 */
final class Ledger {
    private static final Logger LOG = System.getLogger("io.perdure.worker");
    private static final int REFUSALS_MAX = 5;
    private static final Duration REFUSED_PAUSE = Limits.RETRY_MAX_INTERVAL.dividedBy(4);

    private final Map<String, Held> claims = new LinkedHashMap<>();
    private final Map<String, Pool> pools = new LinkedHashMap<>();
    private final Outgoing outgoing = new Outgoing(claims, pools.values());
    private final Services services;
    private final Codec codec;
    private boolean draining;
    private boolean leaseIsOver;
    private boolean acknowledging;

    /** What the session and the runner do for the ledger. */
    interface Services {
        /** There is something to say to the server, or nothing is left to be said. */
        void wake();

        void later(Duration delay, Runnable call);

        /** Settles a claim by a unary call. */
        void sendLargeResult(Held held);

        /** Stores a checkpoint by a unary call. */
        void sendLargeCheckpoint(Held held, Held.Save save);

        void begin(Held held);

        /** Asks an activity to stop; its result counts. */
        void cancel(Held held, String reason);

        /** Stops an activity whose result does not count any more. */
        void lose(Held held, String cause);

        /** A pool, or a step of it, is not served for now. */
        void notServed(NotServed what);
    }

    Ledger(WorkerPlan plan, Services services, Codec codec) {
        plan.pools().forEach(pool -> pools.put(pool.name(), new Pool(pool)));
        this.services = services;
        this.codec = codec;
    }

    Outgoing outgoing() {
        return outgoing;
    }

    boolean isEmpty() {
        return claims.isEmpty();
    }

    /** Claims that are still this worker's, as far as it knows. */
    List<Held> current() {
        return claims.values().stream().filter(held -> !held.isLost).toList();
    }

    // ---- from the server

    /** Claims that the current stream granted. */
    void take(List<Claim> granted, long connectionNo) {
        for (Claim claim : granted) {
            Pool pool = pools.get(claim.getPool());
            if (pool == null) {
                LOG.log(Level.ERROR, "no pool is called {0}: a claim of {1} is not taken", claim.getPool(), claim.getStep());
                continue;
            }
            if (claims.containsKey(claim.getClaimToken())) {
                continue;
            }
            pool.offered = Math.max(0, pool.offered - 1);
            Held held = new Held(claim, pool, connectionNo);
            claims.put(held.token(), held);
            if (isWanted(held)) {
                place(held);
            } else {
                settleUnbegun(held, Outcomes.released());
            }
        }
        if (!granted.isEmpty()) {
            acknowledgeLater();
        }
        services.wake();
    }

    /** Claims that still run and were not named yet are acknowledged by a renew, however many, once. */
    private void acknowledge() {
        acknowledging = false;
        // The younger ones are named too, but do not ask for it: most of them will have a result before their time comes.
        long oldest = current().stream().filter(held -> !held.acknowledged)
                .mapToLong(held -> System.nanoTime() - held.receivedAt).max().orElse(-1);
        if (oldest >= Limits.ACKNOWLEDGE_DELAY.toNanos() / 2) {
            outgoing.wantRenew();
            services.wake();
        } else if (oldest >= 0) {
            acknowledgeLater();
        }
    }

    private void acknowledgeLater() {
        if (!acknowledging) {
            acknowledging = true;
            services.later(Limits.ACKNOWLEDGE_DELAY, this::acknowledge);
        }
    }

    /** An activity should stop. */
    void cancel(String token, String reason) {
        Held held = claims.get(token);
        if (held == null || !held.cancelReason.isEmpty() || held.phase == Phase.SETTLING) {
            return;
        }
        held.cancelReason = reason.isEmpty() ? "WORKFLOW_CANCELLED" : reason;
        if (held.phase == Phase.RUNNING) {
            services.cancel(held, held.cancelReason);
        } else {
            settleUnbegun(held, Outcomes.cancelled());
        }
    }

    /** A claim is not this worker's any more. What has been sent of it is still answered, and has offered its slot. */
    void lose(String token, String cause) {
        Held held = claims.get(token);
        if (held == null) {
            return;
        }
        if (held.phase != Phase.SETTLING && !held.isLost) {
            drop(held, cause);
        }
    }

    /** The session is dead: all that still runs is lost; results that are on the way may still count. */
    void loseAll(String cause) {
        List.copyOf(claims.keySet()).forEach(token -> lose(token, cause));
    }

    /** The own lease goes on. */
    void leaseGoesOn() {
        leaseIsOver = false;
    }

    /** The own lease has ended: activities that hold permits stop; the others go on until they are told otherwise. */
    void leaseIsOver() {
        leaseIsOver = true;
        for (Held held : List.copyOf(claims.values())) {
            if (held.claim.getStopAtLeaseEnd() && held.phase != Phase.SETTLING) {
                LOG.log(Level.WARNING, "the lease ended without a renewal: {0} stops", held);
                lose(held.token(), "EXPIRED");
            }
        }
    }

    /** A renewal is stored: what waited for it begins. */
    void renewed(long renewId) {
        for (Held held : List.copyOf(claims.values())) {
            if (held.mustBeRenewed && held.namedIn > 0 && held.namedIn <= renewId) {
                held.mustBeRenewed = false;
                if (held.phase == Phase.HELD_BACK && held.hasSlot && !held.isLost) {
                    begin(held);
                }
            }
        }
    }

    /** The answer to a result on the stream. */
    void settled(Settled answer, boolean stale, long connectionNo) {
        Held held = outgoing.answered(answer.getResultId());
        if (held != null) {
            conclude(held, Statuses.ofStatus(answer.getStatus()).orElse(null));
        }
        take(stale ? List.of() : answer.getNextClaimsList(), connectionNo);
    }

    /** A result is answered: done (null), to be said again, or never to be taken. */
    void conclude(Held held, PerdureException error) {
        if (!claims.containsKey(held.token())) {
            return;
        }
        if (error == null) {
            claims.remove(held.token());
        } else if (error instanceof ClaimLostException lost) {
            LOG.log(Level.INFO, "the result of {0} came too late: {1}", held, lost.lossCause());
            drop(held, lost.lossCause());
        } else if (isPassing(error) && held.refusals < REFUSALS_MAX) {
            held.refusals += error instanceof ServerFaultException ? 1 : 0;
            services.later(error.retryAfter().orElse(REFUSED_PAUSE), () -> sendResult(held));
        } else if (held.refusals > 0 || error.reason().equals(ErrorReason.CLAIM_ALREADY_SETTLED)) {
            LOG.log(Level.ERROR, "the result of {0} is not taken, and is dropped: {1}", held, error.getMessage());
            drop(held, "UNKNOWN");
        } else {
            LOG.log(Level.ERROR, "the result of {0} is not taken; the attempt fails instead: {1}", held, error.getMessage());
            held.refusals = 1;
            held.result = Outcomes.addressed(Outcomes.refused(error), held, codec);
            sendResult(held);
        }
        services.wake();
    }

    /** A checkpoint is stored, or not. */
    void heartbeatAnswered(HeartbeatAnswer answer) {
        Outgoing.Sent sent = outgoing.heartbeatAnswered(answer.getHeartbeatId());
        PerdureException error = Statuses.ofStatus(answer.getStatus()).orElse(null);
        if (sent != null) {
            if (error instanceof UnavailableException || error instanceof OverloadedException) {
                services.later(error.retryAfter().orElse(REFUSED_PAUSE), () -> {
                    if (!sent.held().isLost) {
                        outgoing.again(sent);
                        services.wake();
                    } else if (sent.reply() != null) {
                        sent.reply().accept(Statuses.claimLost("UNKNOWN"));
                    }
                });
                return;
            }
            sent.held().framesOpen -= sent.heartbeat().getFramesCount();
            if (sent.reply() != null) {
                sent.reply().accept(error);
            }
        }
        String token = sent != null ? sent.held().token() : answer.getClaimToken();
        if (error instanceof ClaimLostException lost) {
            lose(token, lost.lossCause());
        } else if (error != null) {
            LOG.log(Level.WARNING, "a checkpoint or frame was not taken: {0}", error.getMessage());
        }
        if (answer.getCancelRequested()) {
            cancel(token, "");
        }
    }

    /** What the server makes of the pools: the contracts that claims must have. A mismatch concerns its pool alone. */
    void accept(List<PoolStatus> statuses) {
        for (PoolStatus status : statuses) {
            Pool pool = pools.get(status.getPool());
            if (pool == null) {
                continue;
            }
            pool.contracts.clear();
            warn(pool, "", status.getStatus());
            for (PoolStatus.StepStatus step : status.getStepsList()) {
                pool.contracts.put(step.getStep(), step.getStepContract());
                warn(pool, step.getStep(), step.getStatus());
            }
        }
    }

    // ---- from the activities

    /** An activity has ended. Null: nothing is to be reported. */
    void finished(Held held, Result result) {
        if (held.phase == Phase.SETTLING) {
            return;
        }
        held.phase = Phase.SETTLING;
        freeSlot(held);
        if (held.isLost || result == null) {
            claims.remove(held.token());
            services.wake();
            return;
        }
        held.result = Outcomes.addressed(result, held, codec);
        sendResult(held);
    }

    void save(Held held, Payload checkpoint, Consumer<PerdureException> reply) {
        if (held.isLost || held.phase == Phase.SETTLING) {
            reply.accept(Statuses.claimLost("UNKNOWN"));
            return;
        }
        held.aliveAt = System.nanoTime();
        held.checkpointNo++;
        Held.Save save = new Held.Save(checkpoint, held.checkpointNo, reply);
        if (checkpoint.getSerializedSize() > Limits.STREAM_RESULT_BYTES) {
            services.sendLargeCheckpoint(held, save);
            return;
        }
        held.saves.add(save);
        outgoing.activity(held);
        services.wake();
    }

    void frame(Held held, Frame.Kind kind, Payload payload) {
        held.aliveAt = System.nanoTime();
        if (held.isLost || held.phase == Phase.SETTLING || held.framesOpen >= Limits.FRAME_BACKLOG) {
            return; // not numbered either, so that watchers see no hole
        }
        held.framesOpen++;
        held.lastFrameSeq++;
        held.frames.add(FrameUpload.newBuilder().setSeq(held.lastFrameSeq).setKind(kind).setPayload(payload).build());
        outgoing.activity(held);
        services.wake();
    }

    // ---- from the worker

    /** No more claims; those that have not begun are given back. */
    void drain(Duration grace) {
        draining = true;
        outgoing.wantDrain(grace);
        for (Held held : current()) {
            if (held.phase == Phase.HELD_BACK) {
                settleUnbegun(held, Outcomes.released());
            }
        }
        services.wake();
    }

    /** The session ends: nobody waits any longer for an answer that cannot come. */
    void failSaves(PerdureException error) {
        List.copyOf(claims.values()).forEach(held -> outgoing.forget(held, error));
    }

    static String causeName(ClaimLossCause cause) {
        String name = Enums.name(cause, "CLAIM_LOSS_CAUSE_");
        return name.isEmpty() ? "UNKNOWN" : name;
    }

    // ---- inner rules

    /** The contract decides: it is what the code was built for, and a newer definition may have it as well. */
    private boolean isWanted(Held held) {
        if (draining) {
            return false;
        }
        String contract = held.pool.contracts.get(held.claim.getStep());
        if (contract == null || (!contract.isEmpty() && !contract.equals(held.claim.getStepContract()))) {
            LOG.log(Level.ERROR, "a claim of {0} has contract {1}, but this worker was built for {2}",
                    held, held.claim.getStepContract(), contract);
            return false;
        }
        return true;
    }

    private void place(Held held) {
        if (held.claim.getCancelRequested()) {
            held.cancelReason = "WORKFLOW_CANCELLED";
            settleUnbegun(held, Outcomes.cancelled());
            return;
        }
        if (!held.pool.hasRoom()) {
            held.pool.waiting.add(held);
            return;
        }
        held.hasSlot = true;
        held.pool.running++;
        if (held.mustBeRenewed) {
            outgoing.wantRenew();
        } else {
            begin(held);
        }
    }

    private void begin(Held held) {
        if (held.claim.getStopAtLeaseEnd() && leaseIsOver) {
            lose(held.token(), "EXPIRED");
            return;
        }
        held.phase = Phase.RUNNING;
        held.aliveAt = System.nanoTime();
        services.begin(held);
    }

    private void settleUnbegun(Held held, Result result) {
        held.phase = Phase.SETTLING;
        freeSlot(held);
        held.result = Outcomes.addressed(result, held, codec);
        sendResult(held);
    }

    private void sendResult(Held held) {
        if (!claims.containsKey(held.token()) || held.result == null) {
            return;
        }
        if (held.result.getSerializedSize() > Limits.STREAM_RESULT_BYTES) {
            services.sendLargeResult(held);
        } else {
            outgoing.result(held);
        }
        services.wake();
    }

    private void drop(Held held, String cause) {
        held.isLost = true;
        outgoing.forget(held, Statuses.claimLost(cause));
        if (held.phase == Phase.RUNNING) {
            services.lose(held, cause);
            return; // its slot is free when the activity has ended
        }
        freeSlot(held);
        claims.remove(held.token());
        services.wake();
    }

    private void freeSlot(Held held) {
        Pool pool = held.pool;
        pool.waiting.remove(held);
        if (!held.hasSlot) {
            return;
        }
        held.hasSlot = false;
        pool.running--;
        if (!pool.waiting.isEmpty() && pool.hasRoom()) {
            place(pool.waiting.poll());
        }
    }

    private static boolean isPassing(PerdureException error) {
        return error instanceof UnavailableException || error instanceof OverloadedException || error instanceof ServerFaultException;
    }

    private void warn(Pool pool, String step, com.google.rpc.Status status) {
        Statuses.ofStatus(status).ifPresent(error -> {
            LOG.log(Level.WARNING, "pool {0}{1} is not served for now: {2}",
                    pool.plan.name(), step.isEmpty() ? "" : ", step " + step, error.getMessage());
            services.notServed(new NotServed(pool.plan.name(), step, error));
        });
    }
}
