package io.perdure;

import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.perdure.v1.ClaimRequest;
import io.perdure.v1.ClaimResponse;
import io.perdure.v1.Hello;
import io.perdure.v1.Welcome;
import io.perdure.v1.WorkerServiceGrpc;
import java.time.Duration;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.Future;

/**
 * One Claim stream with a channel, and so a TCP connection, of its own: a half-dead one takes no other down with it. Everything but
 * the constructor runs on the loop; a gRPC call takes messages from one thread only, and that is the one.
 */
final class Connection {
    /** How many messages gRPC may read ahead of the loop. */
    private static final int READ_AHEAD = 16;

    private final Loop loop;
    private final Listener listener;
    private final Outgoing outgoing;
    private final ManagedChannel channel;
    private final ClientCall<ClaimRequest, ClaimResponse> call;
    private final TreeMap<Long, Long> renewsSentAt = new TreeMap<>();
    private Future<?> timer;
    private long lastRenewId;
    private boolean isOpen;
    private boolean isClosed;
    private long connectionNo;
    private Duration renewInterval = Duration.ofSeconds(10);
    private long helloSentAt;
    private boolean stale;

    /** Who takes what the server says; called on the loop. */
    interface Listener {
        void welcomed(Connection connection, Welcome welcome);

        void received(Connection connection, ClaimResponse message);

        /** The stream is over; null: it ended well. */
        void closed(Connection connection, PerdureException error);
    }

    Connection(ConnectionConfig config, Loop loop, Listener listener, Outgoing outgoing) {
        this.loop = loop;
        this.listener = listener;
        this.outgoing = outgoing;
        this.channel = Channels.open(config);
        this.call = Channels.identified(channel, config).newCall(WorkerServiceGrpc.getClaimMethod(), CallOptions.DEFAULT);
    }

    /** Says hello; `welcomed` or `closed` follows, within 10 s. */
    void open(Hello hello) {
        call.start(
                new ClientCall.Listener<>() {
                    @Override
                    public void onMessage(ClaimResponse message) {
                        loop.post(() -> take(message));
                    }

                    @Override
                    public void onReady() {
                        loop.post(Connection.this::flush);
                    }

                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        loop.post(() -> end(status.isOk() ? null : Statuses.ofStream(status.asRuntimeException(trailers), Context.ROOT)));
                    }
                },
                new Metadata());
        call.request(READ_AHEAD);
        helloSentAt = System.nanoTime();
        call.sendMessage(ClaimRequest.newBuilder().setHello(hello).build());
        timer = loop.later(Limits.HANDSHAKE_TIMEOUT, () -> {
            if (!isOpen) {
                end(Statuses.unavailable("no welcome within " + Limits.HANDSHAKE_TIMEOUT.toSeconds() + " s"));
            }
        });
    }

    boolean isUsable() {
        return isOpen && !isClosed;
    }

    long connectionNo() {
        return connectionNo;
    }

    long helloSentAt() {
        return helloSentAt;
    }

    Duration renewInterval() {
        return renewInterval;
    }

    /** A newer hello was said: claims that still come here must be dropped. */
    boolean isStale() {
        return stale;
    }

    void makeStale() {
        stale = true;
    }

    /** When the renew that is now answered was sent; empty for an unknown one. Older ones count as answered with it. */
    Optional<Long> renewed(long renewId) {
        Long sentAt = renewsSentAt.get(renewId);
        renewsSentAt.headMap(renewId, true).clear();
        return Optional.ofNullable(sentAt);
    }

    /** Says all that there is to say: renewals at once, the rest as fast as the server takes it. */
    void flush() {
        if (!isUsable()) {
            return;
        }
        Optional<ClaimRequest> urgent = outgoing.nextUrgent(lastRenewId + 1);
        while (urgent.isPresent()) {
            if (urgent.get().hasRenew()) {
                lastRenewId++;
                renewsSentAt.put(lastRenewId, System.nanoTime());
            }
            call.sendMessage(urgent.get());
            urgent = outgoing.nextUrgent(lastRenewId + 1);
        }
        while (call.isReady()) { // else onReady comes here again
            Optional<ClaimRequest> message = outgoing.next(connectionNo);
            if (message.isEmpty()) {
                return;
            }
            call.sendMessage(message.get());
        }
    }

    /** Says that nothing more comes. */
    void finish() {
        if (isUsable()) {
            call.halfClose();
            isOpen = false;
        }
    }

    /** Ends the stream at once and closes its connection; the listener is not told. */
    void close() {
        if (!isClosed) {
            isClosed = true;
            cancelTimer();
            call.cancel("the worker has left this stream", null);
            channel.shutdownNow();
        }
    }

    private void take(ClaimResponse message) {
        if (isClosed) {
            return;
        }
        call.request(1);
        if (message.hasWelcome() && connectionNo == 0) {
            welcome(message.getWelcome());
        } else {
            listener.received(this, message);
        }
    }

    private void welcome(Welcome welcome) {
        cancelTimer();
        isOpen = true;
        connectionNo = welcome.getConnectionNo();
        renewInterval = Calls.max(Limits.RENEW_MIN_INTERVAL, Times.of(welcome.getRenewInterval()));
        listener.welcomed(this, welcome);
        if (!isClosed) {
            timer = loop.later(renewInterval, this::renew);
            flush();
        }
    }

    private void renew() {
        if (isClosed) {
            return;
        }
        // A write may hang without an error for as long as the kernel likes; an answered renewal is the proof of life.
        long patience = (long) (renewInterval.toNanos() * Limits.MISSED_RENEWALS);
        long now = System.nanoTime();
        long waits = renewsSentAt.isEmpty() ? 0 : now - renewsSentAt.firstEntry().getValue();
        if (waits >= patience) {
            end(new CallTimeoutException(ErrorFacts.of("renewals stay unanswered: the stream is dead", "")));
            return;
        }
        outgoing.wantRenew();
        flush();
        long next = renewInterval.toNanos();
        if (!renewsSentAt.isEmpty()) { // look again as soon as the oldest has waited for too long
            next = Math.min(next, Math.max(1, renewsSentAt.firstEntry().getValue() + patience - now));
        }
        timer = loop.later(Duration.ofNanos(next), this::renew);
    }

    private void end(PerdureException error) {
        if (!isClosed) {
            close();
            listener.closed(this, error);
        }
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }
}
