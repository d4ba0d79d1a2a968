import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";

import {
  AesGcm,
  ClaimLost,
  Client,
  type Context,
  Definition,
  ErrorReason,
  parseKeyRing,
  reasonOf,
  serve,
  Unavailable,
  Wait,
  WorkflowCancelled,
  type Worker,
  type WorkerOptions,
} from "@perdure/client";

import { Proxy } from "./proxy.js";
import { Scripted } from "./scripted.js";
import { deferred, keptLog, newKey, served } from "./server.js";

const world = served();

/** A worker that runs while `work` does; its log is empty of errors unless the test looks for them. */
async function working(definition: Definition, work: (worker: Worker) => Promise<void>, options: WorkerOptions = {}, client?: Client): Promise<void> {
  const worker = (client ?? world.client).worker(definition, { logger: keptLog(), ...options });
  await worker.start();
  try {
    await work(worker);
  } finally {
    await worker.stop({ hurry: true });
  }
}

test("a worker leaves no timer and no listener behind", async () => {
  const quick = new Definition<number>(newKey());
  quick.step("twice", { needs: [quick.input] }, (_ctx, { input }) => input * 2);
  const listeners = process.listenerCount("SIGTERM");
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  await world.client.definitions.apply(quick);
  const stop = new AbortController();
  const worker = world.client.worker(quick, { logger: keptLog() });
  const running = worker.run({ signal: stop.signal });
  const run = await world.client.start(quick, { key: newKey(), input: 21 });
  assert.equal(await run.result(), 42);
  stop.abort();
  await running;
  assert.equal(process.listenerCount("SIGTERM"), listeners);
  assert.ok(timers() <= before, process.getActiveResourcesInfo().join());
});

test("a cancel aborts the activity's signal, and the workflow ends when it has stopped", async () => {
  const slow = new Definition(newKey());
  const began = deferred();
  const reasons: unknown[] = [];
  slow.step("wait", {}, async (ctx: Context) => {
    began.resolve();
    await once(ctx.signal, "abort");
    reasons.push(ctx.cancelReason);
    ctx.signal.throwIfAborted();
  });
  await working(slow, async () => {
    const run = await world.client.start(slow, { key: newKey() });
    await began.promise;
    await run.cancel({ reason: "enough" });
    await assert.rejects(run.result(), WorkflowCancelled);
    assert.deepEqual(reasons, ["WORKFLOW_CANCELLED"]);
  });
});

test("a save rejects with ClaimLost once the workflow is terminated, also where nobody awaits it", async () => {
  const doomed = new Definition(newKey());
  const began = deferred();
  const fate = deferred<unknown>();
  doomed.step("work", {}, async (ctx: Context) => {
    began.resolve();
    await once(ctx.signal, "abort");
    void ctx.save("nobody awaits this");
    fate.resolve(await ctx.save("late").catch((error: unknown) => error));
  });
  await working(doomed, async () => {
    const run = await world.client.start(doomed, { key: newKey() });
    await began.promise;
    await run.terminate();
    const error = await fate.promise;
    assert.ok(error instanceof ClaimLost, String(error));
    assert.equal(reasonOf(error), ErrorReason.CLAIM_LOST);
  });
});

test("a stop gives the claim back with its checkpoint, uncharged, and another worker goes on with it", async () => {
  const long = new Definition(newKey());
  const began = deferred();
  long.step("work", {}, async (ctx: Context<string>) => {
    if (ctx.checkpoint !== undefined) return [ctx.checkpoint, ctx.attempt];
    await ctx.save("half");
    began.resolve();
    await once(ctx.signal, "abort");
    ctx.signal.throwIfAborted();
    return [];
  });
  const first = world.client.worker(long, { logger: keptLog(), grace: 50 });
  await first.start();
  const run = await world.client.start(long, { key: newKey() });
  await began.promise;
  await first.stop();
  await working(long, async () => {
    assert.deepEqual(await run.result(), ["half", 1]);
  });
});

test("values over 256 KiB travel apart: input, checkpoint and output", async () => {
  const large = new Definition<string>(newKey());
  const text = "å".repeat(400_000);
  large.step("work", { needs: [large.input] }, async (ctx: Context<string>, { input }) => {
    if (ctx.checkpoint === undefined) {
      await ctx.save(input);
      return Wait.any({ after: "50ms" });
    }
    return ctx.checkpoint + input;
  });
  await working(large, async () => {
    const run = await world.client.start(large, { key: newKey(), input: text });
    assert.equal(await run.result(), text + text);
  });
});

