import { clone, create } from "@bufbuild/protobuf";

import type { Duration } from "./durations.js";
import { DefinitionRejected } from "./errors.js";
import {
  type Definition as DefinitionMessage,
  DefinitionSchema,
  MapStep_Join,
  type StepDefinition,
  StepDefinitionSchema,
  StepPolicy_ParentClosePolicy,
} from "./gen/perdure/v1/definition_pb.js";
import type { MapResult } from "./outcomes.js";
import { type StepPolicy, stepPolicyMessage, type WorkflowPolicy, workflowPolicyMessage } from "./policies.js";
import { ErrorReason } from "./reasons.js";
import {
  type Activity,
  ActivityStep,
  branchesOf,
  type Earlier,
  INPUT,
  type InputsOf,
  nameFault,
  type Need,
  type OutputOf,
  Step,
  stepNames,
  type TypeOf,
} from "./steps.js";
import { conditionsOf, type WaitOptions, waitMessage, type Woken } from "./waits.js";

/** What a definition says of itself. */
export interface DefinitionOptions {
  /** The author's version: raise it when the meaning of an output, checkpoint or input changes. */
  readonly version?: string | undefined;
  /** For people. */
  readonly description?: string | undefined;
  /** The step whose output is the workflow's. Absent: the last ordinary step. */
  readonly output?: string | undefined;
  /** Limits and times of the whole workflow. */
  readonly policy?: WorkflowPolicy | undefined;
}

/** What every step may say of itself. */
export interface StepOptions {
  /** Steps that must have completed before, without their outputs being needed; `decide.branch("yes")` puts the step on a branch. */
  readonly after?: Earlier | readonly Earlier[] | undefined;
  /** Part of the step contract; raise it when this step's code means something else. */
  readonly version?: string | undefined;
  /** For people. */
  readonly description?: string | undefined;
}

/** What a step with an activity may say of itself. */
export interface ActivityOptions<Needs extends readonly Need[]> extends StepOptions, StepPolicy {
  /** What travels to it: `definition.input`, and earlier steps. Absent: nothing. */
  readonly needs?: Needs | undefined;
}

/** What a step whose activity is in another program may say of itself. */
export interface RemoteStepOptions<Output> extends StepOptions, StepPolicy {
  /** What travels to it. Absent: nothing. */
  readonly needs?: readonly Need[] | undefined;
  /** Type of its output. */
  readonly output?: TypeOf<Output> | undefined;
}

/** What a wait step waits for, from the moment it becomes ready; at least one of signal, timeout and at, or further conditions. */
export interface WaitStepOptions<Payload> extends StepOptions, Pick<WaitOptions, "signal" | "count" | "at" | "conditions"> {
  /** How long at most; then the condition `after` has won. */
  readonly timeout?: Duration | undefined;
  /** Type of what the signals carry: `type<number>()`. */
  readonly payload?: TypeOf<Payload> | undefined;
}

/** When a map step is done: all children completed, one did, all ended however, or this many completed. */
export type Join = "all" | "any" | "best_effort" | number;

/** How it goes with the children of a step. */
export interface ChildrenOptions extends StepOptions, StepPolicy {
  /** How many are open at once. Absent: 100. */
  readonly maxInFlight?: number | undefined;
  /** What the end of the step does to open ones. Absent: they are cancelled. */
  readonly parentClose?: "cancel" | "terminate" | "abandon" | undefined;
}

/** A map step over a list. */
export interface MapOptions extends ChildrenOptions {
  /** What is the list: `definition.input`, or an earlier step. */
  readonly items: Need;
  /** When the step is done. Absent: `all`. */
  readonly join?: Join | undefined;
}

/** A step that runs one other workflow. */
export interface ChildOptions<Output> extends ChildrenOptions {
  /** What it gets. Absent: an object of all that is in `needs`. */
  readonly input?: Need | undefined;
  /** What travels to it. */
  readonly needs?: readonly Need[] | undefined;
  /** Type of its output. */
  readonly output?: TypeOf<Output> | undefined;
}

/** A paging map step, whose own activity brings the items. */
export interface PagesOptions<Needs extends readonly Need[]> extends ChildrenOptions {
  /** What travels to it. Absent: nothing. */
  readonly needs?: Needs | undefined;
  /** When the step is done. Absent: `all`. */
  readonly join?: Join | undefined;
}

/** When a hook runs: after the last step, before FAILED or CANCELLED is stored, or first of all in a replay. */
export type HookName = "on_success" | "failure_finalizer" | "cancel_finalizer" | "prepare_replay";

