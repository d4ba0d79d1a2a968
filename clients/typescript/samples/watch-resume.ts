// Shows progress to a person, and goes on where it was after a break: in another process, too.
import { Client, Definition, type Event } from "@perdure/client";

const report = new Definition("report", { version: "1" });

report.step("write", {}, (ctx) => {
  for (const word of ["The ", "numbers ", "are ", "good."]) ctx.frame(word);
  ctx.progress(4, 4, { unit: "words" });
  return "done";
});

/** The text as a reader sees it; what was shown of a failed attempt is taken back. */
class Page {
  text = "";
  token = "";

  show(event: Event): void {
    this.token = event.resumeToken;
    if (event.kind === "frames_reset" || event.kind === "snapshot") this.text = "";
    if (event.kind === "frame" && event.frameKind === "TEXT") this.text += event.text;
    if (event.kind === "gap" && event.frames) this.text = "... ";
  }
}

const client = new Client();
const worker = client.worker(report);
await worker.start();
const run = await client.start(report, { key: "report-1" });

const page = new Page();
for await (const event of run.watch()) {
  page.show(event);
  if (event.kind === "frame") break; // the browser was closed after the first word
}
for await (const event of run.watch({ resumeToken: page.token })) page.show(event); // and opened again: nothing is shown twice
console.log(page.text);

await worker.stop();
client.close();
