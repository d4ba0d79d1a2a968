package io.perdure;

import java.time.Duration;
import java.util.Objects;

/**
 * Why a step, attempt or workflow did not work, in the author's own words. An activity throws it by {@link #exception()}:
 *
 * <pre>{@code throw Failure.of("asr.quota", "no minutes left").retryAfter(Duration.ofMinutes(5)).exception();}</pre>
 *
 * <p>Any other exception becomes a failure of its class's name, such as {@code java.lang.IllegalStateException}.
 *
 * @param type dotted string, the same in all languages; at most 128 bytes
 * @param message for people; cut at 4 KiB
 * @param details machine-readable details, any value that JSON can hold; null: none
 * @param nonRetryable ends the step's attempts at once, whatever its policy says
 * @param retryDelay wish for the time until the next attempt, which wins over the policy's back-off; null: by policy
 */
public record Failure(String type, String message, Object details, boolean nonRetryable, Duration retryDelay) {
    /**
     * Checks the failure.
     *
     * @param type what kind
     * @param message for people
     * @param details facts
     * @param nonRetryable whether it is final
     * @param retryDelay when to try again
     */
    public Failure {
        Objects.requireNonNull(type, "a failure needs a type, such as \"asr.quota\"");
        message = message == null ? "" : message;
    }

    /**
     * A failure that is retried by policy.
     *
     * @param type dotted string
     * @param message for people
     * @return the failure
     */
    public static Failure of(String type, String message) {
        return new Failure(type, message, null, false, null);
    }

    /**
     * A failure as the wire has it.
     *
     * @param message the failure
     * @return the failure; details that cannot be decoded are named, not shown
     */
    public static Failure of(io.perdure.v1.Failure message) {
        return Failures.of(message);
    }

    /**
     * The same failure with details.
     *
     * @param value any value that JSON can hold
     * @return the failure
     */
    public Failure details(Object value) {
        return new Failure(type, message, value, nonRetryable, retryDelay);
    }

    /** {@return the same failure, final} */
    public Failure notRetryable() {
        return new Failure(type, message, details, true, retryDelay);
    }

    /**
     * The same failure with a wish for the next attempt.
     *
     * @param delay how long to wait
     * @return the failure
     */
    public Failure retryAfter(Duration delay) {
        return new Failure(type, message, details, nonRetryable, delay);
    }

    /** {@return what to throw in an activity} */
    public FailureException exception() {
        return new FailureException(this, null);
    }

    /** {@return type and message} */
    @Override
    public String toString() {
        return message.isEmpty() ? type : type + ": " + message;
    }
}
