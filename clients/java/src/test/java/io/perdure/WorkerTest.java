package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.perdure.v1.Attempt;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class WorkerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private Client client;
    private final BlockingQueue<String> told = new ArrayBlockingQueue<>(1000);

    record Needs(String input) {}

    @BeforeEach
    void open() {
        client = Servers.client();
    }

    @AfterEach
    void close() {
        client.close();
    }

    private String next() throws InterruptedException {
        String found = told.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        assertTrue(found != null, "nothing was told");
        return found;
    }

    private static Definition one(Activity<Needs> activity) {
        Definition definition = Definition.of("one");
        definition.step("work", Needs.class, activity);
        return definition;
    }

    @Test
    void aCancelInterruptsTheActivity() throws InterruptedException {
        Definition definition = one((ctx, in) -> {
            told.add("began");
            try {
                new CountDownLatch(1).await();
                return "never";
            } catch (InterruptedException stopped) {
                told.add(ctx.cancelReason());
                throw stopped;
            }
        });
        try (Worker worker = client.worker(definition).start()) {
            Run run = client.start(definition, "k", "x");
            assertEquals("began", next());
            assertEquals(1, worker.running());
            run.cancel("changed my mind");
            assertEquals("WORKFLOW_CANCELLED", next());
            WorkflowCancelledException error = assertThrows(WorkflowCancelledException.class, () -> run.result(Object.class, PATIENCE));
            assertTrue(error.getMessage().contains("changed my mind"), error.getMessage());
        }
    }

    @Test
    void whoSwallowsTheInterruptStillSeesTheCancel() throws InterruptedException {
        Definition definition = one((ctx, in) -> {
            told.add("began");
            BlockingQueue<String> nothing = new ArrayBlockingQueue<>(1);
            while (!ctx.isCancelled()) {
                try {
                    nothing.poll(50, TimeUnit.MILLISECONDS);
                } catch (InterruptedException swallowed) {
                    told.add("swallowed");
                }
            }
            ctx.throwIfCancelled();
            return "never";
        });
        try (Worker worker = client.worker(definition).start()) {
            Run run = client.start(definition, worker.workerId(), "x");
            assertEquals("began", next());
            run.cancel("");
            assertThrows(WorkflowCancelledException.class, () -> run.result(Object.class, PATIENCE));
        }
    }

    @Test
    void theInterruptOfOneActivityHitsNoOther() throws InterruptedException {
        Definition definition = one((ctx, in) -> {
            told.add(in.input() + Thread.currentThread().isInterrupted());
            while (in.input().equals("first") && !ctx.isCancelled()) {
                Thread.onSpinWait(); // ends with the interrupt still set
            }
            return in.input();
        });
        try (Worker worker = client.worker(definition).slots(1).start()) {
            Run first = client.start(definition, "first-" + worker.workerId(), "first");
            assertEquals("firstfalse", next());
            Run second = client.start(definition, "second", "second");
            first.cancel("");
            assertEquals("secondfalse", next()); // on the same thread
            assertEquals("second", second.result(String.class, PATIENCE));
        }
    }

    @Test
    void aBlockedHandlerKeepsItsClaim() throws InterruptedException {
        Definition definition = one((ctx, in) -> {
            told.add("attempt " + ctx.attempt());
            return new CountDownLatch(1).await(4, TimeUnit.SECONDS); // longer than the lease of 3 s
        });
        try (Worker worker = client.worker(definition).start()) {
            assertEquals(false, client.start(definition, worker.workerId(), "x").result(Boolean.class, PATIENCE));
            assertEquals("attempt 1", next());
            assertTrue(told.isEmpty());
        }
    }

    @Test
    void largeResultsAndCheckpointsTravelApart() {
        String large = "x".repeat(400_000);
        Definition definition = one((ctx, in) -> {
            if (ctx.checkpoint(String.class).isEmpty()) {
                ctx.save(large);
                throw Failure.of("once", "again").retryAfter(Duration.ZERO).exception();
            }
            return ctx.checkpoint(String.class).orElseThrow() + "y";
        });
        try (Worker worker = client.worker(definition).start()) {
            assertEquals(large + "y", client.start(definition, worker.workerId(), "x").result(String.class, PATIENCE));
        }
    }

    @Test
    void closeGivesClaimsBackWithTheirCheckpointsUncharged() throws InterruptedException {
        CountDownLatch go = new CountDownLatch(1);
        Definition definition = one((ctx, in) -> {
            told.add("attempt " + ctx.attempt() + ", checkpoint " + ctx.checkpoint(Integer.class).orElse(0));
            ctx.save(ctx.checkpoint(Integer.class).orElse(0) + 1);
            told.add("saved");
            if (ctx.checkpoint(Integer.class).orElseThrow() == 1) {
                go.await();
            }
            return ctx.cancelReason();
        });
        Run run;
        try (Worker worker = client.worker(definition).grace(Duration.ZERO).start()) {
            run = client.start(definition, worker.workerId(), "x");
            assertEquals("attempt 1, checkpoint 0", next());
            assertEquals("saved", next());
        }
        try (Worker worker = client.worker(definition).start()) {
            assertEquals("attempt 1, checkpoint 1", next());
            assertEquals("", run.result(String.class, PATIENCE));
            List<Attempt.Outcome> outcomes = run.attempts("work").stream().map(Attempt::getOutcome).toList();
            assertEquals(List.of(Attempt.Outcome.OUTCOME_COMPLETED, Attempt.Outcome.OUTCOME_RELEASED), outcomes);
            assertEquals(0, worker.running());
        }
    }

    @Test
    void closeLetsActivitiesFinishWithinTheGrace() throws InterruptedException {
        CountDownLatch go = new CountDownLatch(1);
        Definition definition = one((ctx, in) -> {
            told.add("began");
            go.await();
            return "done";
        });
        Worker worker = client.worker(definition).start();
        Run run = client.start(definition, "k", "x");
        assertEquals("began", next());
        Thread closing = new Thread(worker::close);
        closing.start();
        go.countDown();
        assertEquals("done", run.result(String.class, PATIENCE));
        closing.join(PATIENCE.toMillis());
        assertFalse(closing.isAlive());
    }

    @Test
    void nothingIsLeftBehind() throws InterruptedException {
        Definition definition = one((ctx, in) -> "x".repeat(300_000));
        Set<Thread> before = threads();
        Client own = new Client(Servers.options());
        Worker worker = own.worker(definition).start();
        own.start(definition, "k", "x").result(String.class, PATIENCE);
        worker.close();
        own.close();
        Set<Thread> left = threads();
        left.removeAll(before);
        for (Thread thread : left) {
            thread.join(PATIENCE.toMillis());
            assertFalse(thread.isAlive(), thread.getName());
        }
    }

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("perdure"))
                .collect(Collectors.toSet());
    }

    @Test
    void aStepIsServedByItsContractAlone() {
        Definition definition = Definition.parse("{workflow_type: relay, steps: {work: {needs: [input]}}}");
        String contract = client.definitions().apply(definition).getStepContractsOrThrow("work");
        try (Worker worker = client.worker().serve("relay", "work", contract, Needs.class, (ctx, in) -> in.input() + "!").start()) {
            assertEquals("x!", client.start(definition, worker.workerId(), "x").result(String.class, PATIENCE));
        }
    }

    @Test
    void aContractOfNoDefinitionIsToldAndTheOtherPoolsWork() throws InterruptedException {
        Definition definition = one((ctx, in) -> "fine");
        client.definitions().apply(Definition.parse("{workflow_type: other, steps: {work: {needs: [input]}}}"));
        List<NotServed> refused = new ArrayList<>();
        CountDownLatch once = new CountDownLatch(1);
        try (Worker worker = client.worker(definition)
                .serve("other", "work", "0".repeat(32), Needs.class, (ctx, in) -> "never")
                .whenNotServed(what -> {
                    refused.add(what);
                    once.countDown();
                })
                .start()) {
            assertTrue(once.await(PATIENCE.toSeconds(), TimeUnit.SECONDS));
            assertEquals(ErrorReason.DEFINITION_MISMATCH, refused.get(0).error().reason());
            assertEquals("fine", client.start(definition, worker.workerId(), "x").result(String.class, PATIENCE));
        }
    }

    @Test
    void aDefinitionWithFaultsEndsTheStart() {
        Definition circle = Definition.parse("{workflow_type: circle, steps: {a: {needs: [b]}, b: {needs: [a]}}}").code("a", ctx -> null);
        DefinitionRejectedException error = assertThrows(DefinitionRejectedException.class, () -> client.worker(circle).start());
        assertEquals(ErrorReason.DEFINITION_CYCLE, error.reason());
    }

    @Test
    void whatCannotTravelFailsTheAttemptForGood() {
        Definition definition = one((ctx, in) -> Double.NaN);
        try (Worker worker = client.worker(definition).start()) {
            Run run = client.start(definition, worker.workerId(), "x");
            WorkflowFailedException error = assertThrows(WorkflowFailedException.class, () -> run.result(Object.class, PATIENCE));
            assertEquals("work", error.step());
            assertTrue(error.failure().nonRetryable());
            assertTrue(error.failure().message().contains("NaN"), error.failure().message());
        }
    }

    @Test
    void aRoundThatWasSupersededLosesItsSave() throws InterruptedException {
        CountDownLatch go = new CountDownLatch(1);
        AtomicBoolean interrupted = new AtomicBoolean();
        Definition definition = one((ctx, in) -> {
            told.add("began " + in.input());
            if (in.input().equals("old")) {
                while (go.getCount() > 0) {
                    try {
                        go.await();
                    } catch (InterruptedException stopped) {
                        interrupted.set(true);
                    }
                }
                try {
                    ctx.save("late");
                } catch (ClaimLostException lost) {
                    told.add("lost");
                    throw lost;
                }
            }
            return in.input();
        });
        try (Worker worker = client.worker(definition).start()) {
            client.start(definition, worker.workerId(), "old");
            assertEquals("began old", next());
            Run run = client.start(Start.of(definition, worker.workerId()).input("new").onOpen(Start.OnOpen.SUPERSEDE)
                    .onClosed(Start.OnClosed.NEW_ROUND));
            assertEquals("began new", next());
            assertEquals("new", run.result(String.class, PATIENCE));
            go.countDown();
            assertEquals("lost", next());
        }
    }

    @Test
    void valuesAreUnreadableWithoutTheKeys() {
        KeyRing ring = new KeyRing("k1", java.util.Map.of("k1", new byte[32]), new byte[32]);
        ClientOptions options = Servers.options().codec(new AesGcm(ring));
        Definition definition = one((ctx, in) -> ctx.save(ctx.frame(in.input())) + "!");
        try (Client keyed = new Client(options); Worker worker = keyed.worker(definition).start()) {
            Run run = keyed.start(definition, "k", "geheim");
            assertEquals("geheim!", run.result(String.class, PATIENCE));
            assertFalse(keyed.start(definition, "k", "geheim").created(), worker.workerId());
            try (Client plain = new Client(Servers.shared().options().namespace(keyed.namespace()))) {
                PayloadUndecodableException error =
                        assertThrows(PayloadUndecodableException.class, () -> plain.run("one", "k").result(String.class, PATIENCE));
                assertEquals("encoding_unknown", error.codecCause());
                assertFalse(plain.run("one", "k").get().message().toString().contains("geheim"));
            }
        }
    }
}
