/** The worker's session: keeps one stream open and renewed, and hands what the server says to the ledger. */

import { explainedHandshake, jittered } from "../calls.js";
import type { ConnectionConfig } from "../config.js";
import { msOf } from "../durations.js";
import { AccessDenied, InvalidRequest, PerdureError, Unavailable } from "../errors.js";
import { ErrorReason as ReasonNumbers } from "../gen/perdure/v1/errors_pb.js";
import { ClaimLossCause, type ClaimResponse, type GoAway, type Renewed, type Welcome } from "../gen/perdure/v1/worker_service_pb.js";
import * as limits from "../limits.js";
import type { Logger } from "../logger.js";
import { ErrorReason } from "../reasons.js";
import { errorOfStatus } from "../statuses.js";
import { asError } from "../transport.js";
import type { Held, Save } from "./claims.js";
import { Connection, type Listener } from "./connection.js";
import { LargeCalls } from "./large.js";
import { Ledger, type Runner, type Services } from "./ledger.js";
import { pauseUntil } from "./pause.js";
import type { WorkerPlan } from "./plan.js";

/** One worker's stay with the server, over as many streams as it takes. */
export class Session implements Services, Listener {
  readonly ledger: Ledger;
  /** The last reason for which no stream could be opened. */
  lastError: PerdureError | undefined;
  /** Resolves at the first welcome; rejects with the error that makes it impossible. */
  readonly connected: Promise<void>;
  /** Resolves when all is over, or rejects with the error that ended it. */
  readonly ended: Promise<void>;
  readonly #plan: WorkerPlan;
  readonly #config: ConnectionConfig;
  readonly #log: Logger;
  readonly #large: LargeCalls;
  readonly #finished = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isConnected = false;
  #resolveConnected: () => void = () => undefined;
  #rejectConnected: (error: Error) => void = () => undefined;
  #sessionId = "";
  #sessionSecret = "";
  #lease = 0;
  #leaseTimer: NodeJS.Timeout | undefined;
  #current: Connection | undefined;
  #finishing = false;
  #sayAgainAt = 0;

  constructor(plan: WorkerPlan, config: ConnectionConfig, runner: Runner, log: Logger) {
    this.#plan = plan;
    this.#config = config;
    this.#log = log;
    this.ledger = new Ledger(plan.pools, this, runner, config.codec, log);
    this.#large = new LargeCalls(config, this.ledger);
    this.connected = new Promise((resolve, reject) => {
      this.#resolveConnected = resolve;
      this.#rejectConnected = reject;
    });
    this.connected.catch(() => undefined); // whoever waits for it is told; nobody may
    this.ended = this.#live();
    this.ended.catch(() => undefined);
  }

  /** No more claims. */
  drain(graceMs: number): void {
    this.ledger.drain(graceMs);
  }

  /** Ends when the last result is answered, after `withinMs` at most. Renewals go on until then. */
  finish(withinMs: number): void {
    if (!this.#finishing) {
      this.#finishing = true;
      this.later(withinMs, () => {
        this.#finished.abort();
      });
    }
    this.wake();
  }

  // ---- what the ledger asks for

