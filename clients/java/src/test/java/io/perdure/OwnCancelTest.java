package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Context;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.stub.StreamObserver;
import io.perdure.v1.GetWorkflowRequest;
import io.perdure.v1.GetWorkflowResponse;
import io.perdure.v1.WatchRequest;
import io.perdure.v1.WatchResponse;
import io.perdure.v1.WorkflowServiceGrpc;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a program ends itself is not tried again. tests/conformance has the CANCELLED that nobody here asked for. */
@Timeout(60)
class OwnCancelTest {
    private static final Map<String, Consumer<Run>> LASTING = Map.of("a call", Run::get, "a watch", run -> run.watch().next());

    private final BlockingQueue<String> came = new ArrayBlockingQueue<>(100);
    private final AtomicInteger calls = new AtomicInteger();
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();
    private Server server;

    /** Its calls last until their caller ends them. */
    private final class Holding extends WorkflowServiceGrpc.WorkflowServiceImplBase {
        @Override
        public void getWorkflow(GetWorkflowRequest request, StreamObserver<GetWorkflowResponse> answers) {
            hold();
        }

        @Override
        public void watch(WatchRequest request, StreamObserver<WatchResponse> answers) {
            hold();
        }

        private void hold() {
            calls.incrementAndGet();
            came.add("a call");
        }
    }

    @BeforeEach
    void open() throws IOException {
        server = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create()).addService(new Holding()).build().start();
    }

    @AfterEach
    void close() {
        server.shutdownNow();
        clock.shutdownNow();
    }

    private Client client() {
        return new Client(new ClientOptions().withoutEnvironment().address("127.0.0.1:" + server.getPort()));
    }

    /** Makes the call in the context, and gives what it throws. */
    private static CompletableFuture<PerdureException> made(Context context, Consumer<Run> call, Client client) {
        CompletableFuture<PerdureException> thrown = new CompletableFuture<>();
        Thread thread = new Thread(context.wrap(() -> {
            try {
                call.accept(client.run("note", "k"));
                thrown.completeExceptionally(new AssertionError("it did not fail"));
            } catch (PerdureException error) {
                thrown.complete(error);
            } catch (RuntimeException error) {
                thrown.completeExceptionally(error);
            }
        }));
        thread.setDaemon(true);
        thread.start();
        return thrown;
    }

    @Test
    void aCancelledContextEndsACallAtOnce() throws Exception {
        for (Map.Entry<String, Consumer<Run>> lasting : LASTING.entrySet()) {
            calls.set(0);
            try (Client client = client()) {
                Context.CancellableContext context = Context.current().withCancellation();
                CompletableFuture<PerdureException> thrown = made(context, lasting.getValue(), client);
                came.take();
                context.cancel(new IllegalStateException("enough"));
                PerdureException error = thrown.get(20, TimeUnit.SECONDS);
                assertTrue(error instanceof CallTimeoutException, lasting.getKey() + ": " + error);
                assertEquals("CANCELLED", error.code(), lasting.getKey());
                assertEquals(1, calls.get(), lasting.getKey());
            }
        }
    }

    @Test
    void theDeadlineOfAContextEndsACall() throws Exception {
        for (Map.Entry<String, Consumer<Run>> lasting : LASTING.entrySet()) {
            calls.set(0);
            try (Client client = client();
                    Context.CancellableContext context = Context.current().withDeadlineAfter(300, TimeUnit.MILLISECONDS, clock)) {
                PerdureException error = made(context, lasting.getValue(), client).get(20, TimeUnit.SECONDS);
                assertTrue(error instanceof CallTimeoutException, lasting.getKey() + ": " + error);
                assertTrue(calls.get() <= 1, lasting.getKey());
            }
        }
    }

    @Test
    void aClosedClientEndsItsCalls() throws Exception {
        for (Map.Entry<String, Consumer<Run>> lasting : LASTING.entrySet()) {
            calls.set(0);
            came.clear();
            Client client = client();
            CompletableFuture<PerdureException> thrown = made(Context.ROOT, lasting.getValue(), client);
            came.take();
            client.close();
            try {
                thrown.get(20, TimeUnit.SECONDS);
            } catch (ExecutionException closed) {
                assertTrue(closed.getCause() instanceof IllegalStateException, String.valueOf(closed.getCause()));
            }
            assertEquals(1, calls.get(), lasting.getKey());
        }
    }
}
