import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client as GrpcClient, type ClientDuplexStream, type ClientOptions, Metadata } from "@grpc/grpc-js";

import { bearerOf, type ConnectionConfig } from "./config.js";
import * as limits from "./limits.js";
import { MessageStream } from "./message-stream.js";
import { channelCredentials } from "./security.js";
import { errorOfCall } from "./statuses.js";
import { outgoingTrace } from "./tracing.js";

/**
 * How this library calls itself.
 * @internal
 */
export const CLIENT_NAME = "perdure-typescript";

/** UNAVAILABLE is the one code that may be retried blindly; every mutation carries an id that makes its repeat harmless. */
const SERVICE_CONFIG = JSON.stringify({
  // Workers and callers spread over the addresses of a name, and a new connection tries another one.
  loadBalancingConfig: [{ pick_first: { shuffleAddressList: true } }],
  methodConfig: [
    {
      name: [
        ...["WorkflowService", "AdminService"].map((service) => ({ service: `perdure.v1.${service}` })),
        ...["Complete", "Heartbeat", "RenewClaims"].map((method) => ({ service: "perdure.v1.WorkerService", method })),
      ],
      retryPolicy: {
        maxAttempts: 3,
        initialBackoff: "0.05s",
        maxBackoff: "0.5s",
        backoffMultiplier: 2,
        retryableStatusCodes: ["UNAVAILABLE"],
      },
    },
  ],
});

/** Options of one attempt of a call. */
interface AttemptOptions {
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * One gRPC channel, typed by the generated methods. Opened at its first call; certificates are read when it is made.
 * @internal
 */
export class Transport {
  readonly #client: GrpcClient;
  readonly #config: ConnectionConfig;

  /** `alone`: with a connection of its own, which no other channel shares. */
  constructor(config: ConnectionConfig, { alone = false, retries = true } = {}) {
    this.#config = config;
    const options: ClientOptions = {
      "grpc.service_config": SERVICE_CONFIG,
      "grpc.max_receive_message_length": limits.MESSAGE_BYTES,
      "grpc.max_send_message_length": limits.MESSAGE_BYTES,
      "grpc.initial_reconnect_backoff_ms": limits.RETRY_INITIAL_INTERVAL,
      "grpc.max_reconnect_backoff_ms": limits.RETRY_MAX_INTERVAL,
      "grpc.keepalive_time_ms": limits.KEEPALIVE_INTERVAL,
      "grpc.keepalive_timeout_ms": limits.KEEPALIVE_TIMEOUT,
      "grpc.use_local_subchannel_pool": alone ? 1 : 0,
      "grpc.enable_retries": retries ? 1 : 0,
      "grpc.primary_user_agent": CLIENT_NAME,
    };
    const name = config.tls?.serverName;
    if (name !== undefined) options["grpc.ssl_target_name_override"] = name;
    this.#client = new GrpcClient(config.address, channelCredentials(config.tls), options);
  }

