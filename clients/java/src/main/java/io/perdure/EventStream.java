package io.perdure;

import com.google.protobuf.Message;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** One stream of answers, taken one at a time: the server is asked for the next when this one was taken. */
final class EventStream<A extends Message> {
    private final Codec codec;
    private final ClientCall<?, A> call;
    private final BlockingQueue<Read<A>> read;
    private final Context context = Context.current();

    /** A message, or the end of the stream. */
    private record Read<A>(A message, Status end, Metadata trailers) {}

    private EventStream(Codec codec, ClientCall<?, A> call, BlockingQueue<Read<A>> read) {
        this.codec = codec;
        this.call = call;
        this.read = read;
    }

    static <Q extends Message, A extends Message> EventStream<A> open(Calls calls, MethodDescriptor<Q, A> method, Q request) {
        ClientCall<Q, A> call = calls.channel().newCall(method, CallOptions.DEFAULT);
        BlockingQueue<Read<A>> read = new LinkedBlockingQueue<>();
        call.start(
                new ClientCall.Listener<>() {
                    @Override
                    public void onMessage(A message) {
                        read.add(new Read<>(message, null, null));
                    }

                    @Override
                    public void onClose(Status status, Metadata trailers) {
                        read.add(new Read<>(null, status, trailers));
                    }
                },
                new Metadata());
        call.sendMessage(request);
        call.halfClose();
        call.request(1);
        return new EventStream<>(calls.config().codec(), call, read);
    }

    /** The next message; empty at the stream's end. Throws PerdureException, also when it was silent for too long. */
    Optional<A> next(Duration patience) throws InterruptedException {
        Read<A> taken = read.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
        if (taken == null) {
            throw Statuses.unavailable("the watch heard nothing, not even a keep-alive");
        }
        if (taken.message() != null) {
            call.request(1);
            return Optional.of(Sealing.unseal(taken.message(), codec));
        }
        if (taken.end().isOk()) {
            return Optional.empty();
        }
        throw Statuses.ofStream(taken.end().asRuntimeException(taken.trailers()), context);
    }

    void cancel() {
        call.cancel("the watch has ended", null);
    }
}