  wake(): void {
    if (this.#finishing && this.ledger.claims.size === 0) this.#finished.abort();
    this.#current?.wake();
  }

  later(ms: number, call: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      call();
    }, ms);
    this.#timers.add(timer);
  }

  sendLargeResult(held: Held): void {
    this.#large.result(held);
  }

  sendLargeCheckpoint(held: Held, save: Save): void {
    this.#large.checkpoint(held, save);
  }

  // ---- what the stream says

  received(connection: Connection, { message }: ClaimResponse): void {
    switch (message.case) {
      case "claims":
        // The server has refused what came on a stream after a newer hello was said.
        if (!connection.isStale) this.ledger.take(message.value.claims, connection.connectionNo);
        break;
      case "settled":
        for (const settled of message.value.settled) {
          if (connection.isStale) settled.nextClaims = [];
          this.ledger.settled(settled, connection.connectionNo);
        }
        break;
      case "renewed":
        this.#renewed(connection, message.value);
        break;
      case "heartbeatsAnswered":
        for (const answer of message.value.answers) this.ledger.heartbeatAnswered(answer);
        break;
      case "cancel":
        for (const { claimToken, reason } of message.value.claims) this.ledger.cancel(claimToken, reason);
        break;
      case "lost":
        for (const { claimToken, cause } of message.value.claims) this.ledger.lose(claimToken, causeName(cause));
        break;
      case "goAway":
        this.#goAway(connection, message.value);
        break;
      case "poolsChanged":
        this.ledger.accept(message.value.pools);
        break;
      case "refused": {
        const why = errorOfStatus(message.value.status)?.message ?? "";
        this.#log.error(`the server refused message ${message.value.messageNo.toString()} of the stream: ${why}`);
        break;
      }
      default:
        break; // of a newer server: by the protocol, ignored
    }
  }

  #renewed(connection: Connection, renewed: Renewed): void {
    const sent = connection.renewed(renewed.renewId);
    const error = errorOfStatus(renewed.status);
    if (error === undefined) {
      this.#lease = msOf(renewed.leaseDuration) ?? this.#lease;
      if (sent !== undefined && connection === this.#current) {
        this.#extendLease(sent);
        this.ledger.renewed(renewed.renewId);
      }
    } else if (error.reason === ErrorReason.SESSION_LOST) {
      this.#sessionIsLost();
      connection.leaving.abort();
    } else {
      this.#log.warn(`the lease was not renewed: ${error.message}`);
      this.later(jittered(Math.min(1_000, connection.renewInterval)), () => {
        this.ledger.outgoing.renewWanted = true;
        this.wake();
      });
    }
  }

  #extendLease(since: number): void {
    this.ledger.isLeaseOver = false;
    clearTimeout(this.#leaseTimer);
    this.#leaseTimer = setTimeout(
      () => {
        this.ledger.leaseIsOver();
      },
      Math.max(0, since + this.#lease - performance.now()),
    );
  }

  #goAway(connection: Connection, message: GoAway): void {
    if (connection !== this.#current) return;
    const name = ReasonNumbers[message.reason] as string | undefined;
    const reason = name === "UNSPECIFIED" ? "age" : (name ?? "UNKNOWN");
    this.#log.info(`the server asks to leave this stream (${reason})`);
    if (reason === ErrorReason.SESSION_LOST) this.#sessionIsLost();
    connection.leaving.abort();
  }

  #sessionIsLost(): void {
    if (this.#sessionId !== "") this.#log.warn("the session is lost: its claims are given up, a new one is opened");
    this.#sessionId = this.#sessionSecret = "";
    this.ledger.loseAll("EXPIRED");
  }

  // ---- its life

  async #live(): Promise<void> {
    await Promise.resolve(); // whoever makes it holds it before anything happens
    try {
      await this.#keepConnected();
    } catch (error) {
      this.#rejectConnected(asError(error));
      throw error;
    } finally {
      this.#large.close();
      this.ledger.failSaves(new Unavailable("the worker has stopped"));
      this.#rejectConnected(new Unavailable("the worker has stopped"));
      clearTimeout(this.#leaseTimer);
      for (const timer of this.#timers) clearTimeout(timer);
      this.#timers.clear();
    }
  }

  async #keepConnected(): Promise<void> {
    const finished = this.#finished.signal;
    let interval = limits.RECONNECT_INITIAL_INTERVAL;
    let over = new AbortController();
    over.abort();
    let serving = Promise.resolve();
    try {
      while (!finished.aborted) {
        const connection = await this.#tryOpen();
        if (connection === undefined) {
          await pauseUntil(jittered(interval), finished);
          interval = Math.min(limits.RECONNECT_MAX_INTERVAL, interval * 2);
          continue;
        }
        const { before, began } = { before: this.#current, began: performance.now() };
        before?.close();
        await serving;
        this.#current = connection;
        over = new AbortController();
        serving = this.#serve(connection, over);
        await pauseUntil(Number.POSITIVE_INFINITY, over.signal, connection.leaving.signal, finished);
        if (performance.now() - began > limits.RECONNECT_MAX_INTERVAL) interval = limits.RECONNECT_INITIAL_INTERVAL;
        // Jitter, so that the workers of a fleet do not come back in step.
        await pauseUntil(jittered(interval), finished);
      }
      await this.#sayGoodbye(over.signal);
    } finally {
      this.#current?.close();
      await serving;
    }
  }

  async #tryOpen(): Promise<Connection | undefined> {
    const connection = new Connection(this.#config, this.ledger.outgoing);
    const hello = this.#plan.hello();
    hello.sessionId = this.#sessionId;
    hello.sessionSecret = this.#sessionSecret;
    hello.heldClaimTokens = this.ledger.claims.current().map((held) => held.token);
    if (this.#current !== undefined) this.#current.isStale = true;
    const stop = (): void => {
      connection.close();
    };
    this.#finished.signal.addEventListener("abort", stop, { once: true });
    try {
      const welcome = await connection.open(hello);
      this.#checkDefinitions(welcome);
      this.#welcomed(connection, welcome);
      return connection;
    } catch (error) {
      connection.close();
      if (!this.#finished.signal.aborted) this.#noteFailure(error);
      return undefined;
    } finally {
      this.#finished.signal.removeEventListener("abort", stop);
    }
  }

  #checkDefinitions(welcome: Welcome): void {
    for (const status of welcome.definitions) {
      const error = errorOfStatus(status.status);
      if (error instanceof InvalidRequest && !this.#isConnected) throw error;
      if (error === undefined) continue;
      const name = this.#plan.definitions[status.definitionIndex]?.workflowType ?? "";
      this.#log.warn(`the definition ${name} was not registered: ${error.message}`);
    }
  }

  #welcomed(connection: Connection, welcome: Welcome): void {
    const resumed = welcome.resumed || this.#sessionId === "";
    this.#sessionId = welcome.sessionId;
    this.#sessionSecret = welcome.sessionSecret;
    this.#lease = msOf(welcome.leaseDuration) ?? 0;
    this.#sayAgainAt = 0;
    this.ledger.outgoing.beginStream();
    this.ledger.accept(welcome.pools);
    if (!resumed) {
      this.#log.warn("the session was not resumed: what ran under the old one is given up");
      this.ledger.loseAll("EXPIRED");
    }
    for (const { claimToken, cause } of welcome.lost) this.ledger.lose(claimToken, causeName(cause));
    for (const token of welcome.cancelClaimTokens) this.ledger.cancel(token, "");
    this.#extendLease(connection.helloSent);
    this.#log.info(`connected to ${this.#config.address} as session ${welcome.sessionId}, lease ${String(this.#lease / 1_000)} s`);
    this.#isConnected = true;
    this.#resolveConnected();
  }

  async #serve(connection: Connection, over: AbortController): Promise<void> {
    try {
      await connection.run(this);
    } catch (error) {
      if (connection.isStale || this.#finished.signal.aborted) return;
      if (error instanceof PerdureError) this.#log.warn(`the stream to ${this.#config.address} ended: ${error.message}`);
      else this.#log.error("a bug of the worker's cut the stream; a new one is opened", { error });
    } finally {
      over.abort();
    }
  }

  #noteFailure(failure: unknown): void {
    if (!(failure instanceof PerdureError)) throw failure;
    const error = explainedHandshake(failure, this.#config, this.#isConnected) ?? failure;
    this.lastError = error;
    // No later try can help a worker that has never been let in.
    if (!this.#isConnected && (error instanceof AccessDenied || error instanceof InvalidRequest)) throw error;
    if (error.reason === ErrorReason.SESSION_LOST) this.#sessionIsLost();
    if (performance.now() < this.#sayAgainAt) return;
    this.#sayAgainAt = performance.now() + limits.FAILURE_LOG_INTERVAL;
    this.#log.warn(`cannot open a stream to ${this.#config.address}; trying on: ${error.message}`);
  }

  async #sayGoodbye(over: AbortSignal): Promise<void> {
    const left = this.ledger.claims.current().map((held) => held.claim.step);
    if (left.length > 0) {
      this.#log.error(`stopped with ${String(left.length)} results unanswered (${left.join(", ")}); the server will hand their steps out again`);
    }
    this.#current?.finish();
    await pauseUntil(limits.GOODBYE_TIMEOUT, over);
  }
}

/** EXPIRED, TIMED_OUT, CANCELLED, SUPERSEDED, CLOSED or UNKNOWN. */
function causeName(cause: ClaimLossCause): string {
  const name = ClaimLossCause[cause] as string | undefined;
  return name === undefined || name === "UNSPECIFIED" ? "UNKNOWN" : name;
}
