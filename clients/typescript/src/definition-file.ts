/**
 * Definitions as YAML files, for programs of all languages and for `perdure definitions apply`. The shape is told by the JSON Schema
 * that the repository publishes, and by docs of the Python client's `definition_file.py`. Every fault of a file is named at once.
 */

import { readFile } from "node:fs/promises";

import { create } from "@bufbuild/protobuf";
import { parse } from "yaml";

import { Definition } from "./definition.js";
import { DefinitionRejected } from "./errors.js";
import { FieldReader, type Fields } from "./field-reader.js";
import {
  type Definition as DefinitionMessage,
  DefinitionSchema,
  MapStep_Join,
  type RetryPolicy,
  RetryPolicySchema,
  type StepDefinition,
  StepDefinitionSchema,
  type StepPolicy,
  StepPolicy_OnExhausted,
  StepPolicy_ParentClosePolicy,
  StepPolicySchema,
  WorkflowPolicySchema,
} from "./gen/perdure/v1/definition_pb.js";
import { type WaitCondition, WaitConditionSchema, WaitSchema } from "./gen/perdure/v1/wait_pb.js";
import { ErrorReason } from "./reasons.js";
import { INPUT, nameFault } from "./steps.js";

const TOP_KEYS = new Set(["workflow_type", "version", "description", "output", "policy", "steps", "hooks"]);
const POLICY_KEYS = new Set(["workflow_timeout", "cancel_grace", "max_lost_claims", "retention"]);
const HOOKS = { on_success: "onSuccess", failure_finalizer: "failureFinalizer", cancel_finalizer: "cancelFinalizer", prepare_replay: "prepareReplay" } as const;
const HOOK_KEYS = new Set(Object.keys(HOOKS));
const DURATIONS = { attempt_timeout: "attemptTimeout", silence_timeout: "silenceTimeout", step_timeout: "stepTimeout", queue_timeout: "queueTimeout" } as const;
const CHILDREN = ["map", "pages", "child"] as const;
const STEP_KEYS = new Set([
  ...["needs", "after", "wait", "retry", "queue", "priority", "on_exhausted", "permits", "version", "description"],
  ...["branches", "compensate_with", "max_in_flight", "parent_close", ...Object.keys(DURATIONS), ...CHILDREN],
]);
const RETRY_KEYS = new Set(["max_attempts", "unlimited", "initial_interval", "backoff_coefficient", "max_interval", "jitter", "non_retryable"]);
const CONDITION_KEYS = new Set(["signal", "count", "after", "at", "name", "choose"]);
const WAIT_KEYS = new Set(["wait", "after", "version", "description", "branches", "compensate_with"]);

/**
 * Reads a definition file; give its steps activities by `definition.implement`. Rejects with DefinitionRejected that names every fault.
 *
 * @param path - The file.
 */
export async function loadDefinition<Input = unknown>(path: string | URL): Promise<Definition<Input>> {
  return parseDefinition<Input>(await readFile(path, "utf8"));
}

/**
 * The definition in YAML text. Dependencies and cycles are checked by the server. Throws DefinitionRejected that
 * names every fault.
 *
 * @param text - The YAML.
 */
export function parseDefinition<Input = unknown>(text: string): Definition<Input> {
  let document: unknown;
  try {
    document = parse(text, { version: "1.1", uniqueKeys: true });
  } catch (error) {
    const told = error instanceof Error ? error.message : String(error);
    throw new DefinitionRejected(`not YAML: ${told}`, { reason: ErrorReason.DEFINITION_INVALID });
  }
  const reader = new FieldReader();
  const message = definitionOf(reader, document);
  if (message.workflowType === "") reader.fault("workflow_type", "is missing");
  if (message.steps.length === 0) reader.fault("steps", "is empty: a definition has at least one step");
  if (reader.faults.length > 0) {
    const count = reader.faults.length;
    throw new DefinitionRejected(`the definition has ${String(count)} fault${count > 1 ? "s" : ""}`, {
      reason: ErrorReason.DEFINITION_INVALID,
      violations: reader.faults,
    });
  }
  return Definition.fromMessage<Input>(message);
}

