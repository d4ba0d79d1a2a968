package io.perdure.samples;

import io.perdure.Client;
import io.perdure.Condition;
import io.perdure.Context;
import io.perdure.Definition;
import io.perdure.Run;
import io.perdure.Wait;
import io.perdure.Worker;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A job that another service does: submitted once, then waited for without a thread, by its callback or by looking again. The service
 * gets the wake token, which is all that a webhook needs.
 */
public final class DurableWait {
    record Needs(String input) {}

    /** Another team's service: takes a job once per key, and calls back when it is done. */
    static final class Renderer {
        private final Map<String, String> callbacks = new ConcurrentHashMap<>();
        private final Map<String, String> done = new ConcurrentHashMap<>();

        String submit(String scene, String key, String callback) {
            callbacks.putIfAbsent("job-" + key, callback);
            return "job-" + key;
        }

        Optional<String> result(String job) {
            return Optional.ofNullable(done.get(job));
        }

        /** The job is done: the callback may be sent twice, it counts once. */
        void finish(String job, String image, Client client) {
            done.put(job, image);
            client.signal(callbacks.get(job), "rendered", null, job);
            client.signal(callbacks.get(job), "rendered", null, job);
        }

        Optional<String> oldestJob() {
            return callbacks.keySet().stream().findFirst();
        }
    }

    static Definition definition(Renderer renderer) {
        Definition film = Definition.of("film").version("1");
        film.step("render", Needs.class, (ctx, in) -> render(renderer, ctx, in));
        return film;
    }

    static Object render(Renderer renderer, Context ctx, Needs in) {
        String job = ctx.checkpoint(String.class).orElse(null);
        if (job == null) { // the checkpoint is stored before anything is waited for
            job = ctx.save(renderer.submit(in.input(), ctx.idempotencyKey(), ctx.wakeToken()));
        }
        Optional<String> image = renderer.result(job); // whatever woke us, the truth is asked again
        if (image.isEmpty()) {
            return Wait.any(Condition.signal("rendered"), Condition.after(Duration.ofMinutes(5))); // no attempt is charged
        }
        return image.get();
    }

    public static void main(String[] args) {
        Renderer renderer = new Renderer();
        Definition film = definition(renderer);
        try (Client client = new Client(); Worker worker = client.worker(film).start()) {
            Run run = client.start(film, "film-7", "a sunrise");
            // Nothing runs while the step waits: `worker` could be stopped and started in between.
            run.watch().forEachRemaining(event -> {
                if (event.waitsFor("rendered")) {
                    System.out.println("waiting, with " + worker.running() + " activities running");
                    renderer.oldestJob().ifPresent(job -> renderer.finish(job, "sunrise.png", client));
                }
            });
            System.out.println(run.result(String.class));
        }
    }

    private DurableWait() {}
}
