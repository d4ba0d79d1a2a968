package io.perdure;

import java.nio.file.Path;
import java.util.Map;
import java.util.Set;

/** Where the server is and who asks: the one place that reads the environment. Its variables are in the table of the README. */
record ConnectionConfig(String address, String namespace, String token, TokenFile tokenFile, Tls tls, Codec codec) {
    static final String DEFAULT_ADDRESS = "127.0.0.1:7463";
    static final String DEFAULT_NAMESPACE = "default";
    private static final Set<String> YES = Set.of("true", "1", "yes");
    private static final Set<String> NO = Set.of("false", "0", "no");

    /** What is given, else what environment and profile say, else the defaults. Empty variables count as unset. */
    static ConnectionConfig of(ClientOptions given, Map<String, String> environment) {
        Map<String, String> known = Profiles.with(environment, text(given.profile));
        String token = text(given.token);
        String tokenFile = token.isEmpty() ? text(given.tokenFile) : "";
        if (token.isEmpty() && tokenFile.isEmpty()) {
            token = known.getOrDefault("PERDURE_TOKEN", "");
            tokenFile = token.isEmpty() ? known.getOrDefault("PERDURE_TOKEN_FILE", "") : "";
        }
        String keys = known.getOrDefault("PERDURE_CODEC_KEYS", "");
        Codec codec = given.codec != null || keys.isEmpty() ? given.codec : AesGcm.fromFile(Path.of(keys));
        if (!token.isEmpty() && !TokenFile.isToken(token)) {
            throw new InvalidRequestException(ErrorFacts.of("the token (PERDURE_TOKEN) must be one line of printable ASCII", ""));
        }
        return new ConnectionConfig(
                withPort(first(text(given.address), known.getOrDefault("PERDURE_ADDRESS", ""), DEFAULT_ADDRESS)),
                first(text(given.namespace), known.getOrDefault("PERDURE_NAMESPACE", ""), DEFAULT_NAMESPACE),
                token,
                tokenFile.isEmpty() ? null : new TokenFile(tokenFile),
                tls(given, known),
                codec);
    }

    /** The bearer token as it is now; empty: none. */
    String bearer() {
        return token.isEmpty() && tokenFile != null ? tokenFile.current() : token;
    }

    /** {@return where it connects, and no secret} */
    @Override
    public String toString() {
        return address + " " + namespace;
    }

    private static Tls tls(ClientOptions given, Map<String, String> known) {
        if (given.tls != null) {
            return given.tls;
        }
        String asked = known.getOrDefault("PERDURE_TLS", "").toLowerCase(java.util.Locale.ROOT);
        if (!asked.isEmpty() && !YES.contains(asked) && !NO.contains(asked)) {
            throw new InvalidRequestException(ErrorFacts.of("PERDURE_TLS must be true or false", ""));
        }
        String ca = known.getOrDefault("PERDURE_TLS_CA_FILE", "");
        String cert = known.getOrDefault("PERDURE_TLS_CERT_FILE", "");
        String key = known.getOrDefault("PERDURE_TLS_KEY_FILE", "");
        String name = known.getOrDefault("PERDURE_TLS_SERVER_NAME", "");
        boolean wanted = asked.isEmpty() ? !(ca + cert + key + name).isEmpty() : YES.contains(asked);
        return wanted && !given.plaintext ? new Tls(ca, cert, key, name) : null;
    }

    /** A bare host gets the port of `perdure dev`; gRPC itself would try 443. */
    private static String withPort(String address) {
        String afterHost = address.substring(address.lastIndexOf(']') + 1);
        boolean bare = !afterHost.contains(":") && !address.contains("/");
        return bare ? address + DEFAULT_ADDRESS.substring(DEFAULT_ADDRESS.lastIndexOf(':')) : address;
    }

    private static String text(String given) {
        return given == null ? "" : given;
    }

    private static String first(String... choices) {
        for (String choice : choices) {
            if (!choice.isEmpty()) {
                return choice;
            }
        }
        return "";
    }
}
