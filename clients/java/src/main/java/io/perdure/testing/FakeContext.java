package io.perdure.testing;

import com.fasterxml.jackson.core.type.TypeReference;
import io.perdure.Context;
import io.perdure.Failure;
import io.perdure.HookFacts;
import io.perdure.Payloads;
import io.perdure.PerdureException;
import io.perdure.Progress;
import io.perdure.Woken;
import io.perdure.v1.Payload;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A context for testing one activity by itself: no server, no worker, just the method. It records instead of sending.
 *
 * <pre>{@code
 * FakeContext ctx = new FakeContext().withCheckpoint("task-7");
 * assertEquals("text", transcribe(ctx, new Needs(audio)));
 * assertEquals(List.of("task-8"), ctx.checkpoints());
 * }</pre>
 */
public final class FakeContext implements Context {
    private final List<Object> checkpoints = new ArrayList<>();
    private final List<Object> frames = new ArrayList<>();
    private final Map<String, String> labels = new LinkedHashMap<>();
    private Payload checkpoint = Payload.getDefaultInstance();
    private Payload cursor = Payload.getDefaultInstance();
    private Woken<?> woken;
    private String businessKey = "key-1";
    private String step = "step";
    private int attempt = 1;
    private long fence = 1;
    private int signsOfLife;
    private PerdureException saveError;
    private volatile String cancelReason = "";

    /** A first attempt, without a checkpoint. */
    public FakeContext() {
        // the fields say it
    }

    /**
     * A checkpoint of an earlier attempt.
     *
     * @param value the checkpoint
     * @return this context
     */
    public FakeContext withCheckpoint(Object value) {
        this.checkpoint = Payloads.of(value);
        return this;
    }

    /**
     * The cursor of the page before.
     *
     * @param value the cursor
     * @return this context
     */
    public FakeContext withCursor(Object value) {
        this.cursor = Payloads.of(value);
        return this;
    }

    /**
     * What ended the step's last wait.
     *
     * @param value how it ended
     * @return this context
     */
    public FakeContext withWoken(Woken<?> value) {
        this.woken = value;
        return this;
    }

    /**
     * The business key. Default: {@code key-1}.
     *
     * @param key the key
     * @return this context
     */
    public FakeContext withBusinessKey(String key) {
        this.businessKey = key;
        return this;
    }

    /**
     * The step. Default: {@code step}.
     *
     * @param name its name
     * @return this context
     */
    public FakeContext withStep(String name) {
        this.step = name;
        return this;
    }

    /**
     * The attempt. Default: 1.
     *
     * @param number from 1
     * @return this context
     */
    public FakeContext withAttempt(int number) {
        this.attempt = number;
        return this;
    }

    /**
     * The run's fence. Default: 1.
     *
     * @param value the fence
     * @return this context
     */
    public FakeContext withFence(long value) {
        this.fence = value;
        return this;
    }

    /**
     * A label of the workflow.
     *
     * @param name its name
     * @param value its value
     * @return this context
     */
    public FakeContext withLabel(String name, String value) {
        labels.put(name, value);
        return this;
    }

    /**
     * Has the next save throw, such as a ClaimLostException.
     *
     * @param error what it throws
     * @return this context
     */
    public FakeContext failNextSave(PerdureException error) {
        this.saveError = error;
        return this;
    }

    /**
     * Asks the activity to stop, from any thread. Interrupt its thread too, as a worker does, where the test is about that.
     *
     * @param reason such as WORKFLOW_CANCELLED
     */
    public void cancel(String reason) {
        this.cancelReason = reason;
    }

    /** {@return what was saved, oldest first} */
    public List<Object> checkpoints() {
        return Collections.unmodifiableList(checkpoints);
    }

    /** {@return texts, {@link Progress} and log lines that were sent, oldest first} */
    public List<Object> frames() {
        return List.copyOf(frames);
    }

    /** {@return how often {@link #alive()} was called} */
    public int signsOfLife() {
        return signsOfLife;
    }

    @Override
    public String namespace() {
        return "default";
    }

    @Override
    public String workflowType() {
        return "test";
    }

    @Override
    public String businessKey() {
        return businessKey;
    }

    @Override
    public long round() {
        return 1;
    }

    @Override
    public String step() {
        return step;
    }

    @Override
    public int attempt() {
        return attempt;
    }

    @Override
    public long claimNo() {
        return 1;
    }

    @Override
    public long fence() {
        return fence;
    }

    @Override
    public String idempotencyKey() {
        return "idempotency-key-1";
    }

    @Override
    public String wakeToken() {
        return "wake-token-1";
    }

    @Override
    public Map<String, String> labels() {
        return labels;
    }

    @Override
    public Optional<Failure> lastFailure() {
        return Optional.empty();
    }

    @Override
    public Optional<Duration> attemptRemaining() {
        return Optional.empty();
    }

    @Override
    public Optional<HookFacts> hook() {
        return Optional.empty();
    }

    @Override
    public String traceparent() {
        return "";
    }

    @Override
    public <T> Optional<T> checkpoint(Class<T> type) {
        return isAbsent(checkpoint) ? Optional.empty() : Optional.ofNullable(Payloads.decode(checkpoint, type));
    }

    @Override
    public <T> Optional<T> checkpoint(TypeReference<T> type) {
        return isAbsent(checkpoint) ? Optional.empty() : Optional.ofNullable(Payloads.decode(checkpoint, type));
    }

    @Override
    public <T> T save(T value) {
        PerdureException error = saveError;
        saveError = null;
        if (error != null) {
            throw error;
        }
        checkpoint = Payloads.of(value);
        checkpoints.add(value);
        return value;
    }

    @Override
    public <T> Optional<T> cursor(Class<T> type) {
        return isAbsent(cursor) ? Optional.empty() : Optional.ofNullable(Payloads.decode(cursor, type));
    }

    @Override
    @SuppressWarnings("unchecked") // the test gave it, and knows its type
    public <T> Optional<Woken<T>> woken(Class<T> type) {
        return Optional.ofNullable((Woken<T>) woken);
    }

    @Override
    public String frame(String text) {
        frames.add(text);
        return text;
    }

    @Override
    public void progress(Progress progress) {
        frames.add(progress);
    }

    @Override
    public void log(String line) {
        frames.add(line);
    }

    @Override
    public void alive() {
        signsOfLife++;
    }

    @Override
    public boolean isCancelled() {
        return !cancelReason.isEmpty();
    }

    @Override
    public String cancelReason() {
        return cancelReason;
    }

    private static boolean isAbsent(Payload payload) {
        return payload.getDataCase() == Payload.DataCase.DATA_NOT_SET;
    }
}
