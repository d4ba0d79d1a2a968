package io.perdure.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptors;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.TlsChannelCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.MetadataUtils;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.perdure.AesGcm;
import io.perdure.Client;
import io.perdure.ClientOptions;
import io.perdure.Definition;
import io.perdure.Filter;
import io.perdure.Pages;
import io.perdure.Run;
import io.perdure.Signalled;
import io.perdure.Start;
import io.perdure.Started;
import io.perdure.Tls;
import io.perdure.Workflow;
import io.perdure.WorkflowState;
import io.perdure.v1.CountWorkflowsResponse;
import io.perdure.v1.ListWorkflowsRequest;
import io.perdure.v1.Payload;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/** Requests of one client. */
final class OpenClient {
    final Client client;
    final RawCalls raw = new RawCalls();
    private final Duration timeout;
    private final JsonNode fields;
    private ManagedChannel slowReader;

    OpenClient(JsonNode fields) {
        this.fields = fields;
        ClientOptions options = new ClientOptions().address(Lines.text(fields, "address"));
        if (fields.has("namespace")) {
            options.namespace(Lines.text(fields, "namespace"));
        }
        if (fields.has("token")) {
            options.token(Lines.text(fields, "token"));
        }
        if (fields.has("token_file")) {
            options.tokenFile(Path.of(Lines.text(fields, "token_file")));
        }
        if (fields.has("codec_keys")) {
            options.codec(AesGcm.fromFile(Path.of(Lines.text(fields, "codec_keys"))));
        }
        JsonNode tls = fields.path("tls");
        if (tls.isObject()) {
            options.tls(new Tls(
                    Lines.text(tls, "ca_file"), Lines.text(tls, "cert_file"), Lines.text(tls, "key_file"), Lines.text(tls, "server_name")));
        } else if (tls.asBoolean(false)) {
            options.tls(Tls.system());
        }
        Lines.duration(fields, "timeout_ms").ifPresent(options::timeout);
        Lines.duration(fields, "connect_timeout_ms").ifPresent(options::connectTimeout);
        timeout = Lines.duration(fields, "timeout_ms").orElse(Duration.ofSeconds(30));
        client = new Client(options);
    }

    void close() {
        client.close();
        synchronized (this) {
            if (slowReader != null) {
                slowReader.shutdownNow();
            }
        }
    }

