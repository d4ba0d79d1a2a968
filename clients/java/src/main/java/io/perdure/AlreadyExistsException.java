package io.perdure;

/** The business key, request id or signal id was used before for something else. */
public final class AlreadyExistsException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public AlreadyExistsException(ErrorFacts facts) {
        super(facts);
    }
}
