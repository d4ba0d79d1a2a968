package io.perdure;

import com.fasterxml.jackson.core.type.TypeReference;
import io.perdure.v1.Payload;

/** Values as they travel, for who calls the stubs directly. Neither way goes through a codec. */
public final class Payloads {
    private Payloads() {}

    /**
     * The payload of a value: JSON, or the bytes of {@code byte[]}. Integers stay exact, also those of 64 bits and BigInteger.
     *
     * @param value any value that JSON can hold; null, an empty Optional and MissingNode are "no value", NullNode is the JSON null
     * @return the payload; without data: no value
     * @throws PayloadRejectedException it cannot travel
     */
    public static Payload of(Object value) {
        return Values.encodeOrNone(value);
    }

    /**
     * The value of a payload.
     *
     * @param <T> what to decode it to
     * @param payload the payload
     * @param type what to decode it to; Payload itself takes it as it is, Object gives maps, lists, text, numbers
     * @return the value; null for the JSON null
     * @throws PayloadRejectedException it is of another type, absent where the type has no room for that, or stored apart
     * @throws PayloadUndecodableException it is encoded
     */
    public static <T> T decode(Payload payload, Class<T> type) {
        return Values.decode(payload, type);
    }

    /**
     * As {@link #decode(Payload, Class)}, for generic types.
     *
     * @param <T> what to decode it to
     * @param payload the payload
     * @param type such as {@code new TypeReference<Optional<String>>() {}}
     * @return the value
     */
    public static <T> T decode(Payload payload, TypeReference<T> type) {
        return Values.cast(Values.decode(payload, Values.javaType(type.getType())));
    }
}
