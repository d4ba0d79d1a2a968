package io.perdure;

import io.grpc.ChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * TLS to the server. Certificates are read again with each new connection.
 *
 * @param caFile CA of the server in PEM; empty: the system's
 * @param certFile the client's own certificate in PEM, with the chain behind it, for servers that ask for one; empty: none
 * @param keyFile its private key in PEM (PKCS #8), without a password; empty: none
 * @param serverName name that the server's certificate must have; empty: that of the address
 */
public record Tls(String caFile, String certFile, String keyFile, String serverName) {
    /**
     * Checks that certificate and key go together.
     *
     * @param caFile CA of the server
     * @param certFile the client's certificate
     * @param keyFile its key
     * @param serverName the server's name
     */
    public Tls {
        if (certFile.isEmpty() != keyFile.isEmpty()) {
            throw new InvalidRequestException(ErrorFacts.of(
                    "a client certificate and its key go together: PERDURE_TLS_CERT_FILE and PERDURE_TLS_KEY_FILE", ""));
        }
    }

    /** {@return TLS to a server whose certificate the system's CAs have signed} */
    public static Tls system() {
        return new Tls("", "", "", "");
    }

    /**
     * TLS to a server whose certificate this CA has signed.
     *
     * @param caFile the CA in PEM
     * @return the settings
     */
    public static Tls trusting(Path caFile) {
        return new Tls(caFile.toString(), "", "", "");
    }

    /**
     * The same with a certificate of the client's own.
     *
     * @param cert the certificate in PEM
     * @param key its private key in PEM
     * @return the settings
     */
    public Tls withCertificate(Path cert, Path key) {
        return new Tls(caFile, cert.toString(), key.toString(), serverName);
    }

    /**
     * The same with the name that the server's certificate must have.
     *
     * @param name the name
     * @return the settings
     */
    public Tls withServerName(String name) {
        return new Tls(caFile, certFile, keyFile, name);
    }

    ChannelCredentials credentials() {
        TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
        try {
            if (!caFile.isEmpty()) {
                builder.trustManager(new ByteArrayInputStream(read(caFile)));
            }
            if (!certFile.isEmpty()) {
                builder.keyManager(new ByteArrayInputStream(read(certFile)), new ByteArrayInputStream(read(keyFile)));
            }
        } catch (IOException error) {
            throw new IllegalStateException("streams of memory are read without errors", error);
        }
        return builder.build();
    }

    /** What its files must be; for errors. */
    String wanted() {
        String own = certFile.isEmpty() ? "" : ", the certificate " + certFile + " in PEM, or its key " + keyFile
                + " in PEM (PKCS #8, without a password)";
        return "a file of TLS cannot be used: the CA " + (caFile.isEmpty() ? "of the system" : caFile + " in PEM") + own;
    }

    /** Changes when the client's certificate is replaced. */
    String stamp() {
        return certFile.isEmpty() ? "" : TokenFile.stamp(Path.of(certFile)) + TokenFile.stamp(Path.of(keyFile));
    }

    static byte[] read(String path) {
        try {
            return Files.readAllBytes(Path.of(path));
        } catch (IOException error) {
            throw new InvalidRequestException(ErrorFacts.of(path + " cannot be read: " + error, ""));
        }
    }
}
