package io.perdure;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Runs activities until it is closed; made by {@link WorkerBuilder#start}.
 *
 * <p>Its session has a thread of its own, which renews the lease whatever the activities do; these run on threads of their pools.
 * {@link #close()} takes no new claims and lets activities finish for the grace; then those that still run are cancelled, and their
 * claims given back with their checkpoints, uncharged. Unless told otherwise, SIGTERM does the same: the JVM ends when the worker has
 * stopped (with exit code 143, as the JVM has it).
 */
public final class Worker implements AutoCloseable {
    private static final Logger LOG = System.getLogger("io.perdure.worker");

    private final WorkerPlan plan;
    private final Calls calls;
    private final ActivityRunner runner;
    private final Session session;
    private final Thread hook;
    private final CountDownLatch stopAsked = new CountDownLatch(1);
    private final AtomicBoolean closing = new AtomicBoolean();
    private final CompletableFuture<Void> closed = new CompletableFuture<>();

    Worker(WorkerPlan plan, Calls calls, boolean handlesShutdown) {
        this.plan = plan;
        this.calls = calls;
        this.runner = new ActivityRunner(plan, calls);
        this.session = new Session(plan, calls.config(), runner);
        this.hook = handlesShutdown ? new Thread(this::close, "perdure-shutdown") : null;
    }

    /** {@return the worker's name, for people} */
    public String workerId() {
        return plan.workerId();
    }

    /** {@return how many activities run now} */
    public int running() {
        return runner.running();
    }

    /**
     * Waits until the worker stops: by {@link #stop}, {@link #close}, the end of the JVM, or an interrupt, which is kept.
     *
     * @throws PerdureException the session has ended for good
     */
    public void await() {
        try {
            stopAsked.await();
        } catch (InterruptedException interrupted) {
            close();
            Thread.currentThread().interrupt();
            return;
        }
        if (session.ended().isCompletedExceptionally()) {
            throw errorOf(session.ended());
        }
    }

    /** Ends {@link #await} without waiting; whoever made the worker closes it then. */
    public void stop() {
        stopAsked.countDown();
    }

    /** Ends the grace of a {@link #close} that runs or is to come: activities are cancelled now. */
    public void hurry() {
        runner.hurry();
    }

    /**
     * Stops in order, and waits for it; from any thread, also several times. An interrupt ends the grace, and is kept.
     */
    @Override
    public void close() {
        if (!closing.compareAndSet(false, true)) {
            closed.join();
            return;
        }
        stopAsked.countDown();
        boolean interrupted = Thread.interrupted();
        try {
            session.drain(plan.grace());
            interrupted |= !settle(interrupted ? Duration.ZERO : plan.grace());
        } finally {
            session.finish(Limits.SETTLE_TIMEOUT);
            session.ended().handle((done, error) -> done).join();
            runner.close();
            removeHook();
            closed.complete(null);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    void open() {
        session.start();
        try {
            session.connected().get(Limits.CONNECT_TIMEOUT.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException error) {
            abort();
            throw calls.explained(errorOf(session.connected()));
        } catch (TimeoutException error) {
            abort();
            throw calls.explained(session.lastError().orElseGet(() -> Statuses.unavailable("no answer")));
        } catch (InterruptedException interrupted) {
            abort();
            Thread.currentThread().interrupt();
            throw Statuses.interrupted("the start of the worker");
        }
        calls.noteReached();
        if (hook != null) {
            try {
                Runtime.getRuntime().addShutdownHook(hook);
            } catch (IllegalStateException alreadyEnding) {
                close();
                return;
            }
        }
        session.ended().whenComplete((done, error) -> {
            if (!closing.get()) {
                LOG.log(Level.ERROR, "the session of the worker has ended by itself; the worker stops", error);
                stopAsked.countDown();
            }
        });
    }

    /** Lets activities end; false: it was interrupted meanwhile. */
    private boolean settle(Duration grace) {
        boolean uninterrupted = awaitIdle(grace, true);
        if (runner.running() == 0) {
            return uninterrupted;
        }
        LOG.log(Level.INFO, "the grace is over: {0} activities are stopped, their claims given back", runner.running());
        runner.releaseAll();
        uninterrupted &= awaitIdle(Limits.UNWIND_TIMEOUT, false);
        if (runner.running() > 0) {
            runner.abandonAll();
        }
        return uninterrupted;
    }

    private boolean awaitIdle(Duration within, boolean mayHurry) {
        try {
            runner.awaitIdle(within, mayHurry);
            return true;
        } catch (InterruptedException interrupted) {
            return false;
        }
    }

    private void abort() {
        closing.set(true);
        session.finish(Duration.ZERO);
        session.ended().handle((done, error) -> done).join();
        runner.close();
        closed.complete(null);
    }

    private void removeHook() {
        if (hook != null && Thread.currentThread() != hook) {
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException ending) {
                // the JVM is ending: the hook finds the worker closed, or waits for it
            }
        }
    }

    private static PerdureException errorOf(CompletableFuture<?> failed) {
        try {
            failed.join();
        } catch (java.util.concurrent.CompletionException error) {
            if (error.getCause() instanceof PerdureException known) {
                return known;
            }
            throw error;
        }
        throw new IllegalStateException("it has not failed");
    }
}
