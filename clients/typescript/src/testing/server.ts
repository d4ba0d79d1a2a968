import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";

import { Calls } from "../calls.js";
import { Client, type ClientOptions } from "../client.js";
import { connectionConfig } from "../config.js";
import { type Definition, typeOf } from "../definition.js";
import { dateOf, type Duration, durationOf, msOf, toMs } from "../durations.js";
import { type AdvanceTimeResponse, TestService } from "../gen/perdure/testing/v1/test_service_pb.js";
import type { ScriptedOutcome } from "../gen/perdure/v1/scripted_pb.js";
import * as limits from "../limits.js";
import type { Run } from "../run.js";

/** Something still moved when the time was over. */
export class StillMoving extends Error {
  override readonly name: string = "StillMoving";
  /** What moved, for people; at most 20. */
  readonly busy: readonly string[];

  /** @param busy - What moved. */
  constructor(busy: readonly string[]) {
    super(`still moving: ${busy.join("; ")}`);
    this.busy = busy;
  }
}

/** The workflow has not ended, and nothing moves it but a signal, a person, or a worker that is not there. */
export class Stuck extends Error {
  override readonly name: string = "Stuck";
}

/** It is later now. */
export interface Advanced {
  /** The test's time. */
  readonly now: Date;
  /** How much passed, in milliseconds. */
  readonly passedMs: number;
  /** How many due times were fired. */
  readonly fired: number;
  /** The next due time; undefined: there is none. */
  readonly nextDue: Date | undefined;
}

/** Nothing moves. */
export interface Idle {
  /** The test's time. */
  readonly now: Date;
  /** When something moves by itself; undefined: never. */
  readonly nextDue: Date | undefined;
}

/**
 * A server that serves TestService, `perdure dev --test`: its clock is moved by the test, and scripts may play the worker. Leases and
 * silence go on by real time, however far the test's time jumps: a connected worker keeps its claims.
 */
export class TestServer implements Disposable {
  readonly #options: ClientOptions;
  readonly #calls: Calls;

  /** @param options - Where it is; absent: PERDURE_ADDRESS, else the address of `perdure dev`. */
  constructor(options: ClientOptions = {}) {
    this.#options = options;
    this.#calls = new Calls(connectionConfig(options), limits.CALL_TIMEOUT, limits.FIRST_CONTACT_TIMEOUT);
  }

  /**
   * A client of this server.
   *
   * @param options - Instead of those of the TestServer.
   */
  client(options: ClientOptions = {}): Client {
    return new Client({ ...this.#options, ...options });
  }

  /** Closes the connection; the server goes on. */
  close(): void {
    this.#calls.close();
  }

  /** As `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * Lets time pass, and waits until what became due has been done.
   *
   * @param by - How much.
   */
  async advance(by: Duration): Promise<Advanced> {
    return advancedOf(await this.#call(TestService.method.advanceTime, { target: { case: "by", value: durationOf(by) } }));
  }

  /** Lets time pass up to the next due time of any workflow; none: no change. */
  async advanceToNextDue(): Promise<Advanced> {
    return advancedOf(await this.#call(TestService.method.advanceTime, { target: { case: "toNextDue", value: true } }));
  }

  /**
   * Tells how attempts of a type end; its steps are then run by scripts alone. Gives how many scripts the type has now.
   *
   * @param workflow - The type.
   * @param scripts - In order of preference; they are put before those that are there.
   * @param options - `replace`: forget those before.
   */
  async script(workflow: Definition | string, scripts: readonly ScriptedOutcome[], options: { readonly replace?: boolean | undefined } = {}): Promise<number> {
    const request = {
      namespace: this.#calls.config.namespace,
      workflowType: typeOf(workflow),
      outcomes: [...scripts],
      replace: options.replace ?? false,
    };
    return (await this.#call(TestService.method.scriptOutcomes, request)).scriptCount;
  }

  /**
   * Waits until nothing moves but by time, a signal, a person, or a worker that is not there. Rejects with StillMoving.
   *
   * @param options - How long at most, in real time (absent: 10 s; up to a minute); only one type; whether ready steps count as moving.
   */
  async waitIdle(
    options: { readonly within?: Duration | undefined; readonly workflow?: Definition | string | undefined; readonly includeReady?: boolean | undefined } = {},
  ): Promise<Idle> {
    const within = toMs(options.within ?? "10s");
    const request = {
      namespace: this.#calls.config.namespace,
      timeout: durationOf(within),
      includeReady: options.includeReady ?? false,
      ...(options.workflow === undefined ? {} : { filter: { workflowTypes: [typeOf(options.workflow)] } }),
    };
    const answer = await this.#call(TestService.method.waitIdle, request, within);
    if (!answer.idle) throw new StillMoving(answer.busy);
    return { now: dateOf(answer.nowTime) ?? new Date(0), nextDue: dateOf(answer.nextDueTime) };
  }

  /**
   * Lets time pass until the workflow ends, and gives its output as `run.result` does. Rejects with Stuck when nothing moves it any more,
   * StillMoving when an activity has not ended within 10 s, and as `run.result` does.
   *
   * @param run - The workflow.
   */
  async result<T = unknown>(run: Run): Promise<T> {
    for (;;) {
      if ((await run.get()).isEnded) break;
      const idle = await this.waitIdle();
      const view = await run.get();
      if (view.isEnded) break;
      if (idle.nextDue === undefined) {
        const open = [...view.steps.values()].filter((step) => step.state !== "COMPLETED" && step.state !== "BLOCKED");
        throw new Stuck(`${run.key} is ${view.state}, and time does not move it: ${open.map((step) => `${step.name} ${step.state}`).join(", ")}`);
      }
      await this.advanceToNextDue();
    }
    return run.result<T>();
  }

  #call<I extends DescMessage, O extends DescMessage>(method: DescMethodUnary<I, O>, request: MessageInitShape<I>, waits = 0): Promise<MessageShape<O>> {
    return this.#calls.unary(method, request, { timeoutMs: limits.RESULT_WAIT_TIMEOUT + waits + limits.CALL_MARGIN_TIMEOUT });
  }
}

function advancedOf(answer: AdvanceTimeResponse): Advanced {
  return {
    now: dateOf(answer.nowTime) ?? new Date(0),
    passedMs: msOf(answer.advanced) ?? 0,
    fired: Number(answer.firedCount),
    nextDue: dateOf(answer.nextDueTime),
  };
}
