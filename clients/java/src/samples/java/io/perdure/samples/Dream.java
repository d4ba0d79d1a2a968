package io.perdure.samples;

import io.perdure.Client;
import io.perdure.Condition;
import io.perdure.Context;
import io.perdure.Definition;
import io.perdure.Event;
import io.perdure.PerdureException;
import io.perdure.Run;
import io.perdure.Start;
import io.perdure.Wait;
import io.perdure.Watch;
import io.perdure.Worker;
import io.perdure.Woken;
import io.perdure.v1.Resource;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** A note from a recording: transcribed, composed, and published when a person has chosen. Run `perdure dev`, then this program. */
public final class Dream {
    /** The definition, in the file that the programs of all languages share. */
    static final String NOTE = """
            workflow_type: note
            version: "1"
            steps:
              transcribe:
                needs: [input]
                permits: {asr: 1}
                attempt_timeout: 2m
                retry: {max_attempts: 4}
              compose:
                needs: [transcribe]
                silence_timeout: 60s
              choice:
                after: [compose]
                wait: {any_of: [{signal: choose}, {after: 3d}]}
              publish:
                needs: [compose, choice]
            """;

    record Audio(String url) {}

    record TranscribeNeeds(Audio input) {}

    record ComposeNeeds(String transcribe) {} // a component named after a step is the dependency

    record PublishNeeds(String compose, Woken<Integer> choice) {} // no value when the timer won

    /** The company's own clients. */
    static final class Downstream {
        final Map<String, String> notes = new ConcurrentHashMap<>();
        private final Map<String, Integer> asked = new ConcurrentHashMap<>();

        String submit(String url, String dedup, String callback) {
            return "task-" + dedup;
        }

        Optional<String> result(String task) {
            return asked.merge(task, 1, Integer::sum) > 1 ? Optional.of("buy milk") : Optional.empty();
        }

        List<String> stream(String text) {
            return List.of("Note: ", text, ".");
        }
    }

    private final Downstream downstream;

    Dream(Downstream downstream) {
        this.downstream = downstream;
    }

    Object transcribe(Context ctx, TranscribeNeeds in) { // one entry point, run again after each wait
        String task = ctx.checkpoint(String.class).orElse(null);
        if (task == null) { // a key that is the same in every attempt; a token that a webhook can call back with
            task = ctx.save(downstream.submit(in.input().url(), ctx.idempotencyKey(), ctx.wakeToken())); // returns when stored
        }
        Optional<String> text = downstream.result(task); // whatever woke us, re-read the truth
        return text.isPresent() ? text.get() : Wait.any(Condition.signal("asr.done"), Condition.after(Duration.ofMillis(100)));
    }

    String compose(Context ctx, ComposeNeeds in) {
        StringBuilder text = new StringBuilder();
        downstream.stream(in.transcribe()).forEach(piece -> text.append(ctx.frame(piece))); // streamed to whoever watches
        return text.toString();
    }

    String publish(Context ctx, PublishNeeds in) {
        String text = in.compose() + " (" + in.choice().value().orElse(0) + ")";
        downstream.notes.put(ctx.businessKey(), text); // only if its fence is at most ctx.fence(): see FenceRecipe
        return text;
    }

    Definition definition() {
        return Definition.parse(NOTE)
                .code("transcribe", TranscribeNeeds.class, this::transcribe)
                .code("compose", ComposeNeeds.class, this::compose)
                .code("publish", PublishNeeds.class, this::publish);
    }

    public static void main(String[] args) {
        Definition note = new Dream(new Downstream()).definition();
        try (Client client = new Client(); // PERDURE_ADDRESS, PERDURE_NAMESPACE, PERDURE_TOKEN
                Worker worker = client.worker(note).slots("transcribe", 50).slots("compose", 4).start()) {
            System.out.println(worker.workerId() + " works"); // SIGTERM: finish within the grace, else release with checkpoint
            client.putResource(Resource.newBuilder().setResource("asr").setCapacity(20).build());
            Run run = client.start(Start.of(note, "note-42").input(new Audio("s3://a.mp3")).label("tenant", "acme"));
            try (Watch watch = run.watch()) { // resumes by itself; says when an attempt's frames start over
                for (Event event : watch) {
                    System.out.println(event);
                    if (event.waitsFor("choose")) {
                        run.signal("choose", 1, "click-7");
                    }
                }
            }
            System.out.println(run.result(String.class));
        } catch (PerdureException error) {
            System.out.println(error.reason()); // a stable reason, never text
            throw error;
        }
    }
}
