package io.perdure.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import com.google.rpc.ErrorDetailsProto;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.perdure.PerdureException;
import io.perdure.testing.v1.TestServiceGrpc;
import io.perdure.v1.AdminServiceGrpc;
import io.perdure.v1.WorkerServiceGrpc;
import io.perdure.v1.WorkflowServiceGrpc;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Calls by name, with requests and answers in protobuf's JSON: once, as they are, by the library's channel and stubs. */
final class RawCalls {
    private static final List<ServiceDescriptor> SERVICES = List.of(
            WorkflowServiceGrpc.getServiceDescriptor(),
            WorkerServiceGrpc.getServiceDescriptor(),
            AdminServiceGrpc.getServiceDescriptor(),
            TestServiceGrpc.getServiceDescriptor());
    private static final JsonFormat.TypeRegistry TYPES =
            JsonFormat.TypeRegistry.newBuilder().add(ErrorDetailsProto.getDescriptor().getMessageTypes()).build();

    private final Map<Long, CountDownLatch> held = new ConcurrentHashMap<>();

    /** A message, or the end of the call. */
    private record Read(Message message, Status end, Metadata trailers) {}

    /** Lets a held call read on. */
    boolean resume(long call) {
        CountDownLatch gate = held.remove(call);
        if (gate != null) {
            gate.countDown();
        }
        return gate != null;
    }

    ObjectNode call(Channel channel, JsonNode fields, Duration timeout) throws InterruptedException {
        MethodDescriptor<Message, Message> method = method(fields.get("rpc").textValue());
        boolean clientStreams = !method.getType().clientSendsOneMessage();
        boolean serverStreams = !method.getType().serverSendsOneMessage();
        List<Message> requests = new ArrayList<>();
        if (fields.has("requests")) {
            fields.get("requests").forEach(item -> requests.add(message(method, item)));
        } else {
            requests.add(message(method, fields.has("request") ? fields.get("request") : Lines.line()));
        }
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
        ClientCall<Message, Message> call = channel.newCall(method, options);
        BlockingQueue<Read> read = new LinkedBlockingQueue<>();
        call.start(new Listener(read), new Metadata());
        requests.forEach(call::sendMessage);
        if (!clientStreams || !fields.path("keep_open").asBoolean(false)) {
            call.halfClose();
        }
        try {
            return serverStreams ? stream(call, read, fields) : single(call, read);
        } finally {
            call.cancel("the driver is done with it", null);
        }
    }

    private static ObjectNode single(ClientCall<?, ?> call, BlockingQueue<Read> read) throws InterruptedException {
        call.request(2); // the second for the end
        Read first = read.take();
        if (first.message() == null) {
            throw error(first);
        }
        Read end = read.take();
        if (!end.end().isOk()) {
            throw error(end);
        }
        ObjectNode line = Lines.line();
        line.set("response", json(first.message()));
        return line;
    }

    private ObjectNode stream(ClientCall<?, ?> call, BlockingQueue<Read> read, JsonNode fields) throws InterruptedException {
        long id = fields.get("id").longValue();
        ObjectNode line = Lines.line();
        line.putArray("responses");
        int count = 0;
        while (true) {
            if (count == fields.path("hold").asInt(-1)) {
                CountDownLatch gate = new CountDownLatch(1);
                held.put(id, gate);
                Lines.write(Lines.event("call_held").put("call", id));
                gate.await();
            }
            call.request(1);
            Read next = read.take();
            if (next.message() == null) {
                if (next.end().isOk()) {
                    return line;
                }
                throw error(next);
            }
            JsonNode response = json(next.message());
            if (fields.path("tell").asBoolean(false)) {
                ObjectNode told = Lines.event("call_response").put("call", id);
                told.set("response", response);
                Lines.write(told);
            }
            line.withArray("responses").add(response);
            count++;
            if (count == fields.path("take").asInt(0)) {
                return line;
            }
        }
    }

    private static PerdureException error(Read end) {
        Status status = end.end().isOk() ? Status.INTERNAL.withDescription("the call ended without an answer") : end.end();
        return PerdureException.of(status.asRuntimeException(end.trailers()));
    }

    private static Message message(MethodDescriptor<Message, Message> method, JsonNode json) {
        MethodDescriptor.PrototypeMarshaller<Message> marshaller =
                (MethodDescriptor.PrototypeMarshaller<Message>) method.getRequestMarshaller();
        Message.Builder builder = marshaller.getMessagePrototype().newBuilderForType();
        try {
            JsonFormat.parser().usingTypeRegistry(TYPES).merge(json.toString(), builder);
        } catch (InvalidProtocolBufferException error) {
            throw new IllegalArgumentException(error.getMessage(), error);
        }
        return builder.build();
    }

    private static JsonNode json(Message message) {
        try {
            return Lines.parse(JsonFormat.printer().usingTypeRegistry(TYPES).omittingInsignificantWhitespace().print(message));
        } catch (InvalidProtocolBufferException error) {
            throw new IllegalArgumentException(error.getMessage(), error);
        }
    }

    @SuppressWarnings("unchecked") // all of our methods have messages
    private static MethodDescriptor<Message, Message> method(String rpc) {
        return SERVICES.stream()
                .flatMap(service -> service.getMethods().stream())
                .filter(method -> method.getFullMethodName().equals(rpc))
                .map(method -> (MethodDescriptor<Message, Message>) method)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("there is no RPC " + rpc));
    }

    private static final class Listener extends ClientCall.Listener<Message> {
        private final BlockingQueue<Read> read;

        Listener(BlockingQueue<Read> read) {
            this.read = read;
        }

        @Override
        public void onMessage(Message message) {
            read.add(new Read(message, null, null));
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            read.add(new Read(null, status, trailers));
        }
    }
}
