package io.perdure;

/** Too much at once, or a quota is used up; {@link #retryAfter()} says when to try again. */
public final class OverloadedException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public OverloadedException(ErrorFacts facts) {
        super(facts);
    }
}
