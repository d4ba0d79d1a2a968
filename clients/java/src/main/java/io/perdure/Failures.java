package io.perdure;

import io.perdure.v1.Payload;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** Failures to the wire and back. */
final class Failures {
    private Failures() {}

    /** Details that cannot be decoded stay out. */
    static Failure of(io.perdure.v1.Failure message) {
        Object details = message.hasDetails() ? Values.inline(message.getDetails()) : null;
        java.time.Duration retryAfter = message.hasRetryAfter() ? Times.of(message.getRetryAfter()) : null;
        return new Failure(message.getType(), Codecs.failureText(message), details, message.getNonRetryable(), retryAfter);
    }

    /** Null for an absent one. */
    static Failure of(boolean present, io.perdure.v1.Failure message) {
        return present ? of(message) : null;
    }

    /** A failure that was made on purpose, without a stack trace. */
    static io.perdure.v1.Failure message(Failure failure) {
        io.perdure.v1.Failure.Builder message = words(failure);
        Values.encode(failure.details()).ifPresent(message::setDetails);
        return message.build();
    }

    /** The wire's failure of an exception, with its stack trace in the details. */
    static io.perdure.v1.Failure message(Throwable error) {
        io.perdure.v1.Failure.Builder message;
        Object details = null;
        if (error instanceof FailureException failed && failed.failure() != null) {
            message = words(failed.failure());
            details = failed.failure().details();
        } else if (error instanceof PayloadUndecodableException undecodable) {
            // Another worker may have the key, or this one may get it: tried again by policy, but not at once.
            message = words(Failure.of(Codecs.FAILURE_PREFIX + undecodable.codecCause(), undecodable.description())
                    .retryAfter(Limits.CODEC_RETRY_INTERVAL));
        } else {
            message = words(Failure.of(error.getClass().getName(), error.getMessage()));
            // The same value fails the same way in every attempt.
            message.setNonRetryable(error instanceof PayloadRejectedException);
        }
        return message.setDetails(details(error, details)).build();
    }

    /** A failure that says no more than its type. */
    static io.perdure.v1.Failure bare(String type) {
        return words(Failure.of(type, "")).build();
    }

    /** A codec threw what no codec should: tried again by policy, but not at once. Only the class is told, as nothing can be encoded. */
    static io.perdure.v1.Failure ofCodec(RuntimeException error) {
        return words(Failure.of(Codecs.FAILURE_PREFIX + "failed", error.getClass().getName()).retryAfter(Limits.CODEC_RETRY_INTERVAL))
                .build();
    }

    /** The text, cut so that its UTF-8 form has at most so many bytes and no broken character. */
    static String cut(String text, int size) {
        ByteBuffer encoded = StandardCharsets.UTF_8.encode(text);
        if (encoded.remaining() <= size) {
            return StandardCharsets.UTF_8.decode(encoded).toString();
        }
        encoded.limit(size);
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPLACE);
        CharBuffer kept = CharBuffer.allocate(size);
        decoder.decode(encoded, kept, false); // half of a character at the end stays out
        return kept.flip().toString();
    }

    private static io.perdure.v1.Failure.Builder words(Failure failure) {
        io.perdure.v1.Failure.Builder message = io.perdure.v1.Failure.newBuilder()
                .setType(failure.type().isEmpty() ? "Failure" : cut(failure.type(), Limits.FAILURE_TYPE_BYTES))
                .setMessage(cut(failure.message(), Limits.FAILURE_MESSAGE_BYTES))
                .setNonRetryable(failure.nonRetryable());
        if (failure.retryDelay() != null) {
            message.setRetryAfter(Times.message(failure.retryDelay()));
        }
        return message;
    }

    private static Payload details(Throwable error, Object details) {
        if (details instanceof byte[] || details instanceof Payload) {
            return Values.encodeOrNone(details);
        }
        StringWriter trace = new StringWriter();
        error.printStackTrace(new PrintWriter(trace));
        Map<String, Object> told = new LinkedHashMap<>();
        told.put("stack", cut(trace.toString(), Limits.FAILURE_STACK_BYTES));
        if (details != null) {
            told.put("details", details);
        }
        try {
            return Payload.newBuilder().setJson(Json.write(told)).build();
        } catch (PayloadRejectedException rejected) {
            told.put("details", rejected.description());
            return Payload.newBuilder().setJson(Json.write(told)).build();
        }
    }
}
