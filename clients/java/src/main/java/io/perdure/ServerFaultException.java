package io.perdure;

/** A bug of the server's, or damaged data; the fact {@code incident_id} is in the server's log. */
public final class ServerFaultException extends PerdureException {
    private static final long serialVersionUID = 1L;

    /**
     * An error of this kind.
     *
     * @param facts what is known of it
     */
    public ServerFaultException(ErrorFacts facts) {
        super(facts);
    }
}
