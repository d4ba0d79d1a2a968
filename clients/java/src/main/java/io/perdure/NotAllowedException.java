package io.perdure;

/** The workflow, step, session or definition is in no state that allows it. */
public final class NotAllowedException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public NotAllowedException(ErrorFacts facts) {
        super(facts);
    }
}
