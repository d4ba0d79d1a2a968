package io.perdure;

/** The server has no rules for this call. */
public final class NotImplementedException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public NotImplementedException(ErrorFacts facts) {
        super(facts);
    }
}
