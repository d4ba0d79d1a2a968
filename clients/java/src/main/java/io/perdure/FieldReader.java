package io.perdure;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Takes values out of a YAML document by kind, gathering every fault with its place; a wrong value becomes a harmless one. */
final class FieldReader {
    private static final Pattern DURATION_PART = Pattern.compile("(\\d+(?:\\.\\d+)?)(ms|s|m|h|d|w)");
    private static final Map<String, Long> UNIT_MILLISECONDS =
            Map.of("ms", 1L, "s", 1_000L, "m", 60_000L, "h", 3_600_000L, "d", 86_400_000L, "w", 604_800_000L);

    private final List<Violation> faults = new ArrayList<>();

    List<Violation> faults() {
        return faults;
    }

    void fault(String path, String text) {
        faults.add(new Violation(path, text));
    }

    /** A mapping; with known keys, all of them known. */
    Map<String, JsonNode> mapping(String path, JsonNode value, Set<String> known) {
        if (isAbsent(value)) {
            return Map.of();
        }
        if (!value.isObject()) {
            fault(path, "must be a mapping, not " + kind(value));
            return Map.of();
        }
        Map<String, JsonNode> found = new LinkedHashMap<>();
        value.properties().forEach(entry -> found.put(entry.getKey(), entry.getValue()));
        for (String key : found.keySet()) {
            if (!known.isEmpty() && !known.contains(key)) {
                fault(path.isEmpty() ? key : path + "." + key, "is not known; known are " + String.join(", ", new TreeSet<>(known)));
            }
        }
        return found;
    }

    /** A list; one value alone is a list of one. */
    List<JsonNode> items(JsonNode value) {
        if (isAbsent(value)) {
            return List.of();
        }
        if (!value.isArray()) {
            return List.of(value);
        }
        List<JsonNode> items = new ArrayList<>();
        value.forEach(items::add);
        return items;
    }

    /** Text; numbers and the like must be quoted, as YAML has changed them already. */
    String text(String path, JsonNode value) {
        if (isAbsent(value)) {
            return "";
        }
        if (!value.isTextual()) {
            fault(path, "must be text, not " + kind(value) + ": quote it");
            return "";
        }
        return value.textValue();
    }

    List<String> names(String path, JsonNode value) {
        List<String> names = new ArrayList<>();
        List<JsonNode> items = items(value);
        for (int index = 0; index < items.size(); index++) {
            names.add(text(path + "[" + index + "]", items.get(index)));
        }
        return names;
    }

    Optional<Integer> integer(String path, JsonNode value) {
        if (isAbsent(value)) {
            return Optional.empty();
        }
        if (!value.isIntegralNumber() || !value.canConvertToInt()) {
            fault(path, "must be a whole number, not " + kind(value));
            return Optional.empty();
        }
        return Optional.of(value.intValue());
    }

    Optional<Double> number(String path, JsonNode value) {
        if (isAbsent(value)) {
            return Optional.empty();
        }
        if (!value.isNumber()) {
            fault(path, "must be a number, not " + kind(value));
            return Optional.empty();
        }
        return Optional.of(value.doubleValue());
    }

    boolean flag(String path, JsonNode value) {
        if (!value.isBoolean()) {
            fault(path, "is " + kind(value) + ", not true or false");
        }
        return value.asBoolean();
    }

    Optional<Duration> duration(String path, JsonNode value) {
        if (isAbsent(value)) {
            return Optional.empty();
        }
        if (!value.isTextual()) {
            fault(path, "must be a duration with a unit, such as 30s or 3d, not " + kind(value));
            return Optional.empty();
        }
        try {
            return Optional.of(parseDuration(value.textValue()));
        } catch (IllegalArgumentException error) {
            fault(path, error.getMessage());
            return Optional.empty();
        }
    }

    /** A time with its zone. */
    Optional<Instant> time(String path, JsonNode value) {
        try {
            return Optional.of(OffsetDateTime.parse(text(path, value)).toInstant());
        } catch (DateTimeException error) {
            fault(path, "must be a time with its zone, such as 2030-01-01T00:00:00Z, not " + kind(value));
            return Optional.empty();
        }
    }

    static boolean isAbsent(JsonNode value) {
        return value == null || value.isNull() || value.isMissingNode();
    }

    /** Durations as people write them: 500ms, 30s, 1h30m, 3d. */
    static Duration parseDuration(String text) {
        String compact = text.replace(" ", "");
        Matcher part = DURATION_PART.matcher(compact);
        BigDecimal milliseconds = BigDecimal.ZERO;
        int end = 0;
        while (part.find() && part.start() == end) {
            milliseconds = milliseconds.add(new BigDecimal(part.group(1)).multiply(BigDecimal.valueOf(UNIT_MILLISECONDS.get(part.group(2)))));
            end = part.end();
        }
        if (end == 0 || end < compact.length()) {
            throw new IllegalArgumentException("'" + text + "' is no duration: write a number and a unit (ms, s, m, h, d, w), such as 30s,"
                    + " 1h30m or 3d");
        }
        BigInteger[] seconds = milliseconds.movePointRight(6).toBigInteger().divideAndRemainder(BigInteger.valueOf(1_000_000_000));
        if (seconds[0].bitLength() > Long.SIZE - 1) {
            throw new IllegalArgumentException("'" + text + "' is longer than any clock counts");
        }
        return Duration.ofSeconds(seconds[0].longValue(), seconds[1].longValue());
    }

    private static String kind(JsonNode value) {
        if (isAbsent(value)) {
            return "nothing";
        }
        if (value.isObject()) {
            return "a mapping";
        }
        if (value.isArray()) {
            return "a list";
        }
        return value.isBoolean() ? "the truth value " + value.asText() : "'" + value.asText() + "'";
    }
}
