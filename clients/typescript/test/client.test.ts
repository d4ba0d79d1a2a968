import assert from "node:assert/strict";
import { test } from "node:test";

import {
  AlreadyExists,
  CallTimeout,
  Client,
  Definition,
  DefinitionRejected,
  ErrorReason,
  type Event,
  Failure,
  InvalidRequest,
  NotFound,
  PerdureError,
  RawPayload,
  reasonOf,
  Unavailable,
  Wait,
  WorkflowCancelled,
  WorkflowFailed,
  WorkflowTerminated,
} from "@perdure/client";
import { AdminService, WorkerService, WorkflowService } from "@perdure/client/stubs";
import { completes, fails, waits } from "@perdure/client/testing";

import { Proxy } from "./proxy.js";
import { deferred, newKey, served } from "./server.js";

const scripted = new Definition("scripted", { version: "1" });
scripted.remoteStep("work", { needs: [scripted.input], retry: { maxAttempts: 1 } });

const echo = new Definition("echo", { version: "1" });
echo.step("say", { needs: [echo.input] }, (_ctx, { input }) => input);

const world = served();

async function ready(): Promise<void> {
  await world.client.definitions.apply(scripted);
}

test("a start is accepted once per key, and a repeat with other input is refused by reason", async () => {
  await ready();
  const key = newKey();
  const first = await world.client.start(scripted, { key, input: { a: 1 }, labels: { tenant: "acme" } });
  const again = await world.client.start("scripted", { key, input: { a: 1 } });
  assert.deepEqual([first.created, again.created, first.started?.runId === again.started?.runId], [true, false, true]);
  assert.equal(first.ref.round, 1);
  await assert.rejects(world.client.start(scripted, { key, input: { a: 2 } }), (error) => {
    assert.ok(error instanceof AlreadyExists);
    assert.equal(reasonOf(error), ErrorReason.START_INPUT_MISMATCH);
    assert.equal(error.code, "ALREADY_EXISTS");
    return true;
  });
  const found = await world.client.get(scripted, key);
  assert.deepEqual([found.state, found.labels, found.input(), found.fence], ["RUNNING", { tenant: "acme" }, { a: 1 }, first.started?.fence]);
});

test("errors name their reason, facts and violations", async () => {
  await ready();
  await assert.rejects(world.client.start("nothing", { key: "k" }), (error) => error instanceof NotFound && error.reason === "DEFINITION_NOT_FOUND");
  await assert.rejects(world.client.get(scripted, "nobody"), (error) => error instanceof NotFound && error.reason === ErrorReason.WORKFLOW_NOT_FOUND);
  await assert.rejects(world.client.start(scripted, { key: "", priority: 77 }), (error) => {
    assert.ok(error instanceof InvalidRequest);
    assert.ok(error.violations.length >= 2, error.message);
    return true;
  });
  const circle = new Definition("circle");
  circle.remoteStep("a");
  const message = circle.toMessage();
  message.steps[0]?.dependsOn.push("a");
  await assert.rejects(world.client.definitions.validate(message), (error) => error instanceof DefinitionRejected && error.reason === ErrorReason.DEFINITION_CYCLE);
});

test("an end that is not good is an error with the failure in it", async () => {
  await ready();
  const key = newKey();
  const details = { minutes: 9007199254740993n };
  await world.server.script(scripted, [fails("work", new Failure("asr.quota", "no minutes left", { nonRetryable: true, details }), { key })]);
  const run = await world.client.start(scripted, { key });
  await assert.rejects(run.result(), (error) => {
    assert.ok(error instanceof WorkflowFailed);
    assert.deepEqual([error.step, error.failure.type, error.failure.text, error.failure.details], ["work", "asr.quota", "no minutes left", details]);
    assert.deepEqual([error.reason, reasonOf(error)], ["FAILED", "FAILED"]);
    return true;
  });
  const waiting = await world.client.start(scripted, { key: newKey() });
  await waiting.cancel({ reason: "changed their mind" });
  await assert.rejects(waiting.result(), (error) => error instanceof WorkflowCancelled && error.message.includes("changed their mind"));
  const ended = await world.client.start(scripted, { key: newKey() });
  await ended.terminate({ reason: "stop" });
  await assert.rejects(ended.result(), WorkflowTerminated);
});

test("a result that does not come in time is a CallTimeout, and the workflow goes on", async () => {
  await ready();
  const run = await world.client.start(scripted, { key: newKey() });
  await assert.rejects(run.result({ timeout: 10 }), (error) => error instanceof CallTimeout && error.message.includes("has not ended within 10: it is RUNNING"));
  const stop = new AbortController();
  const waiting = run.result({ signal: stop.signal });
  stop.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
});

