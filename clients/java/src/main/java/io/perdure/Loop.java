package io.perdure;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** One daemon thread that runs calls in the order in which they were posted, and others after a while. Nothing on it may block. */
final class Loop {
    private static final Logger LOG = System.getLogger("io.perdure.worker");

    private final ScheduledThreadPoolExecutor executor;

    Loop(String name) {
        executor = new ScheduledThreadPoolExecutor(1, task -> daemon(task, name));
        executor.setRemoveOnCancelPolicy(true);
        executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /** From any thread; false: the loop is closed. */
    boolean post(Runnable call) {
        try {
            executor.execute(() -> guarded(call));
            return true;
        } catch (RejectedExecutionException closed) {
            return false;
        }
    }

    /** A timer, by the monotonic clock; cancel it by its future. */
    Future<?> later(Duration delay, Runnable call) {
        try {
            return executor.schedule(() -> guarded(call), Math.max(0, delay.toNanos()), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException closed) {
            return null;
        }
    }

    /** What was posted and has not run yet does not run any more. */
    void close() {
        executor.shutdownNow();
    }

    boolean isClosed() {
        return executor.isShutdown();
    }

    /** A bug in one call must not end what hangs on the others, such as the lease. */
    private static void guarded(Runnable call) {
        try {
            call.run();
        } catch (RuntimeException | Error error) {
            LOG.log(Level.ERROR, "a bug in the worker", error);
        }
    }
}
