package io.perdure;

import io.grpc.Metadata;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.perdure.v1.Claim;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;

/** Trace context and spans, by the OpenTelemetry that the program has set up globally; without one, the context still travels on. */
final class Tracing {
    private static final Set<String> HEADERS = Set.of("traceparent", "tracestate");
    private static final W3CTraceContextPropagator W3C = W3CTraceContextPropagator.getInstance();

    private Tracing() {}

    /** Puts the caller's trace context into the metadata of a call. */
    static void inject(Metadata metadata) {
        W3C.inject(Context.current(), metadata, (carrier, key, value) -> {
            if (carrier != null && HEADERS.contains(key)) {
                carrier.put(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER), value);
            }
        });
    }

    /**
     * Runs an activity in a span below its attempt's, which is the current one meanwhile. Of an exception the span gets the type only:
     * a message may quote what a user typed.
     */
    static <T> T inSpan(Claim claim, Callable<T> activity) throws Exception {
        if (claim.getTraceparent().isEmpty()) {
            return activity.call();
        }
        Context parent = W3C.extract(Context.root(), claim, new OfClaim());
        Span span = GlobalOpenTelemetry.getOrNoop().getTracer("perdure") // which leaves it open for who sets it later
                .spanBuilder("activity " + claim.getWorkflow().getWorkflowType() + "/" + claim.getStep())
                .setParent(parent)
                .setAttribute("perdure.namespace", claim.getWorkflow().getNamespace())
                .setAttribute("perdure.workflow_type", claim.getWorkflow().getWorkflowType())
                .setAttribute("perdure.business_key", claim.getWorkflow().getBusinessKey())
                .setAttribute("perdure.fence", claim.getFence())
                .setAttribute("perdure.step", claim.getStep())
                .setAttribute("perdure.attempt", claim.getAttempt())
                .setAttribute("perdure.claim_no", claim.getClaimNo())
                .startSpan();
        try (Scope scope = parent.with(span).makeCurrent()) {
            return scope == null ? null : activity.call();
        } catch (Exception | Error error) {
            span.setAttribute("error.type", error.getClass().getName());
            span.setStatus(StatusCode.ERROR);
            throw error;
        } finally {
            span.end();
        }
    }

    private static final class OfClaim implements TextMapGetter<Claim> {
        @Override
        @SuppressWarnings("deprecation") // it has to be there for releases of OpenTelemetry that still ask
        public Iterable<String> keys(Claim claim) {
            return List.copyOf(HEADERS);
        }

        @Override
        public String get(Claim claim, String key) {
            if (claim == null) {
                return null;
            }
            return switch (key) {
                case "traceparent" -> claim.getTraceparent();
                case "tracestate" -> claim.getTracestate().isEmpty() ? null : claim.getTracestate();
                default -> null;
            };
        }
    }
}