/** What a hook or compensation may say of itself. Its only input can be the workflow's; `ctx.hook` tells the rest. */
export interface HookOptions<Needs extends readonly Need[]> extends Omit<StepOptions, "after">, StepPolicy {
  /** `[definition.input]`, or nothing. */
  readonly needs?: Needs | undefined;
  /** False: it is tried by its policy, then passed. Absent: it is tried until it succeeds. */
  readonly required?: boolean | undefined;
}

/**
 * The activity of one step, as a worker runs it.
 * @internal
 */
export interface ServedActivity {
  readonly step: string;
  readonly queue: string;
  /** Inputs that may be a Failure; undefined: all. */
  readonly takesFailure: ReadonlySet<string> | undefined;
  readonly run: (ctx: never, inputs: never) => unknown;
}

type AnyWorkflow = Definition | string;

/**
 * A type of workflow: its steps, and the activities of those that this program runs. Give it to `client.start` and `client.worker`.
 * Fingerprint and step contracts come from the server. `Input` is the type of the workflow's input.
 */
export class Definition<Input = unknown> {
  /** Name of the type. */
  readonly workflowType: string;
  /** The workflow's own input, for `needs`. */
  readonly input: Need<"input", Input> = { name: INPUT };
  readonly #message: DefinitionMessage;
  readonly #activities = new Map<string, ServedActivity>();