function definitionOf(reader: FieldReader, document: unknown): DefinitionMessage {
  const top = reader.mapping("", document, TOP_KEYS);
  const definition = create(DefinitionSchema, {
    workflowType: reader.text("workflow_type", top["workflow_type"]),
    version: reader.text("version", top["version"]),
    description: reader.text("description", top["description"]),
    outputStep: reader.text("output", top["output"]),
    policy: create(WorkflowPolicySchema),
  });
  const policy = reader.mapping("policy", top["policy"], POLICY_KEYS);
  if (definition.policy !== undefined) {
    setDurations(reader, "policy", policy, definition.policy, { workflow_timeout: "workflowTimeout", cancel_grace: "cancelGrace", retention: "retention" });
    const lost = reader.integer("policy.max_lost_claims", policy["max_lost_claims"]);
    if (lost !== undefined) definition.policy.maxLostClaims = lost;
  }
  for (const [name, value] of Object.entries(reader.mapping("steps", top["steps"]))) {
    const wrong = nameFault(name);
    if (wrong !== "") reader.fault(`steps.${name}`, wrong);
    definition.steps.push(stepOf(reader, `steps.${name}`, name, reader.mapping(`steps.${name}`, value, STEP_KEYS)));
  }
  readHooks(reader, top, definition);
  return definition;
}

function readHooks(reader: FieldReader, top: Fields, definition: DefinitionMessage): void {
  for (const [kind, value] of Object.entries(reader.mapping("hooks", top["hooks"], HOOK_KEYS))) {
    const field = (HOOKS as Readonly<Partial<Record<string, (typeof HOOKS)[keyof typeof HOOKS]>>>)[kind];
    if (field === undefined) continue;
    const fields = typeof value === "string" ? { step: value } : reader.mapping(`hooks.${kind}`, value, new Set(["step", "required"]));
    const hooks = (definition.hooks ??= { $typeName: "perdure.v1.Hooks" });
    hooks[field] = {
      $typeName: "perdure.v1.Hook",
      step: reader.text(`hooks.${kind}.step`, fields["step"]),
      ...(typeof value === "string" ? {} : { required: reader.flag(`hooks.${kind}.required`, fields["required"] ?? true) }),
    };
  }
}

function stepOf(reader: FieldReader, path: string, name: string, fields: Fields): StepDefinition {
  const needs = reader.names(`${path}.needs`, fields["needs"]);
  const after = reader.names(`${path}.after`, fields["after"]);
  const step = create(StepDefinitionSchema, {
    name,
    version: reader.text(`${path}.version`, fields["version"]),
    description: reader.text(`${path}.description`, fields["description"]),
    compensateWith: reader.text(`${path}.compensate_with`, fields["compensate_with"]),
    branches: Object.entries(reader.mapping(`${path}.branches`, fields["branches"])).map(([branch, names]) => ({
      name: branch,
      steps: [...reader.names(`${path}.branches.${branch}`, names)],
    })),
    dependsOn: [...new Set([...needs.filter((need) => need !== INPUT), ...after])],
    policy: create(StepPolicySchema),
  });
  if ("needs" in fields || "wait" in fields) step.needs = { $typeName: "perdure.v1.Needs", names: [...needs] };
  if ("wait" in fields) {
    for (const key of Object.keys(fields).sort()) if (!WAIT_KEYS.has(key)) reader.fault(`${path}.${key}`, "does not belong to a step that waits");
    const anyOf = conditionsOf(reader, `${path}.wait`, fields["wait"]);
    step.kind = { case: "wait", value: { $typeName: "perdure.v1.WaitStep", wait: create(WaitSchema, { anyOf }) } };
    delete step.policy;
    return step;
  }
  step.kind = { case: "activity", value: { $typeName: "perdure.v1.ActivityStep" } };
  if (step.policy !== undefined) {
    readChildren(reader, path, fields, step, step.policy);
    readPolicy(reader, path, fields, step.policy);
  }
  return step;
}

