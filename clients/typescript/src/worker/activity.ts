/** One activity: from its claim to its result. */

import type { Calls } from "../calls.js";
import { ActivityCancelled, type ActivityLink, type CancelReason, Context } from "../context.js";
import type { ServedActivity } from "../definition.js";
import { ClaimLost, PayloadUndecodable, type PerdureError } from "../errors.js";
import { ClaimSchema } from "../gen/perdure/v1/claim_pb.js";
import { type Payload, PayloadSchema } from "../gen/perdure/v1/payload_pb.js";
import type { Frame_Kind } from "../gen/perdure/v1/watch_pb.js";
import { type Result, ResultSchema } from "../gen/perdure/v1/worker_service_pb.js";
import { WorkflowService } from "../gen/perdure/v1/workflow_service_pb.js";
import * as limits from "../limits.js";
import { about, type Logger } from "../logger.js";
import { sizeOf } from "../payloads.js";
import { seal, unseal } from "../sealing.js";
import { claimLost } from "../statuses.js";
import { withActivitySpan } from "../tracing.js";
import type { Held } from "./claims.js";
import { fetchRefs, inputsOf } from "./inputs.js";
import type { Ledger } from "./ledger.js";
import * as results from "./results.js";

/** `ctx.cancelReason` by the cause of a loss. Any other claim that is lost goes on in another worker, or a later attempt. */
const STOPS: Readonly<Partial<Record<string, CancelReason>>> = {
  CLOSED: "TERMINATED",
  TIMED_OUT: "TIMED_OUT",
  CANCELLED: "WORKFLOW_CANCELLED",
};

/** Runs the activity of one claim's step, and is its way to the server. */
export class Activity implements ActivityLink {
  readonly held: Held;
  isLost = false;
  isDraining = false;
  readonly #served: ServedActivity;
  readonly #ledger: Ledger;
  readonly #calls: Calls;
  readonly #log: Logger;
  readonly #controller = new AbortController();
  readonly #saves = new Set<(error: PerdureError) => void>();
  #reason: CancelReason | undefined;

  constructor(held: Held, served: ServedActivity, ledger: Ledger, calls: Calls, log: Logger) {
    this.held = held;
    this.#served = served;
    this.#ledger = ledger;
    this.#calls = calls;
    this.#log = log;
  }

  // ---- what the context asks for

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  save(payload: Payload): Promise<void> {
    if (this.isLost) return Promise.reject(claimLost("UNKNOWN"));
    seal(PayloadSchema, payload, this.#calls.config.codec);
    results.checkSendable(PayloadSchema, payload);
    return new Promise((resolve, reject) => {
      this.#saves.add(reject);
      this.#ledger.save(this.held, payload, (error) => {
        this.#saves.delete(reject);
        if (error === undefined) resolve();
        else reject(error);
      });
    });
  }

  frame(kind: Frame_Kind, payload: Payload): void {
    seal(PayloadSchema, payload, this.#calls.config.codec);
    const size = sizeOf(payload);
    if (size > limits.FRAME_BYTES) throw new RangeError(`a frame has at most ${String(limits.FRAME_BYTES)} bytes; this one has ${String(size)}`);
    this.#ledger.frame(this.held, kind, payload);
  }

  alive(): void {
    this.held.aliveAt = performance.now();
  }

  // ---- what the worker asks for

  /** Why the activity was asked to stop; undefined: it was not. */
  get cancelReason(): CancelReason | undefined {
    return this.#reason;
  }

  /** Asks the activity to stop. */
  cancel(reason: CancelReason): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller.abort(new ActivityCancelled(reason));
  }

  /** Stops the activity; its result does not count any more. A checkpoint on its way rejects with ClaimLost, and then all the rest ends. */
  lose(cause: string): void {
    if (cause !== "CANCELLED" || this.#reason === undefined) this.#reason = STOPS[cause] ?? "CLAIM_LOST";
    this.isLost = true;
    for (const reject of this.#saves) reject(claimLost(cause));
    this.#saves.clear();
    const reason = this.#reason;
    // Behind the wake-up of a save, so that it is the one to say what happened.
    setImmediate(() => {
      this.#controller.abort(new ActivityCancelled(reason));
    });
  }

  /** What an activity that was cancelled reports. */
  outcomeOfCancel(): Result | undefined {
    if (this.isLost) return undefined;
    return this.isDraining ? results.released() : results.cancelled();
  }

  /** Runs the function and makes the result; undefined: nothing is to be reported. Never rejects. */
  async perform(): Promise<Result | undefined> {
    const { claim } = this.held;
    const { codec } = this.#calls.config;
    try {
      await fetchRefs(claim, (payloadId) => this.#fetch(payloadId));
      unseal(ClaimSchema, claim, codec);
      const context = new Context(claim, this);
      const inputs = inputsOf(claim, this.#served);
      this.signal.throwIfAborted();
      const value = await withActivitySpan(claim, () => this.#served.run(context as never, inputs as never));
      if (this.isLost) return undefined;
      return this.#sendable(results.ofValue(value));
    } catch (error) {
      return this.#outcomeOfError(error);
    }
  }

  /** Whatever was thrown is an outcome: it may be anything, such as a Proxy that throws at every touch. */
  #outcomeOfError(error: unknown): Result | undefined {
    try {
      if (this.signal.aborted && isCancellation(error, this.signal)) return this.outcomeOfCancel();
      this.#logFailure(error);
      return this.isLost ? undefined : this.#sendable(results.ofError(error));
    } catch {
      return this.#outcomeOfUntold();
    }
  }

  #outcomeOfUntold(): Result {
    try {
      return this.#sendable(results.ofError(new Error("what the activity threw cannot be told")));
    } catch {
      return results.released(); // not even that can be sealed, and nothing may leave unencrypted
    }
  }

  #sendable(result: Result): Result {
    seal(ResultSchema, result, this.#calls.config.codec);
    results.checkSendable(ResultSchema, result);
    return result;
  }

  async #fetch(payloadId: string): Promise<Payload | undefined> {
    const request = { holder: { case: "claimToken", value: this.held.token } as const, payloadId };
    return (await this.#calls.unary(WorkflowService.method.fetchPayload, request, { signal: this.signal })).payload;
  }

  #logFailure(error: unknown): void {
    if (error instanceof ClaimLost) return; // its save was refused: no fault of the activity, and the loss has a line of its own
    const facts = about(this.held.claim);
    if (this.#calls.config.codec === undefined) {
      this.#log.warn(`${this.held.toString()}, failed`, { ...facts, error });
      return;
    }
    // The text of an error may hold values; it travels encrypted in the failure.
    const told = error instanceof PayloadUndecodable ? error.text : error instanceof Error ? error.name : typeof error;
    this.#log.warn(`${this.held.toString()}, failed: ${told}`, facts);
  }
}

/** Whether an error is how a cancelled activity ends: the signal's reason, or what functions that take a signal throw for it. */
function isCancellation(error: unknown, signal: AbortSignal): boolean {
  if (error === signal.reason || error instanceof ActivityCancelled) return true;
  return error instanceof Error && (error.name === "AbortError" || error.cause === signal.reason);
}
