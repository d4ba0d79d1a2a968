package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.perdure.v1.Attempt;
import io.perdure.v1.WatchEnd;
import io.perdure.v1.WatchEvent;
import io.perdure.v1.WatchRequest;
import io.perdure.v1.WatchResponse;
import io.perdure.v1.WorkflowServiceGrpc;
import java.io.IOException;
import java.nio.channels.ClosedChannelException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a cut connection, and a server that is away for a while, cost: nothing. */
@Timeout(60)
class ReconnectTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private Client client;
    private Proxy proxy;
    private Client proxied;
    private final BlockingQueue<String> told = new ArrayBlockingQueue<>(100);
    private final CountDownLatch go = new CountDownLatch(1);

    record Needs(String input) {}

    @BeforeEach
    void open() {
        client = Servers.client();
        proxy = new Proxy(client.address());
        proxied = new Client(new ClientOptions().address(proxy.address()).namespace(client.namespace()));
    }

    @AfterEach
    void close() {
        proxied.close();
        proxy.close();
        client.close();
    }

    private void awaits(String what) throws InterruptedException {
        assertEquals(what, told.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS));
    }

    private static Definition one(Activity<Needs> activity) {
        Definition definition = Definition.of("one");
        definition.step("work", Needs.class, activity);
        return definition;
    }

    private static List<Attempt.Outcome> outcomes(Run run) {
        return run.attempts("work").stream().map(Attempt::getOutcome).toList();
    }

    @Test
    void whatRunsGoesOnThroughACut() throws InterruptedException {
        Definition definition = one((ctx, in) -> {
            ctx.frame("before ");
            told.add("began");
            go.await();
            ctx.frame("after");
            return ctx.save("checkpoint") + " " + ctx.attempt();
        });
        try (Worker worker = proxied.worker(definition).start()) {
            Run run = client.start(definition, worker.workerId(), "x");
            awaits("began");
            proxy.cut();
            go.countDown();
            StringBuilder shown = new StringBuilder();
            try (Watch watch = run.watch()) {
                watch.forEachRemaining(event -> shown.append(event instanceof Event.Frame frame ? frame.text() : ""));
            }
            assertEquals("before after", shown.toString());
            assertEquals("checkpoint 1", run.result(String.class, PATIENCE));
            assertEquals(List.of(Attempt.Outcome.OUTCOME_COMPLETED), outcomes(run));
            assertEquals("checkpoint 1", client.start(definition, "next", "x").result(String.class, PATIENCE));
        }
    }

    @Test
    void aResultWhoseAnswerWasLostIsSaidAgain() throws InterruptedException {
        Definition definition = one((ctx, in) -> {
            told.add("began");
            go.await();
            return in.input();
        });
        try (Worker worker = proxied.worker(definition).slots(1).start()) {
            Run run = client.start(definition, worker.workerId(), "first");
            awaits("began");
            proxy.loseAnswers();
            go.countDown();
            assertEquals("first", run.result(String.class, PATIENCE));
            proxy.cut();
            // Its only slot is free again once the repeated result is answered.
            assertEquals("second", client.start(definition, "next", "second").result(String.class, PATIENCE));
            assertEquals(List.of(Attempt.Outcome.OUTCOME_COMPLETED), outcomes(run));
        }
    }

    @Test
    void aWatchGoesOnThroughACutWithoutRepeats() {
        client.definitions().apply(Definition.parse("{workflow_type: gate, steps: {first: {wait: {signal: a}}, last: {after: first, wait: {signal: b}}}}"));
        Run run = client.start(Start.of("gate", "k"));
        List<String> seen = new ArrayList<>();
        try (Watch watch = proxied.run("gate", "k").watch()) {
            for (Event event : watch) {
                if (event instanceof Event.Snapshot) {
                    seen.add("snapshot");
                    run.signal("a", null);
                } else if (event instanceof Event.End) {
                    seen.add("end");
                } else if (event.waitsFor("b")) {
                    seen.add("last waits");
                    proxy.cut();
                    run.signal("b", null);
                }
            }
        }
        assertEquals(List.of("snapshot", "last waits", "end"), seen);
    }

    @ParameterizedTest
    @EnumSource(names = {"CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE"})
    void aWatchThatSomethingOnTheWayEndsIsOpenedAgain(Status.Code code) throws Exception {
        Deque<String> tokens = new ConcurrentLinkedDeque<>();
        WorkflowServiceGrpc.WorkflowServiceImplBase cuts = new WorkflowServiceGrpc.WorkflowServiceImplBase() {
            @Override
            public void watch(WatchRequest request, StreamObserver<WatchResponse> answers) {
                tokens.add(request.getResumeToken());
                boolean first = request.getResumeToken().isEmpty();
                WatchEvent.Builder event = WatchEvent.newBuilder().setResumeToken(first ? "one" : "two");
                WatchEvent told = first
                        ? event.setSnapshot(io.perdure.v1.Workflow.newBuilder()).build()
                        : event.setEnd(WatchEnd.newBuilder().setState(io.perdure.v1.Workflow.State.STATE_COMPLETED)).build();
                answers.onNext(WatchResponse.newBuilder().addEvents(told).build());
                if (first) {
                    answers.onError(code.toStatus().asRuntimeException());
                } else {
                    answers.onCompleted();
                }
            }
        };
        Server proxy = Grpc.newServerBuilderForPort(0, InsecureServerCredentials.create()).addService(cuts).build().start();
        try (Client through = new Client(new ClientOptions().withoutEnvironment().address("127.0.0.1:" + proxy.getPort()));
                Watch watch = through.run("note", "k").watch()) {
            assertTrue(watch.next() instanceof Event.Snapshot);
            assertTrue(watch.next() instanceof Event.End);
            assertFalse(watch.hasNext());
        } finally {
            proxy.shutdownNow();
        }
        assertEquals(List.of("", "one"), List.copyOf(tokens));
    }

    @Test
    void aConnectionThatEndsWhileACallIsWrittenIsUnavailable() {
        Status status = Status.UNKNOWN.withDescription("channel closed");
        IOException closed = new ClosedChannelException();
        assertInstanceOf(UnavailableException.class, Statuses.ofCall(status.withCause(closed).asRuntimeException()));
        assertInstanceOf(ServerFaultException.class, Statuses.ofCall(status.asRuntimeException()));
    }

    @Test
    void aCallThatWasCutIsMadeAgain() {
        Definition definition = one((ctx, in) -> in.input());
        proxied.definitions().apply(definition);
        proxy.cut();
        assertTrue(proxied.start(definition, "k", "x").created());
        proxy.loseAnswers();
        Thread cutting = new Thread(() -> {
            while (!isThere("lost")) {
                Thread.onSpinWait();
            }
            proxy.cut();
        });
        cutting.start();
        Started started = proxied.start(definition, "lost", "x").started().orElseThrow();
        assertEquals(client.run("one", "lost").get().runId(), started.runId());
        assertEquals(1, client.run("one", "lost").get().round());
    }

    private boolean isThere(String key) {
        try {
            return client.run("one", key).get().round() > 0;
        } catch (NotFoundException notYet) {
            return false;
        }
    }

    @Test
    void aServerThatIsAwayForAWhileIsWaitedFor() throws InterruptedException {
        Definition definition = one((ctx, in) -> {
            told.add("began " + ctx.attempt());
            go.await();
            return ctx.save("kept");
        });
        try (Worker worker = proxied.worker(definition).start()) {
            Run run = client.start(definition, worker.workerId(), "x");
            awaits("began 1");
            proxy.goAway();
            go.countDown();
            assertTrue(proxy.awaitRefused(2, PATIENCE)); // the worker tries on
            Thread calling = new Thread(() -> told.add(proxied.run("one", run.key()).get().workflowType()));
            calling.start();
            assertTrue(proxy.awaitRefused(2, PATIENCE));
            proxy.comeBack();
            awaits("one");
            assertEquals("kept", run.result(String.class, PATIENCE));
            assertEquals(List.of(Attempt.Outcome.OUTCOME_COMPLETED), outcomes(run));
        }
    }
}
