import type { Calls } from "../calls.js";
import type { ServedActivity } from "../definition.js";
import type { Result } from "../gen/perdure/v1/worker_service_pb.js";
import { about, type Logger } from "../logger.js";
import { Activity } from "./activity.js";
import type { Held } from "./claims.js";
import type { Ledger, Runner } from "./ledger.js";
import * as results from "./results.js";

/** Begins, cancels and counts the activities of one worker. */
export class ActivityRunner implements Runner {
  /** Set right after the session was made, which needs the runner first. */
  ledger: Ledger | undefined;
  readonly #served: ReadonlyMap<string, ServedActivity>;
  readonly #calls: Calls;
  readonly #log: Logger;
  readonly #activities = new Map<string, Activity>();
  readonly #idle = new Set<() => void>();

  constructor(served: ReadonlyMap<string, ServedActivity>, calls: Calls, log: Logger) {
    this.#served = served;
    this.#calls = calls;
    this.#log = log;
  }

  /** How many activities run. */
  get size(): number {
    return this.#activities.size;
  }

  begin(held: Held): void {
    const { claim } = held;
    const served = this.#served.get(`${claim.workflow?.workflowType ?? ""}/${claim.step}`);
    const { ledger } = this;
    if (served === undefined || ledger === undefined) {
      this.#log.error(`nothing here runs ${held.toString()}; its claim is given back`, about(claim));
      ledger?.finished(held, results.released());
      return;
    }
    const activity = new Activity(held, served, ledger, this.#calls, this.#log);
    this.#activities.set(held.token, activity);
    // Not at once: the caller is in the middle of its claims.
    setImmediate(() => {
      this.#perform(activity, ledger).catch((error: unknown) => {
        this.#log.error(`a bug of the worker's: nothing is said of ${held.toString()}`, { ...about(claim), error });
      });
    });
  }

  cancel(token: string, reason: string): void {
    this.#activities.get(token)?.cancel(reason);
  }

  lose(token: string, cause: string): void {
    const activity = this.#activities.get(token);
    if (activity === undefined) return;
    this.#log.warn(`the claim of ${activity.held.toString()} is lost (${cause}): it is stopped`, about(activity.held.claim));
    activity.lose(cause);
  }

  /** Resolves true as soon as no activity runs; false after so many milliseconds, or when the signal is aborted. */
  async idleWithin(ms: number, signal?: AbortSignal): Promise<boolean> {
    if (this.size === 0) return true;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#idle.delete(done);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#idle.add(done);
      signal?.addEventListener("abort", done);
      if (signal?.aborted === true) done();
    });
    return this.size === 0;
  }

  /** Stops all activities; those that stop for it give their claims back. */
  releaseAll(): void {
    for (const activity of this.#activities.values()) {
      if (activity.cancelReason !== undefined) continue;
      activity.isDraining = true;
      activity.cancel("DRAINING");
    }
  }

  /** Gives the claims of activities that do not stop back, and goes on without them. */
  abandonAll(): void {
    for (const activity of [...this.#activities.values()]) {
      this.#log.error(`${activity.held.toString()} does not stop; its claim is given back while it still runs`, about(activity.held.claim));
      activity.isDraining = true;
      this.#ended(activity, activity.outcomeOfCancel());
    }
  }

  async #perform(activity: Activity, ledger: Ledger): Promise<void> {
    const result = await activity.perform();
    if (this.#activities.get(activity.held.token) === activity) this.#ended(activity, result, ledger);
  }

  #ended(activity: Activity, result: Result | undefined, ledger = this.ledger): void {
    this.#activities.delete(activity.held.token);
    ledger?.finished(activity.held, result);
    if (this.size > 0) return;
    for (const done of [...this.#idle]) done();
  }
}
