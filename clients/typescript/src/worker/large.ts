/** Results and checkpoints that are too large for the stream: by unary calls, on a connection of their own. */

import { setTimeout as sleep } from "node:timers/promises";

import { Calls } from "../calls.js";
import type { ConnectionConfig } from "../config.js";
import { CallTimeout, ClaimLost, PerdureError, Unavailable } from "../errors.js";
import { WorkerService } from "../gen/perdure/v1/worker_service_pb.js";
import * as limits from "../limits.js";
import { claimLost } from "../statuses.js";
import type { Held, Save } from "./claims.js";
import type { Ledger } from "./ledger.js";

/** Sends what is large, as long as it takes; the claims stay held meanwhile. */
export class LargeCalls {
  readonly #calls: Calls;
  readonly #ledger: Ledger;
  readonly #over = new AbortController();

  constructor(config: ConnectionConfig, ledger: Ledger) {
    this.#calls = new Calls(config, limits.CALL_TIMEOUT, limits.CALL_TIMEOUT);
    this.#ledger = ledger;
  }

  /** Settles a claim by Complete. */
  result(held: Held): void {
    void this.#complete(held);
  }

  /** Stores a checkpoint by Heartbeat. */
  checkpoint(held: Held, save: Save): void {
    void this.#heartbeat(held, save);
  }

  /** Gives up what still runs. */
  close(): void {
    this.#over.abort();
    this.#calls.close();
  }

  async #complete(held: Held): Promise<void> {
    const { result } = held;
    if (result === undefined) return;
    const { claimToken, outcome, lastFrameSeq } = result;
    let error: PerdureError | undefined;
    try {
      const request = { claimToken, outcome, ...(lastFrameSeq === undefined ? {} : { lastFrameSeq }) };
      await this.#calls.unary(WorkerService.method.complete, request, { signal: this.#over.signal });
    } catch (failure) {
      if (this.#over.signal.aborted) return;
      error = repeatable(failure) ?? asPerdureError(failure);
    }
    this.#ledger.conclude(held, error);
  }

  async #heartbeat(held: Held, save: Save): Promise<void> {
    const { checkpoint, checkpointNo, reply } = save;
    while (!held.isLost) {
      try {
        const request = { claimToken: held.token, checkpoint, checkpointNo };
        const answer = await this.#calls.unary(WorkerService.method.heartbeat, request, { signal: this.#over.signal });
        reply(undefined);
        if (answer.cancelRequested) this.#ledger.cancel(held.token, "");
        return;
      } catch (failure) {
        if (this.#over.signal.aborted) {
          reply(new Unavailable("the worker has stopped"));
          return;
        }
        if (repeatable(failure) === undefined) {
          const error = asPerdureError(failure);
          reply(error);
          if (error instanceof ClaimLost) this.#ledger.lose(held.token, error.lossCause);
          return;
        }
      }
      await sleep(limits.RETRY_INITIAL_INTERVAL);
    }
    reply(claimLost("UNKNOWN"));
  }
}

/** The error as one that is worth another try; undefined: it is not. */
function repeatable(failure: unknown): Unavailable | undefined {
  if (!(failure instanceof Unavailable) && !(failure instanceof CallTimeout)) return undefined;
  return new Unavailable(failure.text, { code: failure.code, ...(failure.retryAfterMs === undefined ? {} : { retryAfterMs: failure.retryAfterMs }) });
}

function asPerdureError(failure: unknown): PerdureError {
  return failure instanceof PerdureError ? failure : new PerdureError(failure instanceof Error ? failure.message : String(failure), { cause: failure });
}
