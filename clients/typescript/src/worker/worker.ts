import type { Calls } from "../calls.js";
import { toMs } from "../durations.js";
import { Unavailable } from "../errors.js";
import * as limits from "../limits.js";
import { consoleLogger, guarded, type Logger } from "../logger.js";
import { checkDefinition } from "../sealing.js";
import { asError } from "../transport.js";
import { pauseUntil } from "./pause.js";
import { planWorker, type Served, type WorkerOptions, type WorkerPlan } from "./plan.js";
import { ActivityRunner } from "./runner.js";
import { Session } from "./session.js";

/** How `worker.run` is ended. */
export interface RunOptions {
  /** Stop when it is aborted; a second abort is not possible, but `stop({ hurry: true })` ends the grace. */
  readonly signal?: AbortSignal | undefined;
  /** Stop at SIGTERM and SIGINT; a second one ends the grace. Absent: true. */
  readonly handleSignals?: boolean | undefined;
}

/**
 * Runs activities; made by `client.worker`. `await worker.run()` works until SIGTERM; `await worker.start()` and `await worker.stop()`
 * are for programs that do other things beside it. It can be used once.
 *
 * A stop takes no new claims; running activities may go on for the grace, then those that still run are cancelled by `ctx.signal`
 * and their claims given back with their checkpoints, uncharged.
 *
 * Node has one thread: an activity that computes for long without awaiting stops the renewal of all claims of this process, and
 * beyond the lease (30 s) they are lost. Give such work to `worker_threads` or a child process, and await that.
 */
export class Worker implements AsyncDisposable {
  readonly #calls: Calls;
  readonly #plan: WorkerPlan;
  readonly #log: Logger;
  readonly #graceMs: number;
  readonly #stopping = new AbortController();
  readonly #hurry = new AbortController();
  #runner: ActivityRunner | undefined;
  #session: Session | undefined;
  #stopped: Promise<void> | undefined;

  /** @internal */
  constructor(calls: Calls, served: readonly Served[], options: WorkerOptions) {
    this.#calls = calls;
    this.#plan = planWorker(served, calls.config, options);
    for (const definition of this.#plan.definitions) checkDefinition(definition, calls.config.codec);
    this.#log = guarded(options.logger ?? consoleLogger);
    this.#graceMs = options.grace === undefined ? limits.STOP_GRACE : Math.min(limits.TIMER_MAX, toMs(options.grace));
  }

  /** The worker's name, for people. */
  get workerId(): string {
    return this.#plan.workerId;
  }

  /** How many activities run now. */
  get running(): number {
    return this.#runner?.size ?? 0;
  }

  /**
   * Connects; resolves once the server has let the worker in. Rejects with Unavailable (no server within 10 s), DefinitionRejected
   * (a definition has faults) and AccessDenied.
   */
  async start(): Promise<void> {
    if (this.#session !== undefined) throw new TypeError("a worker can be used once; make another by client.worker");
    const runner = new ActivityRunner(this.#plan.activities, this.#calls, this.#log);
    const session = new Session(this.#plan, this.#calls.config, runner, this.#log);
    runner.ledger = session.ledger;
    this.#runner = runner;
    this.#session = session;
    session.ended.catch((error: unknown) => {
      this.#log.error("the worker's session has ended by itself", { error: asError(error).message });
    });
    await this.#connected(session);
    this.#calls.noteReached();
  }

  /**
   * Works until it is told to stop: by the signal, by SIGTERM or SIGINT, or by `stop`. Rejects as `start` does, and with the error that
   * ended the session, if one did.
   *
   * @param options - What ends it.
   */
  async run(options: RunOptions = {}): Promise<void> {
    const stop = (): void => {
      if (this.#stopping.signal.aborted) this.#hurry.abort();
      this.#stopping.abort();
    };
    const names: readonly NodeJS.Signals[] = options.handleSignals === false ? [] : ["SIGTERM", "SIGINT"];
    for (const name of names) process.on(name, stop);
    options.signal?.addEventListener("abort", stop, { once: true });
    if (options.signal?.aborted === true) stop();
    const over = new AbortController();
    try {
      await this.start();
      this.#session?.ended.catch(() => undefined).finally(() => {
        over.abort();
      });
      await pauseUntil(Number.POSITIVE_INFINITY, this.#stopping.signal, over.signal);
      await this.stop();
      await this.#session?.ended;
    } finally {
      for (const name of names) process.off(name, stop);
      options.signal?.removeEventListener("abort", stop);
    }
  }

  /**
   * Takes no new claims, lets activities end within the grace, gives the rest back, and disconnects. Resolves when that is done;
   * calling it again waits for the same, or hurries it.
   *
   * @param options - `hurry`: without the grace.
   */
  stop(options: { readonly hurry?: boolean | undefined } = {}): Promise<void> {
    if (options.hurry === true) this.#hurry.abort();
    this.#stopping.abort();
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** As `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    const session = this.#session;
    const runner = this.#runner;
    if (session === undefined || runner === undefined) return;
    session.drain(this.#graceMs);
    if (!(await runner.idleWithin(this.#graceMs, this.#hurry.signal))) {
      this.#log.info(`the grace is over: ${String(runner.size)} activities are stopped, their claims given back`);
      runner.releaseAll();
      if (!(await runner.idleWithin(limits.UNWIND_TIMEOUT))) runner.abandonAll();
    }
    session.finish(limits.SETTLE_TIMEOUT);
    await session.ended.catch(() => undefined); // said already
  }

  async #connected(session: Session): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const text = `no server let this worker in within ${String(limits.CONNECT_TIMEOUT / 1_000)} s`;
        const error = session.lastError ?? new Unavailable(text);
        reject(error instanceof Unavailable ? this.#calls.explained(error) : error);
      }, limits.CONNECT_TIMEOUT);
    });
    try {
      await Promise.race([session.connected, late]);
    } catch (error) {
      session.finish(0);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}
