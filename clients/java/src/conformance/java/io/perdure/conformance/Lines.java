package io.perdure.conformance;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.perdure.CallTimeoutException;
import io.perdure.Failure;
import io.perdure.Payloads;
import io.perdure.PayloadUndecodableException;
import io.perdure.PerdureException;
import io.perdure.WorkflowCancelledException;
import io.perdure.WorkflowFailedException;
import io.perdure.WorkflowNotCompletedException;
import io.perdure.v1.Payload;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;

/** Lines of JSON: values, errors and failures as tests/conformance/README.md has them. */
final class Lines {
    static final JsonMapper MAPPER = JsonMapper.builder()
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
            .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
            .build();
    private static final String BINARY = "$binary";
    private static final PrintStream OUT = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), false);

    private Lines() {}

    static ObjectNode line() {
        return MAPPER.createObjectNode();
    }

    static ObjectNode event(String kind) {
        return line().put("event", kind);
    }

    /** Writes one line, from any thread. */
    static void write(ObjectNode line) {
        byte[] encoded;
        try {
            encoded = (MAPPER.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8);
        } catch (JsonProcessingException error) {
            throw new IllegalStateException(error);
        }
        synchronized (OUT) {
            OUT.write(encoded, 0, encoded.length);
            OUT.flush();
        }
    }

    static JsonNode parse(String text) {
        try {
            return MAPPER.readTree(text);
        } catch (JsonProcessingException error) {
            throw new IllegalArgumentException("not JSON: " + error.getOriginalMessage(), error);
        }
    }

    /** The value in a field, for the library: Java's null where there is none, NullNode for null. */
    static Object given(JsonNode fields, String name) {
        return fields.has(name) ? value(fields.get(name)) : null;
    }

    static Object value(JsonNode value) {
        boolean binary = value.isObject() && value.size() == 1 && value.has(BINARY);
        return binary ? Base64.getDecoder().decode(value.get(BINARY).textValue()) : value;
    }

    static String text(JsonNode fields, String name) {
        return fields.path(name).asText("");
    }

    static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(item -> texts.add(item.asText()));
        return texts;
    }

    static Optional<Duration> duration(JsonNode fields, String name) {
        return fields.has(name) ? Optional.of(Duration.ofMillis(fields.get(name).longValue())) : Optional.empty();
    }

    /** Puts a value under its name, if there is one. Throws PayloadUndecodableException. */
    static void put(ObjectNode line, String name, Payload payload) {
        if (payload.getDataCase() == Payload.DataCase.DATA_NOT_SET) {
            return;
        }
        if (payload.hasBinary()) {
            byte[] bytes = Payloads.decode(payload, byte[].class);
            line.set(name, line().put(BINARY, Base64.getEncoder().encodeToString(bytes)));
        } else {
            line.set(name, Payloads.decode(payload, JsonNode.class));
        }
    }

    static ObjectNode failure(Failure failure) {
        ObjectNode line = line();
        line.put("type", failure.type()).put("message", failure.message()).put("non_retryable", failure.nonRetryable());
        if (failure.details() != null) {
            line.set("details", MAPPER.valueToTree(failure.details()));
        }
        if (failure.retryDelay() != null) {
            line.put("retry_after_ms", failure.retryDelay().toMillis());
        }
        return line;
    }

    static void failure(ObjectNode line, String name, Optional<Failure> failure) {
        failure.ifPresent(found -> line.set(name, failure(found)));
    }

    /** An error, of the library's or of the request's own. */
    static ObjectNode error(Throwable thrown) {
        if (!(thrown instanceof PerdureException error)) {
            return error("usage", thrown.toString(), "");
        }
        if (error instanceof WorkflowNotCompletedException) {
            String type = error instanceof WorkflowCancelledException ? "cancelled" : "terminated";
            ObjectNode line = error(error instanceof WorkflowFailedException ? "failed" : type, error.description(), error.reason());
            if (error instanceof WorkflowFailedException failed) {
                line.put("step", failed.step()).set("failure", failure(failed.failure()));
            }
            return line;
        }
        if (error instanceof PayloadUndecodableException undecodable) {
            return error("undecodable", error.description(), error.reason()).put("cause", undecodable.codecCause());
        }
        if (error instanceof CallTimeoutException && error.code().isEmpty()) {
            return error("timeout", error.description(), error.reason());
        }
        ObjectNode line = error("call", error.description(), error.reason()).put("code", error.code());
        error.violations().forEach(found -> line.withArray("violations").addObject()
                .put("field", found.field()).put("description", found.description()));
        error.facts().forEach((name, fact) -> line.withObject("/facts").put(name, fact));
        error.retryAfter().ifPresent(after -> line.put("retry_after_ms", after.toMillis()));
        return line;
    }

    private static ObjectNode error(String type, String message, String reason) {
        ObjectNode line = line().put("type", type).put("reason", reason).put("code", "").put("message", message);
        line.putArray("violations");
        line.putObject("facts");
        return line;
    }
}