test("a cut connection loses nothing: the activity goes on, its frames and result are said again", async () => {
  const proxy = new Proxy(world.server.address);
  const client = new Client({ address: await proxy.start() });
  const cut = new Definition(newKey());
  const began = deferred();
  const goOn = deferred();
  cut.step("work", {}, async (ctx: Context) => {
    ctx.frame("before ");
    began.resolve();
    await goOn.promise;
    ctx.frame("after");
    return ctx.attempt;
  });
  try {
    await working(
      cut,
      async () => {
        const run = await world.client.start(cut, { key: newKey() });
        await began.promise;
        proxy.cut();
        goOn.resolve();
        let shown = "";
        for await (const event of run.watch()) if (event.kind === "frame") shown += event.text;
        assert.deepEqual([await run.result(), shown], [1, "before after"]);
      },
      {},
      client,
    );
  } finally {
    client.close();
    proxy.close();
  }
});

test("a step is served by its contract alone, and a wrong contract is a status of its pool", async () => {
  const two = new Definition<number>(newKey());
  const remote = two.remoteStep("add", { needs: [two.input] });
  two.remoteStep("end", { needs: [remote] });
  const kept = await world.client.definitions.apply(two);
  const contracts = kept.definition?.stepContracts ?? {};
  const { workflowType } = two;
  const log = keptLog();
  const add = serve<unknown, { input: number }>({ workflowType, step: "add", contract: contracts["add"] ?? "" }, (_ctx, { input }) => input + 1);
  const end = serve<unknown, { add: number }>({ workflowType, step: "end", contract: contracts["end"] ?? "" }, (_ctx, { add: sum }) => sum * 10);
  const wrong = serve({ workflowType, step: "end", contract: "0".repeat(64) }, () => "never");
  const first = world.client.worker([add, end], { logger: keptLog() });
  const second = world.client.worker(wrong, { logger: log });
  await Promise.all([first.start(), second.start()]);
  const run = await world.client.start(two, { key: newKey(), input: 4 });
  assert.equal(await run.result(), 50);
  assert.match(log.lines.join("\n"), /DEFINITION_MISMATCH/);
  await Promise.all([first.stop(), second.stop()]);
});

test("with a codec all values are stored encrypted, and come back plain", async () => {
  const key = Buffer.alloc(32, 5).toString("base64");
  const codec = new AesGcm(parseKeyRing(`{"active":"k1","keys":{"k1":"${key}"},"digest_key":"${key}"}`));
  const client = world.server.client({ codec });
  const secret = new Definition<{ text: string }>(newKey());
  const step = secret.step("seal", { needs: [secret.input] }, async (ctx: Context<string>, { input }) => {
    await ctx.save(`seen ${input.text}`);
    return { text: `${ctx.checkpoint ?? ""}!` };
  });
  const gate = secret.wait("gate", { after: step, signal: "open" });
  secret.step("end", { needs: [step, gate] }, (_ctx, { seal, gate: woken }) => [seal.text, woken.value]);
  await working(
    secret,
    async () => {
      const run = await client.start(secret, { key: newKey(), input: { text: "hush" } });
      await run.signal("open", { n: 2n ** 60n });
      assert.deepEqual(await run.result(), ["seen hush!", { n: 2n ** 60n }]);
      const stored = await world.client.get(secret, run.key);
      assert.equal(stored.message.output?.encoding, "aes-gcm");
      assert.throws(() => stored.output(), /encrypted \(aes-gcm, key k1\)/);
    },
    {},
    client,
  );
  client.close();
});

test("a worker without a server says so, and ends", async () => {
  const nowhere = new Client({ address: "127.0.0.1:1" });
  const idle = new Definition(newKey());
  idle.step("never", {}, () => undefined);
  const worker = nowhere.worker(idle, { logger: keptLog() });
  const started = worker.start();
  await worker.stop({ hurry: true });
  await assert.rejects(started, Unavailable);
  nowhere.close();
});

test("slots and steps that name nothing are refused", () => {
  const one = new Definition(newKey());
  one.step("work", {}, () => 1);
  assert.throws(() => world.client.worker(one, { slots: { wrok: 2 } }), /"wrok" names no step with an activity here; there are: key-.*\.work/);
  assert.throws(() => world.client.worker(one, { slots: 0 }), /a pool needs at least 1 slot/);
  assert.throws(() => world.client.worker(new Definition("empty")), /nothing to run/);
});

test("what holds permits stops at the end of the own lease, and does not begin after it", async () => {
  const server = new Scripted(400);
  const begun: string[] = [];
  const stopped = deferred();
  await server.working(
    async (ctx) => {
      begun.push(ctx.businessKey);
      if (ctx.businessKey === "plain") return;
      await once(ctx.signal, "abort");
      stopped.resolve();
    },
    {},
    async () => {
      server.grant("permits", true);
      await stopped.promise;
      server.grant("late permits", true);
      server.grant("plain");
      assert.equal((await server.result()).claimToken, "plain");
      assert.deepEqual(begun, ["permits", "plain"]);
    },
  );
});
