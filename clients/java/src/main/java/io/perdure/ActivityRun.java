package io.perdure;

import io.perdure.v1.Claim;
import io.perdure.v1.FetchPayloadRequest;
import io.perdure.v1.Frame;
import io.perdure.v1.Payload;
import io.perdure.v1.Result;
import io.perdure.v1.WorkflowServiceGrpc;
import java.io.InterruptedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.channels.ClosedByInterruptException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;

/** One activity: from its claim to its result, and its way to the server. Runs on a thread of its pool. */
final class ActivityRun implements Runnable {
    private static final Logger LOG = System.getLogger("io.perdure.worker");

    /** `cancelReason` by the cause of a loss. Any other claim that is lost goes on in another worker, or a later attempt: CLAIM_LOST. */
    private static final Map<String, String> STOPS =
            Map.of("CLOSED", "TERMINATED", "TIMED_OUT", "TIMED_OUT", "CANCELLED", "WORKFLOW_CANCELLED");

    private final Held held;
    private final StepCode code;
    private final Calls calls;
    private final Loop loop;
    private final Ledger ledger;
    private final BiConsumer<ActivityRun, Result> whenEnded;
    private final Set<CompletableFuture<Void>> saves = ConcurrentHashMap.newKeySet();
    private final Object lock = new Object();
    private Thread thread;
    private volatile String reason = "";
    private volatile boolean lost;
    private volatile boolean draining;

    ActivityRun(Held held, StepCode code, Calls calls, Loop loop, Ledger ledger, BiConsumer<ActivityRun, Result> whenEnded) {
        this.held = held;
        this.code = code;
        this.calls = calls;
        this.loop = loop;
        this.ledger = ledger;
        this.whenEnded = whenEnded;
    }

    Held held() {
        return held;
    }

    String cancelReason() {
        return reason;
    }

    // ---- what the context asks for, from any thread

    /** Stores a checkpoint; returns when it is stored. An interrupt is kept for later. Throws ClaimLostException. */
    void save(Payload plain) {
        Payload payload = Sealing.seal(plain, codec());
        CompletableFuture<Void> stored = new CompletableFuture<>();
        saves.add(stored);
        try {
            boolean posted = !lost && loop.post(() -> ledger.save(held, payload, error -> {
                if (error == null) {
                    stored.complete(null);
                } else {
                    stored.completeExceptionally(error);
                }
            }));
            if (!posted) {
                throw Statuses.claimLost("UNKNOWN");
            }
            if (lost) { // it was lost before this save was among those that are told
                stored.completeExceptionally(Statuses.claimLost("UNKNOWN"));
            }
            await(stored, loop);
        } finally {
            saves.remove(stored);
        }
    }

    void frame(Frame.Kind kind, Payload plain) {
        Payload payload = Sealing.seal(plain, codec());
        int size = Values.size(payload);
        if (size > Limits.FRAME_BYTES) {
            throw new IllegalArgumentException("a frame has at most " + Limits.FRAME_BYTES + " bytes; this one has " + size);
        }
        loop.post(() -> ledger.frame(held, kind, payload));
    }

    void alive() {
        held.aliveAt = System.nanoTime();
    }

    // ---- what the worker asks for

    /** Asks the activity to stop. */
    void cancel(String why) {
        synchronized (lock) {
            if (reason.isEmpty()) {
                reason = why;
                interrupt();
            }
        }
    }

    /** Stops the activity; its result does not count any more. */
    void lose(String cause) {
        synchronized (lock) {
            if (!cause.equals("CANCELLED") || reason.isEmpty()) {
                reason = STOPS.getOrDefault(cause, "CLAIM_LOST");
            }
            lost = true;
            saves.forEach(stored -> stored.completeExceptionally(Statuses.claimLost(cause)));
            interrupt();
        }
    }

    /** Asks the activity to stop so that its claim can be given back. */
    void release() {
        if (reason.isEmpty()) {
            draining = true;
            cancel("DRAINING");
        }
    }

    /** Goes on without the activity, which does not stop: gives its claim back. */
    Result abandon() {
        draining = true;
        saves.forEach(stored -> stored.completeExceptionally(Statuses.unavailable("the worker has stopped")));
        return lost ? null : Outcomes.released();
    }

    // ---- its thread

