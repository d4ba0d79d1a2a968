package io.perdure;

import io.perdure.v1.Result;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Begins, cancels and counts activities: an executor of daemon threads per pool, as many as activities run at once. */
final class ActivityRunner {
    private static final Logger LOG = System.getLogger("io.perdure.worker");

    private final WorkerPlan plan;
    private final Calls calls;
    private final Map<String, ExecutorService> executors = new LinkedHashMap<>();
    private final Map<Held, ActivityRun> runs = new ConcurrentHashMap<>();
    private final Object idle = new Object();
    private boolean hurried;
    private Loop loop;
    private Ledger ledger;

    ActivityRunner(WorkerPlan plan, Calls calls) {
        this.plan = plan;
        this.calls = calls;
        plan.pools().forEach(pool -> executors.put(pool.name(), executor(pool.name())));
    }

    /** Before the first claim. */
    void use(Loop sessionLoop, Ledger sessionLedger) {
        this.loop = sessionLoop;
        this.ledger = sessionLedger;
    }

    int running() {
        return runs.size();
    }

    // ---- on the session's thread

    void begin(Held held) {
        StepCode code = plan.activities().get(WorkerPlan.place(held.claim.getWorkflow().getWorkflowType(), held.claim.getStep()));
        if (code == null) {
            LOG.log(Level.ERROR, "{0}: this worker has no such step", held);
            ledger.finished(held, Outcomes.released());
            return;
        }
        ActivityRun run = new ActivityRun(held, code, calls, loop, ledger, this::ended);
        runs.put(held, run);
        try {
            executors.get(held.pool.plan.name()).execute(run);
        } catch (RejectedExecutionException | OutOfMemoryError noThread) { // closed, or the system has no thread left
            LOG.log(Level.ERROR, held + " is given back: no thread runs it", noThread);
            ended(run, Outcomes.released());
        }
    }

    void cancel(Held held, String reason) {
        ActivityRun run = runs.get(held);
        if (run != null) {
            run.cancel(reason);
        }
    }

    void lose(Held held, String cause) {
        ActivityRun run = runs.get(held);
        if (run != null) {
            LOG.log(Level.WARNING, "the claim of {0} is lost ({1}): it is stopped", held, cause);
            run.lose(cause);
        }
    }

    // ---- on the worker's thread

    /** Until no activity runs; false: the time was over before, or somebody is in a hurry. */
    boolean awaitIdle(Duration within, boolean mayHurry) throws InterruptedException {
        long end = System.nanoTime() + within.toNanos();
        synchronized (idle) {
            while (!runs.isEmpty()) {
                long left = end - System.nanoTime();
                if (left <= 0 || (hurried && mayHurry)) {
                    return false;
                }
                TimeUnit.NANOSECONDS.timedWait(idle, left);
            }
        }
        return true;
    }

    /** Ends waits that may be hurried; from any thread. */
    void hurry() {
        synchronized (idle) {
            hurried = true;
            idle.notifyAll();
        }
    }

    /** Stops all activities; those that stop for it give their claims back. */
    void releaseAll() {
        runs.values().forEach(ActivityRun::release);
    }

    /** Gives the claims of activities that do not stop back, and goes on without them. Their threads end when they do. */
    void abandonAll() {
        for (ActivityRun run : List.copyOf(runs.values())) {
            LOG.log(Level.ERROR, "{0} does not stop; its claim is given back while it still runs", run.held());
            ended(run, run.abandon());
        }
    }

    /** Ends idle threads; running ones end with their activities. */
    void close() {
        executors.values().forEach(ExecutorService::shutdown);
    }

    private void ended(ActivityRun run, Result result) {
        // Before the slot is free: whoever waits for idleness must not miss that it comes.
        loop.post(() -> ledger.finished(run.held(), result));
        synchronized (idle) {
            runs.remove(run.held());
            idle.notifyAll();
        }
    }

    private static ExecutorService executor(String pool) {
        AtomicInteger count = new AtomicInteger();
        // Slots bound how many there are; a thread more may live while one is about to end.
        return new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, Limits.IDLE_THREAD.toNanos(), TimeUnit.NANOSECONDS, new SynchronousQueue<>(),
                task -> Loop.daemon(task, "perdure-" + pool + "-" + count.incrementAndGet()));
    }
}
