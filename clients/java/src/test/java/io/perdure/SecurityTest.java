package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.perdure.testing.DevServer;
import io.perdure.v1.AdminServiceGrpc;
import io.perdure.v1.ListSchedulesRequest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** TLS and tokens, against a server that asks for both. */
@Timeout(60)
class SecurityTest {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final AtomicInteger COUNT = new AtomicInteger();

    @TempDir
    private static Path data;

    private static DevServer server;
    private static Path ca;
    private static Path tokens;

    @TempDir
    private Path directory;

    record Needs(String input) {}

    @BeforeAll
    static void serve() {
        server = DevServer.start("--no-redis", "--tls", "--auth", "--data-dir", data.toString());
        ca = server.path("export PERDURE_TLS_CA_FILE=");
        tokens = server.path("export PERDURE_TOKEN_FILE=").getParent();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    /** A role's token; `admin` may do everything but what workers do. */
    private static Path token(String role) {
        return tokens.resolve(role + ".token");
    }

    private static ClientOptions options() {
        return server.options().tls(Tls.trusting(ca)).timeout(Duration.ofSeconds(20)).connectTimeout(PATIENCE);
    }

    private static Definition one(Activity<Needs> activity) {
        Definition definition = Definition.of("one-" + COUNT.incrementAndGet());
        definition.step("work", Needs.class, activity);
        return definition;
    }

    private static void apply(Definition definition) {
        try (Client writer = new Client(options().tokenFile(token("definition-writer")))) {
            writer.definitions().apply(definition);
        }
    }

    @Test
    void clientAndWorkerSpeakTlsWithATokenEach() {
        Definition definition = one((ctx, in) -> ctx.save(ctx.frame(in.input())) + "!".repeat(300_000)); // also by a call of its own
        apply(definition);
        try (Client starter = new Client(options().tokenFile(token("client")));
                Client hand = new Client(options().tokenFile(token("worker")));
                Worker worker = hand.worker(definition).start()) {
            Run run = starter.start(definition, worker.workerId(), "x");
            assertEquals("x" + "!".repeat(300_000), run.result(String.class, PATIENCE));
            try (Watch watch = run.watch()) {
                assertTrue(watch.next() instanceof Event.Snapshot);
            }
        }
    }

    @Test
    void whoHasNoTokenOrAWrongOneIsRefusedAtOnce() {
        Definition definition = one((ctx, in) -> "never");
        for (ClientOptions options : new ClientOptions[] {options(), options().token("perdure_0123456789ab_" + "wrong".repeat(9))}) {
            try (Client nobody = new Client(options)) {
                AccessDeniedException error = assertThrows(AccessDeniedException.class, nobody::serverInfo);
                assertEquals(ErrorReason.UNAUTHENTICATED, error.reason());
                error = assertThrows(AccessDeniedException.class, () -> nobody.worker(definition).start());
                assertEquals(ErrorReason.UNAUTHENTICATED, error.reason());
                error = assertThrows(AccessDeniedException.class, () -> nobody.run("one", "k").watch().next());
                assertEquals(ErrorReason.UNAUTHENTICATED, error.reason());
            }
        }
    }

    @Test
    void aRoleAllowsWhatItIsForAlsoByTheStubs() {
        Definition definition = one((ctx, in) -> "never");
        apply(definition);
        ListSchedulesRequest schedules = ListSchedulesRequest.newBuilder().setNamespace("default").build();
        try (Client reader = new Client(options().tokenFile(token("reader"))); Client hand = new Client(options().tokenFile(token("worker")))) {
            AccessDeniedException error = assertThrows(AccessDeniedException.class, () -> reader.start(definition, "k", "x"));
            assertEquals(ErrorReason.PERMISSION_DENIED, error.reason());
            assertEquals("default", error.facts().get("namespace"));
            assertEquals(0, reader.call(AdminServiceGrpc.getListSchedulesMethod(), schedules).getSchedulesCount());
            assertEquals(0, AdminServiceGrpc.newBlockingStub(reader.channel()).listSchedules(schedules).getSchedulesCount());
            assertThrows(AccessDeniedException.class, () -> hand.call(AdminServiceGrpc.getListSchedulesMethod(), schedules));
            StatusRuntimeException refused = assertThrows(
                    StatusRuntimeException.class, () -> AdminServiceGrpc.newBlockingStub(hand.channel()).listSchedules(schedules));
            assertEquals(Status.Code.PERMISSION_DENIED, refused.getStatus().getCode());
        }
    }

    @Test
    void aTokenFileIsReadAgainWhenItChanges() throws IOException {
        Definition definition = one((ctx, in) -> in.input());
        apply(definition);
        Path file = directory.resolve("token");
        Files.copy(token("reader"), file);
        try (Client client = new Client(options().tokenFile(file))) {
            assertThrows(AccessDeniedException.class, () -> client.start(definition, "k", "x"));
            replace(file, Files.readString(token("client")));
            assertTrue(client.start(definition, "k", "x").created());
            replace(file, "half a\ntoken"); // the one before stays
            assertFalse(client.start(definition, "k", "x").created());
            replace(file, Files.readString(token("worker")));
            try (Worker worker = client.worker(definition).start()) { // says hello with the one that is there now
                assertEquals(0, worker.running());
            }
        }
    }

    private static void replace(Path file, String text) throws IOException {
        Path next = file.resolveSibling("next");
        Files.writeString(next, text, StandardCharsets.US_ASCII);
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
    }

    @Test
    void whatNoLaterTryCanHelpIsToldAtOnceInPlainWords() {
        assertThrows(InvalidRequestException.class, () -> call(options().tls(Tls.trusting(directory.resolve("nothing.pem")))));
        refuses(Tls.system(), "of no CA that is trusted: give its CA by PERDURE_TLS_CA_FILE");
        refuses(Tls.trusting(ca).withServerName("elsewhere.example.org"), "has other names: use one as address, or set PERDURE_TLS_SERVER_NAME");
        try (Client named = new Client(options().tls(Tls.trusting(ca).withServerName("localhost")).tokenFile(token("admin")))) {
            assertFalse(named.serverInfo().getServerVersion().isEmpty());
        }
    }

    @Test
    void whereOnlyOneSideSpeaksTlsTheErrorSaysSo() {
        UnavailableException error = assertThrows(UnavailableException.class, () -> call(Servers.options().tls(Tls.trusting(ca))));
        assertTrue(error.getMessage().contains("the server speaks plain text"), error.getMessage());
        ClientOptions plain = server.options().connectTimeout(Duration.ofMillis(300));
        error = assertThrows(UnavailableException.class, () -> call(plain));
        assertTrue(error.getMessage().contains("it may want TLS"), error.getMessage());
    }

    @Test
    void aClientCertificateThatIsReplacedTakesANewConnection() throws IOException {
        Path cert = directory.resolve("client.pem");
        Path key = directory.resolve("client-key.pem");
        Files.copy(ca.resolveSibling("client.pem"), cert);
        Files.copy(ca.resolveSibling("client-key.pem"), key);
        try (Client client = new Client(options().tls(Tls.trusting(ca).withCertificate(cert, key)).tokenFile(token("admin")))) {
            io.grpc.Channel before = client.channel();
            assertEquals(before, client.channel());
            replace(cert, Files.readString(cert) + "\n");
            assertFalse(before.equals(client.channel()));
            assertFalse(client.serverInfo().getServerVersion().isEmpty());
        }
    }

    private static void refuses(Tls tls, String told) {
        long began = System.nanoTime();
        UnavailableException error = assertThrows(UnavailableException.class, () -> call(options().tls(tls)));
        assertTrue(error.getMessage().contains(told), error.getMessage());
        assertTrue(System.nanoTime() - began < PATIENCE.toNanos() / 2, "it has tried again");
    }

    private static void call(ClientOptions options) {
        try (Client client = new Client(options)) {
            client.serverInfo();
        }
    }
}
