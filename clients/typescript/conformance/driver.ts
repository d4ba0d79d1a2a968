// The conformance driver: requests come on stdin, answers and events go to stdout. tests/conformance/README.md tells its protocol.
import { createInterface } from "node:readline";
import { setDefaultHighWaterMark } from "node:stream";

import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { VERSION } from "@perdure/client";

import { Clients } from "./clients.js";
import { type Line, ofError, readLine, UsageError, writeLine } from "./lines.js";
import { call, resumeCall } from "./raw-calls.js";
import { Workers } from "./workers.js";

// gRPC keeps up to 16 messages that nobody reads; a call that is held must stop its server sooner.
setDefaultHighWaterMark(true, 1);

context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());
trace.setGlobalTracerProvider(new BasicTracerProvider());

const clients = new Clients();
const workers = new Workers(clients);

const handlers: Readonly<Partial<Record<string, (line: Line) => Line | Promise<Line>>>> = {
  hello: () => ({ language: "typescript", library: VERSION, protocol: 1 }),
  open: (line) => clients.open(line),
  close: (line) => clients.close(line),
  start: (line) => clients.start(line),
  signal: (line) => clients.signal(line),
  result: (line) => clients.result(line),
  get: (line) => clients.read(line),
  list: (line) => clients.list(line),
  children: (line) => clients.children(line),
  attempts: (line) => clients.attempts(line),
  count: (line) => clients.count(line),
  explain: (line) => clients.explain(line),
  cancel: (line) => clients.verb(line),
  terminate: (line) => clients.verb(line),
  pause: (line) => clients.verb(line),
  resume: (line) => clients.verb(line),
  delete: (line) => clients.verb(line),
  replay: (line) => clients.verb(line),
  apply: (line) => clients.apply(line),
  validate: (line) => clients.validate(line),
  watch: (line) => clients.watch(line),
  unwatch: (line) => clients.unwatch(line),
  work: (line) => workers.work(line),
  drain: (line) => workers.drain(line),
  stop: (line) => workers.stop(line),
  go_on: (line) => workers.goOn(line),
  call: (line) => call(line, clients),
  resume_call: (line) => resumeCall(line),
};

async function handle(line: Line): Promise<void> {
  const { id } = line;
  const name = String(line["do"]);
  try {
    const handler = handlers[name];
    if (handler === undefined) throw new UsageError(`this driver does not know ${name}`);
    writeLine({ id, ok: await handler(line) });
  } catch (error) {
    writeLine({ id, error: ofError(error, name === "result") });
  }
}

const input = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
input.on("line", (text) => {
  if (text.trim() !== "") void handle(readLine(text));
});
input.on("close", () => {
  const late = setTimeout(() => process.exit(0), 4_000);
  void workers.stopAll().finally(() => {
    clearTimeout(late);
    clients.closeAll();
    process.stdout.write("", () => process.exit(0));
  });
});
