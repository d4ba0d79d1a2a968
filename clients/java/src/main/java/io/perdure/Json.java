package io.perdure;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonStreamContext;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.util.JsonGeneratorDelegate;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JavaType;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import com.fasterxml.jackson.datatype.jdk8.Jdk8Module;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.io.IOException;
import java.io.StringWriter;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

/** JSON as it travels. Integers stay exact, times are ISO 8601, unknown members are passed by, NaN is refused. */
final class Json {
    private static final String NOT_FINITE = "NaN and infinite numbers cannot travel as JSON: at ";
    private static final JsonMapper MAPPER = mapper();

    private Json() {}

    static JsonMapper get() {
        return MAPPER;
    }

    static String write(Object value) {
        StringWriter text = new StringWriter();
        try (JsonGenerator generator = new FiniteGenerator(MAPPER.createGenerator(text))) {
            MAPPER.writeValue(generator, value);
        } catch (IOException | StackOverflowError error) {
            throw Values.rejected(value.getClass().getName() + " cannot travel as JSON: " + said(error));
        }
        return wellFormed(text.toString());
    }

    /** Protobuf would put question marks where this throws. */
    private static String wellFormed(String text) {
        for (int index = 0; index < text.length(); index++) {
            if (Character.isSurrogate(text.charAt(index))) {
                if (!Character.isSurrogatePair(text.charAt(index), index + 1 < text.length() ? text.charAt(index + 1) : 0)) {
                    throw Values.rejected("text with half of a surrogate pair cannot travel as JSON: at character " + index);
                }
                index++;
            }
        }
        return text;
    }

    static Object read(String text, JavaType type) {
        try {
            return MAPPER.readValue(text, type);
        } catch (JsonProcessingException error) {
            throw Values.rejected("not a " + type.toCanonical() + ": " + said(error));
        }
    }

    private static String said(Throwable error) {
        // The original message goes without the source; it may still quote what was written at that place.
        return error instanceof JsonProcessingException json ? json.getOriginalMessage() : String.valueOf(error.getMessage());
    }

    private static JsonMapper mapper() {
        JsonFactory factory = JsonFactory.builder()
                .streamReadConstraints(
                        StreamReadConstraints.builder().maxStringLength(Limits.MESSAGE_BYTES).maxNumberLength(10_000).build())
                .build();
        return JsonMapper.builder(factory)
                .addModule(new JavaTimeModule())
                .addModule(new Jdk8Module())
                .addModule(new SimpleModule()
                        .addSerializer(Future.class, new Refusing<>(Future.class))
                        .addSerializer(CompletionStage.class, new Refusing<>(CompletionStage.class)))
                .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS, SerializationFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
                .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .disable(DeserializationFeature.ADJUST_DATES_TO_CONTEXT_TIME_ZONE)
                .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
                .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
                .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
                .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
                .build();
    }

    /** Refuses what would travel as its getters, which nobody means. */
    private static final class Refusing<T> extends StdSerializer<T> {
        private static final long serialVersionUID = 1L;

        Refusing(Class<T> type) {
            super(type);
        }

        @Override
        public void serialize(T value, JsonGenerator generator, SerializerProvider provider) throws IOException {
            throw new IOException("a " + handledType().getSimpleName() + " is no value: wait for what it gives");
        }
    }

    /** Refuses what JSON has no number for, here where the value is at hand. */
    private static final class FiniteGenerator extends JsonGeneratorDelegate {
        FiniteGenerator(JsonGenerator inner) {
            super(inner, false);
        }

        @Override
        public void writeNumber(double number) throws IOException {
            refuse(Double.isFinite(number));
            super.writeNumber(number);
        }

        @Override
        public void writeNumber(float number) throws IOException {
            refuse(Float.isFinite(number));
            super.writeNumber(number);
        }

        @Override
        public void writeArray(double[] array, int offset, int length) throws IOException {
            for (int index = offset; index < offset + length; index++) {
                if (!Double.isFinite(array[index])) {
                    throw new IOException(NOT_FINITE + getOutputContext().pathAsPointer() + "/" + (index - offset));
                }
            }
            super.writeArray(array, offset, length);
        }

        private void refuse(boolean finite) throws IOException {
            if (!finite) {
                JsonStreamContext place = getOutputContext();
                String parent = place.inArray() ? place.getParent().pathAsPointer() + "/" + (place.getCurrentIndex() + 1) : "";
                throw new IOException(NOT_FINITE + (place.inArray() ? parent : place.pathAsPointer().toString()));
            }
        }
    }
}
