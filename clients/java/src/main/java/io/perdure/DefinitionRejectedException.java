package io.perdure;

/** A definition has faults, or asks for something that the server cannot do. */
public final class DefinitionRejectedException extends InvalidRequestException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public DefinitionRejectedException(ErrorFacts facts) {
        super(facts);
    }
}
