import { create } from "@bufbuild/protobuf";
import { hostname } from "node:os";

import type { ConnectionConfig } from "../config.js";
import { Definition, type ServedActivity } from "../definition.js";
import { type Duration, durationOf } from "../durations.js";
import type { Definition as DefinitionMessage } from "../gen/perdure/v1/definition_pb.js";
import { type Hello, HelloSchema } from "../gen/perdure/v1/worker_service_pb.js";
import * as limits from "../limits.js";
import type { Activity } from "../steps.js";
import { CLIENT_NAME } from "../transport.js";
import { VERSION } from "../version.js";
import type { Logger } from "../logger.js";

const CAPABILITIES = ["cancel", "lost", "heartbeats", "go_away", "pools", "refs", "hooks", "pages", "begin_after_renewed"];

/** What a worker is told of itself. */
export interface WorkerOptions {
  /**
   * How many activities of a step may run at once, by step name (`transcribe`, or `note.transcribe`); or one number for all.
   * Steps that are not named share 100 slots.
   */
  readonly slots?: Readonly<Record<string, number>> | number | undefined;
  /** Serve only these steps. Absent: all that have an activity here. */
  readonly steps?: readonly string[] | undefined;
  /** For people. Absent: host name and process id. */
  readonly workerId?: string | undefined;
  /** Wish for the session's lease. Absent: the server's default, 30 s. */
  readonly lease?: Duration | undefined;
  /** How long running activities may go on after a stop was asked for, before their claims are given back. Absent: 30 s. */
  readonly grace?: Duration | undefined;
  /** Register the definitions, and activate those whose type has no active one. Absent: true. */
  readonly register?: boolean | undefined;
  /** Free facts about the worker, for people; at most 16. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Where it writes what happens to it. Absent: warnings and errors on the console. */
  readonly logger?: Logger | undefined;
}

/** One step that this program runs, named by its contract: without its definition at hand. Made by {@link serve}. */
export interface ServedStep {
  /** The definition's name. */
  readonly workflowType: string;
  /** The contract that the activity was built for, as the server computes it. */
  readonly contract: string;
  /** @internal */
  readonly activity: ServedActivity;
}

/** Which step is served: a generated constant of `perdure definitions generate --language typescript` fits. */
export interface StepContract {
  /** The definition's name. */
  readonly workflowType: string;
  /** The step's name. */
  readonly step: string;
  /** The step's contract, in hex, as the server computes it. */
  readonly contract: string;
  /** Which queue its claims come from. Absent: `default`. */
  readonly queue?: string | undefined;
}

/**
 * Serves one step by its contract; a step that is added elsewhere does not strand this program.
 *
 * @param step - Which step, and the contract that the activity was built for.
 * @param activity - What runs; it gets whatever the step needs, by name.
 */
export function serve<Checkpoint = unknown, Inputs = Readonly<Record<string, unknown>>>(
  step: StepContract,
  activity: Activity<Checkpoint, Inputs, unknown>,
): ServedStep {
  const run = activity as ServedActivity["run"];
  return { workflowType: step.workflowType, contract: step.contract, activity: { step: step.step, queue: step.queue ?? "", takesFailure: undefined, run } };
}

/** What a worker can be given. */
export type Served = Definition | ServedStep;

/** A number of slots for some steps of one type and queue. */
export interface PoolPlan {
  readonly name: string;
  readonly workflowType: string;
  readonly queue: string;
  readonly steps: readonly string[];
  readonly slots: number;
  /** Position of the definition in hello; undefined: the contracts below count. */
  readonly definitionIndex: number | undefined;
  readonly contracts: Readonly<Record<string, string>>;
}

/**
 * All that a worker offers.
 * @internal
 */
export interface WorkerPlan {
  readonly workerId: string;
  readonly pools: readonly PoolPlan[];
  /** By `type/step`. */
  readonly activities: ReadonlyMap<string, ServedActivity>;
  readonly definitions: readonly DefinitionMessage[];
  hello(): Hello;
}

interface Place {
  readonly workflowType: string;
  readonly activity: ServedActivity;
  readonly definitionIndex: number | undefined;
  readonly contract: string | undefined;
}

/**
 * Splits the steps over pools: one for each step that `slots` names, one for the rest of each type and queue.
 * Throws a RangeError if `slots` or `steps` names no step of these, or there is nothing to run.
 * @internal
 */
