package io.perdure;

import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.google.protobuf.ByteString;
import io.perdure.v1.Payload;
import java.lang.reflect.Type;
import java.util.Optional;

/** Values as they travel: Java values to payloads and back. */
final class Values {
    /** A payload without data: clears a checkpoint. */
    static final Payload NO_VALUE = Payload.getDefaultInstance();

    private Values() {}

    /** The payload of a value; empty for "no value". Throws PayloadRejectedException. */
    static Optional<Payload> encode(Object value) {
        if (value instanceof Optional<?> optional) {
            return encode(optional.orElse(null));
        }
        if (value == null || value instanceof MissingNode) {
            return Optional.empty();
        }
        if (value instanceof Payload payload) {
            return Optional.of(payload);
        }
        if (value instanceof byte[] bytes) {
            return Optional.of(Payload.newBuilder().setBinary(ByteString.copyFrom(bytes)).build());
        }
        if (value instanceof ByteString bytes) {
            return Optional.of(Payload.newBuilder().setBinary(bytes).build());
        }
        return Optional.of(Payload.newBuilder().setJson(Json.write(value)).build());
    }

    static Payload encodeOrNone(Object value) {
        return encode(value).orElse(NO_VALUE);
    }

    static <T> T decode(Payload payload, Class<T> type) {
        return cast(decode(payload, javaType(type)));
    }

    /** The value of a payload (null: no value). Throws PayloadRejectedException. */
    static Object decode(Payload payload, JavaType type) {
        Class<?> raw = type.getRawClass();
        if (raw == Optional.class) {
            return isAbsent(payload) ? Optional.empty() : Optional.ofNullable(decode(payload, type.containedTypeOrUnknown(0)));
        }
        if (raw == Payload.class) {
            return payload == null ? NO_VALUE : payload;
        }
        if (isAbsent(payload)) {
            return absent(type);
        }
        if (payload.hasRef()) {
            throw rejected("the value is stored apart: read it by Run.fetch, or by Run.result");
        }
        if (!payload.getEncoding().isEmpty()) {
            throw Codecs.undecodable(payload);
        }
        if (payload.hasBinary()) {
            return binary(payload.getBinary(), type);
        }
        return raw == MapResult.class ? MapResult.parse(payload.getJson()) : Json.read(payload.getJson(), type);
    }

    static JavaType javaType(Type type) {
        return Json.get().constructType(type);
    }

    static boolean isAbsent(Payload payload) {
        return payload == null || payload.getDataCase() == Payload.DataCase.DATA_NOT_SET;
    }

    /** A value for people: decoded JSON, bytes as their size, refs and encoded values as their names. */
    static Object inline(Payload payload) {
        if (isAbsent(payload)) {
            return null;
        }
        if (payload.hasRef()) {
            return "<" + payload.getRef().getSizeBytes() + " bytes, stored apart>";
        }
        if (payload.hasBinary()) {
            String told = payload.getEncoding().isEmpty() ? payload.getBinary().size() + " bytes" : Codecs.told(payload);
            return "<" + told + ">";
        }
        try {
            return decode(payload, Object.class);
        } catch (PayloadRejectedException unreadable) { // such as one that another language nested deeper than this one reads
            return "<" + unreadable.description() + ">";
        }
    }

    static int size(Payload payload) {
        return payload.hasBinary() ? payload.getBinary().size() : payload.getJsonBytes().size();
    }

    static PayloadRejectedException rejected(String text) {
        return new PayloadRejectedException(ErrorFacts.of(text, ErrorReason.PAYLOAD_INVALID));
    }

    @SuppressWarnings("unchecked") // the caller asked for this type, and the decoder made it
    static <T> T cast(Object value) {
        return (T) value;
    }

    private static Object absent(JavaType type) {
        Class<?> raw = type.getRawClass();
        if (raw == JsonNode.class) {
            return MissingNode.getInstance();
        }
        if (raw == Object.class || raw == Void.class) {
            return null;
        }
        throw rejected("there is no value, and " + type.toCanonical() + " does not allow that; Optional does");
    }

    private static Object binary(ByteString value, JavaType type) {
        Class<?> raw = type.getRawClass();
        if (raw == ByteString.class) {
            return value;
        }
        if (raw == byte[].class || raw == Object.class) {
            return value.toByteArray();
        }
        throw rejected("not a " + type.toCanonical() + ": the value is binary (" + value.size() + " bytes)");
    }
}
