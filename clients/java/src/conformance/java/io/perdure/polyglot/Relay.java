package io.perdure.polyglot;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.opentelemetry.api.trace.Span;
import io.perdure.Client;
import io.perdure.Context;
import io.perdure.Definition;
import io.perdure.Inputs;
import io.perdure.Worker;
import io.perdure.v1.StepDefinition;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;

/** Java's worker of the relay: `clients/java/polyglot/run STEP FILE`. examples/polyglot/README.md says what such a worker does. */
public final class Relay {
    record Baton(long number, String hold, List<String> path) {}

    private final List<String> needs;

    private Relay(List<String> needs) {
        this.needs = needs;
    }

    public static void main(String[] args) throws IOException {
        Definition relay = Definition.load(Path.of(args[1]));
        StepDefinition step = relay.message().getStepsList().stream().filter(one -> one.getName().equals(args[0])).findFirst().orElseThrow();
        relay.code(args[0], Inputs.class, new Relay(step.getNeeds().getNamesList())::run);
        Client client = new Client();
        Worker worker = client.worker(relay).stopsWithJvm(false).start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            worker.close();
            Runtime.getRuntime().halt(0); // the relay asks for 0 on SIGTERM, where the JVM itself ends with 143
        }));
        worker.await();
    }

    private Object run(Context ctx, Inputs inputs) throws IOException, InterruptedException {
        Map<String, Object> began = new LinkedHashMap<>();
        began.put("event", "began");
        began.put("key", ctx.businessKey());
        began.put("step", ctx.step());
        began.put("claim_no", ctx.claimNo());
        began.put("trace_id", Span.current().getSpanContext().getTraceId());
        System.out.println(new ObjectMapper().writeValueAsString(began));
        long number = 0;
        String hold = "";
        Set<String> path = new LinkedHashSet<>();
        for (String need : needs) {
            Baton baton = inputs.get(need, Baton.class).orElseThrow();
            number = Math.max(number, baton.number());
            hold = baton.hold();
            path.addAll(baton.path());
        }
        if (hold != null && hold.equals(ctx.step()) && ctx.claimNo() == 1) {
            new CountDownLatch(1).await(); // until it is killed, or cancelled
        }
        path.add(ctx.step() + ":java");
        return new Baton(number + 1, hold, List.copyOf(path));
    }
}