    /** A channel that takes in no more than 64 KiB that nobody reads, so that the server notices who does not. */
    private synchronized Channel slowReader() {
        if (slowReader == null) {
            JsonNode tls = fields.path("tls");
            slowReader = NettyChannelBuilder.forTarget(Lines.text(fields, "address"), credentials(tls))
                    .flowControlWindow(65_535)
                    .maxInboundMessageSize(64 << 20)
                    .build();
        }
        Metadata headers = new Metadata();
        if (fields.has("token")) {
            headers.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + Lines.text(fields, "token"));
        }
        return ClientInterceptors.intercept(slowReader, MetadataUtils.newAttachHeadersInterceptor(headers));
    }

    private static ChannelCredentials credentials(JsonNode tls) {
        if (!tls.isObject() && !tls.asBoolean(false)) {
            return InsecureChannelCredentials.create();
        }
        TlsChannelCredentials.Builder builder = TlsChannelCredentials.newBuilder();
        try {
            if (tls.has("ca_file")) {
                builder.trustManager(new File(Lines.text(tls, "ca_file")));
            }
            if (tls.has("cert_file")) {
                builder.keyManager(new File(Lines.text(tls, "cert_file")), new File(Lines.text(tls, "key_file")));
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return builder.build();
    }

    Run run(JsonNode fields) {
        String type = Lines.text(fields, "type");
        String key = Lines.text(fields, "key");
        Run run = fields.has("round") ? client.run(type, key, fields.get("round").longValue()) : client.run(type, key);
        run = fields.has("expected_fence") ? run.expecting(fields.get("expected_fence").longValue()) : run;
        return fields.has("request_id") ? run.withRequestId(Lines.text(fields, "request_id")) : run;
    }

    /** Answers one request; null: it is none of a client. */
    ObjectNode answer(JsonNode fields) throws InterruptedException {
        String reason = Lines.text(fields, "reason");
        switch (Lines.text(fields, "do")) {
            case "start" -> {
                return start(fields);
            }
            case "signal" -> {
                return signal(fields);
            }
            case "result" -> {
                Optional<Duration> within = Lines.duration(fields, "timeout_ms");
                Run run = run(fields);
                Payload output = within.isPresent() ? run.result(Payload.class, within.get()) : run.result(Payload.class);
                ObjectNode line = Lines.line();
                Lines.put(line, "value", output);
                return line;
            }
            case "get" -> {
                Run run = run(fields);
                return Views.workflow(run.get(), Optional.of(run));
            }
            case "list" -> {
                ListWorkflowsRequest.Order order = fields.path("oldest_first").asBoolean(false)
                        ? ListWorkflowsRequest.Order.ORDER_START_TIME_ASC
                        : ListWorkflowsRequest.Order.ORDER_START_TIME_DESC;
                return brief(client.list(filter(fields), order));
            }
            case "children" -> {
                return brief(run(fields).children(Lines.text(fields, "step")));
            }
            case "attempts" -> {
                ObjectNode line = Lines.line();
                line.putArray("attempts");
                run(fields).attempts(Lines.text(fields, "step")).forEach(found -> line.withArray("attempts").add(Views.attempt(found)));
                return line;
            }
            case "count" -> {
                CountWorkflowsResponse found = client.count(filter(fields));
                return Lines.line().put("count", found.getCount()).put("is_estimate", found.getEstimate());
            }
            case "explain" -> {
                return Views.explanation(run(fields).explain(Lines.text(fields, "step")));
            }
            case "cancel" -> {
                return Lines.line().put("state", run(fields).cancel(reason).name());
            }
            case "terminate" -> run(fields).terminate(reason);
            case "pause" -> run(fields).pause(reason);
            case "resume" -> run(fields).resume(reason);
            case "delete" -> run(fields).delete(reason);
            case "replay" -> {
                List<String> reopened = run(fields).replay(reason, Lines.texts(fields.path("reopen")).toArray(String[]::new));
                ObjectNode line = Lines.line();
                line.set("reopened_steps", Lines.MAPPER.valueToTree(reopened));
                return line;
            }
            case "apply" -> {
                return Views.definition(client.definitions().register(
                        Definition.parse(Lines.text(fields, "definition")),
                        fields.path("activate").asBoolean(false),
                        fields.path("update_policy").asBoolean(false)));
            }
            case "validate" -> {
                return Views.definition(client.definitions().validate(Definition.parse(Lines.text(fields, "definition"))));
            }
            case "call" -> {
                return raw.call(fields.has("hold") ? slowReader() : client.channel(), fields, Lines.duration(fields, "timeout_ms").orElse(timeout));
            }
            default -> {
                return null;
            }
        }
        return Lines.line();
    }

    private ObjectNode start(JsonNode fields) {
        Start start = Start.of(Lines.text(fields, "type"), Lines.text(fields, "key")).input(Lines.given(fields, "input"));
        fields.path("labels").properties().forEach(label -> start.label(label.getKey(), label.getValue().asText()));
        fields.path("step_queues").properties().forEach(step -> start.stepQueue(step.getKey(), step.getValue().asText()));
        if (fields.has("request_id")) {
            start.requestId(Lines.text(fields, "request_id"));
        }
        if (fields.has("on_open")) {
            start.onOpen(Start.OnOpen.valueOf(Lines.text(fields, "on_open").toUpperCase(Locale.ROOT)));
        }
        if (fields.has("on_closed")) {
            start.onClosed(Start.OnClosed.valueOf(Lines.text(fields, "on_closed").toUpperCase(Locale.ROOT)));
        }
        if (fields.has("start_at")) {
            start.startAt(Instant.parse(Lines.text(fields, "start_at")));
        }
        fields.path("signals").forEach(signal -> start.signal(
                Lines.text(signal, "name"),
                Lines.given(signal, "value"),
                signal.has("signal_id") ? Lines.text(signal, "signal_id") : UUID.randomUUID().toString()));
        policies(fields, start);
        try (Scope scope = under(Lines.text(fields, "traceparent")).makeCurrent()) {
            Run run = client.start(start);
            Started started = run.started().orElseThrow();
            return Lines.line()
                    .put("created", started.created())
                    .put("run_id", started.runId())
                    .put("round", scope == null ? 0 : run.ref().getRound())
                    .put("fence", started.fence())
                    .put("state", started.state().name())
                    .put("definition_fingerprint", started.definitionFingerprint());
        }
    }

    private static void policies(JsonNode fields, Start start) {
        if (fields.has("priority")) {
            start.priority(fields.get("priority").intValue());
        }
        if (fields.has("queue")) {
            start.queue(Lines.text(fields, "queue"));
        }
        if (fields.has("fairness_key")) {
            start.fairnessKey(Lines.text(fields, "fairness_key"));
        }
        if (fields.has("fairness_weight")) {
            start.fairnessWeight(fields.get("fairness_weight").doubleValue());
        }
        Lines.duration(fields, "workflow_timeout_ms").ifPresent(start::workflowTimeout);
        Lines.duration(fields, "retention_ms").ifPresent(start::retention);
        if (fields.has("definition_fingerprint")) {
            start.definitionFingerprint(Lines.text(fields, "definition_fingerprint"));
        }
        if (fields.has("expected_fence")) {
            start.expectedFence(fields.get("expected_fence").longValue());
        }
        if (fields.path("validate_only").asBoolean(false)) {
            start.validateOnly();
        }
    }

    private ObjectNode signal(JsonNode fields) {
        String name = Lines.text(fields, "name");
        Object value = Lines.given(fields, "value");
        String id = fields.has("signal_id") ? Lines.text(fields, "signal_id") : UUID.randomUUID().toString();
        Signalled answer = fields.has("wake_token")
                ? client.signal(Lines.text(fields, "wake_token"), name, value, id)
                : run(fields).signal(name, value, id);
        return Lines.line()
                .put("duplicate", answer.duplicate())
                .put("consumed", answer.consumed())
                .put("signal_id", answer.signalId());
    }

    private static ObjectNode brief(Pages<Workflow> found) {
        ObjectNode line = Lines.line();
        line.putArray("workflows");
        found.forEach(workflow -> line.withArray("workflows").add(Views.workflow(workflow, Optional.empty())));
        return line;
    }

    private static Filter filter(JsonNode fields) {
        Filter filter = fields.has("type") ? Filter.type(Lines.text(fields, "type")) : Filter.all();
        filter.states(Lines.texts(fields.path("states")).stream().map(WorkflowState::valueOf).toArray(WorkflowState[]::new));
        fields.path("labels").properties().forEach(label -> filter.label(label.getKey(), label.getValue().asText()));
        return filter.keys(Lines.texts(fields.path("keys")).toArray(String[]::new));
    }

    private static Context under(String traceparent) {
        if (traceparent.isEmpty()) {
            return Context.current();
        }
        TextMapGetter<Map<String, String>> getter = new TextMapGetter<>() {
            @Override
            public String get(Map<String, String> carrier, String key) {
                return carrier == null ? null : carrier.get(key);
            }
        };
        return W3CTraceContextPropagator.getInstance().extract(Context.current(), Map.of("traceparent", traceparent), getter);
    }
}
