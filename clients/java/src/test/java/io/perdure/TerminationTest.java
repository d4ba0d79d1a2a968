package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** SIGTERM: activities finish within the grace, and then the JVM ends. */
@Timeout(60)
class TerminationTest {
    record Needs(String input) {}

    static Definition definition() {
        Definition definition = Definition.of("term");
        definition.step("work", Needs.class, (ctx, in) -> {
            System.out.println("began");
            while (client().run("term", "k").get().labels().isEmpty()) {
                Thread.onSpinWait();
            }
            return new java.util.concurrent.CountDownLatch(1).await(1, TimeUnit.SECONDS) ? "" : "finished"; // outlasts the SIGTERM
        });
        return definition;
    }

    private static Client client() {
        return new Client(new ClientOptions().namespace("termination"));
    }

    /** The program that is terminated. */
    public static void main(String[] args) {
        client().worker(definition()).grace(Duration.ofSeconds(10)).run();
    }

    @Test
    void activitiesFinishWithinTheGrace() throws Exception {
        ProcessBuilder builder = new ProcessBuilder(
                System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1",
                "-cp", System.getProperty("java.class.path"), TerminationTest.class.getName());
        builder.environment().put("PERDURE_ADDRESS", Servers.shared().address());
        builder.redirectError(ProcessBuilder.Redirect.DISCARD);
        Process process = builder.start();
        try (Client client = new Client(Servers.shared().options().namespace("termination"));
                BufferedReader said = process.inputReader(StandardCharsets.UTF_8)) {
            client.definitions().apply(definition());
            Run run = client.start(Start.of("term", "k").input("x").label("a", "b"));
            assertEquals("began", said.readLine());
            process.destroy();
            assertEquals("finished", run.result(String.class, Duration.ofSeconds(20)));
            assertTrue(process.waitFor(20, TimeUnit.SECONDS));
            assertEquals(143, process.exitValue());
        } finally {
            process.destroyForcibly();
        }
    }
}