export function planWorker(served: readonly Served[], config: ConnectionConfig, options: WorkerOptions): WorkerPlan {
  const definitions = served.filter((one): one is Definition => one instanceof Definition);
  const all = placesOf(served, definitions);
  const places = options.steps === undefined ? all : [...new Set(options.steps.map((name) => find(all, name)))];
  if (places.length === 0) throw new RangeError("nothing to run: give client.worker a Definition with at least one step that has an activity");
  const pools = poolsOf(places, options);
  const messages = definitions.map((definition) => definition.toMessage());
  const workerId = options.workerId ?? `${hostname()}-${String(process.pid)}`;
  return {
    workerId,
    pools,
    activities: new Map(places.map((place) => [`${place.workflowType}/${place.activity.step}`, place.activity])),
    definitions: messages,
    hello: () =>
      create(HelloSchema, {
        workerId,
        clientName: CLIENT_NAME,
        clientVersion: VERSION,
        capabilities: CAPABILITIES,
        pools: pools.map(poolInit),
        definitions: messages.map((definition) => ({ definition, register: options.register ?? true })),
        labels: { ...options.labels },
        namespace: config.namespace,
        ...(options.lease === undefined ? {} : { lease: durationOf(options.lease) }),
      }),
  };
}

function placesOf(served: readonly Served[], definitions: readonly Definition[]): readonly Place[] {
  if (new Set(definitions.map((definition) => definition.workflowType)).size < definitions.length) {
    throw new RangeError("a worker serves one definition of a type; run another worker for the other");
  }
  const places = served.flatMap((one): Place[] =>
    one instanceof Definition
      ? [...one.activities.values()].map((activity) => ({
          workflowType: one.workflowType,
          activity,
          definitionIndex: definitions.indexOf(one),
          contract: undefined,
        }))
      : [{ workflowType: one.workflowType, activity: one.activity, definitionIndex: undefined, contract: one.contract }],
  );
  const names = places.map((place) => `${place.workflowType}.${place.activity.step}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new RangeError(`${twice} is given twice`);
  return places;
}

function poolsOf(places: readonly Place[], options: WorkerOptions): readonly PoolPlan[] {
  const { slots } = options;
  const named = typeof slots === "object" ? Object.entries(slots).map(([name, count]) => [find(places, name), count] as const) : [];
  for (const count of [...named.map(([, number]) => number), typeof slots === "number" ? slots : 1]) {
    if (!Number.isInteger(count) || count < 1) throw new RangeError("slots: a pool needs at least 1 slot; leave a step out by `steps`");
  }
  const pools = named.map(([place, count]) => poolOf(`${place.workflowType}.${place.activity.step}`, [place], count));
  const own = new Set(named.map(([place]) => place));
  const rest = new Map<string, Place[]>();
  for (const place of places.filter((one) => !own.has(one))) {
    const { queue } = place.activity;
    const name = `${place.workflowType}${place.definitionIndex === undefined ? "#" : ""}${queue === "" ? "" : `@${queue}`}`;
    rest.set(name, [...(rest.get(name) ?? []), place]);
  }
  return [...pools, ...[...rest].map(([name, sharing]) => poolOf(name, sharing, typeof slots === "number" ? slots : limits.DEFAULT_SLOTS))];
}

function poolOf(name: string, places: readonly Place[], slots: number): PoolPlan {
  const [first] = places;
  if (first === undefined) throw new RangeError("a pool needs a step");
  const contracts = places.filter((place) => place.contract !== undefined).map((place) => [place.activity.step, place.contract ?? ""] as const);
  return {
    name,
    workflowType: first.workflowType,
    queue: first.activity.queue,
    steps: places.map((place) => place.activity.step),
    slots,
    definitionIndex: first.definitionIndex,
    contracts: Object.fromEntries(contracts),
  };
}

function poolInit(plan: PoolPlan) {
  const { name: pool, workflowType, queue, slots, definitionIndex } = plan;
  if (definitionIndex === undefined) return { pool, workflowType, queue, slots, stepContracts: plan.contracts };
  return { pool, workflowType, queue, slots, steps: [...plan.steps], definitionIndex };
}

function find(places: readonly Place[], name: string): Place {
  const found = places.filter(({ workflowType, activity }) => name === activity.step || name === `${workflowType}.${activity.step}`);
  if (found.length === 1 && found[0] !== undefined) return found[0];
  const known = places.map(({ workflowType, activity }) => `${workflowType}.${activity.step}`).join(", ");
  throw new RangeError(`"${name}" names ${found.length > 1 ? "several steps" : "no step with an activity here"}; there are: ${known}`);
}