    @Override
    public void run() {
        Result result;
        synchronized (lock) {
            thread = Thread.currentThread();
        }
        try {
            result = reason.isEmpty() ? perform() : outcomeOfCancel();
        } catch (Throwable error) { // whatever an activity throws is its outcome
            result = outcomeOf(error);
        }
        synchronized (lock) {
            thread = null; // from here on no interrupt can hit what this thread runs next
        }
        Thread.interrupted();
        whenEnded.accept(this, lost ? null : result);
    }

    private Result perform() throws Exception {
        Claim claim = Sealing.unseal(fetched(held.claim), codec());
        Object value = Tracing.inSpan(claim, () -> code.invoke(new ActivityContext(claim, this), claim));
        return Sealing.seal(Outcomes.ofValue(value), codec());
    }

    private Result outcomeOf(Throwable error) {
        if (!reason.isEmpty() && isOfCancel(error)) {
            return outcomeOfCancel();
        }
        try {
            logFailure(error);
            return Sealing.seal(Outcomes.ofError(error), codec());
        } catch (RuntimeException | Error unspeakable) { // an exception whose own methods throw, or a codec that does
            LOG.log(Level.ERROR, held + ": its failure cannot be told: " + unspeakable.getClass().getName());
            return Outcomes.unspeakable(error);
        }
    }

    private Result outcomeOfCancel() {
        if (lost) {
            return null;
        }
        return draining ? Outcomes.released() : Outcomes.cancelled();
    }

    /** Whether an exception says no more than that the thread was interrupted, or that the activity has looked. */
    private static boolean isOfCancel(Throwable error) {
        Throwable at = error;
        for (int depth = 0; at != null && depth < 20; depth++) {
            boolean found = at instanceof InterruptedException
                    || at instanceof ActivityCancelledException
                    || at instanceof CancellationException
                    || at instanceof ClosedByInterruptException
                    || (at instanceof InterruptedIOException && !(at instanceof java.net.SocketTimeoutException))
                    || (at instanceof PerdureException call && call.reason().equals(ErrorReason.CALL_CANCELLED))
                    || (at instanceof CallTimeoutException call && call.code().equals("CANCELLED"));
            if (found) {
                return true;
            }
            at = at.getCause();
        }
        return false;
    }

    private void logFailure(Throwable error) {
        if (error instanceof ClaimLostException || lost) {
            return; // its save was refused: no fault of the activity, and the loss has a line of its own
        }
        if (codec() == null) {
            LOG.log(Level.WARNING, held + " threw", error);
            return;
        }
        // The text of an exception may hold values; it travels encrypted in the failure.
        StackTraceElement[] trace = error.getStackTrace();
        String where = trace.length > 0 ? trace[0].toString() : "an unknown place";
        LOG.log(Level.WARNING, held + " threw " + error.getClass().getName() + " at " + where);
    }

    /** Reads the values that did not fit into the claim, into their places; those inside the outputs of waits too. */
    private Claim fetched(Claim claim) {
        return Walk.through(claim, (payload, field) -> {
            if (payload.hasRef()) {
                FetchPayloadRequest request = FetchPayloadRequest.newBuilder()
                        .setClaimToken(claim.getClaimToken())
                        .setPayloadId(payload.getRef().getPayloadId())
                        .build();
                return calls.unary(WorkflowServiceGrpc.getFetchPayloadMethod(), request).getPayload();
            }
            boolean carries = payload.getContentType().equals(WaitResults.CONTENT_TYPE) && payload.getJson().contains("\"ref\"");
            if (!carries) {
                return payload;
            }
            Claim.Builder inner = Claim.newBuilder().setClaimToken(claim.getClaimToken());
            inner.addAllWakes(WaitResults.parse(payload).getWakesList());
            String whole = WaitResults.print(
                    WaitResults.parse(payload).toBuilder().clearWakes().addAllWakes(fetched(inner.build()).getWakesList()).build());
            return payload.toBuilder().setJson(whole).build();
        });
    }

    private Codec codec() {
        return calls.config().codec();
    }

    private void interrupt() {
        if (thread != null) {
            thread.interrupt();
        }
    }

    /** Waits whatever comes: a checkpoint that is on its way is stored or refused, and the activity should know which. */
    private static void await(CompletableFuture<Void> stored, Loop loop) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    stored.get(1, TimeUnit.SECONDS);
                    return;
                } catch (InterruptedException later) {
                    interrupted = true;
                } catch (TimeoutException notYet) {
                    if (loop.isClosed()) { // a save that came as the session ended has nobody who answers it
                        throw Statuses.unavailable("the worker has stopped");
                    }
                }
            }
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof PerdureException error) {
                throw error;
            }
            throw new IllegalStateException(failed);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
