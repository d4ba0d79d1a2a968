package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.perdure.testing.Script;
import io.perdure.testing.TestServer;
import io.perdure.v1.GetServerInfoRequest;
import io.perdure.v1.AdminServiceGrpc;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ClientTest {
    private static final Definition NOTE = Definition.parse("""
            workflow_type: note
            steps:
              pause: {wait: {any_of: [{signal: go}, {after: 3d}]}}
            """);

    @Test
    void startSignalAndResult() {
        try (Client client = Servers.client()) {
            client.definitions().apply(NOTE);
            Run run = client.start(Start.of(NOTE, "k").input(Map.of("n", 9007199254740993L)).label("tenant", "acme"));
            assertTrue(run.created());
            assertFalse(client.start(Start.of(NOTE, "k").input(Map.of("n", 9007199254740993L))).created());
            AlreadyExistsException error =
                    assertThrows(AlreadyExistsException.class, () -> client.start(Start.of(NOTE, "k").input(Map.of("n", 9007199254740992L))));
            assertEquals(ErrorReason.START_INPUT_MISMATCH, PerdureException.reasonOf(new IllegalStateException(error)));
            assertEquals(1, client.list(Filter.type("note").label("tenant", "acme")).toList().size());
            assertEquals(1, client.count(Filter.type("note").states(WorkflowState.RUNNING)).getCount());
            assertTrue(run.get().waitsFor("go"));
            assertTrue(run.signal("go", null).consumed());
            run.result(Object.class, Duration.ofSeconds(20));
            assertEquals(WorkflowState.COMPLETED, run.get().state());
            run.delete("done");
            NotFoundException gone = assertThrows(NotFoundException.class, run::get);
            assertEquals(ErrorReason.WORKFLOW_NOT_FOUND, gone.reason());
            assertEquals("NOT_FOUND", gone.code());
        }
    }

    @Test
    void aWaitThatIsTooShortSaysSo() {
        try (Client client = Servers.client()) {
            client.definitions().apply(NOTE);
            Run run = client.start(NOTE, "k", null);
            CallTimeoutException error = assertThrows(CallTimeoutException.class, () -> run.result(Object.class, Duration.ofMillis(50)));
            assertTrue(error.getMessage().contains("RUNNING"), error.getMessage());
        }
    }

    @Test
    void severalStartsStandEachOnItsOwn() {
        try (Client client = Servers.client()) {
            client.definitions().apply(NOTE);
            List<Client.StartOutcome> outcomes = client.startAll(List.of(Start.of(NOTE, "a"), Start.of("nobody", "b"), Start.of(NOTE, "c")));
            assertTrue(outcomes.get(0).orThrow().created());
            assertEquals(ErrorReason.DEFINITION_NOT_FOUND, assertThrows(NotFoundException.class, outcomes.get(1)::orThrow).reason());
            assertTrue(outcomes.get(2).orThrow().created());
        }
    }

    @Test
    void anInterruptEndsAWaitAndIsKept() throws InterruptedException {
        try (Client client = Servers.client()) {
            client.definitions().apply(NOTE);
            Run run = client.start(NOTE, "k", null);
            CountDownLatch kept = new CountDownLatch(2);
            Thread waits = new Thread(() -> {
                assertThrows(CallTimeoutException.class, () -> run.result(Object.class));
                if (Thread.interrupted()) {
                    kept.countDown();
                }
            });
            Thread watches = new Thread(() -> {
                assertThrows(CallTimeoutException.class, () -> run.watch().forEachRemaining(event -> {}));
                if (Thread.interrupted()) {
                    kept.countDown();
                }
            });
            for (Thread thread : List.of(waits, watches)) {
                thread.start();
                thread.interrupt();
            }
            assertTrue(kept.await(20, TimeUnit.SECONDS));
        }
    }

    @Test
    void aWatchThatIsClosedElsewhereEnds() throws InterruptedException {
        try (Client client = Servers.client()) {
            client.definitions().apply(NOTE);
            Watch watch = client.start(NOTE, "k", null).watch();
            assertTrue(watch.next() instanceof Event.Snapshot);
            Thread reader = new Thread(() -> watch.forEachRemaining(event -> {}));
            reader.start();
            watch.close();
            reader.join(20_000);
            assertFalse(reader.isAlive());
        }
    }

    @Test
    void whereNoServerIsTheErrorSaysWhatToDo() {
        ClientOptions options = new ClientOptions().address("127.0.0.1:1").connectTimeout(Duration.ofMillis(300));
        try (Client client = new Client(options)) {
            UnavailableException error = assertThrows(UnavailableException.class, client::serverInfo);
            assertTrue(error.getMessage().contains("perdure dev"), error.getMessage());
            assertThrows(UnavailableException.class, () -> client.run("note", "k").watch().next());
        }
    }

    @Test
    void theStubsAreReachedByTheSameChannel() {
        try (Client client = Servers.client()) {
            assertEquals(
                    client.serverInfo().getServerVersion(),
                    AdminServiceGrpc.newBlockingStub(client.channel()).getServerInfo(GetServerInfoRequest.getDefaultInstance()).getServerVersion());
        }
    }

    @Test
    void settingsComeFromTheEnvironment() {
        ConnectionConfig config = ConnectionConfig.of(
                new ClientOptions(), Map.of("PERDURE_ADDRESS", "perdure.example", "PERDURE_NAMESPACE", "n", "PERDURE_TOKEN", "t", "PERDURE_TLS", "true"));
        assertEquals("perdure.example:7463", config.address());
        assertEquals("n", config.namespace());
        assertEquals("t", config.bearer());
        assertEquals(Tls.system(), config.tls());
        ConnectionConfig given = ConnectionConfig.of(new ClientOptions().address("[::1]").plaintext(), Map.of("PERDURE_TLS", "true"));
        assertEquals("[::1]:7463", given.address());
        assertEquals(null, given.tls());
        assertThrows(InvalidRequestException.class, () -> ConnectionConfig.of(new ClientOptions(), Map.of("PERDURE_TLS", "perhaps")));
        assertThrows(InvalidRequestException.class, () -> ConnectionConfig.of(new ClientOptions(), Map.of("PERDURE_TLS_CERT_FILE", "c")));
    }

    @Test
    void daysPassInNoTime() {
        Definition definition = Definition.parse("""
                workflow_type: slow
                steps:
                  work: {needs: [input], retry: {max_attempts: 2, initial_interval: 1h}}
                  pause: {after: [work], wait: {any_of: [{signal: go}, {after: 3d}]}}
                  tell: {needs: [work], after: [pause]}
                """);
        try (TestServer server = TestServer.at(Servers.shared().address()); Client client = server.client()) {
            client.definitions().apply(definition);
            server.script("slow", Script.fails("work", Failure.of("busy", "later")).onAttempt(1), Script.completes("work", 7),
                    Script.completes("tell", "told").taking(Duration.ofMinutes(5)));
            Run run = client.start(definition, "slow-1", "x");
            assertEquals("told", server.result(run, String.class));
            assertEquals(2, run.get().steps().get("work").attempt());
        }
    }
}
