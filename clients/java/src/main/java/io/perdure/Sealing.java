package io.perdure;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import io.perdure.v1.Failure;
import io.perdure.v1.Payload;
import io.perdure.v1.WaitResult;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/**
 * Puts every value of a message through the codec: into the message before it leaves, out of it where it arrives.
 *
 * <p>What cannot be decoded stays encoded, and is an error for who asks for that value, not for the whole answer.
 */
final class Sealing {
    private static final byte JSON = 'j';
    private static final byte BINARY = 'b';
    private static final byte FAILURE = 'f';

    private Sealing() {}

    /** The message with every value and failure encoded that is not encoded yet; inputs get a digest. Null codec: as it is. */
    static <M extends Message> M seal(M message, Codec codec) {
        return codec == null ? message : Walk.through(message, new Sealer(codec));
    }

    /** The message with every value and failure decoded that this codec encoded. Null codec: as it is. */
    static <M extends Message> M unseal(M message, Codec codec) {
        return codec == null ? message : Walk.through(message, new Unsealer(codec));
    }

    static Payload sealInput(Payload payload, Codec codec) {
        return new Sealer(codec).payload(payload, "input");
    }

    private record Sealer(Codec codec) implements Walk.Visitor {
        @Override
        public Payload payload(Payload payload, String field) {
            Payload.Builder sealed = payload.toBuilder().removeMetadata(Codecs.UNDECODED);
            if (!payload.getEncoding().isEmpty() || payload.hasRef() || Values.isAbsent(payload)) {
                return sealed.build();
            }
            byte[] plain = payload.hasJson()
                    ? kind(JSON, payload.getJson().getBytes(StandardCharsets.UTF_8))
                    : kind(BINARY, payload.getBinary().toByteArray());
            if (field.equals("input") && payload.getDigest().isEmpty()) {
                sealed.setDigest(codec.digest(digested(payload)));
            }
            sealed.setBinary(ByteString.copyFrom(codec.encode(plain, payload.getContentType())));
            return sealed.setEncoding(codec.name()).build();
        }

        @Override
        public Failure failure(Failure failure) {
            if (failure.getDetails().getEncoding().equals(codec.name())) {
                return failure;
            }
            if (failure.getType().startsWith(Codecs.FAILURE_PREFIX)) {
                return failure.hasDetails() ? failure.toBuilder().setDetails(payload(failure.getDetails(), "")).build() : failure;
            }
            Failure.Builder inner = Failure.newBuilder().setMessage(failure.getMessage());
            if (failure.hasDetails()) {
                inner.setDetails(failure.getDetails());
            }
            byte[] encoded = codec.encode(kind(FAILURE, inner.build().toByteArray()), "");
            Payload.Builder details = Payload.newBuilder().setBinary(ByteString.copyFrom(encoded)).setEncoding(codec.name());
            return failure.toBuilder().setMessage("").setDetails(details).build();
        }
    }

    private record Unsealer(Codec codec) implements Walk.Visitor {
        @Override
        public Payload payload(Payload payload, String field) {
            if (payload.getContentType().equals(WaitResults.CONTENT_TYPE) && payload.getEncoding().isEmpty()) {
                return waitResult(payload);
            }
            if (!isOurs(payload)) {
                return payload;
            }
            try {
                return put(payload, codec.decode(payload.getBinary().toByteArray(), payload.getContentType()));
            } catch (PayloadUndecodableException error) {
                return noted(payload, error);
            }
        }

        @Override
        public Failure failure(Failure failure) {
            if (!failure.hasDetails() || !isOurs(failure.getDetails())) {
                return failure;
            }
            Payload details = failure.getDetails();
            try {
                byte[] plain = codec.decode(details.getBinary().toByteArray(), details.getContentType());
                if (plain.length == 0 || plain[0] != FAILURE) {
                    return failure.toBuilder().setDetails(put(details, plain)).build();
                }
                Failure inner = Failure.parseFrom(ByteString.copyFrom(plain, 1, plain.length - 1));
                Failure.Builder whole = failure.toBuilder().setMessage(inner.getMessage()).clearDetails();
                return inner.hasDetails() ? whole.setDetails(inner.getDetails()).build() : whole.build();
            } catch (PayloadUndecodableException error) {
                return failure.toBuilder().setDetails(noted(details, error)).build();
            } catch (InvalidProtocolBufferException error) {
                return failure;
            }
        }

        private boolean isOurs(Payload payload) {
            return payload.getEncoding().equals(codec.name()) && payload.hasBinary();
        }

        /** The server made this JSON; the signals' payloads inside are as their senders sealed them. */
        private Payload waitResult(Payload payload) {
            if (!payload.getJson().contains("\"encoding\"")) {
                return payload;
            }
            try {
                WaitResult result = unseal(WaitResults.parse(payload), codec);
                return payload.toBuilder().setJson(WaitResults.print(result)).build();
            } catch (PayloadRejectedException error) {
                return payload; // the one who asks for it is told
            }
        }

        private static Payload noted(Payload payload, PayloadUndecodableException error) {
            String note = error.codecCause() + ":" + error.description();
            return payload.toBuilder().putMetadata(Codecs.UNDECODED, ByteString.copyFromUtf8(note)).build();
        }

        private static Payload put(Payload payload, byte[] plain) {
            // Whoever changes the value and sends it on must not send an old digest.
            Payload.Builder open = payload.toBuilder().clearEncoding().clearDigest();
            byte kind = plain.length == 0 ? 0 : plain[0];
            if (kind == BINARY) {
                return open.setBinary(ByteString.copyFrom(plain, 1, plain.length - 1)).build();
            }
            if (kind != JSON) {
                throw new PayloadUndecodableException("what it decodes to is neither JSON nor binary", "malformed");
            }
            try {
                ByteBuffer text = ByteBuffer.wrap(plain, 1, plain.length - 1);
                return open.setJson(StandardCharsets.UTF_8.newDecoder().decode(text).toString()).build();
            } catch (CharacterCodingException error) {
                throw new PayloadUndecodableException("what it decodes to is no UTF-8", "malformed");
            }
        }
    }

    /** What a keyed digest of a plain value is made of: canonical JSON, or the content type with its length and the bytes. */
    private static byte[] digested(Payload payload) {
        if (payload.hasJson()) {
            return kind(JSON, Canonical.of(payload.getJson()).getBytes(StandardCharsets.UTF_8));
        }
        byte[] contentType = payload.getContentType().getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(ByteBuffer.allocate(Integer.BYTES).putInt(contentType.length).array());
        all.writeBytes(contentType);
        all.writeBytes(payload.getBinary().toByteArray());
        return kind(BINARY, all.toByteArray());
    }

    private static byte[] kind(byte kind, byte[] value) {
        byte[] plain = new byte[value.length + 1];
        plain[0] = kind;
        System.arraycopy(value, 0, plain, 1, value.length);
        return plain;
    }
}
