/** Calls: one channel, a deadline on everything; UNAVAILABLE tried again, a CANCELLED that nobody here asked for, and nothing else. */

import { setTimeout as sleep } from "node:timers/promises";

import {
  clone,
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";

import type { ConnectionConfig } from "./config.js";
import { PerdureError, Unavailable } from "./errors.js";
import * as limits from "./limits.js";
import type { MessageStream } from "./message-stream.js";
import { seal, unseal } from "./sealing.js";
import { certificateStamp, handshakeFault, isDefinite } from "./security.js";
import { asError, Transport } from "./transport.js";

/** Options that every call takes. */
export interface CallOptions {
  /** How long it may take with all its retries, in milliseconds. Absent: the client's. */
  readonly timeoutMs?: number | undefined;
  /** Ends the call early; it then rejects with the signal's reason. The effect is unknown: the same request may be repeated. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Between half the interval and all of it, so that many clients do not come back in step.
 * @internal
 */
export function jittered(interval: number): number {
  return interval * (0.5 + Math.random() / 2);
}

/**
 * The error; if it is a known fault of the handshake, with plain words for it. `reached`: a server has answered before.
 * @internal
 */
export function explainedHandshake(error: PerdureError, config: ConnectionConfig, reached: boolean): PerdureError | undefined {
  if (!(error instanceof Unavailable) || error.reason !== "") return undefined;
  const fault = handshakeFault(error.text, reached ? undefined : config.tls !== undefined);
  return fault === "" ? undefined : new Unavailable(`${config.address}: ${fault} (${error.text})`, { code: error.code });
}

/**
 * The channel of one client, and how it stays in contact.
 * @internal
 */
export class Calls {
  readonly config: ConnectionConfig;
  readonly timeoutMs: number;
  readonly connectTimeoutMs: number;
  #transport: Transport | undefined;
  #once: Transport | undefined;
  #stamp = "";
  #reached = false;
  #closed = false;

  constructor(config: ConnectionConfig, timeoutMs: number, connectTimeoutMs: number) {
    this.config = config;
    this.timeoutMs = timeoutMs;
    this.connectTimeoutMs = connectTimeoutMs;
  }

  /** Whether nothing can be called any more. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Whether a server has ever answered. */
  get reached(): boolean {
    return this.#reached;
  }

  /** The channel, opened at its first use, and again when the client's certificate was replaced. */
  get transport(): Transport {
    if (this.#closed) throw new Unavailable("the client is closed");
    const stamp = certificateStamp(this.config.tls);
    if (this.#transport === undefined || stamp !== this.#stamp) {
      this.#transport?.close(); // calls on it go on
      this.#transport = new Transport(this.config);
      this.#stamp = stamp;
    }
    return this.#transport;
  }

  /** A channel that tries nothing again. */
  get once(): Transport {
    if (this.#closed) throw new Unavailable("the client is closed");
    this.#once ??= new Transport(this.config, { retries: false });
    return this.#once;
  }

  /** One call with its retries. Rejects with a PerdureError, or with the signal's reason. */
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    init: MessageInitShape<I>,
    options: CallOptions = {},
  ): Promise<MessageShape<O>> {
    const { codec } = this.config;
    const { signal } = options;
    const allowed = options.timeoutMs ?? this.timeoutMs;
    const began = performance.now();
    let request = create(method.input, init);
    if (codec !== undefined) {
      request = clone(method.input, request);
      seal(method.input, request, codec);
    }
    for (let interval = limits.RETRY_INITIAL_INTERVAL; ; interval = Math.min(limits.RETRY_MAX_INTERVAL, interval * 2)) {
      const remaining = Math.max(1, began + allowed - performance.now());
      try {
        const answer = await this.transport.unary(method, request, { timeoutMs: remaining, signal });
        this.noteReached();
        unseal(method.output, answer, codec);
        return answer;
      } catch (error) {
        const pause = this.#pause(asError(error), began, allowed, interval);
        await sleep(pause, undefined, signal === undefined ? {} : { signal }).catch(() => {
          throw asError(signal?.reason);
        });
      }
    }
  }

  /** Opens a server stream; its messages still have to go through `opened`. */
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    timeoutMs?: number,
  ): MessageStream<MessageShape<O>> {
    return this.transport.serverStream(method, create(method.input, request), timeoutMs);
  }

  /** A server has answered: from now on UNAVAILABLE is worth waiting for. */
  noteReached(): void {
    this.#reached = true;
  }

  /** The error; where no server was reached, with what to do about it. */
  explained(error: PerdureError): PerdureError {
    const known = explainedHandshake(error, this.config, this.#reached);
    if (known !== undefined) return known;
    if (error.reason !== "" || this.#closed) return error;
    const text = `no server at ${this.config.address}: ${error.text}; start one by \`perdure dev\`, or set PERDURE_ADDRESS`;
    return new Unavailable(text, { code: error.code });
  }

  /** Closes the channel; calls that have not begun reject. */
  close(): void {
    this.#closed = true;
    this.#transport?.close();
    this.#transport = undefined;
    this.#once?.close();
    this.#once = undefined;
  }

  /** How long to wait before the next try. Throws the error if there is none. */
  #pause(error: Error, began: number, allowed: number, interval: number): number {
    if (!(error instanceof Unavailable)) {
      if (error instanceof PerdureError) this.#reached = true;
      throw error;
    }
    if (this.#closed) throw error;
    this.#reached ||= error.reason !== "";
    if (error.reason === "" && isDefinite(error.text)) throw this.explained(error);
    const bound = this.#reached ? allowed : Math.min(allowed, this.connectTimeoutMs);
    const pause = Math.max(jittered(interval), error.retryAfterMs ?? 0);
    if (performance.now() + pause >= began + bound) throw this.explained(error);
    return pause;
  }
}
