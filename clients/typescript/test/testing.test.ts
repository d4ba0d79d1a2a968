import assert from "node:assert/strict";
import { test } from "node:test";

import { ClaimLost, type Context, Definition, DefinitionRejected, parseDefinition, Wait } from "@perdure/client";
import { completes, fakeContext, fails, Stuck, wake, waits } from "@perdure/client/testing";

import { newKey, served } from "./server.js";

const world = served();
const patient = new Definition("patient", { version: "1" });
patient.remoteStep("work", { retry: { maxAttempts: 2, initialInterval: "1h" } });

test("an activity by itself: checkpoints, frames, wakes, cancel, a save that fails", async () => {
  const ctx = fakeContext<string>({ checkpoint: "task-7", wakes: [wake("asr.done", { payload: 3 })], fence: 9n, cursor: 2 });
  assert.deepEqual([ctx.checkpoint, ctx.woken()?.value, ctx.fence, ctx.cursor], ["task-7", 3, 9n, 2]);
  ctx.frame("a");
  ctx.progress(1, 2, { unit: "pages" });
  ctx.alive();
  await ctx.save("task-8");
  assert.deepEqual(ctx.recorded, { checkpoints: ["task-8"], frames: ["a", { done: 1, total: 2, unit: "pages" }], signsOfLife: 1 });
  ctx.failNextSave(new ClaimLost("gone"));
  await assert.rejects(ctx.save("x"), ClaimLost);
  ctx.cancel("TIMED_OUT");
  assert.deepEqual([ctx.signal.aborted, ctx.cancelReason], [true, "TIMED_OUT"]);
});

test("time is moved, and what waits for it moves", async () => {
  await world.client.definitions.apply(patient);
  const key = newKey();
  await world.server.script(patient, [waits("work", Wait.any({ after: "3d" }), { key }), fails("work", "x", { key, attempt: 1, times: 1 }), completes("work", "done", { key })]);
  const run = await world.client.start(patient, { key });
  await world.server.waitIdle();
  const moved = await world.server.advance("3d");
  assert.ok(moved.fired >= 1 && moved.passedMs >= 3 * 86_400_000, JSON.stringify(moved));
  assert.equal(await world.server.result(run), "done"); // the hour before its second attempt passes at once
  const gated = new Definition(newKey());
  gated.wait("gate", { signal: "never" });
  await world.client.definitions.apply(gated);
  const stuck = await world.client.start(gated, { key: newKey() });
  await assert.rejects(world.server.result(stuck), (error) => error instanceof Stuck && error.message.includes("gate WAITING"));
});

test("a definition file has its faults named at once, and is implemented step by step", async () => {
  const text = `
workflow_type: ${newKey()}
steps:
  read: {needs: [input], retry: {max_attempts: 4, initial_interval: 1s}, attempt_timeout: 2m, permits: {asr: 1}}
  gate: {after: [read], wait: {any_of: [{signal: go, count: 2}, {after: 3d}]}}
  end: {needs: [read, gate], on_exhausted: hold}
`;
  const definition = parseDefinition(text);
  assert.deepEqual(definition.steps, ["read", "gate", "end"]);
  assert.equal((await world.client.definitions.validate(definition)).definition?.definition?.steps[0]?.policy?.permits[0]?.resource, "asr");
  definition.implement("read", (_ctx: Context, { input }: { readonly input: number }) => input);
  assert.throws(() => definition.implement("reed", () => 1), /there is no such step in key-.*; there are read, gate, end/);
  assert.throws(
    () => parseDefinition('workflow_type: 3\nsteps:\n  a: {retry: {max_attempts: "x"}, attempt_timeout: 5, tiemout: 1s}\n  b: {wait: {signal: x, after: 3d}}\n'),
    (error) => {
      assert.ok(error instanceof DefinitionRejected);
      const fields = error.violations.map((violation) => violation.field);
      for (const field of ["workflow_type", "steps.a.tiemout", "steps.a.attempt_timeout", "steps.a.retry.max_attempts", "steps.b.wait.any_of[0]"]) {
        assert.ok(fields.includes(field), `${field} is not in ${fields.join(", ")}`);
      }
      return true;
    },
  );
});
