// The relay's worker in TypeScript: clients/typescript/polyglot/run STEP FILE. examples/polyglot/README.md says what such a worker does.
import { once } from "node:events";
import { stdout } from "node:process";

import { Client, type Context, loadDefinition, serve } from "@perdure/client";

/** Input and output of every step. */
interface Baton {
  readonly number: number | bigint;
  readonly hold: string;
  readonly path: readonly string[];
}

const [step = "", file = ""] = process.argv.slice(2);
const definition = await loadDefinition(file);
const needs = definition.toMessage().steps.find(({ name }) => name === step)?.needs?.names ?? [];

async function run(ctx: Context, inputs: Readonly<Record<string, Baton>>): Promise<Baton> {
  const traceId = ctx.traceparent.split("-")[1] ?? "";
  const began = { event: "began", key: ctx.businessKey, step: ctx.step, claim_no: ctx.claimNo, trace_id: traceId };
  stdout.write(`${JSON.stringify(began)}\n`);
  const batons = needs.map((need) => inputs[need]).filter((baton) => baton !== undefined);
  const hold = batons[0]?.hold ?? "";
  if (hold === ctx.step && ctx.claimNo === 1) {
    await once(ctx.signal, "abort"); // until it is killed
    ctx.signal.throwIfAborted();
  }
  const number = batons.map((baton) => BigInt(baton.number)).reduce((most, one) => (one > most ? one : most), 0n) + 1n;
  return { number, hold, path: [...new Set(batons.flatMap((baton) => baton.path)), `${ctx.step}:typescript`] };
}

const client = new Client();
const checked = await client.definitions.validate(definition);
const contract = checked.definition?.stepContracts[step] ?? "";
await client.worker(serve({ workflowType: "relay", step, contract }, run)).run();
client.close();
