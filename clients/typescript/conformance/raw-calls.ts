// Every RPC, once, by the library's stubs.
import { createRegistry, type DescMethod, fromJson, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { stringifyJson } from "@perdure/client";
import {
  AdminService,
  BadRequestSchema,
  DebugInfoSchema,
  ErrorInfoSchema,
  PreconditionFailureSchema,
  QuotaFailureSchema,
  ResourceInfoSchema,
  RetryInfoSchema,
  TestService,
  WorkerService,
  WorkflowService,
} from "@perdure/client/stubs";

import type { Clients } from "./clients.js";
import { type Line, text, UsageError, writeLine } from "./lines.js";

type Anyone = (request: unknown, options: { timeoutMs?: number }) => unknown;

const SERVICES = new Map([WorkflowService, WorkerService, AdminService, TestService].map((service) => [service.typeName, service]));
const registry = createRegistry(
  ErrorInfoSchema,
  BadRequestSchema,
  RetryInfoSchema,
  ResourceInfoSchema,
  QuotaFailureSchema,
  PreconditionFailureSchema,
  DebugInfoSchema,
);

/** Calls that were told to hold, by the id of their request. */
const held = new Map<unknown, () => void>();

export async function call(line: Line, clients: Clients): Promise<Line> {
  const [serviceName = "", methodName = ""] = text(line, "rpc").split("/");
  const service = SERVICES.get(serviceName);
  const method = service?.methods.find((one) => one.name === methodName);
  if (service === undefined || method === undefined) throw new UsageError(`there is no ${text(line, "rpc")}`);
  const stub = clients.get(line).stub(service, { once: true }) as unknown as Readonly<Record<string, Anyone>>;
  const invoke = stub[method.localName];
  if (invoke === undefined) throw new UsageError(`the stub has no ${method.localName}`);
  const options = "timeout_ms" in line ? { timeoutMs: line["timeout_ms"] as number } : {};
  const streams = method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming";
  const over = new AbortController();
  const request = streams ? requestsOf(line, method, over.signal) : messageOf(method, line["request"] ?? {});
  try {
    const answer = invoke(request, options);
    if (method.methodKind === "unary" || method.methodKind === "client_streaming") return { response: jsonOf(method, (await answer) as Message) };
    return { responses: await read(answer as AsyncGenerator<Message>, method, line) };
  } finally {
    over.abort();
  }
}

export function resumeCall(line: Line): Line {
  held.get(line["call"])?.();
  held.delete(line["call"]);
  return {};
}

async function read(answers: AsyncGenerator<Message>, method: DescMethod, line: Line): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const answer of answers) {
    const response = jsonOf(method, answer);
    found.push(response);
    if (line["tell"] === true) writeLine({ event: "call_response", call: line["id"], response });
    if (found.length === line["take"]) break;
    if (found.length === line["hold"]) {
      await new Promise<void>((resolve) => {
        held.set(line["id"], resolve);
        writeLine({ event: "call_held", call: line["id"] });
      });
    }
  }
  return found;
}

async function* requestsOf(line: Line, method: DescMethod, over: AbortSignal): AsyncGenerator<Message> {
  for (const request of (line["requests"] ?? []) as readonly unknown[]) yield messageOf(method, request);
  if (line["keep_open"] !== true) return;
  await new Promise<void>((resolve) => {
    over.addEventListener("abort", () => {
      resolve();
    });
    if (over.aborted) resolve();
  });
}

function messageOf(method: DescMethod, request: unknown): Message {
  // Integers of 64 bits may be numbers in protobuf JSON, and have become bigint.
  return fromJson(method.input, JSON.parse(JSON.stringify(request, bigintText)) as JsonValue, { registry });
}

function jsonOf(method: DescMethod, message: Message): unknown {
  return toJson(method.output, message, { registry });
}

function bigintText(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? stringifyJson(value) : value;
}
