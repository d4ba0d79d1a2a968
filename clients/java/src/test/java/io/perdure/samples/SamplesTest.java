package io.perdure.samples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.perdure.Client;
import io.perdure.Servers;
import io.perdure.testing.FakeContext;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Each sample is a program, and runs as one: in a JVM of its own, against a real server. */
class SamplesTest {
    @Test
    void quickstartAndAgain() throws Exception {
        assertTrue(last(run("Quickstart")).matches("payment-\\w{8}: shipped"));
        assertTrue(last(run("Quickstart")).matches("payment-\\w{8}: shipped")); // finds the same workflow, ended
    }

    @Test
    void durableWait() throws Exception {
        List<String> said = run("DurableWait");
        assertEquals(List.of("waiting, with 0 activities running", "sunrise.png"), said);
    }

    @Test
    void watchWithResume() throws Exception {
        assertEquals("nothing lost, nothing twice", last(run("WatchWithResume")));
    }

    @Test
    void saga() throws Exception {
        List<String> said = run("Saga");
        assertEquals(
                List.of("car failed with car.none_left", "book flight to Lisbon", "book hotel in Lisbon", "cancel hotel", "cancel flight",
                        "tell: car.none_left"),
                said.subList(1, said.size()));
    }

    @Test
    void fenceRecipe() throws Exception {
        List<String> said = run("FenceRecipe");
        assertEquals(List.of("3 Market Square", "stored: 3 Market Square"), said.subList(1, said.size()));
    }

    @Test
    void admin() throws Exception {
        assertEquals(List.of("10 nights to come", "0 to pause", "true"), run("Admin"));
    }

    @Test
    void dream() throws Exception {
        List<String> said = run("Dream");
        assertEquals("Note: buy milk. (1)", last(said));
        assertTrue(said.contains("choice WAITING for choose"), said.toString());
    }

    @Test
    void errors() {
        try (Client client = Servers.client()) {
            assertEquals("never started", Errors.outcome(client, "nobody"));
        }
    }

    @Test
    void greeting() {
        FakeContext ctx = new FakeContext().withCheckpoint(1);
        assertEquals("hello anna, again", Greeting.greet(ctx, new Greeting.Needs("anna")));
        assertEquals(List.of(2), ctx.checkpoints());
        assertEquals(List.of("anna"), ctx.frames());
    }

    private static List<String> run(String sample) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(
                System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1",
                "-cp", System.getProperty("java.class.path"), "io.perdure.samples." + sample);
        builder.environment().put("PERDURE_ADDRESS", Servers.shared().address());
        builder.redirectError(ProcessBuilder.Redirect.DISCARD);
        Process process = builder.start();
        List<String> said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines().toList();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, process.exitValue(), said.toString());
        return said;
    }

    private static String last(List<String> said) {
        return said.get(said.size() - 1);
    }
}
