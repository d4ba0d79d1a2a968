package io.perdure;

import io.perdure.v1.Frame;
import io.perdure.v1.StateChange;
import io.perdure.v1.WatchEvent;
import io.perdure.v1.WatchRequest;
import io.perdure.v1.WatchResponse;
import io.perdure.v1.WorkflowServiceGrpc;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The events of one workflow: a snapshot, then changes and frames until the end. It opens itself again after a cut, without repeats,
 * and says what is missing. For one thread; {@link #close()} may come from any, and ends a wait.
 *
 * <pre>{@code
 * try (Watch watch = run.watch()) {
 *     for (Event event : watch) {
 *         System.out.println(event);
 *     }
 * }
 * }</pre>
 */
public final class Watch implements Iterable<Event>, Iterator<Event>, AutoCloseable {
    private static final Cleaner CLEANER = Cleaner.create();

    private final Calls calls;
    private final WatchRequest.Builder request;
    private final boolean tellsIdle;
    private final AtomicReference<EventStream<WatchResponse>> stream;
    private final Cleaner.Cleanable cleanable;
    private final Deque<WatchEvent> pending = new ArrayDeque<>();
    private final Map<Long, Long> lastChanges = new HashMap<>();
    private final Map<String, Long> lastFrames = new HashMap<>();
    private final long began = System.nanoTime();
    private int failures;
    private boolean idle;
    private Event next;
    private volatile boolean ended;

    Watch(Calls calls, WatchRequest request, boolean tellsIdle) {
        this.calls = calls;
        this.request = request.toBuilder();
        this.tellsIdle = tellsIdle;
        AtomicReference<EventStream<WatchResponse>> held = new AtomicReference<>();
        this.stream = held;
        // A watch that is dropped without a close ends too, if later.
        this.cleanable = CLEANER.register(this, () -> drop(held));
    }

    @Override
    public Iterator<Event> iterator() {
        return this;
    }

    /**
     * Waits for the next event.
     *
     * @return whether there is one; false after the end
     * @throws NotFoundException there is no such workflow
     * @throws UnavailableException no server was reached at all
     * @throws CallTimeoutException the thread was interrupted (its interrupt is kept), or its {@code io.grpc.Context} was cancelled or
     *     is over; the watch has ended
     */
    @Override
    public boolean hasNext() {
        while (next == null && !ended) {
            next = take();
        }
        return next != null;
    }

    /**
     * The next event, as {@link #hasNext} waits for it.
     *
     * @return the event
     */
    @Override
    public Event next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the watch has ended");
        }
        Event event = next;
        next = null;
        return event;
    }

    /** Ends the watch; what waits for an event is told that there is none. */
    @Override
    public void close() {
        ended = true;
        cleanable.clean();
    }

    private static void drop(AtomicReference<EventStream<WatchResponse>> stream) {
        EventStream<WatchResponse> open = stream.getAndSet(null);
        if (open != null) {
            open.cancel();
        }
    }

    private Event take() {
        while (!pending.isEmpty()) {
            WatchEvent message = pending.poll();
            if (!message.getResumeToken().isEmpty()) {
                request.setResumeToken(message.getResumeToken());
            }
            Event event = event(message);
            if (event != null && isNew(event)) {
                idle = false;
                return event;
            }
        }
        if (idle && tellsIdle) {
            idle = false;
            return new Event.Idle(request.getResumeToken());
        }
        try {
            readMore();
        } catch (InterruptedException interrupted) {
            close();
            Thread.currentThread().interrupt();
            throw Statuses.interrupted("the watch");
        }
        idle = true;
        return null;
    }

    private void readMore() throws InterruptedException {
        try {
            if (stream.get() == null) {
                stream.set(EventStream.open(calls, WorkflowServiceGrpc.getWatchMethod(), request.build()));
                if (ended) { // closed meanwhile, from another thread that did not see this stream
                    drop(stream);
                }
            }
            EventStream<WatchResponse> open = stream.get();
            Optional<WatchResponse> answer = open == null ? Optional.empty() : open.next(Limits.WATCH_IDLE_TIMEOUT);
            if (answer.isPresent()) {
                failures = 0;
                calls.noteReached();
                pending.addAll(answer.get().getEventsList());
                return;
            }
            // Without the workflow's end, a server that leaves has cut it.
            drop(stream);
            failures++;
            pause(Duration.ZERO);
        } catch (PerdureException error) {
            drop(stream);
            failures++;
            consider(error);
        }
    }

    private void consider(PerdureException error) throws InterruptedException {
        if (ended) {
            return;
        }
        if (error.reason().equals(ErrorReason.RESUME_TOKEN_INVALID) && !request.getResumeToken().isEmpty()) {
            request.clearResumeToken(); // of a version that is gone: begin anew, with what there is
            return;
        }
        if (error.reason().equals(ErrorReason.WATCHER_TOO_SLOW)) {
            return;
        }
        if (!(error instanceof UnavailableException) && !(error instanceof OverloadedException)) {
            close();
            throw error;
        }
        boolean hopeless = !calls.reached() && error.reason().isEmpty();
        if (hopeless && System.nanoTime() - began > calls.connectTimeout().toNanos()) {
            close();
            throw calls.explained(error);
        }
        pause(error.retryAfter().orElse(Duration.ZERO));
    }

    private void pause(Duration asked) throws InterruptedException {
        if (!ended) {
            Duration grown = Limits.RETRY_INITIAL_INTERVAL.multipliedBy(1L << Math.min(failures, 8));
            Duration pause = Calls.max(asked, Calls.jittered(Calls.min(Limits.RETRY_MAX_INTERVAL, grown)));
            TimeUnit.NANOSECONDS.sleep(pause.toNanos());
        }
    }

    /** False for what was told before; resume tokens make that rare. */
    private boolean isNew(Event event) {
        if (event instanceof Event.Snapshot snapshot) {
            lastChanges.clear();
            lastChanges.put(snapshot.workflow().round(), snapshot.workflow().message().getLastChangeSeq());
        } else if (event instanceof Event.Change change) {
            StateChange message = change.message();
            return rises(lastChanges, message.getRound(), message.getSeq());
        } else if (event instanceof Event.Frame frame) {
            Frame message = frame.message();
            return rises(lastFrames, message.getStep() + "/" + message.getClaimNo(), message.getSeq());
        } else if (event instanceof Event.End) {
            lastFrames.clear(); // the next round numbers its claims from 1 again
            if (!request.getFollow()) {
                close();
            }
        }
        return true;
    }

    private static <K> boolean rises(Map<K, Long> last, K place, long seq) {
        if (seq <= last.getOrDefault(place, 0L)) {
            return false;
        }
        last.put(place, seq);
        return true;
    }

    /** Null for keep-alives and for kinds that only newer servers know. */
    private static Event event(WatchEvent message) {
        String token = message.getResumeToken();
        return switch (message.getEventCase()) {
            case SNAPSHOT -> new Event.Snapshot(token, new Workflow(message.getSnapshot()));
            case CHANGE -> new Event.Change(token, message.getChange());
            case FRAME -> new Event.Frame(token, message.getFrame());
            case FRAMES_RESET -> new Event.FramesReset(
                    token, message.getFramesReset().getStep(), message.getFramesReset().getClaimNo());
            case GAP -> new Event.Gap(
                    token, message.getGap().getChanges(), message.getGap().getFrames(), message.getGap().getReason());
            case END -> new Event.End(token, message.getEnd());
            default -> null;
        };
    }
}
