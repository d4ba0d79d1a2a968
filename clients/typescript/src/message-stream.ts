import type { ClientReadableStream } from "@grpc/grpc-js";

import { errorOfCall } from "./statuses.js";
import * as limits from "./limits.js";

interface Reader<T> {
  resolve: (message: T | undefined) => void;
  reject: (error: Error) => void;
}

/**
 * The messages of one gRPC call, read one by one. gRPC's own stream is an event emitter that ends the program when an error finds
 * nobody listening; this one keeps messages and the error until somebody asks.
 * @internal
 */
export class MessageStream<T> {
  readonly #call: ClientReadableStream<T>;
  readonly #unread: T[] = [];
  #reader: Reader<T> | undefined;
  #ended = false;
  #error: Error | undefined;
  #paused = false;
  #cancelled = false;

  constructor(call: ClientReadableStream<T>) {
    this.#call = call;
    call.on("data", (message: T) => {
      this.#took(message);
    });
    call.on("error", (failure: unknown) => {
      this.#over(errorOfCall(failure, this.#cancelled));
    });
    call.on("end", () => {
      // The status, which may be an error, comes right behind the end of the data.
      setImmediate(() => {
        this.#over(undefined);
      });
    });
  }

  /** The next message; undefined at the stream's end. Rejects with a PerdureError. One read at a time. */
  read(): Promise<T | undefined> {
    const message = this.#unread.shift();
    if (message !== undefined) {
      if (this.#paused && this.#unread.length === 0) {
        this.#paused = false;
        this.#call.resume();
      }
      return Promise.resolve(message);
    }
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#ended) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  /** Ends the call; a read that waits rejects. */
  cancel(): void {
    this.#cancelled = true;
    this.#call.cancel();
  }

  /** Ends the call for a reason of the program's own, which the next read tells. */
  fail(error: Error): void {
    this.#over(error);
    this.cancel();
  }

  #took(message: T): void {
    const reader = this.#reader;
    if (reader !== undefined) {
      this.#reader = undefined;
      reader.resolve(message);
      return;
    }
    this.#unread.push(message);
    if (this.#unread.length >= limits.STREAM_BACKLOG && !this.#paused) {
      this.#paused = true;
      this.#call.pause();
    }
  }

  #over(error: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    const reader = this.#reader;
    this.#reader = undefined;
    if (error === undefined) reader?.resolve(undefined);
    else reader?.reject(error);
  }
}
