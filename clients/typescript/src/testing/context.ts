import { create } from "@bufbuild/protobuf";

import { ActivityCancelled, type ActivityLink, type CancelReason, Context } from "../context.js";
import { ClaimSchema } from "../gen/perdure/v1/claim_pb.js";
import { type Wake, WakeSchema } from "../gen/perdure/v1/wait_pb.js";
import { decode, encode } from "../payloads.js";

/** What a {@link FakeContext} says of its claim. */
export interface FakeContextOptions {
  /** The stored checkpoint. Absent: none. */
  readonly checkpoint?: unknown;
  /** What ended the step's last wait; see {@link wake}. */
  readonly wakes?: readonly Wake[] | undefined;
  /** Absent: `key-1`. */
  readonly businessKey?: string | undefined;
  /** Absent: `step`. */
  readonly step?: string | undefined;
  /** Absent: 1. */
  readonly attempt?: number | undefined;
  /** Absent: 1. */
  readonly fence?: bigint | undefined;
  /** Absent: `idempotency-key-1`. */
  readonly idempotencyKey?: string | undefined;
  /** Absent: `wake-token-1`. */
  readonly wakeToken?: string | undefined;
  /** The workflow's labels. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Of a paging step: where the page begins. */
  readonly cursor?: unknown;
}

/** What an activity did with its {@link FakeContext}. */
export interface Recorded {
  /** What was saved, oldest first; undefined for a cleared one. */
  readonly checkpoints: unknown[];
  /** Texts, progress and log lines that were sent, oldest first. */
  readonly frames: unknown[];
  /** How often `ctx.alive()` was called. */
  signsOfLife: number;
}

/**
 * A context for one activity by itself: no server, no worker, just the function.
 *
 * `const ctx = fakeContext({ checkpoint: "task-7" }); await transcribe.activity(ctx, { input }); ctx.recorded.checkpoints`
 */
export class FakeContext<Checkpoint = unknown> extends Context<Checkpoint> {
  /** What the activity did. */
  readonly recorded: Recorded;
  readonly #link: RecordingLink;

  /** @internal */
  constructor(options: FakeContextOptions) {
    const link = new RecordingLink();
    super(claimOf(options), link);
    this.#link = link;
    this.recorded = link.recorded;
  }

  /**
   * Asks the activity to stop, by its signal.
   *
   * @param reason - Why.
   */
  cancel(reason: CancelReason = "WORKFLOW_CANCELLED"): void {
    this.#link.controller.abort(new ActivityCancelled(reason));
  }

  /**
   * The next `ctx.save` rejects with this, such as ClaimLost.
   *
   * @param error - The error.
   */
  failNextSave(error: Error): void {
    this.#link.saveError = error;
  }
}

/**
 * A context for one activity by itself.
 *
 * @param options - What it says of its claim.
 */
export function fakeContext<Checkpoint = unknown>(options: FakeContextOptions = {}): FakeContext<Checkpoint> {
  return new FakeContext<Checkpoint>(options);
}

/**
 * What ended the step's last wait, for `fakeContext({ wakes: [...] })`.
 *
 * @param condition - Name of the condition that won.
 * @param signal - The signal that was consumed, and what it carried. Absent: a time won.
 */
export function wake(condition: string, signal?: { readonly payload?: unknown; readonly name?: string | undefined; readonly id?: string | undefined }): Wake {
  const payload = encode(signal?.payload);
  return create(WakeSchema, {
    condition,
    ...(signal === undefined ? {} : { signalName: signal.name ?? condition, signalId: signal.id ?? "signal-1" }),
    ...(payload === undefined ? {} : { payload }),
  });
}

/** Goes nowhere. */
class RecordingLink implements ActivityLink {
  readonly controller = new AbortController();
  readonly recorded: Recorded = { checkpoints: [], frames: [], signsOfLife: 0 };
  saveError: Error | undefined;

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  save(payload: Parameters<ActivityLink["save"]>[0]): Promise<void> {
    const error = this.saveError;
    this.saveError = undefined;
    if (error !== undefined) return Promise.reject(error);
    this.recorded.checkpoints.push(decode(payload));
    return Promise.resolve();
  }

  frame(_kind: unknown, payload: Parameters<ActivityLink["frame"]>[1]): void {
    this.recorded.frames.push(decode(payload));
  }

  alive(): void {
    this.recorded.signsOfLife += 1;
  }
}

function claimOf(options: FakeContextOptions) {
  const checkpoint = encode(options.checkpoint);
  const cursor = encode(options.cursor);
  return create(ClaimSchema, {
    claimToken: "claim-token-1",
    workflow: { namespace: "default", workflowType: "test", businessKey: options.businessKey ?? "key-1", round: 1n },
    step: options.step ?? "step",
    attempt: options.attempt ?? 1,
    claimNo: 1n,
    fence: options.fence ?? 1n,
    idempotencyKey: options.idempotencyKey ?? "idempotency-key-1",
    wakeToken: options.wakeToken ?? "wake-token-1",
    wakes: [...(options.wakes ?? [])],
    labels: { ...options.labels },
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(cursor === undefined ? {} : { cursor }),
  });
}
