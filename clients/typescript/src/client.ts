import { create, type DescService } from "@bufbuild/protobuf";

import { type CallOptions, Calls } from "./calls.js";
import { type ConnectionConfig, connectionConfig, type ConnectionOptions } from "./config.js";
import { type Definition, typeOf } from "./definition.js";
import { Definitions } from "./definitions.js";
import { type Duration, toMs } from "./durations.js";
import type { PerdureError } from "./errors.js";
import { type Filter, filterMessage } from "./filtering.js";
import { AdminService, type GetServerInfoResponse } from "./gen/perdure/v1/admin_service_pb.js";
import type { Queue, Worker as WorkerView } from "./gen/perdure/v1/resource_pb.js";
import {
  CountWorkflowsRequest_GroupBy,
  ListWorkflowsRequest_Order,
  type StartWorkflowResponse,
  WatchWorkflowsRequestSchema,
  WorkflowService,
} from "./gen/perdure/v1/workflow_service_pb.js";
import { WorkflowView } from "./gen/perdure/v1/workflow_pb.js";
import { knownId } from "./ids.js";
import * as limits from "./limits.js";
import { listed } from "./pages.js";
import { Resources } from "./resources.js";
import { Run, type Signalled, signalTo, workflowOf } from "./run.js";
import { errorOfStatus } from "./statuses.js";
import { startMessage, type StartOptions } from "./starting.js";
import { type Stub, type StubOptions, stubOf } from "./stub.js";
import { Workflow, workflowState } from "./view.js";
import { type ManyEvent, watchMany } from "./watching.js";
import type { Served, WorkerOptions } from "./worker/plan.js";
import { Worker } from "./worker/worker.js";

/** What a {@link Client} is told; what is absent comes from the environment (PERDURE_ADDRESS and the like), a profile, or a default. */
export interface ClientOptions extends ConnectionOptions {
  /** Deadline of every call with its retries. Absent: 30 s. */
  readonly timeout?: Duration | undefined;
  /** How long UNAVAILABLE is tried again before a server has ever answered: probably none runs at that address. Absent: 5 s. */
  readonly connectTimeout?: Duration | undefined;
}

/** How many workflows there are. */
export interface Count {
  /** The number. */
  readonly count: number;
  /** Whether it is an estimate. */
  readonly estimate: boolean;
  /** Parts of it, if asked for: by state, type or phase. */
  readonly groups: ReadonlyMap<string, number>;
}

/** One start of {@link Client.startMany}. */
export interface Start<Input = unknown> extends StartOptions<Input> {
  /** Its definition, or the name of its type. */
  readonly workflow: Definition<Input> | string;
}

/**
 * Talks to a Perdure server; without arguments to PERDURE_ADDRESS, else to `perdure dev` on this machine.
 *
 * Every call has a deadline; until then UNAVAILABLE, and nothing else, is tried again, so that a restart of the server is no error.
 * Close it at the end, or use `await using`.
 */
export class Client implements Disposable {
  /** The definitions of the namespace. */
  readonly definitions: Definitions;
  /** The resources of the namespace, whose permits steps hold. */
  readonly resources: Resources;
  readonly #config: ConnectionConfig;
  readonly #calls: Calls;

