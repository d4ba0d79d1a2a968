// One workflow: a payment that is begun once, whatever dies, a durable wait, and a person's word. `perdure dev` in another terminal, then this.
import { Client, type Context, Definition, describe, type, Wait, waitsFor } from "@perdure/client";

interface Order {
  cents: number;
}

const order = new Definition<Order>("order", { version: "1" });

const charge = order.step("charge", { needs: [order.input], retry: { maxAttempts: 5 } }, async (ctx: Context<string>, { input }) => {
  if (ctx.checkpoint === undefined) {
    // The key is the same in every attempt, so that a payment is begun once.
    await ctx.save(`payment-${ctx.idempotencyKey.slice(0, 8)}-${String(input.cents)}`);
    return Wait.any({ signal: "paid", after: "1s" }); // holds no worker; then this function runs again from its top
  }
  return ctx.checkpoint;
});

const approval = order.wait("approval", { after: charge, signal: "approve", payload: type<boolean>(), timeout: "3d" });

order.step("ship", { needs: [charge, approval] }, (ctx, { charge, approval }) => {
  ctx.frame("packing ");
  return `${charge}: ${approval.value === true ? "shipped" : "kept back"}`;
});

const client = new Client();
const worker = client.worker(order, { slots: { ship: 4 } });
await worker.start();

const run = await client.start(order, { key: "order-42", input: { cents: 1999 } }); // once per key, however often it is called
for await (const event of run.watch()) {
  console.log(describe(event));
  if (waitsFor(event, "approve")) await run.signal("approve", true);
}
console.log(await run.result<string>());

await worker.stop();
client.close();
