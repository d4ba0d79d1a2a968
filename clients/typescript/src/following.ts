import { setTimeout as sleep } from "node:timers/promises";

import { type Calls, jittered } from "./calls.js";
import { Overloaded, PerdureError, Unavailable } from "./errors.js";
import * as limits from "./limits.js";
import type { MessageStream } from "./message-stream.js";
import { ErrorReason } from "./reasons.js";
import { asError } from "./transport.js";

/**
 * One watch, as a stream of answers with events in them.
 * @internal
 */
export interface Followed<A, E> {
  /** Asks again, behind the last event. */
  open(resumeToken: string): MessageStream<A>;
  /** Events with their tokens; an undefined event only moves the token. */
  eventsOf(answer: A): readonly (readonly [E | undefined, string])[];
  /** False for what was told before. */
  isNew(event: E): boolean;
  /** Whether it is the last one. */
  isLast(event: E): boolean;
  /** What to yield whenever the server brought nothing new; undefined: nothing. */
  idle?: ((resumeToken: string) => E) | undefined;
}

/**
 * Follows a stream of events over as many streams of answers as it takes: after a cut it goes on where it was.
 * Ends when its consumer breaks off or the signal is aborted. Throws a PerdureError for what a new try cannot help.
 * @internal
 */
export async function* follow<A, E>(
  calls: Calls,
  followed: Followed<A, E>,
  resumeToken: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<E, void, undefined> {
  const reader = new Reader(calls, followed, resumeToken, signal);
  try {
    for (;;) {
      const answer = await reader.next();
      let told = false;
      for (const [event, token] of answer === undefined ? [] : followed.eventsOf(answer)) {
        if (token !== "") reader.resumeToken = token;
        if (event === undefined || !followed.isNew(event)) continue;
        told = true;
        yield event;
        if (followed.isLast(event)) return;
      }
      if (!told && followed.idle !== undefined) yield followed.idle(reader.resumeToken);
    }
  } finally {
    reader.close();
  }
}

/** Reads answers, and opens the stream again when it is cut. */
class Reader<A, E> {
  resumeToken: string;
  readonly #calls: Calls;
  readonly #followed: Followed<A, E>;
  readonly #signal: AbortSignal | undefined;
  readonly #began = performance.now();
  #stream: MessageStream<A> | undefined;
  #failures = 0;

  constructor(calls: Calls, followed: Followed<A, E>, resumeToken: string, signal: AbortSignal | undefined) {
    this.#calls = calls;
    this.#followed = followed;
    this.resumeToken = resumeToken;
    this.#signal = signal;
  }

  /** The next answer; undefined after a cut, when the stream is to be opened again. */
  async next(): Promise<A | undefined> {
    if (this.#signal?.aborted === true) throw asError(this.#signal.reason);
    try {
      this.#stream ??= this.#followed.open(this.resumeToken);
      const answer = await readWithin(this.#stream, limits.WATCH_IDLE_TIMEOUT, this.#signal);
      if (answer !== undefined) {
        this.#failures = 0;
        this.#calls.noteReached();
        return answer;
      }
      // Without the workflow's end, a server that leaves has cut it.
      await this.#pause(0);
    } catch (error) {
      await this.#consider(asError(error));
    }
    return undefined;
  }

  close(): void {
    this.#stream?.cancel();
    this.#stream = undefined;
  }

  async #consider(error: Error): Promise<void> {
    this.close();
    if (this.#signal?.aborted === true || this.#calls.closed || !(error instanceof PerdureError)) throw error;
    if (error.reason === ErrorReason.RESUME_TOKEN_INVALID && this.resumeToken !== "") {
      this.resumeToken = ""; // of a version that is gone: begin anew, with what there is
      return;
    }
    if (error.reason === ErrorReason.WATCHER_TOO_SLOW) return;
    // A watch has no deadline: a proxy on the way has one.
    const isCut = error instanceof Unavailable || error instanceof Overloaded || error.code === "DEADLINE_EXCEEDED";
    if (!isCut) throw error;
    const unreached = !this.#calls.reached && error.reason === "";
    if (unreached && performance.now() - this.#began > this.#calls.connectTimeoutMs) throw this.#calls.explained(error);
    await this.#pause(error.retryAfterMs ?? 0);
  }

  async #pause(asked: number): Promise<void> {
    this.close();
    const interval = Math.min(limits.RETRY_MAX_INTERVAL, limits.RETRY_INITIAL_INTERVAL * 2 ** Math.min(this.#failures, 8));
    this.#failures += 1;
    const signal = this.#signal;
    await sleep(Math.max(asked, jittered(interval)), undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  }
}

/** Reads one message; Unavailable if none comes in time, and the signal's reason if it is aborted. */
async function readWithin<A>(stream: MessageStream<A>, ms: number, signal: AbortSignal | undefined): Promise<A | undefined> {
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  const broken = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new Unavailable("the watch heard nothing, not even a keep-alive"));
    }, ms);
    stop = () => {
      reject(asError(signal?.reason));
    };
    signal?.addEventListener("abort", stop, { once: true });
  });
  try {
    return await Promise.race([stream.read(), broken]);
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) signal?.removeEventListener("abort", stop);
  }
}
