package io.perdure;

import com.google.protobuf.InvalidProtocolBufferException;
import io.perdure.v1.CompleteRequest;
import io.perdure.v1.HeartbeatRequest;
import io.perdure.v1.HeartbeatResponse;
import io.perdure.v1.WorkerServiceGrpc;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** Results and checkpoints that are too large for the stream: by unary calls, on a connection and threads of their own. */
final class LargeCalls {
    private final Calls calls;
    private final Loop loop;
    private final Ledger ledger;
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> Loop.daemon(task, "perdure-large"));

    LargeCalls(ConnectionConfig config, Loop loop, Ledger ledger) {
        this.calls = new Calls(config, Limits.CALL_TIMEOUT, Limits.CALL_TIMEOUT);
        this.loop = loop;
        this.ledger = ledger;
    }

    void result(Held held) {
        byte[] encoded = held.result.toBuilder().clearResultId().clearWantNext().build().toByteArray();
        submit(() -> {
            PerdureException error = null;
            try {
                // Same fields and numbers by design.
                calls.unary(WorkerServiceGrpc.getCompleteMethod(), CompleteRequest.parseFrom(encoded));
            } catch (UnavailableException | CallTimeoutException failure) {
                error = new UnavailableException(failure.told());
            } catch (PerdureException failure) {
                error = failure;
            } catch (InvalidProtocolBufferException | RuntimeException | Error failure) { // the client is closed, or no memory is left
                error = Statuses.unavailable(String.valueOf(failure.getMessage()));
            }
            PerdureException told = error;
            loop.post(() -> ledger.conclude(held, told));
        });
    }

    void checkpoint(Held held, Held.Save save) {
        HeartbeatRequest request = HeartbeatRequest.newBuilder()
                .setClaimToken(held.token())
                .setCheckpoint(save.checkpoint())
                .setCheckpointNo(save.checkpointNo())
                .build();
        submit(() -> store(held, save, request));
    }

    void close() {
        threads.shutdownNow();
        calls.close();
    }

    /** The claim stays held meanwhile, so this tries on until it is stored, lost, or the session ends. */
    private void store(Held held, Held.Save save, HeartbeatRequest request) {
        while (!threads.isShutdown()) {
            try {
                HeartbeatResponse answer = calls.unary(WorkerServiceGrpc.getHeartbeatMethod(), request);
                save.reply().accept(null);
                if (answer.getCancelRequested()) {
                    loop.post(() -> ledger.cancel(held.token(), ""));
                }
                return;
            } catch (UnavailableException | CallTimeoutException error) {
                if (held.isLost || !pause()) { // a lost claim's save was answered when it was lost
                    break;
                }
            } catch (PerdureException error) {
                save.reply().accept(error);
                if (error instanceof ClaimLostException lost) {
                    loop.post(() -> ledger.lose(held.token(), lost.lossCause()));
                }
                return;
            } catch (RuntimeException | Error error) { // closed, or no memory is left: whoever waits for the answer must have one
                break;
            }
        }
        save.reply().accept(Statuses.unavailable("the worker has stopped"));
    }

    private static boolean pause() {
        try {
            TimeUnit.NANOSECONDS.sleep(Limits.RETRY_INITIAL_INTERVAL.toNanos());
            return true;
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void submit(Runnable work) {
        try {
            threads.execute(work);
        } catch (RejectedExecutionException closed) {
            // the session has ended, and with it whoever waits for an answer
        } catch (OutOfMemoryError noThread) { // the system has none left for now
            loop.later(Limits.RETRY_MAX_INTERVAL, () -> submit(work));
        }
    }
}
