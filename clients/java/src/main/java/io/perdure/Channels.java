package io.perdure;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ManagedChannelRegistry.ProviderNotFoundException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** How channels are opened, and what every call says of itself: the bearer token and the caller's trace context. */
final class Channels {
    static final String CLIENT_NAME = "perdure-java";
    private static final Metadata.Key<String> AUTHORIZATION = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

    private Channels() {}

    static ManagedChannel open(ConnectionConfig config) {
        Tls tls = config.tls();
        ChannelCredentials credentials = tls == null ? InsecureChannelCredentials.create() : tls.credentials();
        try {
            return open(config, credentials);
        } catch (IllegalArgumentException | ProviderNotFoundException error) {
            String fault = isAddress(config) ? tls.wanted() : "the address '" + config.address() + "' (PERDURE_ADDRESS) is none";
            InvalidRequestException refused = new InvalidRequestException(ErrorFacts.of(fault + ": " + error.getMessage(), ""));
            refused.initCause(error);
            throw refused;
        }
    }

    private static boolean isAddress(ConnectionConfig config) {
        try {
            close(Grpc.newChannelBuilder(config.address(), InsecureChannelCredentials.create()).build());
            return config.tls() != null;
        } catch (IllegalArgumentException | ProviderNotFoundException error) {
            return false;
        }
    }

    private static ManagedChannel open(ConnectionConfig config, ChannelCredentials credentials) {
        Tls tls = config.tls();
        ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(config.address(), credentials)
                .disableServiceConfigLookUp()
                .defaultServiceConfig(serviceConfig())
                .enableRetry()
                .maxInboundMessageSize(Limits.MESSAGE_BYTES)
                .keepAliveTime(Limits.KEEPALIVE_INTERVAL.toMillis(), TimeUnit.MILLISECONDS)
                .keepAliveTimeout(Limits.KEEPALIVE_TIMEOUT.toMillis(), TimeUnit.MILLISECONDS)
                .userAgent(CLIENT_NAME + "/" + version());
        if (tls != null && !tls.serverName().isEmpty()) {
            builder.overrideAuthority(tls.serverName());
        }
        return builder.build();
    }

    static Channel identified(Channel channel, ConnectionConfig config) {
        return ClientInterceptors.intercept(channel, new Identity(config));
    }

    static String version() {
        return Client.VERSION;
    }

    static void close(ManagedChannel channel) {
        channel.shutdownNow();
    }

    /** UNAVAILABLE is the one code that may be retried blindly; every mutation carries an id that makes its repeat harmless. */
    private static Map<String, Object> serviceConfig() {
        List<Map<String, String>> names = Stream.concat(
                        Stream.of("WorkflowService", "AdminService").map(service -> Map.of("service", "perdure.v1." + service)),
                        Stream.of("Complete", "Heartbeat", "RenewClaims")
                                .map(method -> Map.of("service", "perdure.v1.WorkerService", "method", method)))
                .toList();
        Map<String, Object> retry = Map.of(
                "maxAttempts", 3.0,
                "initialBackoff", "0.05s",
                "maxBackoff", "0.5s",
                "backoffMultiplier", 2.0,
                "retryableStatusCodes", List.of("UNAVAILABLE"));
        // Workers and callers spread over the addresses of a name, and a new connection tries another one.
        return Map.of(
                "loadBalancingConfig", List.of(Map.of("pick_first", Map.of("shuffleAddressList", true))),
                "methodConfig", List.of(Map.of("name", names, "retryPolicy", retry)));
    }

    private record Identity(ConnectionConfig config) implements ClientInterceptor {
        @Override
        public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
            return new SimpleForwardingClientCall<>(next.newCall(method, options)) {
                @Override
                public void start(Listener<A> listener, Metadata headers) {
                    String token = config.bearer();
                    if (!token.isEmpty()) {
                        headers.put(AUTHORIZATION, "Bearer " + token);
                    }
                    Tracing.inject(headers);
                    super.start(listener, headers);
                }
            };
        }
    }
}
