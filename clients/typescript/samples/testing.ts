// A program's tests: one activity by itself, and a whole workflow whose three days pass in no time.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { type Context, Definition, type, Wait } from "@perdure/client";
import { completes, fakeContext, type StartedServer, startServer } from "@perdure/client/testing";

const greeting = new Definition<string>("greeting", { version: "1" });
const greet = greeting.step("greet", { needs: [greeting.input] }, async (ctx: Context<number>, { input }) => {
  await ctx.save((ctx.checkpoint ?? 0) + 1);
  return ctx.checkpoint === 1 ? Wait.any({ after: "1s" }) : `hello ${ctx.frame(input)}`;
});
const answer = greeting.wait("answer", { after: greet, signal: "answer", payload: type<string>(), timeout: "3d" });
greeting.remoteStep("file", { needs: [greet, answer] });

test("one activity by itself", async () => {
  const ctx = fakeContext<number>({ checkpoint: 1 });
  assert.equal(await greet.activity(ctx, { input: "Ada" }), "hello Ada");
  assert.deepEqual(ctx.recorded.checkpoints, [2]);
});

let server: StartedServer;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

test("a workflow whose time is moved", async () => {
  const client = server.client();
  await client.definitions.apply(greeting);
  await server.script(greeting, [completes("greet", "hello Ada"), completes("file", "filed")]);
  const run = await client.start(greeting, { key: "ada", input: "Ada" });
  assert.equal(await server.result(run), "filed"); // the three days of the wait pass at once
  client.close();
});
