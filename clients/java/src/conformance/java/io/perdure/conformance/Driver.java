package io.perdure.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.perdure.Client;
import io.perdure.Event;
import io.perdure.Run;
import io.perdure.Watch;
import io.perdure.WatchOptions;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** The conformance driver of the Java client; tests/conformance/README.md tells its protocol. */
public final class Driver {
    private final Map<String, OpenClient> clients = new ConcurrentHashMap<>();
    private final Map<String, Serving> workers = new ConcurrentHashMap<>();
    private final Map<String, Watching> watches = new ConcurrentHashMap<>();
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "driver");
        thread.setDaemon(true);
        return thread;
    });

    /** A watch that is being read. */
    private record Watching(Watch watch, CountDownLatch done) {}

    private Driver() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        // So that activities have spans of their own, which nobody exports.
        GlobalOpenTelemetry.set(OpenTelemetrySdk.builder().setTracerProvider(SdkTracerProvider.builder().build()).build());
        Driver driver = new Driver();
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                driver.handle(Lines.parse(line));
            }
        }
        driver.end();
        System.exit(0);
    }

    /** What takes no time is done at once, so that it takes effect in order; the rest has threads of its own. */
    private void handle(JsonNode fields) {
        switch (Lines.text(fields, "do")) {
            case "hello", "open", "watch", "go_on", "drain", "resume_call" -> answer(fields);
            default -> threads.execute(() -> answer(fields));
        }
    }

    private void answer(JsonNode fields) {
        ObjectNode line = Lines.line().put("id", fields.path("id").longValue());
        try {
            line.set("ok", perform(fields));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return;
        } catch (RuntimeException error) {
            line.set("error", Lines.error(error));
            if (!(error instanceof io.perdure.PerdureException)) {
                error.printStackTrace();
            }
        }
        Lines.write(line);
    }

    private ObjectNode perform(JsonNode fields) throws InterruptedException {
        switch (Lines.text(fields, "do")) {
            case "hello" -> {
                return Lines.line().put("language", "java").put("library", Client.VERSION).put("protocol", 1);
            }
            case "open" -> clients.put(Lines.text(fields, "client"), new OpenClient(fields));
            case "close" -> clients.remove(named(clients, fields, "client")).close();
            case "watch" -> watch(fields);
            case "unwatch" -> {
                Watching watching = watches.remove(named(watches, fields, "watch"));
                watching.watch().close();
                watching.done().await(5, TimeUnit.SECONDS);
            }
            case "work" -> workers.put(Lines.text(fields, "worker"), new Serving(client(fields).client, fields));
            case "drain" -> workers.get(named(workers, fields, "worker")).drain();
            case "stop" -> workers.get(named(workers, fields, "worker")).stop(fields.path("hurry").asBoolean(false));
            case "go_on" -> workers.get(named(workers, fields, "worker")).player.gates.goOn(
                    Lines.text(fields, "step"), Lines.text(fields, "key"));
            case "resume_call" -> {
                long call = fields.get("call").longValue();
                if (clients.values().stream().noneMatch(client -> client.raw.resume(call))) {
                    throw new IllegalArgumentException("no call is held under " + call);
                }
            }
            default -> {
                ObjectNode ok = client(fields).answer(fields);
                if (ok == null) {
                    throw new IllegalArgumentException("no such request: " + fields.get("do"));
                }
                return ok;
            }
        }
        return Lines.line();
    }

    private void watch(JsonNode fields) {
        String name = Lines.text(fields, "watch");
        Run run = client(fields).run(fields);
        WatchOptions options = new WatchOptions().resumeToken(Lines.text(fields, "resume_token"));
        if (fields.path("follow").asBoolean(false)) {
            options.follow();
        }
        if (!fields.path("frames").asBoolean(true)) {
            options.withoutFrames();
        }
        Watching watching = new Watching(run.watch(options), new CountDownLatch(1));
        watches.put(name, watching);
        threads.execute(() -> read(name, watching, run));
    }

    private void read(String name, Watching watching, Run run) {
        String token = "";
        try {
            for (Event event : watching.watch()) {
                token = event.resumeToken();
                if (watches.get(name) == watching) {
                    Lines.write(Views.event(event, run).put("watch", name));
                }
            }
            if (watches.get(name) == watching) {
                Lines.write(Lines.event("watch").put("watch", name).put("kind", "closed").put("resume_token", token));
            }
        } catch (RuntimeException error) {
            ObjectNode line = Lines.event("watch").put("watch", name).put("kind", "error").put("resume_token", token);
            line.set("error", Lines.error(error));
            if (watches.get(name) == watching) {
                Lines.write(line);
            }
        } finally {
            watching.done().countDown();
        }
    }

    private OpenClient client(JsonNode fields) {
        return clients.get(named(clients, fields, "client"));
    }

    private static String named(Map<String, ?> known, JsonNode fields, String kind) {
        String name = Lines.text(fields, kind);
        if (!known.containsKey(name)) {
            throw new IllegalArgumentException("there is no " + kind + " '" + name + "'; there are " + List.copyOf(known.keySet()));
        }
        return name;
    }

    private void end() throws InterruptedException {
        workers.values().forEach(worker -> threads.execute(() -> worker.stop(true)));
        watches.values().forEach(watching -> watching.watch().close());
        threads.shutdown();
        threads.awaitTermination(4, TimeUnit.SECONDS);
        clients.values().forEach(OpenClient::close);
    }
}
