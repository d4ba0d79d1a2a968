package io.perdure;

/** No or wrong credentials, or the caller's roles do not allow it. */
public final class AccessDeniedException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public AccessDeniedException(ErrorFacts facts) {
        super(facts);
    }
}
