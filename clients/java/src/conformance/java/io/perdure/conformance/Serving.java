package io.perdure.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import io.perdure.Client;
import io.perdure.Definition;
import io.perdure.Inputs;
import io.perdure.Worker;
import io.perdure.WorkerBuilder;
import io.perdure.v1.StepDefinition;
import java.util.ArrayList;
import java.util.List;

/** One worker whose steps play a behaviour. */
final class Serving {
    private static final int SLOTS = 100;

    final Player player;
    private final Worker worker;

    Serving(Client client, JsonNode fields) {
        String name = Lines.text(fields, "worker");
        player = new Player(name, fields.path("behaviour"));
        List<Definition> definitions = new ArrayList<>();
        Lines.texts(fields.get("definitions")).forEach(text -> definitions.add(served(text)));
        WorkerBuilder builder = client.worker(definitions.toArray(Definition[]::new))
                .slots(fields.path("slots").isInt() ? fields.get("slots").intValue() : SLOTS)
                .stopsWithJvm(false)
                .whenNotServed(what -> Lines.write(Lines.event("pool")
                        .put("worker", name)
                        .put("reason", what.error().reason())
                        .put("text", what.pool() + " " + what.step() + ": " + what.error().getMessage())));
        if (fields.path("slots").isObject()) {
            fields.get("slots").properties().forEach(slot -> builder.slots(slot.getKey(), slot.getValue().intValue()));
        }
        if (fields.has("steps")) {
            builder.steps(Lines.texts(fields.get("steps")).toArray(String[]::new));
        }
        if (fields.has("worker_id")) {
            builder.workerId(Lines.text(fields, "worker_id"));
        }
        Lines.duration(fields, "lease_ms").ifPresent(builder::lease);
        Lines.duration(fields, "grace_ms").ifPresent(builder::grace);
        builder.register(fields.path("register").asBoolean(true));
        worker = builder.start();
    }

    /** Begins to stop. */
    void drain() {
        Thread stopping = new Thread(worker::close, "driver-drain");
        stopping.setDaemon(true);
        stopping.start();
    }

    /** Returns when it has stopped. */
    void stop(boolean hurry) {
        if (hurry) {
            worker.hurry();
        }
        worker.close();
    }

    private Definition served(String text) {
        Definition definition = Definition.parse(text);
        for (StepDefinition step : definition.message().getStepsList()) {
            if (step.hasActivity() || (step.hasMap() && step.getMap().hasPaged())) {
                definition.code(step.getName(), Inputs.class, player::play);
            }
        }
        return definition;
    }
}
