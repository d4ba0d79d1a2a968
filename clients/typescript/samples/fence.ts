// The recipe for your own store: write only if no newer run of the same key has written. A run that was superseded, or a claim that
// was lost and still runs, then changes nothing.
import { Client, Definition } from "@perdure/client";

// Stands for a table `UPDATE price SET value = $1, fence = $2 WHERE key = $3 AND fence <= $2`.
const table = new Map<string, { value: number; fence: bigint }>();

function write(key: string, value: number, fence: bigint): boolean {
  const row = table.get(key);
  if (row !== undefined && row.fence > fence) return false;
  table.set(key, { value, fence });
  return true;
}

const price = new Definition<number>("price", { version: "1" });

price.step("store", { needs: [price.input] }, (ctx, { input }) => {
  const written = write(ctx.businessKey, input, ctx.fence);
  return { written, fence: ctx.fence };
});

const client = new Client();
const worker = client.worker(price);
await worker.start();
const first = await client.start(price, { key: "apples", input: 3, onClosed: "new_round" });
await first.result();
const second = await client.start(price, { key: "apples", input: 4, onClosed: "new_round" });
await second.result();

// A worker of the first run that comes back from a long pause: its fence is older, so its write is refused.
console.log(`late write: ${String(write("apples", 3, first.started?.fence ?? 0n))}, stored: ${String(table.get("apples")?.value)}`);
await worker.stop();
client.close();
