package io.perdure;

/** A value is encoded, and this program cannot decode it. */
public final class PayloadUndecodableException extends PayloadRejectedException {
    private static final long serialVersionUID = 1L;

    private final String codecCause;

    /**
     * A value that cannot be decoded.
     *
     * @param message for people; holds nothing of the value
     * @param codecCause key_missing, key_wrong, tampered, malformed, or encoding_unknown
     */
    public PayloadUndecodableException(String message, String codecCause) {
        super(ErrorFacts.of(message, ""));
        this.codecCause = codecCause;
    }

    /** {@return key_missing, key_wrong, tampered, malformed, or encoding_unknown} */
    public String codecCause() {
        return codecCause;
    }
}
