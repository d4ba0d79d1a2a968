/** The claims that this worker holds, by token, and the slots of its pools. */

import type { PerdureError } from "../errors.js";
import type { Claim, FrameUpload } from "../gen/perdure/v1/claim_pb.js";
import type { Payload } from "../gen/perdure/v1/payload_pb.js";
import type { Result } from "../gen/perdure/v1/worker_service_pb.js";
import type { PoolPlan } from "./plan.js";

/** Told once a checkpoint is stored, or why it is not. */
export type Reply = (error: PerdureError | undefined) => void;

/** How far a held claim is: received but not begun, its activity runs, its result is on the way. */
export type Phase = "held_back" | "running" | "settling";

/** One checkpoint on its way. */
export interface Save {
  readonly checkpoint: Payload;
  readonly checkpointNo: bigint;
  readonly reply: Reply;
}

/** One claim that this worker holds. Keyed by token: a step that was lost and granted again is another claim. */
export class Held {
  readonly claim: Claim;
  readonly pool: Pool;
  /** Of the stream that brought it; -1 once its slot is credit already. */
  connectionNo: bigint;
  phase: Phase = "held_back";
  acknowledged = false;
  /** Whether the activity begins only after a renewal that names it was answered. */
  mustBeRenewed: boolean;
  /** The first renewal of this stream that named it; 0: none. */
  namedIn = 0n;
  hasSlot = false;
  readonly receivedAt = performance.now();
  aliveAt = this.receivedAt;
  cancelReason = "";
  isLost = false;
  result: Result | undefined;
  refusals = 0;
  checkpointNo: bigint;
  readonly saves: Save[] = [];
  readonly frames: FrameUpload[] = [];
  /** Frames without an answer. */
  framesOpen = 0;
  lastFrameSeq = 0n;

  constructor(claim: Claim, pool: Pool, connectionNo: bigint) {
    this.claim = claim;
    this.pool = pool;
    this.connectionNo = connectionNo;
    this.mustBeRenewed = claim.beginAfterRenewed;
    this.checkpointNo = claim.checkpointNo;
  }

  get token(): string {
    return this.claim.claimToken;
  }

  toString(): string {
    const { claim } = this;
    return `${claim.step} of ${claim.workflow?.workflowType ?? ""}/${claim.workflow?.businessKey ?? ""}, attempt ${String(claim.attempt)}`;
  }
}

/** Slots of one pool, and what the server was told of them. */
export class Pool {
  readonly plan: PoolPlan;
  /** Slots in use. */
  running = 0;
  /** Credit that the server has and has not spent; all of it ends with the stream. */
  offered = 0;
  /** Claims that came without a free slot, as can happen after errors. */
  readonly waiting: Held[] = [];
  /** Step to step contract, as the server accepted or computed it. */
  contracts: ReadonlyMap<string, string> = new Map();
  /** Definition fingerprints that the server said it grants to this pool. */
  fingerprints: ReadonlySet<string> = new Set();

  constructor(plan: PoolPlan) {
    this.plan = plan;
  }

  /** Whether another activity may begin. */
  get hasRoom(): boolean {
    return this.running < this.plan.slots;
  }

  /** How many slots are free and not offered. */
  get missingCredit(): number {
    return Math.max(0, this.plan.slots - this.running - this.waiting.length - this.offered);
  }
}

/** All held claims. */
export class ClaimTable {
  readonly #byToken = new Map<string, Held>();

  get size(): number {
    return this.#byToken.size;
  }

  has(token: string): boolean {
    return this.#byToken.has(token);
  }

  get(token: string): Held | undefined {
    return this.#byToken.get(token);
  }

  add(held: Held): void {
    this.#byToken.set(held.token, held);
  }

  remove(held: Held): void {
    this.#byToken.delete(held.token);
  }

  /** A copy, so that claims may go while they are walked. */
  all(): readonly Held[] {
    return [...this.#byToken.values()];
  }

  /** Claims that are still this worker's, as far as it knows. */
  current(): readonly Held[] {
    return this.all().filter((held) => !held.isLost);
  }
}
