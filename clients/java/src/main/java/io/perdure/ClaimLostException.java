package io.perdure;

/** The claim is not this worker's any more: stop, and drop the result. */
public final class ClaimLostException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * A lost claim.
     *
     * @param facts what is known of it
     */
    public ClaimLostException(ErrorFacts facts) {
        super(facts);
    }

    /** {@return EXPIRED, TIMED_OUT, CANCELLED, SUPERSEDED, CLOSED or UNKNOWN} */
    public String lossCause() {
        return facts().getOrDefault("cause", "UNKNOWN");
    }
}
