package io.perdure;

import io.perdure.v1.Failure;
import io.perdure.v1.Payload;
import java.nio.charset.StandardCharsets;

/** What is known of encoded values without their keys. */
final class Codecs {
    static final String AES_GCM = "aes-gcm";
    /** Metadata that this library puts beside a value which it could not decode, for who asks for that value; it never travels. */
    static final String UNDECODED = "perdure-undecoded";
    /** Begins the failure types of attempts whose values could not be decoded. */
    static final String FAILURE_PREFIX = "perdure.codec.";

    private Codecs() {}

    static String told(Payload payload) {
        if (!payload.getEncoding().equals(AES_GCM)) {
            return "encoded (" + payload.getEncoding() + ")";
        }
        String key = AesGcm.keyIdOf(payload.getBinary().toByteArray());
        return "encrypted (" + AES_GCM + ", key " + (key.isEmpty() ? "unknown" : key) + ")";
    }

    static PayloadUndecodableException undecodable(Payload payload) {
        String[] noted = {"encoding_unknown", "this program has no codec named '" + payload.getEncoding() + "'"};
        if (payload.containsMetadata(UNDECODED)) {
            noted = payload.getMetadataOrThrow(UNDECODED).toString(StandardCharsets.UTF_8).split(":", 2);
        }
        return new PayloadUndecodableException("the value is " + told(payload) + ": " + noted[1], noted[0]);
    }

    static String failureText(Failure failure) {
        boolean encoded = failure.getMessage().isEmpty() && !failure.getDetails().getEncoding().isEmpty();
        return encoded ? told(failure.getDetails()) : failure.getMessage();
    }
}