function conditionsOf(reader: FieldReader, path: string, value: unknown): WaitCondition[] {
  const fields = reader.mapping(path, value, new Set([...CONDITION_KEYS, "any_of"]));
  const items = "any_of" in fields ? reader.items(fields["any_of"]) : [fields];
  for (const key of "any_of" in fields ? Object.keys(fields).sort() : []) {
    if (key !== "any_of") reader.fault(`${path}.${key}`, "does not belong beside `any_of`: put it into one of the conditions");
  }
  return items.map((item, index) => {
    const place = `${path}.any_of[${String(index)}]`;
    const condition = reader.mapping(place, item, CONDITION_KEYS);
    const message = create(WaitConditionSchema, {
      name: reader.text(`${place}.name`, condition["name"]),
      choose: [...reader.names(`${place}.choose`, condition["choose"])],
    });
    if (["signal", "after", "at"].filter((kind) => kind in condition).length !== 1) {
      reader.fault(place, "is one of: `signal`, `after` (a duration), `at` (a time)");
    } else if ("count" in condition && !("signal" in condition)) {
      reader.fault(`${place}.count`, "counts signals, and this condition waits for none");
    } else if ("signal" in condition) {
      const signalName = reader.text(`${place}.signal`, condition["signal"]);
      const count = reader.integer(`${place}.count`, condition["count"]) ?? 1;
      message.kind = { case: "signal", value: { $typeName: "perdure.v1.SignalCondition", signalName, count } };
    } else if ("after" in condition) {
      const after = reader.duration(`${place}.after`, condition["after"]);
      if (after !== undefined) message.kind = { case: "after", value: after };
    } else {
      const atTime = reader.time(`${place}.at`, condition["at"]);
      if (atTime !== undefined) message.kind = { case: "atTime", value: atTime };
    }
    return message;
  });
}

function readPolicy(reader: FieldReader, path: string, fields: Fields, policy: StepPolicy): void {
  policy.queue = reader.text(`${path}.queue`, fields["queue"]);
  const priority = reader.integer(`${path}.priority`, fields["priority"]);
  if (priority !== undefined) policy.priority = priority;
  setDurations(reader, path, fields, policy, DURATIONS);
  if ("retry" in fields) policy.retry = retryOf(reader, `${path}.retry`, reader.mapping(`${path}.retry`, fields["retry"], RETRY_KEYS));
  const exhausted = reader.text(`${path}.on_exhausted`, fields["on_exhausted"]);
  if (exhausted !== "") policy.onExhausted = named(reader, `${path}.on_exhausted`, exhausted, StepPolicy_OnExhausted);
  for (const [resource, units] of Object.entries(reader.mapping(`${path}.permits`, fields["permits"]))) {
    const count = reader.integer(`${path}.permits.${resource}`, units) ?? 1;
    policy.permits.push({ $typeName: "perdure.v1.PermitRequirement", resource, units: count });
  }
}

function retryOf(reader: FieldReader, path: string, fields: Fields): RetryPolicy {
  const retry = create(RetryPolicySchema, { nonRetryableTypes: [...reader.names(`${path}.non_retryable`, fields["non_retryable"])] });
  const attempts = reader.integer(`${path}.max_attempts`, fields["max_attempts"]);
  const unlimited = reader.flag(`${path}.unlimited`, fields["unlimited"] ?? false);
  if (attempts !== undefined && unlimited) reader.fault(path, "give max_attempts or unlimited, not both");
  else if (attempts !== undefined) retry.attempts = { case: "maxAttempts", value: attempts };
  else if (unlimited) retry.attempts = { case: "unlimited", value: true };
  setDurations(reader, path, fields, retry, { initial_interval: "initialInterval", max_interval: "maxInterval" });
  const coefficient = reader.number(`${path}.backoff_coefficient`, fields["backoff_coefficient"]);
  if (coefficient !== undefined) retry.backoffCoefficient = coefficient;
  const jitter = reader.number(`${path}.jitter`, fields["jitter"]);
  if (jitter !== undefined) retry.jitter = jitter;
  return retry;
}

