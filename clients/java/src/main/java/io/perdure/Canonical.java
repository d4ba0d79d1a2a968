package io.perdure;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;

/**
 * The one text that stands for equal JSON values, for keyed digests: members by the code points of their names, no white space,
 * numbers as they were written, strings escaped as little as JSON allows. The same in all languages: codec_vectors.json.
 */
final class Canonical {
    private static final Comparator<String> BY_CODE_POINTS = Canonical::compare;

    private Canonical() {}

    static String of(String text) {
        try (JsonParser parser = Json.get().createParser(text)) {
            StringBuilder out = new StringBuilder(text.length());
            require(parser.nextToken() != null, "nothing is there");
            value(parser, out);
            require(parser.nextToken() == null, "something follows the value");
            return out.toString();
        } catch (IOException error) {
            throw Values.rejected("not JSON: " + error.getMessage());
        }
    }

    private static void value(JsonParser parser, StringBuilder out) throws IOException {
        switch (parser.currentToken()) {
            case START_OBJECT -> object(parser, out);
            case START_ARRAY -> array(parser, out);
            case VALUE_STRING -> string(parser.getText(), out);
            default -> out.append(parser.getText());
        }
    }

    private static void array(JsonParser parser, StringBuilder out) throws IOException {
        out.append('[');
        for (boolean first = true; parser.nextToken() != JsonToken.END_ARRAY; first = false) {
            out.append(first ? "" : ",");
            value(parser, out);
        }
        out.append(']');
    }

    private static void object(JsonParser parser, StringBuilder out) throws IOException {
        Map<String, String> members = new TreeMap<>(BY_CODE_POINTS);
        while (parser.nextToken() != JsonToken.END_OBJECT) {
            String name = parser.currentName();
            parser.nextToken();
            StringBuilder member = new StringBuilder();
            value(parser, member);
            require(members.put(name, member.toString()) == null, "a name stands twice in an object");
        }
        out.append('{');
        String comma = "";
        for (Map.Entry<String, String> member : members.entrySet()) {
            out.append(comma);
            string(member.getKey(), out);
            out.append(':').append(member.getValue());
            comma = ",";
        }
        out.append('}');
    }

    private static void string(String text, StringBuilder out) throws IOException {
        out.append('"');
        for (int index = 0; index < text.length(); index++) {
            char one = text.charAt(index);
            if (Character.isSurrogate(one)) {
                require(Character.isHighSurrogate(one) && index + 1 < text.length() && Character.isLowSurrogate(text.charAt(index + 1)),
                        "half of a surrogate pair");
                out.append(one).append(text.charAt(++index));
            } else {
                character(one, out);
            }
        }
        out.append('"');
    }

    private static void character(char one, StringBuilder out) {
        switch (one) {
            case '"' -> out.append("\\\"");
            case '\\' -> out.append("\\\\");
            case '\b' -> out.append("\\b");
            case '\t' -> out.append("\\t");
            case '\n' -> out.append("\\n");
            case '\f' -> out.append("\\f");
            case '\r' -> out.append("\\r");
            default -> {
                if (one < 0x20) {
                    out.append(String.format("\\u%04x", (int) one));
                } else {
                    out.append(one);
                }
            }
        }
    }

    /** UTF-16 order differs where surrogates meet characters above them. */
    private static int compare(String left, String right) {
        int[] first = left.codePoints().toArray();
        int[] second = right.codePoints().toArray();
        return java.util.Arrays.compare(first, second);
    }

    private static void require(boolean holds, String otherwise) throws IOException {
        if (!holds) {
            throw new IOException(otherwise);
        }
    }
}
