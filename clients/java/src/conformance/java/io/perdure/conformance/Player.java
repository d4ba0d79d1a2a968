package io.perdure.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.perdure.ActivityCancelledException;
import io.perdure.Chosen;
import io.perdure.Condition;
import io.perdure.Context;
import io.perdure.Failure;
import io.perdure.FailureException;
import io.perdure.HookFacts;
import io.perdure.Inputs;
import io.perdure.Page;
import io.perdure.PerdureException;
import io.perdure.Progress;
import io.perdure.Wait;
import io.perdure.Wake;
import io.perdure.v1.Payload;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The handler of every step of one worker: plays operations, and tells what it sees. */
final class Player {
    private static final String WAIT_RESULT = "application/vnd.perdure.wait-result+json";

    final Gates gates = new Gates();
    private final String worker;
    private final JsonNode behaviour;

    Player(String worker, JsonNode behaviour) {
        this.worker = worker;
        this.behaviour = behaviour;
    }

    Object play(Context ctx, Inputs inputs) throws Exception {
        String activity = worker + ":" + ctx.workflowType() + "/" + ctx.businessKey() + "/" + ctx.round() + "/" + ctx.step() + "/" + ctx.claimNo();
        Playing playing = new Playing(ctx, inputs, activity);
        Lines.write(playing.began());
        try {
            Object result = playing.run(script(ctx));
            Lines.write(playing.event("ended").put("outcome", "returned"));
            return result;
        } catch (InterruptedException | ActivityCancelledException stopped) {
            Lines.write(playing.event("ended").put("outcome", "stopped"));
            throw stopped;
        } catch (PerdureException error) {
            ObjectNode line = playing.event("ended").put("outcome", "error");
            line.set("error", Lines.error(error));
            Lines.write(line);
            throw error;
        } catch (Exception failed) {
            Lines.write(playing.event("ended").put("outcome", "failed"));
            throw failed;
        }
    }

    private JsonNode script(Context ctx) {
        for (JsonNode script : behaviour) {
            boolean matches = (!script.has("step") || script.get("step").textValue().equals(ctx.step()))
                    && (!script.has("key") || script.get("key").textValue().equals(ctx.businessKey()))
                    && (!script.has("attempt") || script.get("attempt").intValue() == ctx.attempt())
                    && (!script.has("claim_no") || script.get("claim_no").longValue() == ctx.claimNo());
            if (matches) {
                return script.get("operations");
            }
        }
        throw Failure.of("driver.no_script", ctx.toString()).notRetryable().exception();
    }

    /** One activity. */
    private final class Playing {
        private final Context ctx;
        private final Inputs inputs;
        private final String activity;

        Playing(Context ctx, Inputs inputs, String activity) {
            this.ctx = ctx;
            this.inputs = inputs;
            this.activity = activity;
        }

        ObjectNode event(String kind) {
            return Lines.event(kind).put("worker", worker).put("activity", activity);
        }

        ObjectNode began() {
            ObjectNode line = event("began")
                    .put("namespace", ctx.namespace())
                    .put("type", ctx.workflowType())
                    .put("key", ctx.businessKey())
                    .put("round", ctx.round())
                    .put("step", ctx.step())
                    .put("claim_no", ctx.claimNo())
                    .put("attempt", ctx.attempt())
                    .put("fence", ctx.fence())
                    .put("idempotency_key", ctx.idempotencyKey())
                    .put("wake_token", ctx.wakeToken())
                    .put("traceparent", traceparent());
            line.set("labels", Lines.MAPPER.valueToTree(ctx.labels()));
            ObjectNode values = line.putObject("inputs");
            inputs.names().forEach(name -> input(values, name));
            ctx.checkpoint(Payload.class).ifPresent(checkpoint -> Lines.put(line, "checkpoint", checkpoint));
            ctx.cursor(Payload.class).ifPresent(cursor -> Lines.put(line, "cursor", cursor));
            line.putArray("wakes");
            ctx.woken(Payload.class).ifPresent(woken -> woken.wakes().forEach(wake -> line.withArray("wakes").add(wake(wake))));
            Lines.failure(line, "last_failure", ctx.lastFailure());
            ctx.hook().ifPresent(hook -> line.set("hook", hook(hook)));
            return line;
        }

        private String traceparent() {
            SpanContext span = Span.current().getSpanContext();
            return span.isValid() ? "00-" + span.getTraceId() + "-" + span.getSpanId() + "-" + span.getTraceFlags().asHex() : ctx.traceparent();
        }

        private void input(ObjectNode values, String name) {
            Optional<Failure> failure = inputs.failure(name);
            Optional<Payload> payload = inputs.payload(name);
            if (failure.isPresent()) {
                values.putObject(name).set("$failure", Lines.failure(failure.get()));
            } else if (payload.isPresent() && payload.get().getContentType().equals(WAIT_RESULT)) {
                inputs.woken(name, Payload.class).ifPresent(woken -> {
                    ObjectNode line = values.putObject(name).put("condition", woken.condition());
                    line.putArray("wakes");
                    woken.wakes().forEach(wake -> line.withArray("wakes").add(wake(wake)));
                });
            } else {
                payload.ifPresent(found -> Lines.put(values, name, found));
            }
        }

