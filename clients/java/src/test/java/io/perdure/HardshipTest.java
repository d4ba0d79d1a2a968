package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.perdure.v1.Attempt;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What programs around the library do wrong, and what it makes of that. */
@Timeout(60)
class HardshipTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    record Needs(String input) {}

    private static Definition one(Activity<Needs> activity) {
        Definition definition = Definition.of("one");
        definition.step("work", Needs.class, activity).retry(Retry.attempts(1));
        return definition;
    }

    /** An exception that cannot even be printed. */
    private static final class Unspeakable extends RuntimeException {
        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new StackOverflowError(); // as of a message that prints a circle
        }
    }

    enum Fault {
        ASSERTION,
        STACK,
        MEMORY,
        UNSPEAKABLE,
        CIRCLE
    }

    private static Object fail(Fault fault) throws Exception {
        switch (fault) {
            case ASSERTION -> throw new AssertionError("wrong");
            case STACK -> {
                return fail(fault);
            }
            case MEMORY -> throw new OutOfMemoryError("Java heap space");
            case UNSPEAKABLE -> throw new Unspeakable();
            default -> {
                Exception inner = new Exception("inner");
                throw new Exception("outer", inner.initCause(new Exception("innermost", inner)));
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void whateverAnActivityThrowsFailsItsAttempt(Fault fault) {
        Definition definition = one((ctx, in) -> fail(fault));
        try (Client client = Servers.client(); Worker worker = client.worker(definition).start()) {
            Run run = client.start(definition, worker.workerId(), "x");
            WorkflowFailedException error = assertThrows(WorkflowFailedException.class, () -> run.result(Object.class, PATIENCE));
            assertTrue(error.failure().type().endsWith(switch (fault) {
                case ASSERTION -> "AssertionError";
                case STACK -> "StackOverflowError";
                case MEMORY -> "OutOfMemoryError";
                case UNSPEAKABLE -> "Unspeakable";
                case CIRCLE -> "Exception";
            }), error.failure().type());
            run.replay("again"); // the worker goes on
            assertThrows(WorkflowFailedException.class, () -> run.result(Object.class, PATIENCE));
        }
    }

    @Test
    void aListenerThatThrowsHoldsNothingUp() {
        Definition definition = one((ctx, in) -> "fine");
        try (Client client = Servers.client()) {
            client.definitions().apply(Definition.parse("{workflow_type: other, steps: {work: {needs: [input]}}}"));
            WorkerBuilder builder = client.worker(definition)
                    .serve("other", "work", "0".repeat(32), Needs.class, (ctx, in) -> "never")
                    .whenNotServed(what -> {
                        throw new IllegalStateException("the listener's own fault");
                    });
            try (Worker worker = builder.start()) {
                assertEquals("fine", client.start(definition, worker.workerId(), "x").result(String.class, PATIENCE));
            }
        }
    }

    @Test
    void aListenerMayCloseTheWorker() throws Exception {
        Definition definition = one((ctx, in) -> "fine");
        try (Client client = Servers.client()) {
            client.definitions().apply(Definition.parse("{workflow_type: other, steps: {work: {needs: [input]}}}"));
            CompletableFuture<Worker> made = new CompletableFuture<>();
            CountDownLatch closed = new CountDownLatch(1);
            made.complete(client.worker(definition)
                    .serve("other", "work", "0".repeat(32), Needs.class, (ctx, in) -> "never")
                    .whenNotServed(what -> {
                        made.join().close();
                        closed.countDown();
                    })
                    .start());
            assertTrue(closed.await(PATIENCE.toSeconds(), TimeUnit.SECONDS));
        }
    }

    @Test
    void aCodecThatFailsFailsTheAttempt() {
        Codec broken = new Codec() {
            @Override
            public String name() {
                return "broken";
            }

            @Override
            public byte[] encode(byte[] plain, String contentType) {
                if (Thread.currentThread().getName().startsWith("perdure-")) {
                    throw new IllegalStateException("the key service is away");
                }
                return plain;
            }

            @Override
            public byte[] decode(byte[] encoded, String contentType) {
                if (Thread.currentThread().getName().startsWith("perdure-")) {
                    throw new IllegalStateException("the key service is away");
                }
                return encoded;
            }

            @Override
            public String digest(byte[] plain) {
                return "hs256:" + "0".repeat(64);
            }
        };
        Definition definition = one((ctx, in) -> "done");
        try (Client client = new Client(Servers.options().codec(broken)); Worker worker = client.worker(definition).start()) {
            Run run = client.start(definition, worker.workerId(), "x");
            assertThrows(WorkflowFailedException.class, () -> run.result(Object.class, PATIENCE));
        }
    }

    @Test
    void aCancelEndsACallThatIsTriedAgain() throws Exception {
        CompletableFuture<Thread> calling = new CompletableFuture<>();
        Definition definition = one((ctx, in) -> {
            calling.complete(Thread.currentThread());
            try (Client away = away()) {
                return away.serverInfo();
            }
        });
        try (Client client = Servers.client(); Worker worker = client.worker(definition).start()) {
            Run run = client.start(definition, worker.workerId(), "x");
            untilItPauses(calling.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            run.cancel("enough");
            assertThrows(WorkflowCancelledException.class, () -> run.result(Object.class, PATIENCE));
            assertEquals(List.of(Attempt.Outcome.OUTCOME_CANCELLED), run.attempts("work").stream().map(Attempt::getOutcome).toList());
        }
    }

    @Test
    void anInterruptWhileACallIsTriedAgainIsKept() throws Exception {
        BlockingQueue<Object> seen = new ArrayBlockingQueue<>(2);
        try (Client away = away()) {
            Thread thread = new Thread(() -> {
                try {
                    away.serverInfo();
                } catch (PerdureException error) {
                    seen.add(error);
                }
                seen.add(Thread.interrupted());
            });
            thread.start();
            untilItPauses(thread);
            thread.interrupt();
            Object error = seen.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            assertTrue(error instanceof CallTimeoutException, String.valueOf(error));
            assertEquals(ErrorReason.CALL_CANCELLED, PerdureException.reasonOf((CallTimeoutException) error));
            assertEquals(true, seen.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS));
        }
    }

    @Test
    void anInterruptBeforeACallEndsItAndIsKept() {
        try (Client client = Servers.client()) {
            Thread.currentThread().interrupt();
            CallTimeoutException error = assertThrows(CallTimeoutException.class, client::serverInfo);
            assertTrue(Thread.interrupted());
            assertEquals(ErrorReason.CALL_CANCELLED, error.reason());
        }
    }

    /** A client that tries on: no server is there. */
    private static Client away() {
        return new Client(new ClientOptions().address("127.0.0.1:1").connectTimeout(Duration.ofSeconds(20)));
    }

    /** Between two tries a call waits for a time; in the midst of one, for the answer. */
    private static void untilItPauses(Thread thread) {
        while (thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.onSpinWait();
        }
    }

    @Test
    void anAddressThatIsNoneIsRefusedAtOnce() {
        Definition definition = one((ctx, in) -> "never");
        try (Client client = new Client("no host:at all")) {
            assertThrows(InvalidRequestException.class, client::serverInfo);
            assertThrows(InvalidRequestException.class, () -> client.worker(definition).start());
            assertThrows(InvalidRequestException.class, () -> client.run("one", "k").watch().next());
        }
    }

    @Test
    void filesOfTlsThatCannotBeUsedAreRefusedAtOnce(@TempDir Path folder) throws Exception {
        String path = Files.writeString(folder.resolve("nonsense.pem"), "nonsense").toString();
        Definition definition = one((ctx, in) -> "never");
        for (Tls tls : List.of(new Tls(path, "", "", ""), new Tls("", path, path, ""), new Tls(path + ".gone", "", "", ""))) {
            try (Client client = new Client(new ClientOptions().withoutEnvironment().tls(tls))) {
                InvalidRequestException error = assertThrows(InvalidRequestException.class, client::serverInfo);
                assertTrue(error.getMessage().contains(path), error.getMessage());
                assertThrows(InvalidRequestException.class, () -> client.worker(definition).start());
            }
        }
    }

    @Test
    void aTokenThatNoHeaderCanCarryIsRefused() {
        for (String token : List.of("t\u00f6ken", "two\nlines")) {
            InvalidRequestException error = assertThrows(InvalidRequestException.class, () -> new Client(new ClientOptions().token(token)));
            assertFalse(error.getMessage().contains(token));
        }
    }

    @Test
    void foreverIsADuration() {
        Duration forever = ChronoUnit.FOREVER.getDuration();
        Definition definition = one((ctx, in) -> "done");
        try (Client client = new Client(Servers.options().timeout(forever).connectTimeout(forever));
                Worker worker = client.worker(definition).grace(forever).start()) {
            assertEquals("done", client.start(definition, worker.workerId(), "x").result(String.class, forever));
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatIsLargerThanAnyMessageFailsItsAttempt(boolean saved) {
        String huge = "x".repeat(9 << 20);
        Definition definition = one((ctx, in) -> saved ? ctx.save(huge).length() : huge);
        try (Client client = Servers.client(); Worker worker = client.worker(definition).start()) {
            Run run = client.start(definition, worker.workerId(), "x");
            WorkflowFailedException error = assertThrows(WorkflowFailedException.class, () -> run.result(Object.class, PATIENCE));
            assertTrue(error.failure().message().contains("larger than"), error.getMessage());
            PayloadRejectedException refused =
                    assertThrows(PayloadRejectedException.class, () -> client.start(definition, "huge", huge));
            assertEquals(ErrorReason.PAYLOAD_TOO_LARGE, refused.reason());
        }
    }

    @Test
    void aFailureThatIsReturnedIsNoOutput() {
        Definition definition = one((ctx, in) -> Failure.of("desk.closed", "come back tomorrow"));
        try (Client client = Servers.client(); Worker worker = client.worker(definition).start()) {
            Run run = client.start(definition, worker.workerId(), "x");
            WorkflowFailedException error = assertThrows(WorkflowFailedException.class, () -> run.result(Object.class, PATIENCE));
            assertTrue(error.failure().message().contains("throw"), error.failure().message());
        }
    }

    @Test
    void twoWorkersInOneProcessStandEachOnItsOwn() throws Exception {
        Definition definition = one((ctx, in) -> "by " + Thread.currentThread().getName());
        Client client = Servers.client();
        Worker first = client.worker(definition).workerId("first").start();
        try (Worker second = client.worker(definition).workerId("second").start()) {
            first.close();
            first.close();
            assertTrue(client.start(definition, second.workerId(), "x").result(String.class, PATIENCE).startsWith("by perdure-one"));
        }
        client.close();
        client.close();
        assertThrows(IllegalStateException.class, client::serverInfo);
    }

    @Test
    void aWorkerIsClosedByItsOwnActivity() throws Exception {
        CompletableFuture<Worker> made = new CompletableFuture<>();
        CompletableFuture<Boolean> closed = new CompletableFuture<>();
        Definition definition = one((ctx, in) -> {
            made.join().close();
            closed.complete(true);
            return "done";
        });
        try (Client client = Servers.client()) {
            made.complete(client.worker(definition).grace(Duration.ZERO).start());
            client.start(definition, "k", "x");
            assertTrue(closed.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
        }
    }

    @Test
    void aTestServerIsReachedWhateverTheEnvironmentSays() {
        assertEquals(Map.of(), Servers.shared().options().environment());
        assertFalse(new ClientOptions().environment().isEmpty());
    }
}
