// Every sample is a program, and runs against a real server as it stands.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { EXECUTABLE, PACKAGE } from "./places.js";
import { served } from "./server.js";

const run = promisify(execFile);
const world = served();

async function said(name: string): Promise<readonly string[]> {
  const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], PERDURE_ADDRESS: world.server.address, PERDURE_TEST_SERVER: EXECUTABLE };
  const { stdout } = await run(process.execPath, ["--trace-uncaught", join(PACKAGE, "build/samples", `${name}.js`)], { env, timeout: 60_000 });
  return stdout.trimEnd().split("\n");
}

test("quickstart, and again: the second run finds the same workflow, ended", async () => {
  for (let round = 0; round < 2; round += 1) {
    const lines = await said("quickstart");
    assert.match(lines.at(-1) ?? "", /^payment-\w{8}-1999: shipped$/);
    assert.equal(lines.at(-2), "COMPLETED");
  }
});

test("durable wait", async () => {
  assert.deepEqual(await said("durable-wait"), ["the text of s3://a.mp3"]);
});

test("watch with resume", async () => {
  assert.deepEqual(await said("watch-resume"), ["The numbers are good."]);
});

test("saga", async () => {
  const lines = await said("saga");
  assert.match(lines[0] ?? "", /^undone: hotel in Oslo$/);
  assert.match(lines[1] ?? "", /^undone: flight to Oslo/);
  assert.equal(lines.at(-1), "car failed with car.none; all before it is undone");
});

test("fence recipe", async () => {
  assert.deepEqual(await said("fence"), ["late write: false, stored: 4"]);
});

test("admin", async () => {
  assert.deepEqual(await said("admin"), ["10 nights to come", "0 to pause", "true"]);
});

test("dream", async () => {
  assert.equal((await said("dream")).at(-1), "hello from the recording  1");
});

test("testing", async () => {
  assert.match((await said("testing")).join("\n"), /# pass 2\n# fail 0/);
});
