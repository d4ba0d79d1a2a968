// A step that hands work to somebody else and waits for the callback, for days if need be, without holding a worker.
import { setImmediate as soon } from "node:timers/promises";

import { Client, type Context, Definition, Wait } from "@perdure/client";

interface Audio {
  url: string;
}

// The company's own client of a speech service: it takes a task, and calls back by the token when it is done.
const asr = {
  done: new Map<string, string>(),
  async submit(url: string, key: string, callback: (task: string) => Promise<unknown>): Promise<string> {
    const task = `task-${key.slice(0, 8)}`;
    await soon();
    setTimeout(() => {
      asr.done.set(task, `the text of ${url}`);
      void callback(task);
    }, 100);
    return task;
  },
};

const client = new Client();
const recording = new Definition<Audio>("recording", { version: "1" });

recording.step("transcribe", { needs: [recording.input], attemptTimeout: "2m" }, async (ctx: Context<string>, { input }) => {
  const { wakeToken } = ctx; // whoever has it may wake this step
  const task = ctx.checkpoint ?? (await ctx.save(await asr.submit(input.url, ctx.idempotencyKey, (id) => client.signal(wakeToken, "asr.done", id))));
  // Whatever woke us, the truth is read again; the wait has a timer too, should the callback be lost.
  return asr.done.get(task) ?? Wait.any({ signal: "asr.done", after: "30s" });
});

const worker = client.worker(recording);
await worker.start();
const run = await client.start(recording, { key: "recording-7", input: { url: "s3://a.mp3" } });
console.log(await run.result<string>());
await worker.stop();
client.close();
