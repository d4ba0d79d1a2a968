package io.perdure;

/** The server cannot be reached, is stopping, or has no store; was tried again until the call's timeout. */
public final class UnavailableException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public UnavailableException(ErrorFacts facts) {
        super(facts);
    }
}
