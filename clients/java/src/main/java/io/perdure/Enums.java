package io.perdure;

import com.google.protobuf.ProtocolMessageEnum;

/** Names of the wire's enum values. */
final class Enums {
    private Enums() {}

    /** The name without its prefix; empty for unspecified, UNKNOWN for what is newer than this library. */
    static <E extends Enum<E> & ProtocolMessageEnum> String name(E value, String prefix) {
        if (value.name().equals("UNRECOGNIZED")) {
            return "UNKNOWN";
        }
        String name = value.name();
        int at = name.startsWith(prefix) ? prefix.length() : 0;
        return value.getNumber() == 0 ? "" : name.substring(at);
    }

    static <E extends Enum<E>> E named(Class<E> kind, String name, E otherwise) {
        for (E value : kind.getEnumConstants()) {
            if (value.name().equals(name)) {
                return value;
            }
        }
        return otherwise;
    }
}
