package io.perdure.testing;

import io.perdure.Client;
import io.perdure.ClientOptions;
import io.perdure.Run;
import io.perdure.StepState;
import io.perdure.StepView;
import io.perdure.Workflow;
import io.perdure.testing.v1.AdvanceTimeRequest;
import io.perdure.testing.v1.AdvanceTimeResponse;
import io.perdure.testing.v1.ScriptOutcomesRequest;
import io.perdure.testing.v1.TestServiceGrpc;
import io.perdure.testing.v1.WaitIdleRequest;
import io.perdure.testing.v1.WaitIdleResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A server whose clock the test moves: thirty days pass in no time.
 *
 * <pre>{@code
 * try (TestServer server = TestServer.start(); Client client = server.client(); Worker worker = client.worker(note).start()) {
 *     Run run = client.start(note, "note-42", "s3://a.mp3");
 *     server.advance(Duration.ofDays(3));
 *     assertEquals("published", server.result(run, String.class));
 * }
 * }</pre>
 *
 * <p>Leases and silence go on by real time, however far the test's time jumps: a connected worker keeps its claims.
 */
public final class TestServer implements AutoCloseable {
    private static final Duration CALL_TIMEOUT = Duration.ofSeconds(55);
    private static final Set<StepState> AT_REST = Set.of(StepState.COMPLETED, StepState.BLOCKED);

    private final DevServer process;
    private final ClientOptions options;
    private final Client client;

    private TestServer(DevServer process, ClientOptions options) {
        this.process = process;
        this.options = options;
        this.client = new Client(options);
    }

    /**
     * Starts a {@code perdure dev --test} of one's own; see {@link DevServer}.
     *
     * @param more further options of {@code perdure dev}
     * @return the server
     */
    public static TestServer start(String... more) {
        String[] all = new String[more.length + 1];
        all[0] = "--test";
        System.arraycopy(more, 0, all, 1, more.length);
        DevServer process = DevServer.start(all);
        return new TestServer(process, process.options().timeout(CALL_TIMEOUT));
    }

    /**
     * A {@code perdure dev --test} that runs already.
     *
     * @param address host:port
     * @return the server
     */
    public static TestServer at(String address) {
        return new TestServer(null, new ClientOptions().address(address).timeout(CALL_TIMEOUT));
    }

    /** {@return host:port of the service} */
    public String address() {
        return client.address();
    }

    /** {@return a client of this server} */
    public Client client() {
        return new Client(options);
    }

    /**
     * Lets time pass: what falls due on the way is done in order, each before the next falls due.
     *
     * @param by how much
     * @return the test's time, how much passed, what fired, and the next due time
     */
    public AdvanceTimeResponse advance(Duration by) {
        com.google.protobuf.Duration length =
                com.google.protobuf.Duration.newBuilder().setSeconds(by.getSeconds()).setNanos(by.getNano()).build();
        return client.call(TestServiceGrpc.getAdvanceTimeMethod(), AdvanceTimeRequest.newBuilder().setBy(length).build());
    }

    /**
     * Lets time pass up to this time; as {@link #advance}.
     *
     * @param time when
     * @return the test's time, how much passed, what fired, and the next due time
     */
    public AdvanceTimeResponse advanceTo(Instant time) {
        com.google.protobuf.Timestamp until = com.google.protobuf.Timestamp.newBuilder()
                .setSeconds(time.getEpochSecond())
                .setNanos(time.getNano())
                .build();
        return client.call(TestServiceGrpc.getAdvanceTimeMethod(), AdvanceTimeRequest.newBuilder().setToTime(until).build());
    }

    /** {@return what {@link #advance} returns, after time has passed up to the next due time of any workflow, and no further} */
    public AdvanceTimeResponse advanceToNextDue() {
        return client.call(TestServiceGrpc.getAdvanceTimeMethod(), AdvanceTimeRequest.newBuilder().setToNextDue(true).build());
    }

    /**
     * Says how attempts of a type's steps end; from then on no worker gets them.
     *
     * @param workflowType the type
     * @param scripts in order of preference, and before those that were told earlier; attempts without one wait until one is given
     * @return how many the type has now
     */
    public int script(String workflowType, Script... scripts) {
        ScriptOutcomesRequest request = ScriptOutcomesRequest.newBuilder()
                .setNamespace(client.namespace())
                .setWorkflowType(workflowType)
                .addAllOutcomes(List.of(scripts).stream().map(Script::message).toList())
                .build();
        return client.call(TestServiceGrpc.getScriptOutcomesMethod(), request).getScriptCount();
    }

    /**
     * Waits until nothing moves but by time, a signal, a person, or a worker that is not there; 10 s of real time at most.
     *
     * @return when something moves by itself; empty: never
     * @throws IllegalStateException something still moved, such as an activity that runs
     */
    public Optional<Instant> waitIdle() {
        WaitIdleRequest request = WaitIdleRequest.newBuilder().setNamespace(client.namespace()).build();
        WaitIdleResponse answer = client.call(TestServiceGrpc.getWaitIdleMethod(), request);
        if (!answer.getIdle()) {
            throw new IllegalStateException("still moving: " + String.join("; ", answer.getBusyList()));
        }
        com.google.protobuf.Timestamp due = answer.getNextDueTime();
        return answer.hasNextDueTime() ? Optional.of(Instant.ofEpochSecond(due.getSeconds(), due.getNanos())) : Optional.empty();
    }

    /**
     * Lets time pass until the workflow ends, and gives its output as {@link Run#result(Class)} does.
     *
     * @param <T> what to decode it to
     * @param run the workflow
     * @param type what to decode it to
     * @return the output
     * @throws IllegalStateException nothing moves it any more
     */
    public <T> T result(Run run, Class<T> type) {
        while (!run.get().state().isEnded()) {
            Optional<Instant> due = waitIdle();
            Workflow now = run.get();
            if (now.state().isEnded()) {
                break;
            }
            if (due.isEmpty()) {
                String steps = now.steps().values().stream()
                        .filter(step -> !AT_REST.contains(step.state()))
                        .map(TestServer::told)
                        .collect(Collectors.joining(", "));
                throw new IllegalStateException(run + " is " + now.state() + ", and time does not move it: " + steps);
            }
            advanceToNextDue();
        }
        return run.result(type);
    }

    /** Closes the connection, and stops the server if this object started it. */
    @Override
    public void close() {
        client.close();
        if (process != null) {
            process.close();
        }
    }

    private static String told(StepView step) {
        return step.name() + " " + step.state();
    }
}
