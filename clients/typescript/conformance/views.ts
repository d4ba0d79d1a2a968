// What the library shows, as lines have it.
import type { Event, Run, Workflow } from "@perdure/client";
import type { Payload, RegisterDefinitionResponse } from "@perdure/client/stubs";

import { type Line, ofFailure, ofValue } from "./lines.js";

/** A workflow; with `run` its values, those fetched that travel apart. */
export async function ofWorkflow(workflow: Workflow, run?: Run): Promise<Line> {
  const value = async (payload: Payload | undefined): Promise<unknown> => (run === undefined ? undefined : ofValue(await run.fetch(payload)));
  const steps: Line = {};
  for (const step of workflow.steps.values()) {
    steps[step.name] = {
      state: step.state,
      phase: step.phase,
      attempt: step.attempt,
      claim_no: step.claimNo,
      waits_for: step.waitsFor,
      ...(step.failure === undefined ? {} : { failure: ofFailure(step.failure) }),
      output: await value(step.message.output),
    };
  }
  return {
    namespace: workflow.namespace,
    type: workflow.workflowType,
    key: workflow.businessKey,
    round: workflow.round,
    run_id: workflow.runId,
    fence: workflow.fence,
    state: workflow.state,
    phase: workflow.phase,
    labels: workflow.labels,
    definition_fingerprint: workflow.message.definitionFingerprint,
    failed_step: workflow.message.failedStep,
    ...(workflow.failure === undefined ? {} : { failure: ofFailure(workflow.failure) }),
    input: await value(workflow.message.input),
    output: await value(workflow.message.output),
    ...(run === undefined ? {} : { steps }),
  };
}

export function ofRegistered({ definition, created, warnings }: RegisterDefinitionResponse): Line {
  return {
    type: definition?.definition?.workflowType,
    version: definition?.definition?.version,
    fingerprint: definition?.fingerprint,
    step_contracts: definition?.stepContracts,
    active: definition?.active,
    created,
    warnings: warnings.map((warning) => `${warning.field}: ${warning.description}`),
  };
}

/** One event of a watch. */
export async function ofEvent(event: Event, run: Run): Promise<Line> {
  const failure = "failure" in event && event.failure !== undefined ? { failure: ofFailure(event.failure) } : {};
  switch (event.kind) {
    case "snapshot":
      return { workflow: await ofWorkflow(event.workflow, run) };
    case "change": {
      const { seq, round, reason, step, attempt, signals } = event;
      const told = { step_state: event.stepState, workflow_state: event.workflowState, claim_no: event.claimNo, worker_id: event.workerId };
      return { seq, round, reason, step, attempt, signals, ...told, signal_name: event.signalName, ...failure };
    }
    case "frame":
      return { step: event.step, claim_no: event.claimNo, seq: event.seq, frame_kind: event.frameKind, value: ofValue(event.value) };
    case "frames_reset":
      return { step: event.step, claim_no: event.claimNo };
    case "gap":
      return { changes: event.changes, frames: event.frames, reason: event.reason };
    case "end":
      return { state: event.state, round: event.round, fence: event.fence, output: ofValue(await run.fetch(event.message.output)), ...failure };
    case "idle":
      return {};
  }
}
