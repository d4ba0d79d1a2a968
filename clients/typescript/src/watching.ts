import { create } from "@bufbuild/protobuf";

import type { Calls } from "./calls.js";
import { type Event, eventOf } from "./events.js";
import { type Followed, follow } from "./following.js";
import type { Gap } from "./gen/perdure/v1/watch_pb.js";
import {
  type WatchRequest,
  WatchRequestSchema,
  type WatchResponse,
  WatchResponseSchema,
  type WatchWorkflowsRequest,
  WatchWorkflowsRequestSchema,
  type WatchWorkflowsResponse,
  WatchWorkflowsResponseSchema,
  type WorkflowsEvent,
  WorkflowService,
} from "./gen/perdure/v1/workflow_service_pb.js";
import type { WorkflowRef as WorkflowRefMessage } from "./gen/perdure/v1/workflow_pb.js";
import { unseal } from "./sealing.js";
import { Workflow } from "./view.js";

/** A workflow that matches is new or changed; replaces what was known of it. */
export interface WorkflowChangedEvent {
  readonly kind: "changed";
  readonly resumeToken: string;
  readonly workflow: Workflow;
}

/** A workflow does not match any more, or is deleted. */
export interface WorkflowRemovedEvent {
  readonly kind: "removed";
  readonly resumeToken: string;
  readonly workflow: WorkflowRefMessage;
}

/** All that there was at the beginning has been told. */
export interface ExistingSentEvent {
  readonly kind: "existing_sent";
  readonly resumeToken: string;
  /** How many workflows that were. */
  readonly count: number;
}

/** Something was missed: forget all, what there is is told again. */
export interface StartOverEvent {
  readonly kind: "start_over";
  readonly resumeToken: string;
  readonly gap: Gap;
}

/** One thing that a watcher of many workflows is told; branch on `kind`. */
export type ManyEvent = WorkflowChangedEvent | WorkflowRemovedEvent | ExistingSentEvent | StartOverEvent;

/**
 * Watches one workflow, without repeats.
 * @internal
 */
export function watch(calls: Calls, request: WatchRequest, idle: boolean, signal: AbortSignal | undefined): AsyncGenerator<Event, void, undefined> {
  return follow(calls, new Watched(calls, request, idle), request.resumeToken, signal);
}

/**
 * Watches many workflows.
 * @internal
 */
export function watchMany(
  calls: Calls,
  request: WatchWorkflowsRequest,
  signal: AbortSignal | undefined,
): AsyncGenerator<ManyEvent, void, undefined> {
  const followed: Followed<WatchWorkflowsResponse, ManyEvent> = {
    open: (resumeToken) => calls.stream(WorkflowService.method.watchWorkflows, create(WatchWorkflowsRequestSchema, { ...request, resumeToken })),
    eventsOf: (answer) => {
      unseal(WatchWorkflowsResponseSchema, answer, calls.config.codec);
      return answer.events.map((event) => [manyEventOf(event), event.resumeToken] as const);
    },
    isNew: () => true,
    isLast: () => false,
  };
  return follow(calls, followed, request.resumeToken, signal);
}

/** What was told already, so that a resumed watch repeats nothing. */
class Watched implements Followed<WatchResponse, Event> {
  readonly idle: ((resumeToken: string) => Event) | undefined;
  readonly #calls: Calls;
  readonly #request: WatchRequest;
  #changes = new Map<number, number>();
  readonly #frames = new Map<string, number>();

  constructor(calls: Calls, request: WatchRequest, idle: boolean) {
    this.#calls = calls;
    this.#request = request;
    this.idle = idle ? (resumeToken) => ({ kind: "idle", resumeToken }) : undefined;
  }

  open(resumeToken: string): ReturnType<Followed<WatchResponse, Event>["open"]> {
    return this.#calls.stream(WorkflowService.method.watch, create(WatchRequestSchema, { ...this.#request, resumeToken }));
  }

  eventsOf(answer: WatchResponse): readonly (readonly [Event | undefined, string])[] {
    unseal(WatchResponseSchema, answer, this.#calls.config.codec);
    return answer.events.map((message) => [eventOf(message), message.resumeToken] as const);
  }

  isNew(event: Event): boolean {
    switch (event.kind) {
      case "snapshot":
        this.#changes = new Map([[event.workflow.round, Number(event.workflow.message.lastChangeSeq)]]);
        return true;
      case "change":
        return rises(this.#changes, event.round, event.seq);
      case "frame":
        return rises(this.#frames, `${event.step}/${String(event.claimNo)}`, event.seq);
      case "end":
        this.#frames.clear(); // the next round numbers its claims from 1 again
        return true;
      default:
        return true;
    }
  }

  isLast(event: Event): boolean {
    return event.kind === "end" && !this.#request.follow;
  }
}

function rises<K>(known: Map<K, number>, key: K, seq: number): boolean {
  if (seq <= (known.get(key) ?? 0)) return false;
  known.set(key, seq);
  return true;
}

function manyEventOf({ event, resumeToken }: WorkflowsEvent): ManyEvent | undefined {
  switch (event.case) {
    case "changed":
      return { kind: "changed", resumeToken, workflow: new Workflow(event.value) };
    case "removed":
      return { kind: "removed", resumeToken, workflow: event.value };
    case "existingSent":
      return { kind: "existing_sent", resumeToken, count: Number(event.value.count) };
    case "gap":
      return { kind: "start_over", resumeToken, gap: event.value };
    default:
      return undefined;
  }
}
