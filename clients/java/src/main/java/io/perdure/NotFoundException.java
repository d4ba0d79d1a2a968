package io.perdure;

/** There is no such workflow, round, definition, step, payload or namespace. */
public final class NotFoundException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public NotFoundException(ErrorFacts facts) {
        super(facts);
    }
}
