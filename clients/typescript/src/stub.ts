import {
  create,
  type DescMessage,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";

import type { CallOptions, Calls } from "./calls.js";
import { PerdureError } from "./errors.js";
import { seal, unseal } from "./sealing.js";

/** One method of a service as a function. */
export type StubMethod<M> = M extends { methodKind: "unary"; input: infer I extends DescMessage; output: infer O extends DescMessage }
  ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
  : M extends { methodKind: "server_streaming"; input: infer I extends DescMessage; output: infer O extends DescMessage }
    ? (request: MessageInitShape<I>) => AsyncGenerator<MessageShape<O>, void, undefined>
    : M extends { methodKind: "client_streaming"; input: infer I extends DescMessage; output: infer O extends DescMessage }
      ? (requests: Iterable<MessageInitShape<I>> | AsyncIterable<MessageInitShape<I>>, options?: CallOptions) => Promise<MessageShape<O>>
      : never;

/** A generated service as an object of functions; streams in both directions are the worker's business and are not in it. */
export type Stub<S extends DescService> = { readonly [Name in keyof S["method"]]: StubMethod<S["method"][Name]> };

type Init = Record<string, unknown>;

/**
 * The stub of a service on the client's own channel.
 * @internal
 */
export function stubOf<S extends DescService>(service: S, calls: Calls): Stub<S> {
  const methods = service.methods.map((method) => {
    switch (method.methodKind) {
      case "unary":
        return [method.localName, (request: Init, options?: CallOptions) => calls.unary(method as DescMethodUnary, request, options)];
      case "server_streaming":
        return [method.localName, (request: Init) => streamed(method as DescMethodServerStreaming, request, calls)];
      case "client_streaming":
        return [
          method.localName,
          (requests: Iterable<Init>, options?: CallOptions) =>
            calls.transport.clientStream(method as DescMethodClientStreaming, sealed(method.input, requests, calls), options?.timeoutMs ?? calls.timeoutMs),
        ];
      default:
        return [method.localName, () => Promise.reject(new PerdureError(`${method.name} is the worker's: use client.worker`))];
    }
  });
  return Object.freeze(Object.fromEntries(methods)) as Stub<S>;
}

async function* streamed<I extends DescMessage, O extends DescMessage>(
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  calls: Calls,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  const stream = calls.stream(method, request);
  try {
    for (let message = await stream.read(); message !== undefined; message = await stream.read()) {
      calls.noteReached();
      unseal(method.output, message, calls.config.codec);
      yield message;
    }
  } finally {
    stream.cancel();
  }
}

async function* sealed(desc: DescMessage, requests: Iterable<Init> | AsyncIterable<Init>, calls: Calls): AsyncGenerator<Init> {
  for await (const request of requests) {
    const message = create(desc, request);
    seal(desc, message, calls.config.codec);
    yield message as unknown as Init;
  }
}
