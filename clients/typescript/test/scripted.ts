import { once } from "node:events";

import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Server, ServerCredentials, type ServerDuplexStream, type ServiceDefinition } from "@grpc/grpc-js";
import { Client, serve, type Worker, type WorkerOptions } from "@perdure/client";
import type { Context } from "@perdure/client";
import { type ClaimRequest, ClaimRequestSchema, type ClaimResponse, ClaimResponseSchema, type Result, type StreamHeartbeat } from "@perdure/client/stubs";

import { deferred } from "./server.js";

type Said = ClaimRequest["message"];
type Answer = NonNullable<MessageInitShape<typeof ClaimResponseSchema>["message"]>;

const CONTRACT = "c".repeat(64);

/** A server of the worker's protocol that says what a test tells it to, over real gRPC. One stream. */
export class Scripted {
  readonly #server = new Server();
  readonly #said: Said[] = [];
  #stream: ServerDuplexStream<ClaimRequest, ClaimResponse> | undefined;
  #heard = deferred();
  readonly #leaseMs: number;

  /** `leaseMs`: of every session; no renewal is answered. */
  constructor(leaseMs = 30_000) {
    this.#leaseMs = leaseMs;
  }

  /** Runs a worker of the step `work` while the test talks with it. */
  async working(run: (ctx: Context) => unknown, options: WorkerOptions, talk: (worker: Worker) => Promise<void>): Promise<void> {
    this.#server.addService(serviceOf(ClaimRequestSchema, ClaimResponseSchema), { claim: this.#claim.bind(this) });
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    const client = new Client({ address: `127.0.0.1:${String(port)}` });
    const worker = client.worker(serve({ workflowType: "job", step: "work", contract: CONTRACT }, run as () => unknown), options);
    await worker.start();
    try {
      await talk(worker);
    } finally {
      await worker.stop({ hurry: true });
      client.close();
      this.#server.forceShutdown();
    }
  }

  /** Grants a claim of the step; `stopAtLeaseEnd`: it holds permits. */
  grant(claimToken: string, stopAtLeaseEnd = false): void {
    const workflow = { namespace: "default", workflowType: "job", businessKey: claimToken, round: 1n };
    const claim = { claimToken, workflow, step: "work", stepContract: CONTRACT, pool: "job#", attempt: 1, claimNo: 1n, stopAtLeaseEnd };
    this.say({ case: "claims", value: { claims: [claim] } });
  }

  /** The next result, answered with OK. */
  async result(): Promise<Result> {
    const result = await this.#next((said) => (said.case === "results" ? said.value.results[0] : undefined));
    this.say({ case: "settled", value: { settled: [{ resultId: result.resultId }] } });
    return result;
  }

  /** The next heartbeat, unanswered. */
  async heartbeat(): Promise<StreamHeartbeat> {
    return await this.#next((said) => (said.case === "heartbeats" ? said.value.heartbeats[0] : undefined));
  }

  /** Says one message. */
  say(message: Answer): void {
    this.#stream?.write(create(ClaimResponseSchema, { message }));
  }

  async #next<T>(wanted: (said: Said) => T | undefined): Promise<T> {
    for (;;) {
      for (let said = this.#said.shift(); said !== undefined; said = this.#said.shift()) {
        const found = wanted(said);
        if (found !== undefined) return found;
      }
      this.#heard = deferred();
      await this.#heard.promise;
    }
  }

  #claim(stream: ServerDuplexStream<ClaimRequest, ClaimResponse>): void {
    this.#stream = stream;
    stream.on("data", ({ message }: ClaimRequest) => {
      if (message.case === "hello") this.#welcome(message.value.pools.map((pool) => pool.pool));
      this.#said.push(message);
      this.#heard.resolve();
    });
    stream.on("error", () => undefined);
    void once(stream, "end").then(() => {
      stream.end();
    });
  }

  #welcome(names: readonly string[]): void {
    const pools = names.map((pool) => ({ pool, steps: [{ step: "work", stepContract: CONTRACT }] }));
    const times = { leaseDuration: durationFromMs(this.#leaseMs), renewInterval: { seconds: 3_600n } };
    this.say({ case: "welcome", value: { sessionId: "session-1", sessionSecret: "secret-1", connectionNo: 1n, pools, ...times } });
  }
}

function serviceOf(input: DescMessage, output: DescMessage): ServiceDefinition {
  const writer = (desc: DescMessage) => (message: unknown) => Buffer.from(toBinary(desc, message as never));
  const reader = (desc: DescMessage) => (bytes: Buffer) => fromBinary(desc, bytes);
  return {
    claim: {
      path: "/perdure.v1.WorkerService/Claim",
      requestStream: true,
      responseStream: true,
      requestSerialize: writer(input),
      requestDeserialize: reader(input),
      responseSerialize: writer(output),
      responseDeserialize: reader(output),
    },
  };
}
