package io.perdure;

/** A {@link Failure} that an activity throws, so that other languages and retry policies see its words. */
public final class FailureException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final transient Failure failure;

    /**
     * A failure to throw.
     *
     * @param failure its words
     * @param cause what is behind it, for the stack trace; null: nothing
     */
    public FailureException(Failure failure, Throwable cause) {
        super(failure.toString(), cause);
        this.failure = failure;
    }

    /** {@return its words; null only after Java serialization} */
    public Failure failure() {
        return failure;
    }
}
