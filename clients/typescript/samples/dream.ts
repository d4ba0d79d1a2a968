// The program that the design asks for, in TypeScript: what must be true for each line is in its T1 to T14.
import { setTimeout as sleep } from "node:timers/promises";

import { Client, type Context, Definition, describe, type, Wait, waitsFor } from "@perdure/client";

interface Audio {
  url: string;
}

// The company's own clients.
const tasks = new Map<string, number>();
const asr = {
  submit: (url: string, dedup: string, callback: string) => Promise.resolve(`${url}#${dedup.slice(0, 4)}${callback.slice(0, 0)}`),
  result: (task: string) => {
    const asked = (tasks.get(task) ?? 0) + 1;
    tasks.set(task, asked);
    return Promise.resolve(asked > 1 ? "hello from the recording" : undefined);
  },
};
const llm = {
  async *stream(text: string, signal: AbortSignal): AsyncGenerator<string> {
    for (const word of text.split(" ")) yield await sleep(5, `${word} `, { signal });
  },
};
const notes = new Map<string, { text: string; choice: number; fence: bigint }>();

const note = new Definition<Audio>("note", { version: "1" }); // T1: I bump it when the shape of an output or checkpoint changes

const transcribe = note.step(
  "transcribe",
  { needs: [note.input], permits: { asr: 1 }, attemptTimeout: "2m", retry: { maxAttempts: 4 } },
  async (ctx: Context<string>, { input }) => {
    // T2: one entry point, run again after each wait. T3, T4: a key that is the same in every attempt; a token for callbacks
    const task = ctx.checkpoint ?? (await ctx.save(await asr.submit(input.url, ctx.idempotencyKey, ctx.wakeToken)));
    return (await asr.result(task)) ?? Wait.any({ signal: "asr.done", after: "1s" }); // T5: the checkpoint is kept
  },
);

const compose = note.step("compose", { needs: [transcribe], permits: { llm: 1 }, silenceTimeout: "60s" }, async (ctx, { transcribe }) => {
  let text = ""; // T6: a hung call loses its claim. T7: what it needs comes by name, with its type
  for await (const piece of llm.stream(transcribe, ctx.signal)) text += ctx.frame(piece); // T8: frames carry step, claim, seq
  return text;
});

const choice = note.wait("choice", { after: compose, signal: "choose", payload: type<number>(), timeout: "3d" });

note.step("publish", { needs: [compose, choice] }, (ctx, { compose, choice }) => {
  notes.set(ctx.businessKey, { text: compose, choice: choice.value ?? 0, fence: ctx.fence }); // T9: undefined when the timer won
  return compose;
});

const client = new Client(); // T10
await client.resources.put("asr", { capacity: 50 });
await client.resources.put("llm", { capacity: 4 });
const worker = client.worker(note, { slots: { transcribe: 50, compose: 4 } }); // T11
await worker.start();

const run = await client.start(note, { key: "note-42", input: { url: "s3://a.mp3" }, labels: { tenant: "acme" } });
for await (const event of run.watch()) {
  console.log(describe(event)); // T12: resumes by itself; says when an attempt's frames start over
  if (waitsFor(event, "choose")) await run.signal("choose", 1, { signalId: "click-7" });
}
console.log(await run.result<string>(), notes.get("note-42")?.choice);

await worker.stop();
client.close();
