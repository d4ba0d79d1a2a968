package io.perdure;

import java.io.Serializable;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * What is known of an error.
 *
 * @param message for people
 * @param reason one of {@link ErrorReason}, or one that this version does not know; empty: none was given
 * @param code canonical gRPC code, such as {@code NOT_FOUND}; empty: no server was asked
 * @param facts facts that go with the reason, as named beside each {@link ErrorReason}
 * @param violations every wrong field, where the code is INVALID_ARGUMENT
 * @param retryDelay how long the server asks to wait before another try; null: nothing was said
 */
public record ErrorFacts(
        String message, String reason, String code, Map<String, String> facts, List<Violation> violations, Duration retryDelay)
        implements Serializable {
    private static final long serialVersionUID = 1L;

    /**
     * Facts that do not change any more.
     *
     * @param message for people
     * @param reason why
     * @param code canonical code
     * @param facts facts of the reason
     * @param violations wrong fields
     * @param retryDelay when to try again
     */
    public ErrorFacts {
        facts = Map.copyOf(facts);
        violations = List.copyOf(violations);
    }

    /**
     * An error that this library found itself, without asking a server.
     *
     * @param message for people
     * @param reason one of {@link ErrorReason}, or empty
     * @return its facts
     */
    public static ErrorFacts of(String message, String reason) {
        return new ErrorFacts(message, reason, "", Map.of(), List.of(), null);
    }

    ErrorFacts withMessage(String other) {
        return new ErrorFacts(other, reason, code, facts, violations, retryDelay);
    }

    Optional<Duration> retryAfter() {
        return Optional.ofNullable(retryDelay);
    }

    String text() {
        StringBuilder text = new StringBuilder(message);
        if (!reason.isEmpty() || !code.isEmpty()) {
            text.append(" [").append(reason.isEmpty() ? code : reason).append(']');
        }
        for (Violation violation : violations) {
            text.append("\n  ").append(violation.field()).append(": ").append(violation.description());
        }
        return text.toString();
    }
}
