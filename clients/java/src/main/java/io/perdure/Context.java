package io.perdure;

import com.fasterxml.jackson.core.type.TypeReference;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** What an activity knows and can do: facts of its claim, checkpoints, progress. All methods may be called from any thread. */
public interface Context {
    /** {@return the workflow's namespace} */
    String namespace();

    /** {@return the definition's name} */
    String workflowType();

    /** {@return the caller's name of the business object} */
    String businessKey();

    /** {@return which round of the key} */
    long round();

    /** {@return name of the step} */
    String step();

    /** {@return charged executions of this generation, this one included} */
    int attempt();

    /** {@return number of the claim; rises with every grant of the step} */
    long claimNo();

    /** {@return the run's fence; hand it to your own store's conditional writes} */
    long fence();

    /** {@return a key that is the same in all attempts of this generation; hand it to what you call} */
    String idempotencyKey();

    /** {@return a secret for callbacks: whoever has it may signal this step} */
    String wakeToken();

    /** {@return the workflow's labels} */
    Map<String, String> labels();

    /** {@return the last failure of this generation; empty: none} */
    Optional<Failure> lastFailure();

    /** {@return how long there was, when the claim came, until attempt_timeout fences it; empty: no limit} */
    Optional<Duration> attemptRemaining();

    /** {@return why this runs, if it is a hook or a compensation; empty: an ordinary step} */
    Optional<HookFacts> hook();

    /** {@return W3C trace context of this attempt's span; empty: not traced} */
    String traceparent();

    /**
     * The last checkpoint that was saved, by this attempt or an earlier one.
     *
     * @param <T> what to decode it to
     * @param type what to decode it to
     * @return the checkpoint; empty: none
     * @throws PayloadRejectedException it is of another type
     */
    <T> Optional<T> checkpoint(Class<T> type);

    /**
     * As {@link #checkpoint(Class)}, for generic types.
     *
     * @param <T> what to decode it to
     * @param type what to decode it to, such as {@code new TypeReference<List<String>>() {}}
     * @return the checkpoint; empty: none
     */
    <T> Optional<T> checkpoint(TypeReference<T> type);

    /**
     * Stores a checkpoint; returns it once it is stored. Also a sign of life. An interrupt does not cut it short; it is seen again by
     * the next call that looks for one.
     *
     * @param <T> its type
     * @param checkpoint any value that JSON can hold; null clears it
     * @return the checkpoint
     * @throws ClaimLostException the claim is not yours any more: stop
     * @throws PayloadRejectedException the value cannot travel, or is too large
     */
    <T> T save(T checkpoint);

    /**
     * Of a paging step: what the {@link Page} before had as its cursor.
     *
     * @param <T> what to decode it to
     * @param type what to decode it to
     * @return the cursor; empty: this is the first page
     */
    <T> Optional<T> cursor(Class<T> type);

    /**
     * What ended this step's last wait.
     *
     * @param <T> type of what signals carry
     * @param type type of what signals carry
     * @return how it ended; empty: the step has not waited
     * @throws PayloadRejectedException a signal's content is of another type
     */
    <T> Optional<Woken<T>> woken(Class<T> type);

    /**
     * Sends a piece of text to watchers, appended to the text before; never waits.
     *
     * @param text at most 64 KiB
     * @return the text
     * @throws IllegalArgumentException it is larger
     */
    String frame(String text);

    /**
     * Tells watchers how far the activity is; replaces what was told before; never waits.
     *
     * @param progress how far
     */
    void progress(Progress progress);

    /**
     * Sends a line for people to watchers; never waits.
     *
     * @param line at most 64 KiB
     * @throws IllegalArgumentException it is larger
     */
    void log(String line);

    /** A sign of life, for steps with a silence_timeout; costs next to nothing. */
    void alive();

    /** {@return whether the activity should stop; its thread is interrupted as well, once} */
    boolean isCancelled();

    /**
     * Why it should stop. WORKFLOW_CANCELLED (or a person ended the step), WORKFLOW_FAILING and TERMINATED are about the work: end
     * what you began elsewhere, too. TIMED_OUT is about this attempt, CLAIM_LOST and DRAINING are about this worker: after them a
     * next attempt may go on with it.
     *
     * @return the reason; empty: it should not stop
     */
    String cancelReason();

    /**
     * Ends an activity that should stop.
     *
     * @throws ActivityCancelledException it should
     */
    default void throwIfCancelled() {
        if (isCancelled()) {
            throw new ActivityCancelledException(cancelReason());
        }
    }
}
