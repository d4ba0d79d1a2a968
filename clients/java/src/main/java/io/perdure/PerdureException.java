package io.perdure;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Everything that can go wrong with a call. Catch a subclass, or branch on {@link #reason()}; never on the text.
 *
 * <ul>
 *   <li>{@link InvalidRequestException}: a value or field is wrong; below it {@link PayloadRejectedException},
 *       {@link PayloadUndecodableException} and {@link DefinitionRejectedException}
 *   <li>{@link AlreadyExistsException}, {@link NotFoundException}, {@link NotAllowedException}, {@link ConflictException}
 *   <li>{@link ClaimLostException}: the claim is not this worker's any more; drop the work
 *   <li>{@link OverloadedException}, {@link UnavailableException}, {@link CallTimeoutException}
 *   <li>{@link AccessDeniedException}, {@link NotImplementedException}, {@link ServerFaultException}
 *   <li>{@link WorkflowNotCompletedException}: {@link WorkflowFailedException}, {@link WorkflowCancelledException},
 *       {@link WorkflowTerminatedException}
 * </ul>
 */
public class PerdureException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final ErrorFacts told;

    /**
     * An error.
     *
     * @param facts what is known of it
     */
    public PerdureException(ErrorFacts facts) {
        super(facts.text());
        this.told = facts;
    }

    /**
     * The reason of any exception, to branch on.
     *
     * @param error what was caught
     * @return its reason, or that of the nearest cause that has one; empty: none has
     */
    public static String reasonOf(Throwable error) {
        Throwable at = error;
        for (int depth = 0; at != null && depth < 100; depth++) {
            if (at instanceof PerdureException found && !found.reason().isEmpty()) {
                return found.reason();
            }
            at = at.getCause();
        }
        return "";
    }

    /**
     * The typed error of what a stub threw.
     *
     * @param failure what it threw
     * @return the error
     */
    public static PerdureException of(io.grpc.StatusRuntimeException failure) {
        return Statuses.ofCall(failure);
    }

    /** {@return one of {@link ErrorReason}, or one that this version does not know; empty: none was given} */
    public final String reason() {
        return told.reason();
    }

    /** {@return the canonical gRPC code, such as {@code NOT_FOUND}; empty: no server was asked} */
    public final String code() {
        return told.code();
    }

    /** {@return the facts that go with the reason, as named beside each {@link ErrorReason}} */
    public final Map<String, String> facts() {
        return told.facts();
    }

    /** {@return every wrong field, where the code is INVALID_ARGUMENT} */
    public final List<Violation> violations() {
        return told.violations();
    }

    /** {@return how long the server asks to wait before another try; empty: nothing was said} */
    public final Optional<Duration> retryAfter() {
        return told.retryAfter();
    }

    /** {@return the message without reason and violations, for people} */
    public final String description() {
        return told.message();
    }

    final ErrorFacts told() {
        return told;
    }
}
