package io.perdure;

/** A value cannot travel: not JSON, NaN or infinite, too deep, of another type, or too large. */
public class PayloadRejectedException extends InvalidRequestException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public PayloadRejectedException(ErrorFacts facts) {
        super(facts);
    }
}
