/** What is to be said to the server, gathered between two writes, so that one message carries many results. */

import { create } from "@bufbuild/protobuf";

import { durationOf } from "../durations.js";
import type { PerdureError } from "../errors.js";
import {
  type ClaimRequest,
  ClaimRequestSchema,
  HeartbeatsSchema,
  RenewSchema,
  type Result,
  ResultsSchema,
  type StreamHeartbeat,
  StreamHeartbeatSchema,
} from "../gen/perdure/v1/worker_service_pb.js";
import * as limits from "../limits.js";
import { sizeOf } from "../payloads.js";
import { claimLost } from "../statuses.js";
import type { ClaimTable, Held, Pool, Reply } from "./claims.js";
import { sizeOfResult } from "./results.js";

/** A heartbeat without its answer. */
export interface Sent {
  readonly held: Held;
  readonly heartbeat: StreamHeartbeat;
  readonly reply: Reply | undefined;
}

/** Everything unsaid and unanswered. Survives the stream: a new one says again what was not answered. */
export class Outgoing {
  readonly sentResults = new Map<bigint, Held>();
  readonly sentHeartbeats = new Map<bigint, Sent>();
  renewWanted = false;
  /** The grace of a drain that is still to be said, in milliseconds. */
  drainWanted: number | undefined;
  drained = false;
  readonly #claims: ClaimTable;
  readonly #pools: readonly Pool[];
  readonly #results = new Map<string, Held>();
  readonly #active = new Map<string, Held>();
  #again: Sent[] = [];
  /** Heartbeats that could not be stored, and are sent again after a pause. */
  readonly #resting = new Set<Sent>();
  #lastId = 0n;

  constructor(claims: ClaimTable, pools: Iterable<Pool>) {
    this.#claims = claims;
    this.#pools = [...pools];
  }

  /** A result waits to be sent. */
  result(held: Held): void {
    this.#results.set(held.token, held);
  }

  /** Frames or checkpoints of a claim wait to be sent. */
  activity(held: Held): void {
    this.#active.set(held.token, held);
  }

