/** From a claim to what its activity gets: inputs by name. */

import { toJsonString } from "@bufbuild/protobuf";

import type { ServedActivity } from "../definition.js";
import { PayloadRejected } from "../errors.js";
import type { Claim } from "../gen/perdure/v1/claim_pb.js";
import type { Payload } from "../gen/perdure/v1/payload_pb.js";
import { WaitResultSchema } from "../gen/perdure/v1/wait_pb.js";
import type { MapError, MapResult } from "../outcomes.js";
import { decodeNamed } from "../payloads.js";
import { ErrorReason } from "../reasons.js";
import { WAIT_RESULT_TYPE } from "../sealing.js";
import { failureOf } from "../view.js";
import { parseWaitResult, wokenOf } from "../waits.js";

const MAP_RESULT_TYPE = "application/vnd.perdure.map-result+json";

/** The decoded inputs, by name. Throws PayloadRejected for one that failed where the step does not take failures. */
export function inputsOf(claim: Claim, activity: ServedActivity): Readonly<Record<string, unknown>> {
  const inputs: Record<string, unknown> = {};
  for (const [name, payload] of Object.entries(claim.inputs)) inputs[name] = inputOf(name, payload);
  for (const [name, message] of Object.entries(claim.failedInputs)) {
    const failure = failureOf(message);
    if (activity.takesFailure !== undefined && !activity.takesFailure.has(name)) {
      const text = `input ${name} failed (${failure.message}); name it by .orFailure() in needs to take that`;
      throw new PayloadRejected(text, { reason: ErrorReason.PAYLOAD_INVALID });
    }
    inputs[name] = failure;
  }
  return inputs;
}

/** Reads the values that did not fit into the claim, into their places; those inside the outputs of waits too. */
export async function fetchRefs(claim: Claim, fetch: (payloadId: string) => Promise<Payload | undefined>): Promise<void> {
  for (const payload of carriedBy(claim)) await fill(payload, fetch);
  for (const payload of Object.values(claim.inputs)) {
    if (payload.contentType !== WAIT_RESULT_TYPE || payload.data.case !== "json" || !payload.data.value.includes('"ref"')) continue;
    const result = parseWaitResult(payload);
    for (const wake of result.wakes) await fill(wake.payload, fetch);
    payload.data = { case: "json", value: toJsonString(WaitResultSchema, result) };
  }
}

function inputOf(name: string, payload: Payload): unknown {
  if (payload.contentType === WAIT_RESULT_TYPE && payload.encoding === "") {
    const result = parseWaitResult(payload);
    return wokenOf(result.condition, result.wakes);
  }
  const value = decodeNamed(`input ${name}`, payload);
  return payload.contentType === MAP_RESULT_TYPE ? mapResultOf(value) : value;
}

function carriedBy({ inputs, checkpoint, cursor, wakes, hook }: Claim): readonly (Payload | undefined)[] {
  const unfinished = (hook?.unfinished ?? []).map((item) => item.checkpoint);
  return [...Object.values(inputs), checkpoint, cursor, ...wakes.map((wake) => wake.payload), ...unfinished, hook?.compensatedOutput];
}

async function fill(payload: Payload | undefined, fetch: (payloadId: string) => Promise<Payload | undefined>): Promise<void> {
  if (payload?.data.case !== "ref") return;
  const whole = await fetch(payload.data.value.payloadId);
  if (whole !== undefined) Object.assign(payload, whole);
}

interface WireMapResult {
  readonly progress?: Readonly<Partial<Record<string, string | number>>>;
  readonly errors?: readonly {
    readonly index?: string | number;
    readonly workflow?: { readonly workflowType?: string; readonly businessKey?: string };
    readonly failure?: { readonly type?: string; readonly message?: string };
  }[];
}

function mapResultOf(value: unknown): MapResult {
  const { progress = {}, errors = [] } = value as WireMapResult;
  const count = (name: string): number => Number(progress[`${name}Count`] ?? 0);
  return {
    total: count("total"),
    completed: count("completed"),
    failed: count("failed"),
    cancelled: count("cancelled"),
    open: count("open"),
    json: value,
    errors: errors.map(
      ({ index, workflow, failure }): MapError => ({
        index: Number(index ?? 0),
        workflowType: workflow?.workflowType ?? "",
        businessKey: workflow?.businessKey ?? "",
        type: failure?.type ?? "",
        text: failure?.message ?? "",
      }),
    ),
  };
}
