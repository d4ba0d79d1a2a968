package io.perdure;

/** A value or field is wrong; {@link #violations()} names each. */
public class InvalidRequestException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public InvalidRequestException(ErrorFacts facts) {
        super(facts);
    }
}