  /**
   * @param workflowType - Letters, digits, `_`, `-`, `.`; at most 128 bytes.
   * @param options - What it says of itself.
   */
  constructor(workflowType: string, options: DefinitionOptions = {}) {
    this.workflowType = workflowType;
    this.#message = create(DefinitionSchema, {
      workflowType,
      version: options.version ?? "",
      description: options.description ?? "",
      outputStep: options.output ?? "",
      policy: workflowPolicyMessage(options.policy ?? {}),
    });
  }

  /**
   * A definition that is there as a message, as from {@link loadDefinition}; give its steps activities by `implement`.
   *
   * @param message - The wire's message.
   */
  static fromMessage<Input = unknown>(message: DefinitionMessage): Definition<Input> {
    const definition = new Definition<Input>(message.workflowType);
    Object.assign(definition.#message, clone(DefinitionSchema, message));
    return definition;
  }

  /** Names of all steps, in the order in which they were declared. */
  get steps(): readonly string[] {
    return this.#message.steps.map((step) => step.name);
  }

  /**
   * The activities of this program, by step.
   * @internal
   */
  get activities(): ReadonlyMap<string, ServedActivity> {
    return this.#activities;
  }

  /** The wire's form, a copy. */
  toMessage(): DefinitionMessage {
    return clone(DefinitionSchema, this.#message);
  }

  /**
   * A step that this program runs.
   *
   * @param name - `[a-z][a-z0-9_]*`, not `input`.
   * @param options - What it needs, its place and its policy.
   * @param activity - What runs: it gets its context, and what it needs by name. It returns the step's output, a Wait, or throws.
   */
  step<const Name extends string, Result, const Needs extends readonly Need[] = readonly [], Checkpoint = unknown>(
    name: Name,
    options: ActivityOptions<Needs>,
    activity: Activity<Checkpoint, InputsOf<Needs>, Result>,
  ): ActivityStep<Name, OutputOf<Result>, Checkpoint, InputsOf<Needs>> {
    const step = this.#add(name, options, options.needs ?? []);
    step.kind = { case: "activity", value: { $typeName: "perdure.v1.ActivityStep" } };
    step.policy = stepPolicyMessage(options);
    this.#serve(step, options.needs ?? [], activity);
    return new ActivityStep<Name, OutputOf<Result>, Checkpoint, InputsOf<Needs>>(name, activity);
  }

  /**
   * A step that another program's worker runs, in any language.
   *
   * @param name - The step's name.
   * @param options - What it needs, its place and its policy.
   */
  remoteStep<const Name extends string, Output = unknown>(name: Name, options: RemoteStepOptions<Output> = {}): Step<Name, Output> {
    const step = this.#add(name, options, options.needs ?? []);
    step.kind = { case: "activity", value: { $typeName: "perdure.v1.ActivityStep" } };
    step.policy = stepPolicyMessage(options);
    return new Step<Name, Output>(name);
  }

  /**
   * A durable wait that needs no worker.
   *
   * @param name - The step's name; a later step that needs it gets a {@link Woken}.
   * @param options - What it waits for, and its place.
   */
  wait<const Name extends string, Payload = unknown>(name: Name, options: WaitStepOptions<Payload>): Step<Name, Woken<Payload>> {
    const { signal, count, at, conditions, timeout } = options;
    const wait = waitMessage(
      conditionsOf({
        ...(signal === undefined ? {} : { signal }),
        ...(count === undefined ? {} : { count }),
        ...(at === undefined ? {} : { at }),
        ...(conditions === undefined ? {} : { conditions }),
        ...(timeout === undefined ? {} : { after: timeout }),
      }),
    );
    this.#add(name, options, []).kind = { case: "wait", value: { $typeName: "perdure.v1.WaitStep", wait } };
    return new Step<Name, Woken<Payload>>(name);
  }

  /**
   * A step that runs a workflow once per item of a JSON list, and joins these children.
   *
   * @param name - The step's name.
   * @param workflow - What is run; it gets the item as its input.
   * @param options - Where the items come from, how they are joined, and the step's place.
   */
  map<const Name extends string>(name: Name, workflow: AnyWorkflow, options: MapOptions): Step<Name, MapResult> {
    const step = this.#add(name, options, [options.items]);
    this.#fanOut(step, workflow, options, { case: "itemsFrom", value: options.items.name });
    return new Step<Name, MapResult>(name);
  }

  /**
   * A map step over a source of any length: the activity returns a {@link page}, and is asked again with its cursor.
   *
   * @param name - The step's name.
   * @param workflow - What is run; it gets the item as its input.
   * @param options - How the children are joined, and the step's place; `retry` is about one page.
   * @param activity - Brings the pages.
   */
  pages<const Name extends string, Result, const Needs extends readonly Need[] = readonly [], Checkpoint = unknown>(
    name: Name,
    workflow: AnyWorkflow,
    options: PagesOptions<Needs>,
    activity: Activity<Checkpoint, InputsOf<Needs>, Result>,
  ): Step<Name, MapResult> {
    const step = this.#add(name, options, options.needs ?? []);
    this.#fanOut(step, workflow, options, { case: "paged", value: { $typeName: "perdure.v1.PagedSource" } });
    this.#serve(step, options.needs ?? [], activity);
    return new Step<Name, MapResult>(name);
  }

  /**
   * A step that runs one other workflow and takes its output.
   *
   * @param name - The step's name.
   * @param workflow - What is run.
   * @param options - What it gets, and the step's place.
   */
  child<const Name extends string, Output = unknown>(name: Name, workflow: AnyWorkflow, options: ChildOptions<Output> = {}): Step<Name, Output> {
    const needs = [...(options.needs ?? []), ...(options.input === undefined ? [] : [options.input])];
    const step = this.#add(name, options, needs);
    const childWorkflowType = typeOf(workflow);
    step.kind = { case: "child", value: { $typeName: "perdure.v1.ChildStep", childWorkflowType, inputFrom: options.input?.name ?? "" } };
    this.#fillChildren(step, options);
    return new Step<Name, Output>(name);
  }

  /**
   * A step that runs at a turn of the workflow; `ctx.hook` tells why.
   *
   * @param kind - When it runs.
   * @param name - The step's name.
   * @param options - What it needs and its policy.
   * @param activity - What runs.
   */
  hook<const Name extends string, Result, const Needs extends readonly Need[] = readonly [], Checkpoint = unknown>(
    kind: HookName,
    name: Name,
    options: HookOptions<Needs>,
    activity: Activity<Checkpoint, InputsOf<Needs>, Result>,
  ): ActivityStep<Name, OutputOf<Result>, Checkpoint, InputsOf<Needs>> {
    const hooks = (this.#message.hooks ??= { $typeName: "perdure.v1.Hooks" });
    const field = ({ on_success: "onSuccess", failure_finalizer: "failureFinalizer", cancel_finalizer: "cancelFinalizer", prepare_replay: "prepareReplay" } as const)[kind];
    const before = hooks[field];
    if (before !== undefined) throw fault(name, `${this.workflowType} has a ${kind} already: ${before.step}`);
    const made = this.step(name, options, activity);
    hooks[field] = { $typeName: "perdure.v1.Hook", step: name, ...(options.required === false ? { required: false } : {}) };
    return made;
  }

  /**
   * A step that undoes another when the workflow fails, tried until it succeeds. `ctx.hook` tells what that one gave, or that nobody
   * knows whether it took effect.
   *
   * @param of - What it undoes: an activity declared above.
   * @param name - The step's name.
   * @param options - What it needs and its policy.
   * @param activity - What runs.
   */
  compensation<const Name extends string, Result, const Needs extends readonly Need[] = readonly [], Checkpoint = unknown>(
    of: Need | string,
    name: Name,
    options: Omit<HookOptions<Needs>, "required">,
    activity: Activity<Checkpoint, InputsOf<Needs>, Result>,
  ): ActivityStep<Name, OutputOf<Result>, Checkpoint, InputsOf<Needs>> {
    const undone = this.#find(typeof of === "string" ? of : of.name);
    if (undone?.kind.case !== "activity" || undone.compensateWith !== "") {
      throw fault(name, "it compensates what is no activity declared above it, or has a compensation already");
    }
    const made = this.step(name, options, activity);
    undone.compensateWith = name;
    return made;
  }

  /**
   * Gives a step that is there already its activity in this program, as for a definition from a file.
   *
   * @param name - Which step.
   * @param activity - What runs; it gets whatever the step needs, and a Failure for what failed under `onExhausted: "continue"`.
   */
  implement<Checkpoint = unknown, Inputs = Readonly<Record<string, unknown>>>(name: string, activity: Activity<Checkpoint, Inputs, unknown>): this {
    const step = this.#find(name);
    if (step === undefined) throw fault(name, `there is no such step in ${this.workflowType}; there are ${this.steps.join(", ")}`);
    if (this.#activities.has(name)) throw fault(name, "it has an activity already");
    const run = activity as ServedActivity["run"];
    this.#activities.set(name, { step: name, queue: step.policy?.queue ?? "", takesFailure: undefined, run });
    return this;
  }

  #serve(step: StepDefinition, needs: readonly Need[], activity: unknown): void {
    const takesFailure = new Set(needs.filter((need) => need.takesFailure === true).map((need) => need.name));
    const run = activity as ServedActivity["run"];
    this.#activities.set(step.name, { step: step.name, queue: step.policy?.queue ?? "", takesFailure, run });
  }

  #add(name: string, options: StepOptions, needs: readonly Need[]): StepDefinition {
    const wrong = nameFault(name);
    if (wrong !== "") throw fault(name, wrong);
    if (this.#find(name) !== undefined) throw fault(name, `${this.workflowType} has a step of this name already`);
    const needed = [...new Set(needs.map((need) => need.name))];
    const earlier = [...new Set([...needed.filter((need) => need !== INPUT), ...stepNames(options.after)])];
    for (const other of earlier) {
      if (this.#find(other) === undefined) throw fault(name, `"${other}" is no step declared above it (${this.steps.join(", ") || "none yet"})`);
    }
    const step = create(StepDefinitionSchema, {
      name,
      dependsOn: earlier,
      needs: { names: needed },
      version: options.version ?? "",
      description: options.description ?? "",
    });
    this.#message.steps.push(step);
    for (const { step: chooser, branch } of branchesOf(options.after)) this.#putOnBranch(chooser, branch, name);
    return step;
  }

  #putOnBranch(chooser: string, branch: string, name: string): void {
    const branches = this.#find(chooser)?.branches ?? [];
    const known = branches.find((one) => one.name === branch);
    if (known === undefined) branches.push({ $typeName: "perdure.v1.Branch", name: branch, steps: [name] });
    else known.steps.push(name);
  }

  #fanOut(
    step: StepDefinition,
    workflow: AnyWorkflow,
    options: ChildrenOptions & { readonly join?: Join | undefined },
    source: { case: "itemsFrom"; value: string } | { case: "paged"; value: { $typeName: "perdure.v1.PagedSource" } },
  ): void {
    const { join = "all" } = options;
    const joins = { all: MapStep_Join.ALL, any: MapStep_Join.ANY, best_effort: MapStep_Join.BEST_EFFORT };
    const how =
      typeof join === "number" ? { join: MapStep_Join.N_OF_M, requiredCount: join } : { join: joins[join], requiredCount: 0 };
    step.kind = { case: "map", value: { $typeName: "perdure.v1.MapStep", childWorkflowType: typeOf(workflow), source, ...how } };
    this.#fillChildren(step, options);
  }

  #fillChildren(step: StepDefinition, options: ChildrenOptions): void {
    const closes = {
      cancel: StepPolicy_ParentClosePolicy.CANCEL,
      terminate: StepPolicy_ParentClosePolicy.TERMINATE,
      abandon: StepPolicy_ParentClosePolicy.ABANDON,
    };
    step.policy = stepPolicyMessage(options);
    if (options.maxInFlight !== undefined) step.policy.maxInFlight = options.maxInFlight;
    if (options.parentClose !== undefined) step.policy.parentClose = closes[options.parentClose];
  }

  #find(name: string): StepDefinition | undefined {
    return this.#message.steps.find((step) => step.name === name);
  }
}

/**
 * Name of a type.
 * @internal
 */
export function typeOf(workflow: AnyWorkflow): string {
  return typeof workflow === "string" ? workflow : workflow.workflowType;
}

function fault(step: string, text: string): DefinitionRejected {
  return new DefinitionRejected(`step "${step}": ${text}`, { reason: ErrorReason.DEFINITION_INVALID });
}