function readChildren(reader: FieldReader, path: string, fields: Fields, step: StepDefinition, policy: StepPolicy): void {
  const kinds = CHILDREN.filter((kind) => kind in fields);
  const [kind] = kinds;
  if (kinds.length > 1) {
    reader.fault(path, `is one of: ${kinds.map((one) => `\`${one}\``).join(", ")}`);
    return;
  }
  for (const key of ["max_in_flight", "parent_close"]) {
    if (key in fields && kind === undefined) reader.fault(`${path}.${key}`, "belongs to a step with `map`, `pages` or `child`");
  }
  if (kind !== undefined) readKind(reader, `${path}.${kind}`, kind, fields[kind], step);
  const most = reader.integer(`${path}.max_in_flight`, fields["max_in_flight"]);
  if (most !== undefined) policy.maxInFlight = most;
  const close = reader.text(`${path}.parent_close`, fields["parent_close"]);
  if (close !== "") policy.parentClose = named(reader, `${path}.parent_close`, close, StepPolicy_ParentClosePolicy);
}

function readKind(reader: FieldReader, path: string, kind: (typeof CHILDREN)[number], value: unknown, step: StepDefinition): void {
  const known = { map: ["workflow", "items", "join"], pages: ["workflow", "join"], child: ["workflow", "input"] }[kind];
  const fields = reader.mapping(path, value, new Set(known));
  const childWorkflowType = reader.text(`${path}.workflow`, fields["workflow"]);
  if (kind === "child") {
    step.kind = { case: "child", value: { $typeName: "perdure.v1.ChildStep", childWorkflowType, inputFrom: reader.text(`${path}.input`, fields["input"]) } };
    return;
  }
  const items = reader.text(`${path}.items`, fields["items"]);
  const source =
    kind === "pages"
      ? { case: "paged" as const, value: { $typeName: "perdure.v1.PagedSource" as const } }
      : { case: "itemsFrom" as const, value: items === "" ? "input" : items };
  const join = fields["join"] ?? "all";
  const how =
    typeof join === "number" && Number.isInteger(join)
      ? { join: MapStep_Join.N_OF_M, requiredCount: join }
      : { join: joinOf(reader, `${path}.join`, join), requiredCount: 0 };
  step.kind = { case: "map", value: { $typeName: "perdure.v1.MapStep", childWorkflowType, source, ...how } };
}

function joinOf(reader: FieldReader, path: string, join: unknown): MapStep_Join {
  const joins: Readonly<Partial<Record<string, MapStep_Join>>> = { all: MapStep_Join.ALL, any: MapStep_Join.ANY, best_effort: MapStep_Join.BEST_EFFORT };
  const found = typeof join === "string" ? joins[join] : undefined;
  if (found === undefined) reader.fault(path, "is one of all, any, best_effort, or how many must complete");
  return found ?? MapStep_Join.ALL;
}

/** A value of an enum by its name in lower case. */
function named<N extends number>(reader: FieldReader, path: string, name: string, numbers: Readonly<Record<string, string | N>>): N {
  const known = Object.keys(numbers).filter((key) => typeof numbers[key] === "number" && key !== "UNSPECIFIED");
  const found = known.find((key) => key.toLowerCase() === name);
  if (found === undefined) reader.fault(path, `is one of ${known.map((key) => key.toLowerCase()).join(", ")}`);
  return (found === undefined ? 0 : numbers[found]) as N;
}

function setDurations<Name extends string>(
  reader: FieldReader,
  path: string,
  fields: Fields,
  target: Partial<Record<Name, ReturnType<FieldReader["duration"]>>>,
  names: Readonly<Record<string, Name>>,
): void {
  for (const [key, field] of Object.entries(names)) {
    const duration = reader.duration(`${path}.${key}`, fields[key]);
    if (duration !== undefined) target[field] = duration;
  }
}