  /** The claim is lost: nothing more is said of it, and what waits for answers learns why. */
  forget(held: Held, error: PerdureError): void {
    this.#results.delete(held.token);
    this.#active.delete(held.token);
    const replies = held.saves.splice(0).map((save) => save.reply);
    held.frames.length = 0;
    const unanswered = [...this.sentHeartbeats].filter(([, sent]) => sent.held === held);
    for (const [id] of unanswered) this.sentHeartbeats.delete(id);
    const repeated = [...this.#again, ...this.#resting].filter((sent) => sent.held === held);
    this.#again = this.#again.filter((sent) => sent.held !== held);
    for (const sent of repeated) this.#resting.delete(sent);
    for (const { reply } of [...unanswered.map(([, sent]) => sent), ...repeated]) if (reply !== undefined) replies.push(reply);
    for (const reply of replies) reply(error);
  }

  /** A new stream: what the old one did not answer is said again, in its order; credit starts from nothing. */
  beginStream(): void {
    this.#again.unshift(...this.sentHeartbeats.values());
    this.sentHeartbeats.clear();
    for (const held of this.sentResults.values()) this.result(held);
    this.sentResults.clear();
    for (const pool of this.#pools) pool.offered = 0;
    for (const held of this.#claims.all()) held.namedIn = 0n;
    this.renewWanted = true;
    if (this.drained) {
      this.drained = false;
      this.drainWanted ??= 0;
    }
  }

  /** Nobody waits any longer for an answer that cannot come, of a claim that is settled neither. */
  end(error: PerdureError): void {
    const unanswered = [...this.sentHeartbeats.values(), ...this.#again, ...this.#resting].map((sent) => sent.held);
    for (const held of new Set([...this.#active.values(), ...unanswered])) this.forget(held, error);
  }

  /** The server could not store a heartbeat yet. */
  rest(sent: Sent): void {
    this.#resting.add(sent);
  }

  /** A heartbeat that rested is sent once more, unless its claim was lost meanwhile. */
  again(sent: Sent): void {
    if (!this.#resting.delete(sent)) return;
    if (this.#claims.has(sent.held.token) && !sent.held.isLost) this.#again.push(sent);
    else sent.reply?.(claimLost("UNKNOWN"));
  }

  /** All that there is to say now. A renewal first: it is what the lease hangs on. */
  *messages(connectionNo: bigint, renewId: bigint): Generator<ClaimRequest, void, undefined> {
    if (this.renewWanted) {
      this.renewWanted = false;
      yield this.#renew(renewId);
    }
    if (this.drainWanted !== undefined) {
      const grace = durationOf(this.drainWanted);
      this.drainWanted = undefined;
      this.drained = true;
      yield create(ClaimRequestSchema, { message: { case: "drain", value: { grace } } });
    }
    // Frames and checkpoints before results: a settled claim takes no more of them.
    yield* this.#heartbeats();
    yield* this.#settle(connectionNo);
    // A slot whose result came in meanwhile is offered with that result, in the next round.
    if (!this.drained && this.#results.size === 0) yield* this.#credit();
  }

  #renew(renewId: bigint): ClaimRequest {
    const renew = create(RenewSchema, { renewId });
    const now = performance.now();
    // What has sent its result is known by that; its answer may be on the way, and the server may have forgotten it.
    const sent = new Set([...this.sentResults.values()].map((held) => held.token));
    for (const held of this.#claims.current()) {
      if (sent.has(held.token)) continue;
      held.acknowledged = true;
      if (held.namedIn === 0n) held.namedIn = renewId;
      const sinceAlive = held.claim.silenceTimeout === undefined ? undefined : durationOf(now - held.aliveAt);
      renew.held.push({ $typeName: "perdure.v1.HeldClaim", claimToken: held.token, ...(sinceAlive === undefined ? {} : { sinceAlive }) });
    }
    return create(ClaimRequestSchema, { message: { case: "renew", value: renew } });
  }

  *#heartbeats(): Generator<ClaimRequest, void, undefined> {
    let gathered: StreamHeartbeat[] = [];
    let size = 0;
    for (let sent = this.#nextHeartbeat(); sent !== undefined; sent = this.#nextHeartbeat()) {
      this.#lastId += 1n;
      sent.heartbeat.heartbeatId = this.#lastId;
      this.sentHeartbeats.set(this.#lastId, sent);
      sent.held.acknowledged = true;
      gathered.push(sent.heartbeat);
      size += sizeOfHeartbeat(sent.heartbeat);
      if (size > limits.STREAM_MESSAGE_BYTES) {
        yield heartbeatsMessage(gathered);
        gathered = [];
        size = 0;
      }
    }
    if (gathered.length > 0) yield heartbeatsMessage(gathered);
  }

  #nextHeartbeat(): Sent | undefined {
    const repeated = this.#again.shift();
    if (repeated !== undefined) return repeated;
    for (const held of this.#active.values()) {
      const sent = heartbeatOf(held);
      if (sent !== undefined) return sent;
      this.#active.delete(held.token);
    }
    return undefined;
  }

  *#settle(connectionNo: bigint): Generator<ClaimRequest, void, undefined> {
    let gathered: Result[] = [];
    let size = 0;
    // One by one: should a write fail in between, what was not taken yet waits for the next stream.
    for (const held of this.#results.values()) {
      this.#results.delete(held.token);
      if (held.result === undefined) continue;
      this.#stamp(held, held.result, connectionNo);
      gathered.push(held.result);
      size += sizeOfResult(held.result);
      if (size > limits.STREAM_MESSAGE_BYTES) {
        yield resultsMessage(gathered);
        gathered = [];
        size = 0;
      }
    }
    if (gathered.length > 0) yield resultsMessage(gathered);
  }

  #stamp(held: Held, result: Result, connectionNo: bigint): void {
    this.#lastId += 1n;
    result.resultId = this.#lastId;
    // Only a claim of this very stream is known to the pool whose credit its slot becomes.
    result.wantNext = !this.drained && held.connectionNo === connectionNo && held.pool.missingCredit > 0;
    if (result.wantNext) held.pool.offered += 1;
    held.connectionNo = -1n; // said again, it offers nothing: its slot is credit already
    held.acknowledged = true;
    this.sentResults.set(this.#lastId, held);
  }

  *#credit(): Generator<ClaimRequest, void, undefined> {
    for (const pool of this.#pools) {
      const count = pool.missingCredit;
      if (count === 0) continue;
      pool.offered += count;
      yield create(ClaimRequestSchema, { message: { case: "credit", value: { pool: pool.plan.name, count } } });
    }
  }
}

/** The next frames, else the next checkpoint of one claim: at most 100 frames, about 128 KiB. */
function heartbeatOf(held: Held): Sent | undefined {
  if (held.frames.length > 0) {
    const heartbeat = create(StreamHeartbeatSchema, { claimToken: held.token });
    let size = 0;
    while (heartbeat.frames.length < limits.FRAMES_PER_HEARTBEAT && size < limits.STREAM_RESULT_BYTES / 2) {
      const frame = held.frames.shift();
      if (frame === undefined) break;
      size += sizeOf(frame.payload);
      heartbeat.frames.push(frame);
    }
    return { held, heartbeat, reply: undefined };
  }
  const save = held.saves.shift();
  if (save === undefined) return undefined;
  const { checkpoint, checkpointNo, reply } = save;
  return { held, heartbeat: create(StreamHeartbeatSchema, { claimToken: held.token, checkpoint, checkpointNo }), reply };
}

function sizeOfHeartbeat(heartbeat: StreamHeartbeat): number {
  return heartbeat.frames.reduce((sum, frame) => sum + sizeOf(frame.payload), sizeOf(heartbeat.checkpoint));
}

function heartbeatsMessage(heartbeats: StreamHeartbeat[]): ClaimRequest {
  return create(ClaimRequestSchema, { message: { case: "heartbeats", value: create(HeartbeatsSchema, { heartbeats }) } });
}

function resultsMessage(results: Result[]): ClaimRequest {
  return create(ClaimRequestSchema, { message: { case: "results", value: create(ResultsSchema, { results }) } });
}
