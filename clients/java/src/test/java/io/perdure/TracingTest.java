package io.perdure;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.opentelemetry.api.trace.Span;
import io.opentelemetry.context.Scope;
import io.opentelemetry.sdk.testing.junit5.OpenTelemetryExtension;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

@Timeout(60)
class TracingTest {
    @RegisterExtension
    static final OpenTelemetryExtension OTEL = OpenTelemetryExtension.create();

    record Needs(String input) {}

    @Test
    void anActivityRunsInASpanOfTheCallersTrace() {
        Definition definition = Definition.of("traced");
        definition.step("work", Needs.class, (ctx, in) -> Span.current().getSpanContext().getTraceId());
        Span caller = OTEL.getOpenTelemetry().getTracer("test").spanBuilder("caller").startSpan();
        try (Client client = Servers.client(); Worker worker = client.worker(definition).start()) {
            Run run;
            try (Scope scope = caller.makeCurrent()) {
                run = client.start(definition, worker.workerId() + (scope == null), "x");
            }
            assertEquals(caller.getSpanContext().getTraceId(), run.result(String.class, Duration.ofSeconds(20)));
        }
        caller.end();
        SpanData activity = OTEL.getSpans().stream().filter(span -> span.getName().equals("activity traced/work")).findFirst().orElseThrow();
        assertEquals(caller.getSpanContext().getTraceId(), activity.getTraceId());
    }
}
