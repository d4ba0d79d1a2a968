package io.perdure;

/**
 * Makes values unreadable to everything between two programs that hold the keys: encodes values before they leave, and decodes them
 * where they are used. All methods may be called from any thread.
 *
 * <p>A codec sees bytes, of which the first says what they are. docs/how-to/encrypt-payloads.md of the repository tells what is
 * encoded and what is not. {@link AesGcm} is one.
 */
public interface Codec {
    /** {@return what travels as the payload's {@code encoding}; the same in all languages} */
    String name();

    /**
     * Encodes.
     *
     * @param plain what to encode
     * @param contentType travels readable beside it, and should be bound to it
     * @return the encoded form
     */
    byte[] encode(byte[] plain, String contentType);

    /**
     * Decodes.
     *
     * @param encoded what {@link #encode} gave
     * @param contentType the content type that came with it
     * @return what {@link #encode} was given
     * @throws PayloadUndecodableException a key is missing or is another one, or the value was changed
     */
    byte[] decode(byte[] encoded, String contentType);

    /**
     * A keyed hash: equal for equal values, tells nothing without the key.
     *
     * @param plain what to hash
     * @return at most 128 characters
     */
    String digest(byte[] plain);
}
