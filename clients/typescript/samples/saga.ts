// Steps that are undone, last first, when a later one fails for good.
import { Client, Definition, Failure, WorkflowFailed } from "@perdure/client";

const trip = new Definition<{ city: string }>("trip", { version: "1" });

const flight = trip.step("flight", { needs: [trip.input] }, (ctx, { input }) => `flight to ${input.city} (${ctx.idempotencyKey.slice(0, 4)})`);
trip.compensation(flight, "cancel_flight", {}, (ctx) => {
  // inDoubt: the step was begun, and nobody knows whether it took effect; then undo by its key.
  const booked = ctx.hook?.inDoubt === true ? ctx.hook.compensatedIdempotencyKey : (ctx.hook?.compensatedOutput() as string);
  console.log(`undone: ${booked}`);
});

const hotel = trip.step("hotel", { needs: [trip.input], after: flight }, (_ctx, { input }) => `hotel in ${input.city}`);
trip.compensation(hotel, "cancel_hotel", {}, (ctx) => {
  console.log(`undone: ${ctx.hook?.compensatedOutput() as string}`);
});

trip.step("car", { after: hotel }, () => {
  throw new Failure("car.none", "no car is left", { nonRetryable: true });
});

const client = new Client();
const worker = client.worker(trip);
await worker.start();
const run = await client.start(trip, { key: "trip-9", input: { city: "Oslo" } });
try {
  await run.result();
} catch (error) {
  if (!(error instanceof WorkflowFailed)) throw error;
  console.log(`${error.step} failed with ${error.failure.type}; all before it is undone`);
}
await worker.stop();
client.close();
