// Workers, and the behaviour of their activities.
import { trace } from "@opentelemetry/api";
import {
  ActivityCancelled,
  choose,
  type Condition,
  type Context,
  type Duration,
  Failure,
  type HookFacts,
  type MapResult,
  NO_VALUE,
  page,
  parseDefinition,
  PerdureError,
  stringifyJson,
  Wait,
  type Worker,
  type WorkerOptions,
  Woken,
} from "@perdure/client";

import type { Clients } from "./clients.js";
import { given, type Line, list, ofError, ofFailure, ofValue, text, toValue, UsageError, writeLine } from "./lines.js";

type Inputs = Readonly<Record<string, unknown>>;

interface Held {
  readonly step: string;
  readonly key: string;
  readonly goOn: () => void;
}

let activities = 0;

/** All workers of the driver. */
export class Workers {
  readonly #clients: Clients;
  readonly #workers = new Map<string, Player>();

  constructor(clients: Clients) {
    this.#clients = clients;
  }

  async work(line: Line): Promise<Line> {
    const name = text(line, "worker");
    const player = new Player(name, list(line, "behaviour"));
    const definitions = (line["definitions"] as readonly string[]).map((source) => parseDefinition(source));
    for (const definition of definitions) {
      for (const step of definition.toMessage().steps) {
        const runs = step.kind.case === "activity" || (step.kind.case === "map" && step.kind.value.source.case === "paged");
        if (runs) definition.implement(step.name, (ctx: Context, inputs: Inputs) => player.play(ctx, inputs));
      }
    }
    const names = { steps: "steps", slots: "slots", worker_id: "workerId", lease_ms: "lease", grace_ms: "grace", register: "register" };
    const options: WorkerOptions = { ...given(line, names), logger: player };
    const worker = this.#clients.get(line).worker(definitions, options);
    player.worker = worker;
    this.#workers.set(name, player);
    await worker.start();
    return {};
  }

  drain(line: Line): Line {
    void this.#player(line).stop(false);
    return {};
  }

  async stop(line: Line): Promise<Line> {
    await this.#player(line).stop(line["hurry"] === true);
    return {};
  }

  goOn(line: Line): Line {
    this.#player(line).goOn(text(line, "step"), line["key"] as string | undefined);
    return {};
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((player) => player.stop(true)));
  }

  #player(line: Line): Player {
    const player = this.#workers.get(text(line, "worker"));
    if (player === undefined) throw new UsageError(`there is no worker ${text(line, "worker")}`);
    return player;
  }
}

/** Plays the scripts of one worker; also its log. */
class Player {
  worker: Worker | undefined;
  readonly #name: string;
  readonly #scripts: readonly Line[];
  readonly #held: Held[] = [];
  /** Activities that may go on as soon as they hold. */
  readonly #early: { readonly step: string; readonly key: string | undefined }[] = [];

  constructor(name: string, scripts: readonly Line[]) {
    this.#name = name;
    this.#scripts = scripts;
  }

  info(): void {
    // nothing that a case waits for
  }

