import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";

import type { CallOptions, Calls } from "./calls.js";
import { MessageStream } from "./message-stream.js";
import { seal, unseal } from "./sealing.js";
import { asError, type Transport, writeAll } from "./transport.js";

/** Requests of a call that takes several. */
export type Requests<T> = Iterable<T> | AsyncIterable<T>;

/** One method of a service as a function. Leaving the loop over a stream's answers ends its call. */
export type StubMethod<M> = M extends { methodKind: infer K; input: infer I extends DescMessage; output: infer O extends DescMessage }
  ? K extends "unary"
    ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
    : K extends "client_streaming"
      ? (requests: Requests<MessageInitShape<I>>, options?: CallOptions) => Promise<MessageShape<O>>
      : K extends "server_streaming"
        ? (request: MessageInitShape<I>, options?: CallOptions) => AsyncGenerator<MessageShape<O>, void, undefined>
        : (requests: Requests<MessageInitShape<I>>, options?: CallOptions) => AsyncGenerator<MessageShape<O>, void, undefined>
  : never;

/** A generated service as an object of functions. */
export type Stub<S extends DescService> = { readonly [Name in keyof S["method"]]: StubMethod<S["method"][Name]> };

/** How a stub calls. */
export interface StubOptions {
  /** Every call is made once, without retries, and values are left as they are, without the codec. Absent: false. */
  readonly once?: boolean | undefined;
}

type Init = Record<string, unknown>;

/**
 * The stub of a service on the client's own channel.
 * @internal
 */
export function stubOf<S extends DescService>(service: S, calls: Calls, { once = false }: StubOptions): Stub<S> {
  const caller = new Caller(calls, once);
  return Object.freeze(Object.fromEntries(service.methods.map((method) => [method.localName, caller.functionOf(method)]))) as Stub<S>;
}

/** Makes functions of methods. */
class Caller {
  readonly #calls: Calls;
  readonly #once: boolean;

  constructor(calls: Calls, once: boolean) {
    this.#calls = calls;
    this.#once = once;
  }

  functionOf(method: DescMethod): unknown {
    switch (method.methodKind) {
      case "unary":
        return (request: Init, options: CallOptions = {}) => this.#unary(method as DescMethodUnary, request, options);
      case "client_streaming":
        return (requests: Requests<Init>, options: CallOptions = {}) =>
          this.#transport.clientStream(method as DescMethodClientStreaming, this.#sealed(method.input, requests), this.#timeout(options));
      case "server_streaming":
        return (request: Init, options: CallOptions = {}) => {
          const message = create(method.input, request);
          this.#seal(method.input, message);
          return this.#read(method, options, () => this.#transport.serverStream(method as DescMethodServerStreaming, message, options.timeoutMs));
        };
      case "bidi_streaming":
        return (requests: Requests<Init>, options: CallOptions = {}) => this.#read(method, options, () => this.#talk(method, requests, options));
    }
  }

  get #transport(): Transport {
    return this.#once ? this.#calls.once : this.#calls.transport;
  }

  #timeout(options: CallOptions): number {
    return options.timeoutMs ?? this.#calls.timeoutMs;
  }

  #unary(method: DescMethodUnary, request: Init, options: CallOptions): Promise<Message> {
    if (!this.#once) return this.#calls.unary(method, request, options);
    return this.#transport.unary(method, create(method.input, request), { timeoutMs: this.#timeout(options), signal: options.signal });
  }

  #talk(method: DescMethod, requests: Requests<Init>, options: CallOptions): MessageStream<Message> {
    const call = this.#transport.bidiStream(method as DescMethodBiDiStreaming, options.timeoutMs);
    const stream: MessageStream<Message> = new MessageStream<Message>(call);
    writeAll(call, method.input, this.#sealed(method.input, requests)).catch((error: unknown) => {
      stream.fail(asError(error));
    });
    return stream;
  }

  async *#read(method: DescMethod, options: CallOptions, open: () => MessageStream<Message>): AsyncGenerator<Message, void, undefined> {
    const stream = open();
    const stop = (): void => {
      stream.cancel();
    };
    options.signal?.addEventListener("abort", stop, { once: true });
    try {
      for (let message = await stream.read(); message !== undefined; message = await stream.read()) {
        this.#calls.noteReached();
        if (!this.#once) unseal(method.output, message, this.#calls.config.codec);
        yield message;
      }
    } finally {
      options.signal?.removeEventListener("abort", stop);
      stream.cancel();
    }
  }

  async *#sealed(desc: DescMessage, requests: Requests<Init>): AsyncGenerator<Init> {
    for await (const request of requests) {
      const message = create(desc, request);
      this.#seal(desc, message);
      yield message;
    }
  }

  #seal(desc: DescMessage, message: Message): void {
    if (!this.#once) seal(desc, message, this.#calls.config.codec);
  }
}
