package io.perdure;

import io.perdure.v1.RetryPolicy;
import java.time.Duration;
import java.util.List;

/** When and how often an attempt is made again. What is not set is the server's default: 3 attempts, 1 s doubling to 1 min. */
public final class Retry {
    private final RetryPolicy message;

    private Retry(RetryPolicy message) {
        this.message = message;
    }

    /**
     * At most so many attempts.
     *
     * @param most at least 1, the first included
     * @return the policy
     */
    public static Retry attempts(int most) {
        return new Retry(RetryPolicy.newBuilder().setMaxAttempts(most).build());
    }

    /** {@return attempts until one succeeds, or fails with a non-retryable failure} */
    public static Retry unlimited() {
        return new Retry(RetryPolicy.newBuilder().setUnlimited(true).build());
    }

    /**
     * The same with other intervals.
     *
     * @param first before the second attempt
     * @param longest bound of all of them
     * @return the policy
     */
    public Retry intervals(Duration first, Duration longest) {
        return new Retry(message.toBuilder()
                .setInitialInterval(Times.message(first))
                .setMaxInterval(Times.message(longest))
                .build());
    }

    /**
     * The same with another growth of the interval per attempt.
     *
     * @param factor at least 1
     * @return the policy
     */
    public Retry coefficient(double factor) {
        return new Retry(message.toBuilder().setBackoffCoefficient(factor).build());
    }

    /**
     * The same with another share of the interval that is random.
     *
     * @param share 0 to 1
     * @return the policy
     */
    public Retry jitter(double share) {
        return new Retry(message.toBuilder().setJitter(share).build());
    }

    /**
     * The same, where failures of these types are final.
     *
     * @param types failure types, compared exactly
     * @return the policy
     */
    public Retry except(String... types) {
        return new Retry(message.toBuilder().addAllNonRetryableTypes(List.of(types)).build());
    }

    RetryPolicy message() {
        return message;
    }
}
