package io.perdure;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.ByteString;
import io.perdure.v1.Payload;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The vectors that the clients of all languages share, both ways. */
class CodecVectorsTest {
    private static final JsonNode VECTORS = vectors();
    private static final KeyRing RING = KeyRing.fromJson(VECTORS.get("key_file").toString());

    static Stream<JsonNode> values() {
        return StreamSupport.stream(VECTORS.get("values").spliterator(), false);
    }

    static Stream<JsonNode> failures() {
        return StreamSupport.stream(VECTORS.get("failures").spliterator(), false);
    }

    static Stream<JsonNode> refused() {
        return StreamSupport.stream(VECTORS.get("refused").spliterator(), false);
    }

    @ParameterizedTest
    @MethodSource("values")
    void aValueIsEncodedAndDecodedAsTheVectorSays(JsonNode vector) throws Exception {
        String contentType = vector.get("content_type").textValue();
        Payload plain = plain(vector, contentType);
        AesGcm codec = new AesGcm(new KeyRing(vector.get("key").textValue(), RING.keys(), RING.digestKey()));
        byte[] kind = plain.hasJson() ? joined('j', plain.getJson().getBytes(StandardCharsets.UTF_8)) : joined('b', plain.getBinary().toByteArray());
        byte[] encoded = codec.encodeWith(raw(vector.get("nonce")), kind, contentType);
        byte[] sum = MessageDigest.getInstance("SHA-256").digest(encoded);
        if (vector.has("encoded")) {
            assertArrayEquals(raw(vector.get("encoded")), encoded);
        } else {
            assertArrayEquals(raw(vector.get("encoded_sha256")), sum);
        }
        Payload sealed = Payload.newBuilder()
                .setBinary(ByteString.copyFrom(encoded)).setEncoding("aes-gcm").setContentType(contentType).build();
        assertEquals(plain, Sealing.unseal(sealed, codec));
        Payload again = Sealing.sealInput(plain, codec);
        assertEquals(vector.get("digest").textValue(), again.getDigest());
        assertNotEquals(sealed.getBinary(), again.getBinary()); // another nonce
        if (vector.has("canonical")) {
            assertEquals(vector.get("canonical").textValue(), Canonical.of(plain.getJson()));
        }
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aFailureIsEncodedAndDecodedAsTheVectorSays(JsonNode vector) {
        AesGcm codec = new AesGcm(RING);
        io.perdure.v1.Failure failure = io.perdure.v1.Failure.newBuilder()
                .setType("asr.quota")
                .setNonRetryable(true)
                .setDetails(Payload.newBuilder().setBinary(ByteString.copyFrom(raw(vector.get("encoded")))).setEncoding("aes-gcm"))
                .build();
        io.perdure.v1.Failure open = Sealing.unseal(failure, codec);
        assertEquals(vector.get("message").textValue(), open.getMessage());
        assertEquals(vector.get("details").get("json").textValue(), open.getDetails().getJson());
        io.perdure.v1.Failure sealed = Sealing.seal(open, codec);
        assertEquals("", sealed.getMessage());
        assertEquals("aes-gcm", sealed.getDetails().getEncoding());
        assertEquals(open, Sealing.unseal(sealed, codec));
    }

    @ParameterizedTest
    @MethodSource("refused")
    void whatDoesNotDecodeSaysWhy(JsonNode vector) {
        AesGcm codec = new AesGcm(RING);
        PayloadUndecodableException error = assertThrows(
                PayloadUndecodableException.class,
                () -> codec.decode(raw(vector.get("encoded")), vector.get("content_type").textValue()));
        assertEquals(vector.get("cause").textValue(), error.codecCause());
    }

    private static Payload plain(JsonNode vector, String contentType) {
        Payload.Builder payload = Payload.newBuilder().setContentType(contentType);
        if (vector.has("binary")) {
            return payload.setBinary(ByteString.copyFrom(raw(vector.get("binary")))).build();
        }
        JsonNode repeated = vector.get("repeated");
        String json = repeated == null
                ? vector.get("json").textValue()
                : Json.write(repeated.get("text").textValue().repeat(repeated.get("times").intValue()));
        return payload.setJson(json).build();
    }

    private static byte[] joined(char kind, byte[] value) {
        byte[] all = new byte[value.length + 1];
        all[0] = (byte) kind;
        System.arraycopy(value, 0, all, 1, value.length);
        return all;
    }

    private static byte[] raw(JsonNode text) {
        return Base64.getDecoder().decode(text.textValue());
    }

    private static JsonNode vectors() {
        try {
            return Json.get().readTree(Files.readString(Path.of("../../tests/conformance/codec_vectors.json")));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }
}