        private static ObjectNode wake(Wake<Payload> wake) {
            ObjectNode line = Lines.line().put("condition", wake.condition()).put("signal_name", wake.signalName());
            wake.signalId().ifPresent(id -> line.put("signal_id", id));
            wake.content().ifPresent(content -> Lines.put(line, "value", content));
            return line;
        }

        private static ObjectNode hook(HookFacts hook) {
            ObjectNode line = Lines.line()
                    .put("kind", hook.kind())
                    .put("compensates", hook.compensates())
                    .put("in_doubt", hook.isInDoubt())
                    .put("failed_step", hook.failedStep())
                    .put("cancel_reason", hook.cancelReason());
            Lines.failure(line, "failure", hook.failure());
            line.putArray("unfinished");
            for (HookFacts.Unfinished step : hook.unfinished()) {
                ObjectNode told = line.withArray("unfinished").addObject().put("step", step.step()).put("state", step.state().name());
                step.checkpoint(Payload.class).ifPresent(checkpoint -> Lines.put(told, "checkpoint", checkpoint));
            }
            hook.compensatedOutput(Payload.class).ifPresent(output -> Lines.put(line, "compensated_output", output));
            return line;
        }

        Object run(JsonNode operations) throws Exception {
            for (JsonNode operation : operations) {
                switch (Lines.text(operation, "op")) {
                    case "save" -> save(operation);
                    case "frame" -> ctx.frame(Lines.text(operation, "text"));
                    case "progress" -> ctx.progress(progress(operation));
                    case "log" -> ctx.log(Lines.text(operation, "text"));
                    case "alive" -> ctx.alive();
                    case "hold" -> hold(Lines.text(operation, "on_cancel").equals("ignore"));
                    case "block" -> block(operation.get("ms").longValue());
                    default -> {
                        return end(operation);
                    }
                }
            }
            return null;
        }

        private Object end(JsonNode operation) {
            return switch (Lines.text(operation, "op")) {
                case "return" -> Lines.given(operation, "value");
                case "echo" -> inputs.payload(Lines.text(operation, "input")).orElse(null);
                case "raise" -> throw new IllegalStateException(Lines.text(operation, "message"));
                case "fail" -> throw failure(operation);
                case "wait" -> waiting(operation);
                case "choose" -> new Chosen(Lines.texts(operation.get("branches")), Lines.given(operation, "value"));
                case "page" -> {
                    List<Object> children = new ArrayList<>();
                    operation.get("children").forEach(child -> children.add(Lines.value(child)));
                    yield new Page(children, Lines.given(operation, "cursor"));
                }
                default -> throw new IllegalArgumentException("no such operation: " + operation);
            };
        }

        private void save(JsonNode operation) {
            ctx.save(Lines.given(operation, "value"));
            ObjectNode line = event("saved");
            if (operation.has("value")) {
                line.set("checkpoint", operation.get("value"));
            }
            Lines.write(line);
        }

        private static Progress progress(JsonNode operation) {
            Double total = operation.has("total") ? operation.get("total").doubleValue() : null;
            return new Progress(operation.get("done").doubleValue(), total, Lines.text(operation, "unit"), Lines.text(operation, "message"));
        }

        private void hold(boolean deaf) throws InterruptedException {
            Gates.Gate gate = gates.hold(ctx.step(), ctx.businessKey());
            Lines.write(event("held"));
            try {
                while (true) {
                    try {
                        gate.opened().await();
                        return;
                    } catch (InterruptedException stopped) {
                        Lines.write(event("cancelled").put("reason", ctx.cancelReason()));
                        if (!deaf) {
                            throw stopped;
                        }
                    }
                }
            } finally {
                gates.leave(gate);
            }
        }

        /** As a long computation does: an interrupt is not seen. */
        private static void block(long milliseconds) {
            long end = System.nanoTime() + Duration.ofMillis(milliseconds).toNanos();
            boolean interrupted = false;
            while (System.nanoTime() < end) {
                try {
                    Thread.sleep(Math.max(1, (end - System.nanoTime()) / 1_000_000));
                } catch (InterruptedException later) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }

        private static FailureException failure(JsonNode operation) {
            Failure failure = Failure.of(Lines.text(operation, "type"), Lines.text(operation, "message"))
                    .details(Lines.given(operation, "details"));
            failure = operation.path("non_retryable").asBoolean(false) ? failure.notRetryable() : failure;
            Optional<Duration> after = Lines.duration(operation, "retry_after_ms");
            return (after.isPresent() ? failure.retryAfter(after.get()) : failure).exception();
        }

        private static Wait waiting(JsonNode operation) {
            List<Condition> conditions = new ArrayList<>();
            for (JsonNode item : operation.get("any_of")) {
                Condition condition = item.has("signal")
                        ? Condition.signal(Lines.text(item, "signal"), item.path("count").asInt(1))
                        : item.has("after_ms")
                                ? Condition.after(Duration.ofMillis(item.get("after_ms").longValue()))
                                : Condition.at(Instant.parse(Lines.text(item, "at")));
                conditions.add(item.has("name") ? condition.named(Lines.text(item, "name")) : condition);
            }
            Wait wait = Wait.any(conditions.toArray(Condition[]::new));
            if (operation.has("checkpoint")) {
                return wait.withCheckpoint(Lines.value(operation.get("checkpoint")));
            }
            return operation.path("clear_checkpoint").asBoolean(false) ? wait.withCheckpoint(null) : wait;
        }
    }
}
