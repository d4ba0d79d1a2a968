/** One Claim stream: dials, says hello, reads, writes, and notices when it is dead. */

import { create } from "@bufbuild/protobuf";
import type { ClientDuplexStream } from "@grpc/grpc-js";

import type { ConnectionConfig } from "../config.js";
import { msOf } from "../durations.js";
import { CallTimeout, Unavailable } from "../errors.js";
import {
  type ClaimRequest,
  ClaimRequestSchema,
  type ClaimResponse,
  type Hello,
  type Welcome,
  WorkerService,
} from "../gen/perdure/v1/worker_service_pb.js";
import * as limits from "../limits.js";
import { MessageStream } from "../message-stream.js";
import { Transport } from "../transport.js";
import type { Outgoing } from "./outgoing.js";

/** Who takes what the server says. */
export interface Listener {
  /** One message, in order. */
  received(connection: Connection, message: ClaimResponse): void;
}

/** One stream with a TCP connection of its own: a half-dead one takes no other down with it. */
export class Connection {
  connectionNo = 0n;
  renewInterval = 10_000;
  /** A newer hello was said: claims that still come here must be dropped. */
  isStale = false;
  /** Aborted by go_away: open another one. */
  readonly leaving = new AbortController();
  helloSent = 0;
  readonly #config: ConnectionConfig;
  readonly #transport: Transport;
  readonly #outgoing: Outgoing;
  #call: ClientDuplexStream<ClaimRequest, ClaimResponse> | undefined;
  #stream: MessageStream<ClaimResponse> | undefined;
  #lastRenewId = 0n;
  readonly #renews = new Map<bigint, number>();
  #running = false;
  #scheduled = false;
  #writing = false;
  #nextRenew = 0;
  /** Since when a renewal waits to be written; a write may hang. */
  #askedAt = Number.POSITIVE_INFINITY;
  #catchingUp = false;
  #timer: NodeJS.Timeout | undefined;
  #fault: Error | undefined;

  constructor(config: ConnectionConfig, outgoing: Outgoing) {
    this.#config = config;
    this.#transport = new Transport(config, { alone: true });
    this.#outgoing = outgoing;
  }

  /** Says hello and waits for welcome, 10 s at most. Rejects with a PerdureError; the connection is then closed. */
  async open(hello: Hello): Promise<Welcome> {
    const timer = setTimeout(() => {
      this.#end(new Unavailable(`no welcome from ${this.#config.address} within ${String(limits.HANDSHAKE_TIMEOUT / 1_000)} s`));
    }, limits.HANDSHAKE_TIMEOUT);
    try {
      this.#call = this.#transport.bidiStream(WorkerService.method.claim);
      this.#stream = new MessageStream(this.#call);
      this.helloSent = performance.now();
      this.#call.write(create(ClaimRequestSchema, { message: { case: "hello", value: hello } }));
      const first = await this.#stream.read();
      if (first?.message.case !== "welcome") throw new Unavailable("the server ended the stream without a welcome");
      this.connectionNo = first.message.value.connectionNo;
      this.renewInterval = Math.max(200, msOf(first.message.value.renewInterval) ?? this.renewInterval);
      return first.message.value;
    } catch (error) {
      this.close();
      throw this.#fault ?? error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Reads and writes until the stream ends. Rejects with the reason, unless it ended well. */
  async run(listener: Listener): Promise<void> {
    const stream = this.#stream;
    if (stream === undefined) throw new Unavailable("the stream is not open");
    this.#running = true;
    this.#nextRenew = performance.now() + this.renewInterval;
    this.#keepAlive();
    this.wake();
    try {
      for (let message = await stream.read(); message !== undefined; message = await stream.read()) {
        if (this.#fault !== undefined) break;
        listener.received(this, message);
      }
      if (this.#fault !== undefined) throw this.#fault;
    } catch (error) {
      throw this.#fault ?? error;
    } finally {
      this.close();
    }
  }

  /** There is something to say. What comes up in one turn of the loop is said together. */
  wake(): void {
    if (this.#scheduled || !this.#running) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      void this.#write();
    });
  }

  /** When the renewal that is now answered was sent; undefined for an unknown one. Older ones count as answered with it. */
  renewed(renewId: bigint): number | undefined {
    const sent = this.#renews.get(renewId);
    for (const id of this.#renews.keys()) if (id <= renewId) this.#renews.delete(id);
    return sent;
  }

  /** Says that nothing more comes. */
  finish(): void {
    this.#call?.end();
  }

  /** Ends the stream at once and closes its connection. */
  close(): void {
    this.#running = false;
    clearTimeout(this.#timer);
    this.#stream?.cancel();
    this.#transport.close();
  }

  #isRunning(): boolean {
    return this.#running;
  }

  #end(fault: Error): void {
    this.#fault ??= fault;
    this.#stream?.cancel();
  }

  /** Writes one message after the other, so that a renewal never waits behind more than one of them. */
  async #write(): Promise<void> {
    if (this.#writing) return; // it looks again before it ends
    this.#writing = true;
    try {
      for (let wrote = true; wrote && this.#running; ) {
        wrote = false;
        for (const message of this.#outgoing.messages(this.connectionNo, this.#lastRenewId + 1n)) {
          wrote = true;
          if (message.message.case === "renew") {
            this.#lastRenewId += 1n;
            this.#renews.set(this.#lastRenewId, performance.now());
            this.#askedAt = Number.POSITIVE_INFINITY;
          }
          await this.#written(message);
          if (this.#outgoing.renewWanted || !this.#isRunning()) break;
        }
      }
    } catch (error) {
      this.#end(new Unavailable("the stream broke while it was written", { cause: error }));
    } finally {
      this.#writing = false;
    }
  }

  #written(message: ClaimRequest): Promise<void> {
    return new Promise((resolve) => {
      // An error of the write is told by the reader, which knows why.
      this.#call?.write(message, () => {
        resolve();
      });
    });
  }

  /** Asks for renewals, and ends a stream that answers none: a write may hang without an error for as long as the kernel likes. */
  #keepAlive(): void {
    const now = performance.now();
    const deadAt = Math.min(this.#askedAt, ...this.#renews.values()) + limits.MISSED_RENEWALS * this.renewInterval;
    const isDead = now >= deadAt;
    if (isDead && this.#catchingUp) {
      this.#end(new CallTimeout("renewals stay unanswered: the stream is dead"));
      return;
    }
    this.#catchingUp = isDead; // the loop may have been blocked: the answer may lie unread
    if (now >= this.#nextRenew || isDead) {
      this.#nextRenew = now + this.renewInterval;
      this.#askedAt = Math.min(this.#askedAt, now);
      this.#outgoing.renewWanted = true;
      this.wake();
    }
    const pause = isDead ? limits.CATCH_UP_TIME : Math.min(this.#nextRenew, deadAt) - now;
    this.#timer = setTimeout(() => {
      if (this.#running) this.#keepAlive();
    }, pause);
  }
}
