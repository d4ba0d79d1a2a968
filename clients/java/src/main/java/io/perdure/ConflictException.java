package io.perdure;

/** A fence or etag is not current: read again, then decide. */
public final class ConflictException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public ConflictException(ErrorFacts facts) {
        super(facts);
    }
}
