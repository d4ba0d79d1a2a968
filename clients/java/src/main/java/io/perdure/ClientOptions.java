package io.perdure;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/** How a client is made, where the environment does not say it; what is not set here is taken from there. */
public final class ClientOptions {
    String address;
    String namespace;
    String token;
    String tokenFile;
    String profile;
    Tls tls;
    boolean plaintext;
    private boolean ignoresEnvironment;
    Codec codec;
    Duration timeout = Limits.CALL_TIMEOUT;
    Duration connectTimeout = Limits.FIRST_CONTACT_TIMEOUT;

    /** Everything as the environment says. */
    public ClientOptions() {
        // nothing is set
    }

    /**
     * Where the server is. Default: PERDURE_ADDRESS, else 127.0.0.1:7463, where {@code perdure dev} listens.
     *
     * @param target host:port, or any gRPC target such as {@code dns:///perdure:7463}
     * @return these options
     */
    public ClientOptions address(String target) {
        this.address = target;
        return this;
    }

    /**
     * Namespace of everything that names none. Default: PERDURE_NAMESPACE, else {@code default}.
     *
     * @param name the namespace
     * @return these options
     */
    public ClientOptions namespace(String name) {
        this.namespace = name;
        return this;
    }

    /**
     * Bearer token, sent with every call. Default: PERDURE_TOKEN.
     *
     * @param bearer the token
     * @return these options
     */
    public ClientOptions token(String bearer) {
        this.token = bearer;
        return this;
    }

    /**
     * File of the token, read again when it changes. Default: PERDURE_TOKEN_FILE.
     *
     * @param path the file
     * @return these options
     */
    public ClientOptions tokenFile(Path path) {
        this.tokenFile = path.toString();
        return this;
    }

    /**
     * Name of a profile in {@code ~/.config/perdure/profiles.toml}. Default: PERDURE_PROFILE.
     *
     * @param name the profile
     * @return these options
     */
    public ClientOptions profile(String name) {
        this.profile = name;
        return this;
    }

    /**
     * Nothing from the environment: what is not set here has its default. A profile is read only if {@link #profile} names it.
     *
     * @return these options
     */
    public ClientOptions withoutEnvironment() {
        this.ignoresEnvironment = true;
        return this;
    }

    /** The variables that count. */
    Map<String, String> environment() {
        return ignoresEnvironment ? Map.of() : System.getenv();
    }

    /**
     * TLS. Default: PERDURE_TLS and its files.
     *
     * @param settings whom to trust, and what to show
     * @return these options
     */
    public ClientOptions tls(Tls settings) {
        this.tls = settings;
        return this;
    }

    /**
     * No TLS, whatever the environment says.
     *
     * @return these options
     */
    public ClientOptions plaintext() {
        this.tls = null;
        this.plaintext = true;
        return this;
    }

    /**
     * What values go through. Default: that of the key file in PERDURE_CODEC_KEYS, else they travel plain.
     *
     * @param used the codec
     * @return these options
     */
    public ClientOptions codec(Codec used) {
        this.codec = used;
        return this;
    }

    /**
     * Bound of every call with all its retries. Default: 30 s.
     *
     * @param bound how long
     * @return these options
     */
    public ClientOptions timeout(Duration bound) {
        this.timeout = Times.bounded(bound);
        return this;
    }

    /**
     * How long UNAVAILABLE is retried before a server has ever answered: probably none runs at that address. Default: 5 s.
     *
     * @param bound how long
     * @return these options
     */
    public ClientOptions connectTimeout(Duration bound) {
        this.connectTimeout = Times.bounded(bound);
        return this;
    }
}
