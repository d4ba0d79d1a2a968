// What a program ends itself is not tried again. tests/conformance has the CANCELLED that nobody here asked for.
import assert from "node:assert/strict";
import { test } from "node:test";

import { Server, ServerCredentials, type ServerUnaryCall, type ServerWritableStream } from "@grpc/grpc-js";
import { CallTimeout, Client, type Run } from "@perdure/client";

import { deferred } from "./server.js";

type Held = ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>;

/** A server whose calls last until their caller ends them. */
class Holding {
  calls = 0;
  came = deferred();
  readonly #server = new Server();

  async use(talk: (run: Run, client: Client) => Promise<void>): Promise<void> {
    const method = { requestStream: false, requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same };
    const hold = this.#hold.bind(this);
    this.#server.addService(
      {
        getWorkflow: { ...method, path: "/perdure.v1.WorkflowService/GetWorkflow", responseStream: false },
        watch: { ...method, path: "/perdure.v1.WorkflowService/Watch", responseStream: true },
      },
      { getWorkflow: hold, watch: hold },
    );
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    const client = new Client({ address: `127.0.0.1:${String(port)}` });
    try {
      await talk(client.run("note", "k"), client);
    } finally {
      client.close();
      this.#server.forceShutdown();
    }
  }

  #hold(call: Held): void {
    call.on("error", () => undefined);
    this.calls += 1;
    this.came.resolve();
  }
}

const same = (bytes: Buffer): Buffer => bytes;

const lasting: Readonly<Record<string, (run: Run, signal: AbortSignal) => Promise<unknown>>> = {
  "a call": (run, signal) => run.get({ signal }),
  "a watch": (run, signal) => run.watch({ signal }).next(),
};

for (const [name, call] of Object.entries(lasting)) {
  test(`${name} that its signal ends rejects with the signal's reason, and is not tried again`, async () => {
    const server = new Holding();
    await server.use(async (run) => {
      const stop = new AbortController();
      const ended = assert.rejects(call(run, stop.signal), /^Error: enough$/);
      await server.came.promise;
      stop.abort(new Error("enough"));
      await ended;
      assert.equal(server.calls, 1);
    });
  });
}

test("a call that has no time left ends with its deadline, and is not tried again", async () => {
  const server = new Holding();
  await server.use(async (run) => {
    await assert.rejects(run.get({ timeoutMs: 200 }), (error) => error instanceof CallTimeout && error.code === "DEADLINE_EXCEEDED");
    assert.equal(server.calls, 1);
  });
});
