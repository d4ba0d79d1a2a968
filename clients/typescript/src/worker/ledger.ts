/** What becomes of each claim: the rules between what the server says and what the activities do. No input or output of its own. */

import { create } from "@bufbuild/protobuf";

import type { Codec } from "../codec.js";
import { ClaimLost, NotAllowed, Overloaded, type PerdureError, ServerFault, Unavailable } from "../errors.js";
import { type Claim, FrameUploadSchema, type PoolStatus } from "../gen/perdure/v1/claim_pb.js";
import type { Payload } from "../gen/perdure/v1/payload_pb.js";
import type { Frame_Kind } from "../gen/perdure/v1/watch_pb.js";
import type { HeartbeatAnswer, Result, Settled } from "../gen/perdure/v1/worker_service_pb.js";
import * as limits from "../limits.js";
import { about, type Logger } from "../logger.js";
import { sizeOf } from "../payloads.js";
import { ErrorReason } from "../reasons.js";
import { claimLost, errorOfStatus } from "../statuses.js";
import { ClaimTable, Held, Pool, type Reply, type Save } from "./claims.js";
import { Outgoing } from "./outgoing.js";
import type { PoolPlan } from "./plan.js";
import * as results from "./results.js";

/** Who runs activities. */
export interface Runner {
  /** Runs the claim's activity. */
  begin(held: Held): void;
  /** Asks an activity to stop; its result counts. */
  cancel(token: string, reason: string): void;
  /** Stops an activity whose result does not count any more. */
  lose(token: string, cause: string): void;
}

/** What the session does for the ledger. */
export interface Services {
  /** There is something to say to the server. */
  wake(): void;
  /** Runs `call` later. */
  later(ms: number, call: () => void): void;
  /** Settles a claim by a unary call. */
  sendLargeResult(held: Held): void;
  /** Stores a checkpoint by a unary call. */
  sendLargeCheckpoint(held: Held, save: Save): void;
}

/** The claims, the pools, and what is to be said of them. */
export class Ledger {
  readonly claims = new ClaimTable();
  readonly pools: ReadonlyMap<string, Pool>;
  readonly outgoing: Outgoing;
  draining = false;
  /** The session says when the lease goes on. */
  isLeaseOver = false;
  #acknowledging = false;
  readonly #services: Services;
  readonly #runner: Runner;
  readonly #codec: Codec | undefined;
  readonly #log: Logger;

  constructor(plans: readonly PoolPlan[], services: Services, runner: Runner, codec: Codec | undefined, log: Logger) {
    this.pools = new Map(plans.map((plan) => [plan.name, new Pool(plan)]));
    this.outgoing = new Outgoing(this.claims, this.pools.values());
    this.#services = services;
    this.#runner = runner;
    this.#codec = codec;
    this.#log = log;
  }

  // ---- from the server

  /** Claims that the current stream granted. */
  take(claims: readonly Claim[], connectionNo: bigint): void {
    let unacknowledged = false;
    for (const claim of claims) {
      const pool = this.pools.get(claim.pool);
      if (pool === undefined) {
        this.#log.error(`no pool is called ${claim.pool}: a claim of ${claim.step} is not taken`, about(claim));
        continue;
      }
      if (this.claims.has(claim.claimToken)) continue;
      pool.offered = Math.max(0, pool.offered - 1);
      const held = new Held(claim, pool, connectionNo);
      this.claims.add(held);
      unacknowledged = true;
      if (this.#isWanted(held)) this.#place(held);
      else this.#settleUnbegun(held, results.released());
    }
    if (unacknowledged) this.#acknowledgeLater();
    this.#services.wake();
  }

  /** An activity should stop. */
  cancel(token: string, reason: string): void {
    const held = this.claims.get(token);
    if (held?.cancelReason !== "" || held.phase === "settling") return;
    held.cancelReason = reason === "" ? "WORKFLOW_CANCELLED" : reason;
    if (held.phase === "running") this.#runner.cancel(token, held.cancelReason);
    else this.#settleUnbegun(held, results.cancelled());
  }

  /** A claim is not this worker's any more. What has been sent of it is still answered, and has offered its slot. */
  lose(token: string, cause: string): void {
    const held = this.claims.get(token);
    if (held === undefined) return;
    if (held.phase !== "settling" && !held.isLost) this.#drop(held, cause);
  }

  /** The session is dead: all that still runs is lost; results that are on the way may still count. */
  loseAll(cause: string): void {
    for (const held of this.claims.all()) this.lose(held.token, cause);
  }

  /** The own lease has ended: activities that hold permits stop; the others go on until they are told otherwise. */
  leaseIsOver(): void {
    this.isLeaseOver = true;
    for (const held of this.claims.all()) {
      if (!held.claim.stopAtLeaseEnd || held.phase === "settling") continue;
      this.#log.warn(`the lease ended without a renewal: ${held.toString()} stops`, about(held.claim));
      this.lose(held.token, "EXPIRED");
    }
  }

  /** A renewal is stored: what waited for it begins. */
  renewed(renewId: bigint): void {
    for (const held of this.claims.all()) {
      if (!held.mustBeRenewed || held.namedIn === 0n || held.namedIn > renewId) continue;
      held.mustBeRenewed = false;
      if (held.phase === "held_back" && held.hasSlot && !held.isLost) this.#begin(held);
    }
  }

  /** The answer to a result on the stream. */
  settled(answer: Settled, connectionNo: bigint): void {
    const held = this.outgoing.sentResults.get(answer.resultId);
    this.outgoing.sentResults.delete(answer.resultId);
    if (held !== undefined) {
      this.conclude(held, errorOfStatus(answer.status));
    }
    if (answer.nextClaims.length > 0) this.take(answer.nextClaims, connectionNo);
    else this.#services.wake();
  }

  /** A result is answered: done, to be said again, or never to be taken. */
  conclude(held: Held, error: PerdureError | undefined): void {
    if (!this.claims.has(held.token)) return;
    if (error === undefined) {
      this.claims.remove(held);
    } else if (error instanceof ClaimLost) {
      this.#log.info(`the result of ${held.toString()} came too late: ${error.lossCause}`, about(held.claim));
      this.#drop(held, error.lossCause);
    } else if (isTransient(error) && held.refusals < limits.REFUSALS_MAX) {
      if (error instanceof ServerFault) held.refusals += 1;
      this.#services.later(error.retryAfterMs ?? limits.RETRY_MAX_INTERVAL / 4, () => {
        this.#sendResult(held);
      });
    } else if (held.refusals > 0 || (error instanceof NotAllowed && error.reason === ErrorReason.CLAIM_ALREADY_SETTLED)) {
      this.#log.error(`the result of ${held.toString()} is not taken, and is dropped: ${error.message}`, about(held.claim));
      this.#drop(held, "UNKNOWN");
    } else {
      this.#log.error(`the result of ${held.toString()} is not taken; the attempt fails instead: ${error.message}`, about(held.claim));
      held.refusals = 1;
      held.result = results.addressed(results.refused(error), held, this.#codec);
      this.#sendResult(held);
    }
    this.#services.wake();
  }

