package io.perdure;

import java.util.Map;

/** Plain words for what goes wrong before any call. gRPC has no code for any of it. */
final class Handshakes {
    /** What is said in a handshake, and what it means; no later try can help. */
    private static final Map<String, String> DEFINITE = Map.of(
            "CertificateExpired", "the server's certificate has expired",
            "PKIX path", "the server's certificate is of no CA that is trusted: give its CA by PERDURE_TLS_CA_FILE",
            "No subject alternative", "the server's certificate has other names: use one as address, or set PERDURE_TLS_SERVER_NAME",
            "No name matching", "the server's certificate has other names: use one as address, or set PERDURE_TLS_SERVER_NAME",
            "not an SSL/TLS record", "the server speaks plain text, and TLS was asked for: unset PERDURE_TLS and its files");
    private static final String CUT_PLAIN =
            "the server cut the connection: it may want TLS, by PERDURE_TLS=true or PERDURE_TLS_CA_FILE";
    private static final String CUT_TLS =
            "the server cut the handshake: it may want a client certificate, by PERDURE_TLS_CERT_FILE and PERDURE_TLS_KEY_FILE";

    private Handshakes() {}

    /** What no later try can help; empty: nothing that is known. */
    static String definite(Throwable error) {
        String said = said(error);
        return DEFINITE.entrySet().stream()
                .filter(sign -> said.contains(sign.getKey()))
                .map(Map.Entry::getValue)
                .findFirst()
                .orElse("");
    }

    /** What probably happened; empty: nothing that is known. */
    static String probable(Throwable error, boolean tls) {
        String said = said(error);
        boolean cut = said.contains("closed") || said.contains("reset") || said.contains("First received frame was not SETTINGS");
        return cut ? (tls ? CUT_TLS : CUT_PLAIN) : "";
    }

    private static String said(Throwable error) {
        StringBuilder all = new StringBuilder();
        Throwable at = error;
        for (int depth = 0; at != null && depth < 20; depth++) {
            all.append(at).append('\n');
            at = at.getCause();
        }
        return all.toString();
    }
}
