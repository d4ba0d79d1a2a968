package io.perdure;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * The keys of one team: which encrypts, which still decrypt, and which makes digests. Made by {@code perdure keys new}.
 *
 * @param active id of the key that encrypts
 * @param keys by id, 32 bytes each; ids have 1 to 64 letters, digits, {@code .}, {@code _} and {@code -}, and travel readable
 * @param digestKey 32 bytes; keep it when keys change, else a repeated start is no longer known as the same
 */
public record KeyRing(String active, Map<String, byte[]> keys, byte[] digestKey) {
    private static final int KEY_SIZE = 32;
    private static final Pattern KEY_ID = Pattern.compile("[A-Za-z0-9._-]{1,64}");

    /**
     * Checks the ring.
     *
     * @param active id of the key that encrypts
     * @param keys all keys
     * @param digestKey the digests' key
     */
    public KeyRing {
        keys = Map.copyOf(keys);
        keys.forEach((id, key) -> {
            require(KEY_ID.matcher(id).matches(), "a key's id has 1 to 64 letters, digits, `.`, `_` and `-`; '" + id + "' has not");
            require(key.length == KEY_SIZE, "key " + id + " has " + key.length + " bytes; AES-256 needs " + KEY_SIZE);
        });
        require(keys.containsKey(active), "the active key '" + active + "' is not among the keys: " + String.join(", ", keys.keySet()));
        require(digestKey.length == KEY_SIZE, "digest_key has " + digestKey.length + " bytes; it needs " + KEY_SIZE);
    }

    /**
     * The ring of a key file's text.
     *
     * @param text {@code {"active": id, "keys": {id: base64}, "digest_key": base64}}
     * @return the ring
     * @throws InvalidRequestException names what is wrong, and no key
     */
    public static KeyRing fromJson(String text) {
        JsonNode found;
        try {
            found = Json.get().readTree(text);
        } catch (JsonProcessingException error) {
            throw invalid("a key file is JSON, and this is none");
        }
        require(found.path("keys").isObject() && found.path("active").isTextual(),
                "a key file is {\"active\": id, \"keys\": {id: base64}, \"digest_key\": base64}");
        Map<String, byte[]> keys = new LinkedHashMap<>();
        found.path("keys").properties().forEach(key -> keys.put(key.getKey(), decoded("keys." + key.getKey(), key.getValue())));
        return new KeyRing(found.path("active").textValue(), keys, decoded("digest_key", found.path("digest_key")));
    }

    /** {@return the ids, and no key} */
    @Override
    public String toString() {
        return "KeyRing[active=" + active + ", keys=" + String.join(",", keys.keySet()) + "]";
    }

    private static byte[] decoded(String name, JsonNode value) {
        try {
            return Base64.getDecoder().decode(value.isTextual() ? value.textValue() : "?");
        } catch (IllegalArgumentException error) {
            throw invalid(name + " is not base64");
        }
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw invalid(otherwise);
        }
    }

    private static InvalidRequestException invalid(String text) {
        return new InvalidRequestException(ErrorFacts.of(text, ""));
    }
}