  /** A checkpoint is stored, or not. */
  heartbeatAnswered(answer: HeartbeatAnswer): void {
    const sent = this.outgoing.sentHeartbeats.get(answer.heartbeatId);
    this.outgoing.sentHeartbeats.delete(answer.heartbeatId);
    const error = errorOfStatus(answer.status);
    if (sent !== undefined) {
      if (error instanceof Unavailable || error instanceof Overloaded) {
        this.outgoing.rest(sent);
        this.#services.later(error.retryAfterMs ?? limits.RETRY_MAX_INTERVAL / 4, () => {
          this.outgoing.again(sent);
          this.#services.wake();
        });
        return;
      }
      sent.held.framesOpen -= sent.heartbeat.frames.length;
      sent.reply?.(error);
    }
    const token = sent === undefined ? answer.claimToken : sent.held.token;
    if (error instanceof ClaimLost) this.lose(token, error.lossCause);
    else if (error !== undefined) this.#log.warn(`a checkpoint or frame was not taken: ${error.message}`);
    if (answer.cancelRequested) this.cancel(token, "");
  }

  /** What the server makes of the pools: the contracts and fingerprints that claims must have. */
  accept(statuses: readonly PoolStatus[]): void {
    for (const status of statuses) {
      const pool = this.pools.get(status.pool);
      if (pool === undefined) continue;
      pool.contracts = new Map(status.steps.map((step) => [step.step, step.stepContract]));
      pool.fingerprints = new Set([...status.acceptedFingerprints, ...status.steps.flatMap((step) => step.acceptedFingerprints)]);
      for (const { step, status: problem } of [{ step: "", status: status.status }, ...status.steps]) {
        const error = errorOfStatus(problem);
        if (error === undefined) continue;
        const what = step === "" ? "it" : `step ${step}`;
        this.#log.warn(`pool ${status.pool}: ${what} is not served for now: ${error.message}`, { pool: status.pool, step, reason: error.reason });
      }
    }
  }

  // ---- from the activities

  /** An activity has ended. Undefined: nothing is to be reported. */
  finished(held: Held, result: Result | undefined): void {
    if (held.phase === "settling") return;
    held.phase = "settling";
    this.#freeSlot(held);
    if (held.isLost || result === undefined) {
      this.claims.remove(held);
      this.#services.wake();
      return;
    }
    held.result = results.addressed(result, held, this.#codec);
    this.#sendResult(held);
  }

  /** An activity stores a checkpoint. */
  save(held: Held, checkpoint: Payload, reply: Reply): void {
    if (held.isLost || held.phase === "settling") {
      reply(claimLost("UNKNOWN"));
      return;
    }
    held.aliveAt = performance.now();
    held.checkpointNo += 1n;
    const save: Save = { checkpoint, checkpointNo: held.checkpointNo, reply };
    if (sizeOf(checkpoint) > limits.STREAM_RESULT_BYTES) {
      this.#services.sendLargeCheckpoint(held, save);
      return;
    }
    held.saves.push(save);
    this.outgoing.activity(held);
    this.#services.wake();
  }

  /** An activity sends progress. */
  frame(held: Held, kind: Frame_Kind, payload: Payload): void {
    held.aliveAt = performance.now();
    // Not numbered either, so that watchers see no hole.
    if (held.isLost || held.phase === "settling" || held.framesOpen >= limits.FRAME_BACKLOG) return;
    held.framesOpen += 1;
    held.lastFrameSeq += 1n;
    held.frames.push(create(FrameUploadSchema, { seq: held.lastFrameSeq, kind, payload }));
    this.outgoing.activity(held);
    this.#services.wake();
  }

  // ---- from the worker

  /** No more claims; those that have not begun are given back. */
  drain(graceMs: number): void {
    this.draining = true;
    this.outgoing.drainWanted = graceMs;
    for (const held of this.claims.all()) {
      if (held.phase === "held_back" && !held.isLost) this.#settleUnbegun(held, results.released());
    }
    this.#services.wake();
  }

  /** The session ends: nobody waits any longer for an answer that cannot come. */
  failSaves(error: PerdureError): void {
    this.outgoing.end(error);
  }

  // ---- inner rules

  #acknowledgeLater(): void {
    if (this.#acknowledging) return;
    this.#acknowledging = true;
    this.#services.later(limits.ACKNOWLEDGE_DELAY, () => {
      this.#acknowledge();
    });
  }

  /** Claims that still run and were not named yet are acknowledged by a renewal, however many, once. */
  #acknowledge(): void {
    this.#acknowledging = false;
    const oldest = Math.min(...this.claims.current().map((held) => (held.acknowledged ? Number.POSITIVE_INFINITY : held.receivedAt)));
    // The younger ones are named too, but do not ask for it: most of them will have a result before their time comes.
    if (performance.now() - oldest >= limits.ACKNOWLEDGE_DELAY / 2) {
      this.outgoing.renewWanted = true;
      this.#services.wake();
    } else if (Number.isFinite(oldest)) {
      this.#acknowledgeLater();
    }
  }

  #isWanted(held: Held): boolean {
    const { claim, pool } = held;
    if (this.draining) return false;
    const contract = pool.contracts.get(claim.step);
    if (contract === undefined || (contract !== "" && contract !== claim.stepContract)) {
      const built = contract ?? "none of it";
      this.#log.error(`a claim of ${held.toString()} has contract ${claim.stepContract}, but this worker was built for ${built}`, about(claim));
      return false;
    }
    if (contract === "" && !pool.fingerprints.has(claim.definitionFingerprint)) {
      this.#log.error(`a claim of ${held.toString()} is of definition ${claim.definitionFingerprint}, which was not accepted`, about(claim));
      return false;
    }
    return true;
  }

  #place(held: Held): void {
    if (held.claim.cancelRequested) {
      held.cancelReason = "WORKFLOW_CANCELLED";
      this.#settleUnbegun(held, results.cancelled());
      return;
    }
    if (!held.pool.hasRoom) {
      held.pool.waiting.push(held);
      return;
    }
    held.hasSlot = true;
    held.pool.running += 1;
    if (held.mustBeRenewed) this.outgoing.renewWanted = true;
    else this.#begin(held);
  }

  #begin(held: Held): void {
    if (held.claim.stopAtLeaseEnd && this.isLeaseOver) {
      this.lose(held.token, "EXPIRED");
      return;
    }
    held.phase = "running";
    held.aliveAt = performance.now();
    this.#runner.begin(held);
  }

  #settleUnbegun(held: Held, result: Result): void {
    held.phase = "settling";
    this.#freeSlot(held);
    held.result = results.addressed(result, held, this.#codec);
    this.#sendResult(held);
  }

  #sendResult(held: Held): void {
    if (!this.claims.has(held.token) || held.result === undefined) return;
    if (results.sizeOfResult(held.result) > limits.STREAM_RESULT_BYTES) this.#services.sendLargeResult(held);
    else this.outgoing.result(held);
    this.#services.wake();
  }

  #drop(held: Held, cause: string): void {
    held.isLost = true;
    this.outgoing.forget(held, claimLost(cause));
    if (held.phase === "running") {
      this.#runner.lose(held.token, cause);
      return; // its slot is free when the activity has ended
    }
    this.#freeSlot(held);
    this.claims.remove(held);
    this.#services.wake();
  }

  #freeSlot(held: Held): void {
    const { pool } = held;
    const at = pool.waiting.indexOf(held);
    if (at >= 0) pool.waiting.splice(at, 1);
    if (!held.hasSlot) return;
    held.hasSlot = false;
    pool.running -= 1;
    const next = pool.hasRoom ? pool.waiting.shift() : undefined;
    if (next !== undefined) this.#place(next);
  }
}

function isTransient(error: PerdureError): boolean {
  return !results.isTooLarge(error) && (error instanceof Unavailable || error instanceof Overloaded || error instanceof ServerFault);
}