test("values travel as they are: 64-bit integers, bytes, null and absent, every script", async () => {
  await ready();
  const values: readonly unknown[] = [
    { big: 9223372036854775807n, small: -1, list: [2n ** 60n, 0.1] },
    null,
    undefined,
    Buffer.from([0, 255, 10, 13]),
    "grüße 世界 😀 \u2028",
    RawPayload.json('{"a":1.0,"b":10000000000000000000001}'),
  ];
  for (const value of values) {
    const key = newKey();
    await world.server.script(scripted, [completes("work", value, { key })]);
    const run = await world.client.start(scripted, { key, input: value });
    const result = await run.result();
    const expected = value instanceof RawPayload ? { a: 1, b: 10000000000000000000001n } : value;
    if (Buffer.isBuffer(expected)) assert.deepEqual(Buffer.from(result as Uint8Array), expected);
    else assert.deepEqual(result, expected);
    const input = (await run.get()).message.input;
    if (value instanceof RawPayload) assert.deepEqual(input?.data, { case: "json", value: '{"a":1.0,"b":10000000000000000000001}' });
    if (value === undefined) assert.equal(input, undefined);
  }
});

test("a signal counts once, wakes its wait, and is refused after the end", async () => {
  await ready();
  const key = newKey();
  await world.server.script(scripted, [waits("work", Wait.any({ signal: "go" }), { key }), completes("work", "went", { key })]);
  const run = await world.client.start(scripted, { key });
  await world.server.waitIdle();
  const sent = await run.signal("go", { n: 1n }, { signalId: "click-1" });
  assert.deepEqual(sent, { duplicate: false, consumed: true, signalId: "click-1" });
  assert.equal((await run.signal("go", { n: 1n }, { signalId: "click-1" })).duplicate, true);
  assert.equal(await run.result(), "went");
  await assert.rejects(run.signal("go"), (error) => reasonOf(error) === ErrorReason.WORKFLOW_CLOSED);
});

test("a watch gives a snapshot, changes and the end, and goes on behind a token", async () => {
  await ready();
  const key = newKey();
  await world.server.script(scripted, [waits("work", Wait.any({ signal: "go" }), { key }), completes("work", "went", { key })]);
  const run = await world.client.start(scripted, { key });
  const events: Event[] = [];
  for await (const event of run.watch()) {
    events.push(event);
    if (event.kind === "change" && event.signals.includes("go")) break;
    if (event.kind === "snapshot" && event.workflow.waitsFor("go")) break;
  }
  assert.equal(events[0]?.kind, "snapshot");
  await run.signal("go");
  const rest: Event[] = [];
  for await (const event of run.watch({ resumeToken: events.at(-1)?.resumeToken ?? "" })) rest.push(event);
  assert.ok(rest.every((event) => event.kind !== "snapshot"), rest.map((event) => event.kind).join());
  const end = rest.at(-1);
  assert.ok(end?.kind === "end");
  assert.deepEqual([end.state, end.output()], ["COMPLETED", "went"]);
});

test("a watch of a closed client ends with the next cut", async () => {
  await ready();
  const proxy = new Proxy(world.server.address);
  const client = new Client({ address: await proxy.start() });
  const run = await client.start(scripted, { key: newKey() });
  const watching = (async () => {
    for await (const event of run.watch()) {
      if (event.kind !== "snapshot") continue;
      client.close();
      proxy.cut();
    }
  })();
  await assert.rejects(watching, Unavailable);
  await assert.rejects(run.watch().next(), /the client is closed/);
  proxy.close();
});

test("a watch ends by its signal, and one of nobody throws NotFound", async () => {
  await ready();
  const run = await world.client.start(scripted, { key: newKey() });
  const stop = new AbortController();
  const watching = (async () => {
    for await (const event of run.watch({ signal: stop.signal })) if (event.kind === "snapshot") stop.abort(new Error("seen"));
  })();
  await assert.rejects(watching, /seen/);
  await assert.rejects(world.client.run(scripted, "nobody").watch().next(), NotFound);
});

test("lists come in pages that are fetched as they are needed; counts agree", async () => {
  await ready();
  const tenant = newKey();
  const starts = Array.from({ length: 7 }, (_, index) => ({ workflow: scripted, key: `${tenant}-${String(index)}`, labels: { tenant } }));
  const runs = await world.client.startMany([...starts, { workflow: "nothing", key: "x" }]);
  assert.equal(runs.filter((run) => run instanceof PerdureError).length, 1);
  const keys: string[] = [];
  for await (const workflow of world.client.list({ labels: { tenant } }, { oldestFirst: true })) keys.push(workflow.businessKey);
  assert.deepEqual(keys.sort(), starts.map((start) => start.key));
  assert.equal((await world.client.count({ labels: { tenant } }, { groupBy: "state" })).groups.get("RUNNING"), 7);
});

