import { after, before } from "node:test";

import { Client, type ClientOptions, type Logger } from "@perdure/client";
import { type StartedServer, startServer } from "@perdure/client/testing";

import { EXECUTABLE } from "./places.js";

/** One server for all tests of a file, and a client of it. */
export interface Served {
  readonly server: StartedServer;
  readonly client: Client;
}

/** Starts a server before the tests of this file, and stops it after them. */
export function served(args: readonly string[] = [], options: Omit<ClientOptions, "address"> = {}): Served {
  let server: StartedServer | undefined;
  let client: Client | undefined;
  before(async () => {
    server = await startServer({ executable: EXECUTABLE, args, client: options });
    client = server.client();
  });
  after(async () => {
    client?.close();
    await server?.stop();
  });
  return {
    get server() {
      if (server === undefined) throw new Error("the server is not up");
      return server;
    },
    get client() {
      if (client === undefined) throw new Error("the server is not up");
      return client;
    },
  };
}

/** A logger that keeps what it is told. */
export function keptLog(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  const keep = (level: string) => (text: string): void => {
    lines.push(`${level}: ${text}`);
  };
  return { lines, info: keep("info"), warn: keep("warn"), error: keep("error") };
}

/** A promise and what settles it. */
export function deferred<T = void>(): { readonly promise: Promise<T>; resolve: (value: T) => void; reject: (error: Error) => void } {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

let keys = 0;

/** A business key that no other test has. */
export function newKey(): string {
  keys += 1;
  return `key-${String(process.pid)}-${String(keys)}`;
}
