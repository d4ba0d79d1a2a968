package io.perdure;

import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCalls;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Calls: one channel, a deadline on everything; UNAVAILABLE tried again, a CANCELLED that nobody here asked for, and nothing else. */
final class Calls implements AutoCloseable {
    private final ConnectionConfig config;
    private final Duration timeout;
    private final Duration connectTimeout;
    private final List<ManagedChannel> replaced = new ArrayList<>();
    private ManagedChannel managed;
    private Channel channel;
    private String certificates = "";
    private boolean closed;
    private volatile boolean reached;

    Calls(ConnectionConfig config, Duration timeout, Duration connectTimeout) {
        this.config = config;
        this.timeout = timeout;
        this.connectTimeout = connectTimeout;
    }

    ConnectionConfig config() {
        return config;
    }

    Duration timeout() {
        return timeout;
    }

    Duration connectTimeout() {
        return connectTimeout;
    }

    /** The channel, opened at its first use, and anew when the client's certificate was replaced: gRPC keeps that of its beginning. */
    synchronized Channel channel() {
        if (closed) {
            throw new IllegalStateException("this client is closed");
        }
        String now = config.tls() == null ? "" : config.tls().stamp();
        if (managed != null && !now.equals(certificates)) {
            replaced.add(managed); // calls on it go on
            managed = null;
        }
        if (managed == null) {
            certificates = now;
            managed = Channels.open(config);
            channel = Channels.identified(managed, config);
        }
        return channel;
    }

    /** One call with its retries. Throws PerdureException. */
    <Q extends Message, A extends Message> A unary(MethodDescriptor<Q, A> method, Q request) {
        return unary(method, request, timeout);
    }

    <Q extends Message, A extends Message> A unary(MethodDescriptor<Q, A> method, Q request, Duration within) {
        Q sealed = Sealing.seal(request, config.codec());
        long began = System.nanoTime();
        Duration interval = Limits.RETRY_INITIAL_INTERVAL;
        while (true) {
            long left = Math.max(1_000_000, within.toNanos() - (System.nanoTime() - began));
            try {
                CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(left, TimeUnit.NANOSECONDS);
                A answer = ClientCalls.blockingUnaryCall(channel(), method, options, sealed);
                reached = true;
                return Sealing.unseal(answer, config.codec());
            } catch (StatusRuntimeException failure) {
                if (failure.getStatus().getCode() == Status.Code.CANCELLED && Thread.currentThread().isInterrupted()) {
                    throw Statuses.interrupted(method.getBareMethodName());
                }
                PerdureException error = Statuses.ofUnary(failure, Context.current());
                Duration pause = pauseAfter(error, began, within, interval);
                sleep(pause, method.getBareMethodName(), error);
            }
            interval = min(Limits.RETRY_MAX_INTERVAL, interval.multipliedBy(2));
        }
    }

    boolean reached() {
        return reached;
    }

    void noteReached() {
        reached = true;
    }

    /** The error; where no server was reached, with what to do about it. */
    PerdureException explained(PerdureException error) {
        if (!(error instanceof UnavailableException) || !error.reason().isEmpty()) {
            return error;
        }
        String fault = Handshakes.definite(error);
        if (fault.isEmpty() && !reached) {
            fault = Handshakes.probable(error, config.tls() != null);
        }
        if (!fault.isEmpty()) {
            return told(error, config.address() + ": " + fault + " (" + error.description() + ")");
        }
        return told(error, "no server at " + config.address() + ": " + error.description()
                + "; start one by `perdure dev`, or set PERDURE_ADDRESS");
    }

    static Duration jittered(Duration interval) {
        return Duration.ofNanos((long) (interval.toNanos() * ThreadLocalRandom.current().nextDouble(0.5, 1.0)));
    }

    static Duration min(Duration left, Duration right) {
        return left.compareTo(right) < 0 ? left : right;
    }

    static Duration max(Duration left, Duration right) {
        return left.compareTo(right) > 0 ? left : right;
    }

    @Override
    public synchronized void close() {
        closed = true;
        replaced.forEach(Channels::close);
        replaced.clear();
        if (managed != null) {
            Channels.close(managed);
            managed = null;
        }
    }

    /** How long to wait before the next try. Throws the error if there is none. */
    private Duration pauseAfter(PerdureException error, long began, Duration within, Duration interval) {
        if (!(error instanceof UnavailableException)) {
            reached = true;
            throw error;
        }
        reached |= !error.reason().isEmpty();
        if (error.reason().isEmpty() && !Handshakes.definite(error).isEmpty()) {
            throw explained(error);
        }
        Duration bound = reached ? within : min(within, connectTimeout);
        Duration pause = max(jittered(interval), error.retryAfter().orElse(Duration.ZERO));
        if (System.nanoTime() - began + pause.toNanos() >= bound.toNanos()) {
            throw explained(error);
        }
        return pause;
    }

    private static void sleep(Duration pause, String method, PerdureException error) {
        try {
            TimeUnit.NANOSECONDS.sleep(pause.toNanos());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            CallTimeoutException ended = Statuses.interrupted(method);
            ended.initCause(error);
            throw ended;
        }
    }

    private static PerdureException told(PerdureException error, String message) {
        UnavailableException told = new UnavailableException(error.told().withMessage(message));
        told.initCause(error.getCause());
        return told;
    }
}
