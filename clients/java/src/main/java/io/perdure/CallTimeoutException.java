package io.perdure;

/** No answer within the timeout, or the caller was interrupted; the effect is unknown, the same request may be repeated. */
public final class CallTimeoutException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public CallTimeoutException(ErrorFacts facts) {
        super(facts);
    }
}