  /** @param options - Where the server is and who asks. Throws InvalidRequest if a file is missing or damaged. */
  constructor(options: ClientOptions = {}) {
    this.#config = connectionConfig(options);
    const timeout = options.timeout === undefined ? limits.CALL_TIMEOUT : toMs(options.timeout);
    const connectTimeout = options.connectTimeout === undefined ? limits.FIRST_CONTACT_TIMEOUT : toMs(options.connectTimeout);
    this.#calls = new Calls(this.#config, timeout, connectTimeout);
    this.definitions = new Definitions(this.#calls);
    this.resources = new Resources(this.#calls);
  }

  /** host:port of the server. */
  get address(): string {
    return this.#config.address;
  }

  /** Namespace of everything that names none. */
  get namespace(): string {
    return this.#config.namespace;
  }

  /** Closes the connection. Calls that run come to their end; later ones reject. */
  close(): void {
    this.#calls.close();
  }

  /** As `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * A worker for the steps of these definitions; `await worker.run()` works until SIGTERM. Throws a RangeError if `slots` or `steps`
   * names no step, and DefinitionRejected if a definition needs a look into values that the codec hides.
   *
   * @param served - Definitions with activities, and steps from {@link serve}.
   * @param options - Slots, name, lease and the like.
   */
  worker(served: Served | readonly Served[], options: WorkerOptions = {}): Worker {
    return new Worker(this.#calls, Array.isArray(served) ? (served as readonly Served[]) : [served as Served], options);
  }

  /**
   * Accepts a piece of work, once per key: a repeat gives the same workflow, `run.created` false. Resolves when it is stored.
   * Rejects with AlreadyExists (other input, or the policy says `reject`), NotFound (no active definition), InvalidRequest.
   *
   * @param workflow - Its definition, or the name of its type.
   * @param options - The key, the input, and policies.
   */
  async start<Input>(workflow: Definition<Input> | string, options: StartOptions<Input> & CallOptions): Promise<Run> {
    const request = startMessage(workflow, options, this.#config.namespace);
    return this.#started(workflow, options, await this.#calls.unary(WorkflowService.method.startWorkflow, request, options));
  }

  /**
   * Several starts in one call, each on its own: one that fails does not touch the others. Resolves to the Run of each start, in order,
   * or the error that `start` would have rejected with.
   *
   * @param starts - 1 to 500; two of one key are applied in order.
   * @param options - Of the call.
   */
  async startMany(starts: readonly Start[], options: CallOptions = {}): Promise<readonly (Run | PerdureError)[]> {
    const requests = starts.map((start) => startMessage(start.workflow, start, this.#config.namespace));
    const answer = await this.#calls.unary(WorkflowService.method.startWorkflows, { requests }, options);
    return answer.results.flatMap(({ status, response }, index): (Run | PerdureError)[] => {
      const start = starts[index];
      const error = errorOfStatus(status);
      if (error !== undefined) return [error];
      return start === undefined || response === undefined ? [] : [this.#started(start.workflow, start, response)];
    });
  }

  /**
   * A handle on a workflow by its name; asks nobody.
   *
   * @param workflow - Its definition, or the name of its type.
   * @param key - Its business key.
   * @param options - Which round, and the fence that is expected.
   */
  run(workflow: Definition | string, key: string, options: { readonly round?: number | undefined; readonly expectedFence?: bigint | undefined } = {}): Run {
    return new Run(this.#calls, { workflowType: typeOf(workflow), businessKey: key, namespace: this.#config.namespace, ...options });
  }

  /**
   * A workflow as it is now. Rejects with NotFound.
   *
   * @param workflow - Its definition, or the name of its type.
   * @param key - Its business key.
   * @param options - Of the call.
   */
  get(workflow: Definition | string, key: string, options: CallOptions = {}): Promise<Workflow> {
    return this.run(workflow, key).get(options);
  }

  /**
   * Signals by a claim's wake token, as a webhook does; by name use `client.run(...).signal`. Rejects with InvalidRequest (the token is
   * not readable), Conflict (it is of another round), NotFound (the workflow is gone).
   *
   * @param wakeToken - From `ctx.wakeToken`.
   * @param name - Which wait it is for.
   * @param payload - What it carries. Absent: nothing.
   * @param options - `signalId` makes it count once however often it is sent.
   */
  signal(wakeToken: string, name: string, payload?: unknown, options: CallOptions & { readonly signalId?: string | undefined } = {}): Promise<Signalled> {
    return signalTo(this.#calls, { case: "wakeToken", value: wakeToken }, name, payload, options);
  }

  /**
   * Workflows that match, newest first; pages are fetched as they are needed.
   *
   * @param filter - Which ones. Absent: all.
   * @param options - Order, and whether with their steps.
   */
  list(filter: Filter = {}, options: { readonly oldestFirst?: boolean | undefined; readonly withSteps?: boolean | undefined } = {}): AsyncGenerator<Workflow, void, undefined> {
    const { namespace } = this.#config;
    const request = {
      namespace,
      filter: filterMessage(filter, namespace),
      orderBy: options.oldestFirst === true ? ListWorkflowsRequest_Order.START_TIME_ASC : ListWorkflowsRequest_Order.START_TIME_DESC,
      view: options.withSteps === true ? WorkflowView.STEPS : WorkflowView.BASIC,
    };
    return listed(this.#calls, WorkflowService.method.listWorkflows, request, (answer) => answer.workflows.map(workflowOf));
  }

  /**
   * How many workflows there are.
   *
   * @param filter - Which ones. Absent: all.
   * @param options - `groupBy` also splits the number.
   */
  async count(filter: Filter = {}, options: CallOptions & { readonly groupBy?: "state" | "workflow_type" | "phase" | undefined } = {}): Promise<Count> {
    const { namespace } = this.#config;
    const groups = {
      state: CountWorkflowsRequest_GroupBy.STATE,
      workflow_type: CountWorkflowsRequest_GroupBy.WORKFLOW_TYPE,
      phase: CountWorkflowsRequest_GroupBy.PHASE,
    };
    const groupBy = options.groupBy === undefined ? CountWorkflowsRequest_GroupBy.UNSPECIFIED : groups[options.groupBy];
    const request = { namespace, filter: filterMessage(filter, namespace), groupBy };
    const answer = await this.#calls.unary(WorkflowService.method.countWorkflows, request, options);
    const parts = answer.groups.map(({ group, count }) => [group, Number(count)] as const);
    return { count: Number(answer.count), estimate: answer.estimate, groups: new Map(parts) };
  }

  /**
   * What there is, then what changes among many workflows, without an end: `for await (const event of client.watchMany())`. Opens itself
   * again after a cut.
   *
   * @param filter - Which ones. Absent: all open ones.
   * @param options - What to leave out, where to go on, and a signal that ends it.
   */
  watchMany(
    filter?: Filter,
    options: { readonly withSteps?: boolean | undefined; readonly skipExisting?: boolean | undefined; readonly resumeToken?: string | undefined; readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<ManyEvent, void, undefined> {
    const { namespace } = this.#config;
    const request = create(WatchWorkflowsRequestSchema, {
      namespace,
      view: options.withSteps === true ? WorkflowView.STEPS : WorkflowView.BASIC,
      skipExisting: options.skipExisting ?? false,
      resumeToken: options.resumeToken ?? "",
      ...(filter === undefined ? {} : { filter: filterMessage(filter, namespace) }),
    });
    return watchMany(this.#calls, request, options.signal);
  }

  /** Queues with what is ready, running and throttled, and who serves them; pages are fetched as they are needed. */
  queues(): AsyncGenerator<Queue, void, undefined> {
    return listed(this.#calls, AdminService.method.listQueues, { namespace: this.#config.namespace }, (answer) => answer.queues);
  }

  /** The sessions of workers; pages are fetched as they are needed. */
  workers(): AsyncGenerator<WorkerView, void, undefined> {
    return listed(this.#calls, AdminService.method.listWorkers, { namespace: this.#config.namespace }, (answer) => answer.workers);
  }

  /**
   * The server that answers: version, defaults, limits, store, coordination, and what it found wrong.
   *
   * @param options - Of the call.
   */
  serverInfo(options: CallOptions = {}): Promise<GetServerInfoResponse> {
    return this.#calls.unary(AdminService.method.getServerInfo, {}, options);
  }

  /**
   * Puts an exported workflow into the namespace, paused, with a new run id and fence. Rejects with InvalidRequest, AlreadyExists.
   *
   * @param file - All that `run.export` gave, in pieces of at most 256 KiB.
   * @param options - `key`: its key here; absent: as exported.
   */
  async importWorkflow(
    file: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
    options: { readonly key?: string | undefined; readonly requestId?: string | undefined; readonly validateOnly?: boolean | undefined } = {},
  ): Promise<Workflow> {
    const first = {
      namespace: this.#config.namespace,
      businessKey: options.key ?? "",
      requestId: knownId(options.requestId),
      validateOnly: options.validateOnly ?? false,
    };
    return workflowOf((await this.stub(AdminService).importWorkflow(importRequests(first, file))).workflow);
  }

  /**
   * The functions of a generated service on this client's channel, for what is not wrapped: `client.stub(AdminService)`. They have its
   * deadline, retries, credentials and codec.
   *
   * @param service - From `@perdure/client/stubs`.
   * @param options - `once`: without retries, and without the codec.
   */
  stub<S extends DescService>(service: S, options: StubOptions = {}): Stub<S> {
    return stubOf(service, this.#calls, options);
  }

  #started(workflow: Definition | string, options: StartOptions, answer: StartWorkflowResponse): Run {
    const round = answer.workflow?.round;
    const ref = {
      workflowType: typeOf(workflow),
      businessKey: options.key,
      namespace: this.#config.namespace,
      ...(round === undefined || round === 0n ? {} : { round: Number(round) }),
    };
    return new Run(this.#calls, ref, {
      created: answer.created,
      runId: answer.runId,
      fence: answer.fence,
      state: workflowState(answer.state),
      definitionFingerprint: answer.definitionFingerprint,
    });
  }
}

async function* importRequests(options: object, file: Iterable<Uint8Array> | AsyncIterable<Uint8Array>) {
  yield { message: { case: "options" as const, value: options } };
  for await (const chunk of file) yield { message: { case: "chunk" as const, value: chunk } };
}