  /** One try of a unary call. Rejects with a PerdureError, or with the signal's reason. */
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageShape<I>,
    options: AttemptOptions,
  ): Promise<MessageShape<O>> {
    const { signal } = options;
    const deadline = deadlineIn(options.timeoutMs);
    return await new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(asError(signal.reason));
        return;
      }
      const call = this.#client.makeUnaryRequest(
        pathOf(method),
        writerOf(method.input),
        readerOf(method.output),
        request,
        this.metadata(),
        { deadline },
        (failure, answer) => {
          signal?.removeEventListener("abort", stop);
          if (failure === null && answer !== undefined) resolve(answer);
          else reject(signal?.aborted === true ? asError(signal.reason) : errorOfCall(failure));
        },
      );
      const stop = (): void => {
        call.cancel();
      };
      signal?.addEventListener("abort", stop, { once: true });
    });
  }

  /** Opens a server stream, without a deadline unless one is given. */
  serverStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageShape<I>,
    timeoutMs?: number,
  ): MessageStream<MessageShape<O>> {
    const options = timeoutMs === undefined ? {} : { deadline: deadlineIn(timeoutMs) };
    return new MessageStream(
      this.#client.makeServerStreamRequest(pathOf(method), writerOf(method.input), readerOf(method.output), request, this.metadata(), options),
    );
  }

  /** Sends requests one by one; gives the answer. Rejects with a PerdureError. */
  async clientStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodClientStreaming<I, O>,
    requests: Iterable<MessageInitShape<I>> | AsyncIterable<MessageInitShape<I>>,
    timeoutMs: number,
  ): Promise<MessageShape<O>> {
    const deadline = deadlineIn(timeoutMs);
    return await new Promise((resolve, reject) => {
      const call = this.#client.makeClientStreamRequest(
        pathOf(method),
        writerOf(method.input),
        readerOf(method.output),
        this.metadata(),
        { deadline },
        (failure, answer) => {
          if (failure === null && answer !== undefined) resolve(answer);
          else reject(errorOfCall(failure));
        },
      );
      call.on("error", () => undefined); // the callback tells
      writeAll(call, method.input, requests).catch((error: unknown) => {
        call.cancel();
        reject(asError(error));
      });
    });
  }

  /** Opens a stream in both directions. */
  bidiStream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodBiDiStreaming<I, O>,
    timeoutMs?: number,
  ): ClientDuplexStream<MessageShape<I>, MessageShape<O>> {
    const options = timeoutMs === undefined ? {} : { deadline: deadlineIn(timeoutMs) };
    return this.#client.makeBidiStreamRequest(pathOf(method), writerOf(method.input), readerOf(method.output), this.metadata(), options);
  }

  /** Metadata of a call that begins now: the bearer token, and the caller's trace context. */
  metadata(): Metadata {
    const metadata = new Metadata();
    const token = bearerOf(this.#config);
    if (token !== "") metadata.set("authorization", `Bearer ${token}`);
    for (const [key, value] of outgoingTrace()) metadata.set(key, value);
    return metadata;
  }

  /** Closes the channel; calls that still run go on to their end. */
  close(): void {
    this.#client.close();
  }
}

/**
 * Writes requests one by one, then ends the writing. A call that is over leaves the rest unread, and closes where they come from.
 * Rejects with what their iterable throws.
 * @internal
 */
export async function writeAll<I extends DescMessage>(
  call: Writable,
  desc: I,
  requests: Iterable<MessageInitShape<I>> | AsyncIterable<MessageInitShape<I>>,
): Promise<void> {
  let isOver = false;
  let noteOver = (): void => undefined;
  call.once("status", () => {
    isOver = true;
    noteOver();
  });
  const written = (message: MessageShape<I>): Promise<boolean> =>
    new Promise((resolve) => {
      // gRPC forgets the writes of a call that is over.
      noteOver = () => {
        resolve(false);
      };
      if (isOver) resolve(false);
      else {
        call.write(message, () => {
          resolve(!isOver);
        });
      }
    });
  for await (const request of requests) {
    if (!(await written(create(desc, request)))) return;
  }
  call.end();
}

/** When a call that may take so long is given up. Throws a RangeError for what is no length of time: gRPC would end the program over it. */
function deadlineIn(timeoutMs: number): number {
  if (!(timeoutMs >= 0)) throw new RangeError(`timeoutMs: ${String(timeoutMs)} is no number of milliseconds`);
  return timeoutMs > limits.DEADLINE_MAX ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
}

interface Writable {
  write(message: unknown, written: () => void): unknown;
  end(): unknown;
  once(event: "status", listener: () => void): unknown;
}

/**
 * Any thrown value as an Error.
 * @internal
 */
export function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error(String(value));
}

function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

function writerOf<D extends DescMessage>(desc: D): (message: MessageShape<D>) => Buffer {
  return (message) => {
    const bytes = toBinary(desc, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function readerOf<D extends DescMessage>(desc: D): (bytes: Buffer) => MessageShape<D> {
  return (bytes) => fromBinary(desc, bytes);
}
