/** Trace context and spans, by the OpenTelemetry API; without an SDK in the program nothing is traced and nothing is missing. */

import { context, propagation, ROOT_CONTEXT, type Span, SpanStatusCode, trace } from "@opentelemetry/api";

import type { Claim } from "./gen/perdure/v1/claim_pb.js";

/**
 * The caller's trace context as call metadata: traceparent and tracestate, if there is one.
 * @internal
 */
export function outgoingTrace(): readonly (readonly [string, string])[] {
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier);
  return Object.entries(carrier)
    .map(([key, value]) => [key.toLowerCase(), value] as const)
    .filter(([key]) => key === "traceparent" || key === "tracestate");
}

/**
 * Runs work within a span of the activity, below the attempt's; sampled as the attempt is. Of an error it gets the type only:
 * a message may quote what a user typed.
 * @internal
 */
export async function withActivitySpan<T>(claim: Claim, work: () => T | Promise<T>): Promise<T> {
  if (claim.traceparent === "") return await work();
  const parent = propagation.extract(ROOT_CONTEXT, { traceparent: claim.traceparent, ...(claim.tracestate === "" ? {} : { tracestate: claim.tracestate }) });
  const name = `activity ${claim.workflow?.workflowType ?? ""}/${claim.step}`;
  const span = trace.getTracer("perdure").startSpan(name, { attributes: attributesOf(claim) }, parent);
  try {
    return await context.with(trace.setSpan(parent, span), work);
  } catch (error) {
    noteError(span, error);
    throw error;
  } finally {
    span.end();
  }
}

function noteError(span: Span, error: unknown): void {
  span.setAttribute("error.type", error instanceof Error ? error.name : typeof error);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

function attributesOf(claim: Claim): Record<string, string | number> {
  return {
    "perdure.namespace": claim.workflow?.namespace ?? "",
    "perdure.workflow_type": claim.workflow?.workflowType ?? "",
    "perdure.business_key": claim.workflow?.businessKey ?? "",
    "perdure.fence": Number(claim.fence),
    "perdure.step": claim.step,
    "perdure.attempt": claim.attempt,
    "perdure.claim_no": Number(claim.claimNo),
  };
}
