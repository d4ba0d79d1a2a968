package io.perdure;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import javax.crypto.AEADBadTagException;
import javax.crypto.Cipher;
import javax.crypto.Mac;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * The codec {@code aes-gcm}: AES-256-GCM with random nonces, by the JDK's own cryptography. An encrypted value is
 *
 * <pre>1 | length of the key's id | the id | check of the key (4) | nonce (12) | cipher text with its tag (16)</pre>
 *
 * and its associated data is {@code perdure/aes-gcm}, everything before the nonce, and the content type. Give a new key to a ring
 * before one key has encrypted 2<sup>32</sup> values.
 */
public final class AesGcm implements Codec {
    private static final int CHECK_SIZE = 4;
    private static final int NONCE_SIZE = 12;
    private static final int TAG_SIZE = 16;
    private static final int VERSION = 1;
    private static final byte[] CONTEXT = "perdure/aes-gcm".getBytes(StandardCharsets.US_ASCII);

    private final KeyRing ring;
    private final Map<String, byte[]> headers = new HashMap<>();
    private final SecureRandom random = new SecureRandom();

    /**
     * The codec of a ring.
     *
     * @param ring its keys
     */
    public AesGcm(KeyRing ring) {
        this.ring = ring;
        ring.keys().forEach((id, key) -> headers.put(id, header(id, key)));
    }

    /**
     * The codec of a key file.
     *
     * @param path the file, as {@code perdure keys new} writes it
     * @return the codec
     * @throws InvalidRequestException the file cannot be read, or what is wrong in it
     */
    public static AesGcm fromFile(Path path) {
        try {
            return new AesGcm(KeyRing.fromJson(Files.readString(path)));
        } catch (IOException | InvalidRequestException error) {
            String said = error instanceof InvalidRequestException wrong ? wrong.description() : "cannot be read: " + error;
            throw new InvalidRequestException(ErrorFacts.of("the key file " + path + " (PERDURE_CODEC_KEYS): " + said, ""));
        }
    }

    @Override
    public String name() {
        return Codecs.AES_GCM;
    }

    @Override
    public byte[] encode(byte[] plain, String contentType) {
        byte[] nonce = new byte[NONCE_SIZE];
        random.nextBytes(nonce);
        return encodeWith(nonce, plain, contentType);
    }

    /** For test vectors only: a nonce that is used twice breaks the key. */
    byte[] encodeWith(byte[] nonce, byte[] plain, String contentType) {
        byte[] header = headers.get(ring.active());
        try {
            Cipher cipher = cipher(Cipher.ENCRYPT_MODE, ring.active(), nonce, header, contentType);
            return joined(header, nonce, cipher.doFinal(plain));
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("AES-GCM is in every JDK", error);
        }
    }

    @Override
    public byte[] decode(byte[] encoded, String contentType) {
        if (encoded.length < 2 || encoded[0] != VERSION) {
            String version = encoded.length > 0 ? "version " + (encoded[0] & 0xff) : "no bytes";
            throw new PayloadUndecodableException(version + " of the encrypted form is not known here", "malformed");
        }
        int size = 2 + (encoded[1] & 0xff) + CHECK_SIZE;
        if (encoded.length < size + NONCE_SIZE + TAG_SIZE) {
            throw new PayloadUndecodableException(encoded.length + " bytes are too few for an encrypted value", "malformed");
        }
        String id = keyIdOf(encoded);
        if (!headers.containsKey(id)) {
            throw new PayloadUndecodableException(
                    "key " + id + " is not in the key ring, which has " + String.join(", ", headers.keySet()), "key_missing");
        }
        byte[] header = headers.get(id);
        if (!Arrays.equals(header, 0, header.length, encoded, 0, size)) {
            throw new PayloadUndecodableException("key " + id + " in the key ring is another key than the one that encrypted this", "key_wrong");
        }
        return decrypted(id, encoded, size, contentType);
    }

    @Override
    public String digest(byte[] plain) {
        return "hs256:" + HexFormat.of().formatHex(hmac(ring.digestKey(), plain));
    }

    /** {@return the ids of the keys, and no key} */
    @Override
    public String toString() {
        return "AesGcm[" + ring + "]";
    }

    /** The id of the key that encoded a value, without any key; empty if this is none. */
    static String keyIdOf(byte[] encoded) {
        if (encoded.length < 2 || encoded[0] != VERSION || encoded.length < 2 + (encoded[1] & 0xff)) {
            return "";
        }
        return new String(encoded, 2, encoded[1] & 0xff, StandardCharsets.US_ASCII);
    }

    private byte[] decrypted(String id, byte[] encoded, int size, String contentType) {
        byte[] nonce = Arrays.copyOfRange(encoded, size, size + NONCE_SIZE);
        try {
            Cipher cipher = cipher(Cipher.DECRYPT_MODE, id, nonce, headers.get(id), contentType);
            return cipher.doFinal(encoded, size + NONCE_SIZE, encoded.length - size - NONCE_SIZE);
        } catch (AEADBadTagException error) {
            throw new PayloadUndecodableException("the value or its content type was changed after it was encrypted", "tampered");
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("AES-GCM is in every JDK", error);
        }
    }

    private Cipher cipher(int mode, String id, byte[] nonce, byte[] header, String contentType) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(mode, new SecretKeySpec(ring.keys().get(id), "AES"), new GCMParameterSpec(TAG_SIZE * 8, nonce));
        cipher.updateAAD(joined(CONTEXT, header, contentType.getBytes(StandardCharsets.UTF_8)));
        return cipher;
    }

    private static byte[] header(String id, byte[] key) {
        byte[] name = id.getBytes(StandardCharsets.US_ASCII);
        byte[] check = hmac(key, "perdure key check".getBytes(StandardCharsets.US_ASCII));
        return joined(new byte[] {VERSION, (byte) name.length}, name, Arrays.copyOf(check, CHECK_SIZE));
    }

    private static byte[] hmac(byte[] key, byte[] data) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            return mac.doFinal(data);
        } catch (GeneralSecurityException error) {
            throw new IllegalStateException("HMAC-SHA256 is in every JDK", error);
        }
    }

    private static byte[] joined(byte[]... parts) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        return all.toByteArray();
    }
}