  warn(told: string, facts: Readonly<Record<string, unknown>> = {}): void {
    process.stderr.write(`${told}\n`);
    if ("pool" in facts) writeLine({ event: "pool", worker: this.#name, reason: facts["reason"], text: told });
  }

  error(told: string, facts?: Readonly<Record<string, unknown>>): void {
    process.stderr.write(`${told} ${stringifyJson(facts?.["error"] instanceof Error ? facts["error"].stack : "")}\n`);
  }

  async stop(hurry: boolean): Promise<void> {
    await this.worker?.stop({ hurry });
  }

  goOn(step: string, key: string | undefined): void {
    const index = this.#held.findIndex((held) => held.step === step && (key === undefined || held.key === key));
    const [held] = index < 0 ? [] : this.#held.splice(index, 1);
    if (held === undefined) this.#early.push({ step, key });
    else held.goOn();
  }

  async play(ctx: Context, inputs: Inputs): Promise<unknown> {
    activities += 1;
    const activity = `${ctx.workflowType}/${ctx.businessKey}/${ctx.step}/${String(ctx.claimNo)}#${String(activities)}`;
    const tell = (event: string, more: Line = {}): void => {
      writeLine({ event, worker: this.#name, activity, ...more });
    };
    tell("began", began(ctx, inputs));
    const script = this.#scripts.find((one) => fits(one, ctx));
    try {
      if (script === undefined) throw new Failure("driver.no_script", "no script fits this claim", { nonRetryable: true });
      const value = await this.#operations(list(script, "operations"), ctx, inputs, tell);
      tell("ended", { outcome: "returned" });
      return value;
    } catch (error) {
      tell("ended", endOf(error));
      throw error;
    }
  }

  async #operations(operations: readonly Line[], ctx: Context, inputs: Inputs, tell: (event: string, more?: Line) => void): Promise<unknown> {
    for (const operation of operations) {
      switch (operation["op"]) {
        case "save":
          await ctx.save("value" in operation ? toValue(operation["value"]) : NO_VALUE);
          tell("saved", { checkpoint: ofValue(ctx.checkpoint) });
          break;
        case "frame":
          ctx.frame(text(operation, "text"));
          break;
        case "log":
          ctx.log(text(operation, "text"));
          break;
        case "progress":
          ctx.progress(operation["done"] as number, operation["total"] as number | undefined, given(operation, { unit: "unit", message: "message" }));
          break;
        case "alive":
          ctx.alive();
          break;
        case "hold":
          tell("held");
          await this.#hold(ctx, operation["on_cancel"] !== "ignore", tell);
          break;
        case "block":
          block(operation["ms"] as number);
          break;
        case "raise":
          throw new Error(text(operation, "message"));
        case "fail":
          throw failureOf(operation);
        default:
          return valueOf(operation, inputs);
      }
    }
    return undefined;
  }

  async #hold(ctx: Context, stops: boolean, tell: (event: string, more?: Line) => void): Promise<void> {
    const early = this.#early.findIndex((one) => one.step === ctx.step && (one.key === undefined || one.key === ctx.businessKey));
    if (early >= 0) {
      this.#early.splice(early, 1);
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const held: Held = {
        step: ctx.step,
        key: ctx.businessKey,
        goOn: () => {
          ctx.signal.removeEventListener("abort", stop);
          resolve();
        },
      };
      const stop = (): void => {
        tell("cancelled", { reason: ctx.cancelReason });
        if (!stops) return;
        const index = this.#held.indexOf(held);
        if (index >= 0) this.#held.splice(index, 1);
        reject(ctx.signal.reason as Error);
      };
      this.#held.push(held);
      ctx.signal.addEventListener("abort", stop, { once: true });
      if (ctx.signal.aborted) stop();
    });
  }
}

function fits(script: Line, ctx: Context): boolean {
  const claim: Line = { step: ctx.step, key: ctx.businessKey, attempt: ctx.attempt, claim_no: ctx.claimNo };
  return Object.entries(claim).every(([name, value]) => !(name in script) || script[name] === value);
}

function valueOf(operation: Line, inputs: Inputs): unknown {
  switch (operation["op"]) {
    case "return":
      return toValue(operation["value"]);
    case "echo":
      return inputs[text(operation, "input")];
    case "wait":
      return Wait.any({
        conditions: list(operation, "any_of").map(conditionOf),
        ...("checkpoint" in operation ? { checkpoint: toValue(operation["checkpoint"]) } : {}),
        ...(operation["clear_checkpoint"] === true ? { checkpoint: NO_VALUE } : {}),
      });
    case "choose":
      return choose(operation["branches"] as readonly string[], toValue(operation["value"]));
    case "page":
      return page((operation["children"] as readonly unknown[]).map(toValue), toValue(operation["cursor"]));
    default:
      throw new UsageError(`there is no operation ${String(operation["op"])}`);
  }
}

function conditionOf(line: Line): Condition {
  return { ...given(line, { signal: "signal", count: "count", after_ms: "after", name: "name" }), ...("at" in line ? { at: new Date(text(line, "at")) } : {}) };
}

function failureOf(operation: Line): Failure {
  return new Failure(text(operation, "type"), (operation["message"] as string | undefined) ?? "", {
    ...given(operation, { non_retryable: "nonRetryable" }),
    ...("details" in operation ? { details: toValue(operation["details"]) } : {}),
    ...("retry_after_ms" in operation ? { retryAfter: operation["retry_after_ms"] as Duration } : {}),
  });
}

function endOf(error: unknown): Line {
  if (error instanceof ActivityCancelled) return { outcome: "stopped" };
  const isOfLibrary = error instanceof PerdureError || error instanceof RangeError || error instanceof UsageError;
  return isOfLibrary ? { outcome: "error", error: ofError(error) } : { outcome: "failed" };
}

/** Blocks the thread, deaf to everything. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function began(ctx: Context, inputs: Inputs): Line {
  const span = trace.getActiveSpan()?.spanContext();
  const traceparent = span === undefined ? ctx.traceparent : `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`;
  return {
    namespace: ctx.namespace,
    type: ctx.workflowType,
    key: ctx.businessKey,
    round: ctx.round,
    step: ctx.step,
    claim_no: ctx.claimNo,
    attempt: ctx.attempt,
    fence: ctx.fence,
    idempotency_key: ctx.idempotencyKey,
    wake_token: ctx.wakeToken,
    traceparent,
    labels: ctx.labels,
    inputs: Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, ofInput(value)])),
    checkpoint: ofValue(ctx.checkpoint),
    cursor: ofValue(ctx.cursor),
    wakes: wakesOf(ctx.woken()),
    ...(ctx.lastFailure === undefined ? {} : { last_failure: ofFailure(ctx.lastFailure) }),
    ...(ctx.hook === undefined ? {} : { hook: hookOf(ctx.hook) }),
  };
}

function ofInput(value: unknown): unknown {
  if (value instanceof Failure) return { $failure: ofFailure(value) };
  if (value instanceof Woken) return { condition: value.condition, wakes: wakesOf(value) };
  return isMapResult(value) ? value.json : ofValue(value);
}

function isMapResult(value: unknown): value is MapResult {
  return typeof value === "object" && value !== null && "json" in value && "completed" in value && "cancelled" in value && "errors" in value;
}

function wakesOf(woken: Woken | undefined): readonly Line[] {
  return (woken?.wakes ?? []).map(({ condition, signalName, signalId, value }) => ({
    condition,
    signal_name: signalName,
    signal_id: signalId,
    value: ofValue(value),
  }));
}

function hookOf(hook: HookFacts): Line {
  return {
    kind: hook.kind,
    compensates: hook.compensates,
    in_doubt: hook.inDoubt,
    failed_step: hook.failedStep,
    cancel_reason: hook.cancelReason,
    ...(hook.failure === undefined ? {} : { failure: ofFailure(hook.failure) }),
    unfinished: hook.unfinished.map((item) => ({ step: item.step, state: item.state, checkpoint: ofValue(item.checkpoint()) })),
    compensated_output: ofValue(hook.compensatedOutput()),
  };
}
