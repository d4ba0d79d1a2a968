// Ends of an activity that must cost its attempt, and nothing else: neither the program, nor the stream, nor the slot.
import assert from "node:assert/strict";
import { test } from "node:test";

import { choose, type Context, Failure, RawPayload, Unavailable, Wait } from "@perdure/client";

import { Scripted } from "./scripted.js";
import { deferred, keptLog } from "./server.js";

const endless = new Error("endless");
endless.cause = endless;
const nothing = Object.create(null) as object;
const loud = new Proxy({}, { get: () => thrown(new Error("touched")), getPrototypeOf: () => thrown(new Error("touched")) });

function thrown(value: unknown): never {
  throw value;
}

/** By business key; each with the failure that it becomes. */
const hostile: Readonly<Record<string, readonly [activity: (ctx: Context) => unknown, failure: RegExp]>> = {
  "an object without text": [() => thrown(nothing), /^Error: a value that cannot be made text$/],
  "a thrown text": [() => thrown("told you"), /^Error: told you$/],
  "nothing thrown": [() => thrown(undefined), /^Error: undefined$/],
  "a Proxy that throws": [() => thrown(loud), /^Error: what the activity threw cannot be told$/],
  "a message that is no text": [() => thrown(Object.assign(new TypeError(), { message: nothing })), /^TypeError: a value that cannot be made text$/],
  "a name that is no text": [() => thrown(Object.assign(new Error("x"), { name: 42 })), /^42: x$/],
  "a cause that leads back": [() => thrown(endless), /^Error: endless$/],
  "a type that is no text": [() => thrown(new Failure(42 as never, "x")), /^42: x$/],
  "details without text": [() => thrown(new Failure("a.b", "x", { details: Object.assign(Object.create(null), { a: new Map() }) })), /^a\.b: x$/],
  "a rejection with nothing": [() => Promise.resolve().then(() => thrown(nothing)), /^Error: a value that cannot be made text$/],
  "a duration beyond the wire": [() => Wait.any({ after: 1e300 }), /^RangeError: 1e\+300 is no duration: it must be from 0 to 10,000 years$/],
  "half a signal": [() => Wait.any({ signal: "x", count: 1.5 }), /^PayloadRejected: it cannot travel: .*1\.5/],
  "a signal that is no text": [() => Wait.any({ signal: nothing as never }), /^PayloadRejected: it cannot travel: /],
  "JSON that is no text": [() => RawPayload.json(42 as never), /expected string, got 42$/],
  "JSON that is undefined": [() => ({ toJSON: () => undefined }), /^PayloadRejected: its toJSON gives undefined, which is no value/],
  "a Proxy as output": [() => [loud], /touched/],
  "a branch that is no text": [() => choose([nothing as never], 1), /^PayloadRejected: it cannot travel: /],
};

test("nothing that an activity returns or throws hurts more than its attempt", async () => {
  const server = new Scripted();
  const loudLog = { info: () => thrown("log"), warn: () => thrown("log"), error: () => thrown("log") };
  await server.working(
    (ctx) => hostile[ctx.businessKey]?.[0](ctx) ?? "done",
    { logger: loudLog },
    async () => {
      for (const [name, [, expected]] of Object.entries(hostile)) {
        server.grant(name);
        const { outcome } = await server.result();
        assert.ok(outcome.case === "failed", `${name}: ${String(outcome.case)}`);
        assert.match(`${outcome.value.type}: ${outcome.value.message}`, expected, name);
      }
      server.grant("the next one");
      assert.equal((await server.result()).outcome.case, "completed");
    },
  );
});

test("a save that could not be stored yet rejects when the worker stops", async () => {
  const server = new Scripted();
  const saved = deferred<unknown>();
  await server.working(
    (ctx) => {
      saved.resolve(ctx.save("here").catch((error: unknown) => error));
      return "done";
    },
    { logger: keptLog() },
    async (worker) => {
      server.grant("a");
      const { heartbeatId } = await server.heartbeat();
      server.say({ case: "heartbeatsAnswered", value: { answers: [{ heartbeatId, status: { code: 14, message: "the store is away" } }] } });
      await server.result();
      await worker.stop({ hurry: true });
      assert.ok((await saved.promise) instanceof Unavailable);
    },
  );
});