test("verbs: pause, resume, explain, replay, attempts, rounds, delete", async () => {
  await ready();
  const key = newKey();
  const run = await world.client.start(scripted, { key });
  await run.pause({ reason: "lunch" });
  assert.equal((await run.get()).phase, "PAUSED");
  assert.match((await run.explain()).summary, /paused/i);
  await run.resume();
  await world.server.script(scripted, [fails("work", new Failure("x", "y", { nonRetryable: true }), { key, times: 1 }), completes("work", 1, { key })]);
  await assert.rejects(run.result(), WorkflowFailed);
  const fence = (await run.get()).fence;
  assert.deepEqual(await run.expecting(fence).replay(), ["work"]);
  await assert.rejects(run.expecting(fence).replay(), (error) => reasonOf(error) === ErrorReason.FENCED);
  assert.equal(await run.result(), 1);
  const attempts = [];
  for await (const attempt of run.attempts("work")) attempts.push(attempt.claimNo);
  assert.equal(attempts.length, 2);
  await run.delete();
  await assert.rejects(run.get(), NotFound);
});

test("what is not wrapped is reached by the stubs on the client's channel", async () => {
  await ready();
  const admin = world.client.stub(AdminService);
  const info = await admin.getServerInfo({});
  assert.equal(info.serverVersion, (await world.client.serverInfo()).serverVersion);
  const key = newKey();
  const run = await world.client.start(scripted, { key, input: 1 });
  const file: Uint8Array[] = [];
  for await (const piece of run.export()) file.push(piece);
  const copy = await world.client.importWorkflow(file, { key: `${key}-copy` });
  assert.equal((await world.client.get(scripted, copy.businessKey)).input(), 1);
  await assert.rejects(world.client.stub(WorkflowService).getWorkflow({ workflow: { workflowType: "scripted", businessKey: "nobody" } }), NotFound);
});

test("resources are put, read, listed and deleted", async () => {
  const put = await world.client.resources.put("gpu", { capacity: 3, description: "cards" });
  assert.equal(put.capacity, 3n);
  const names: string[] = [];
  for await (const resource of world.client.resources.list()) names.push(resource.resource);
  assert.ok(names.includes("gpu"));
  await world.client.resources.delete("gpu");
  await assert.rejects(world.client.resources.get("gpu"), NotFound);
});

test("definitions: fingerprints and contracts come from the server", async () => {
  const checked = await world.client.definitions.validate(echo);
  const kept = await world.client.definitions.apply(echo);
  assert.equal(kept.definition?.fingerprint, checked.definition?.fingerprint);
  assert.match(kept.definition?.stepContracts["say"] ?? "", /^[0-9a-f]{16,}$/);
  assert.equal((await world.client.definitions.get(echo)).active, true);
  const types: string[] = [];
  for await (const one of world.client.definitions.list()) types.push(one.definition?.workflowType ?? "");
  assert.ok(types.includes("echo"));
});

test("a timeout that is no number is refused, and one of many years is none", async () => {
  await assert.rejects(world.client.serverInfo({ timeoutMs: Number.NaN }), /timeoutMs: NaN is no number of milliseconds/);
  assert.notEqual((await world.client.serverInfo({ timeoutMs: 1e18 })).serverVersion, "");
});

test("what is sent in pieces is closed when the call is over, and its own error is told", async () => {
  const closed = deferred();
  async function* tooMuch(): AsyncGenerator<Uint8Array> {
    try {
      await Promise.resolve();
      for (let count = 0; count < 100; count += 1) yield new Uint8Array(2 ** 20);
    } finally {
      closed.resolve();
    }
  }
  await assert.rejects(world.client.importWorkflow(tooMuch()), PerdureError);
  await closed.promise;
  async function* broken(): AsyncGenerator<{ message: { case: "hello"; value: { workerId: string } } }> {
    await Promise.resolve();
    yield { message: { case: "hello", value: { workerId: "w" } } };
    throw new Error("my own");
  }
  await assert.rejects(
    (async () => {
      for await (const answer of world.client.stub(WorkerService).claim(broken())) assert.ok(answer.message.case);
    })(),
    /my own/,
  );
});

test("without a server the error says what to do", async () => {
  assert.throws(() => new Client({ address: "http://a:1" }), /the address http:\/\/a:1 is a URL: write host:port, such as a:1;/);
  const lost = new Client({ address: "127.0.0.1:1", connectTimeout: 300 });
  await assert.rejects(lost.serverInfo(), (error) => error instanceof Unavailable && error.message.includes("start one by `perdure dev`, or set PERDURE_ADDRESS"));
  lost.close();
  await assert.rejects(lost.serverInfo(), Unavailable);
});
