import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import type { ClientOptions } from "../client.js";
import { TestServer } from "./server.js";

/** How to start a server for tests. */
export interface StartServerOptions {
  /** The executable. Absent: PERDURE_TEST_SERVER, else `perdure` on the PATH. */
  readonly executable?: string | undefined;
  /** Further arguments of `perdure dev`, such as `["--lease", "3"]`. */
  readonly args?: readonly string[] | undefined;
  /** For the clients: namespace, codec and the like. */
  readonly client?: Omit<ClientOptions, "address"> | undefined;
  /** How long it may take to come up, in milliseconds. Absent: 60 s. */
  readonly timeoutMs?: number | undefined;
}

const SERVES = /^Perdure serves on (\S+)$/;

/** A server of its own for tests; stop it at the end, or use `await using`. */
export class StartedServer extends TestServer implements AsyncDisposable {
  /** host:port of the server. */
  readonly address: string;
  /** What it said as it came up, such as where certificates and tokens are. */
  readonly greeting: readonly string[];
  readonly #stop: () => Promise<void>;

  /** @internal */
  constructor(address: string, greeting: readonly string[], options: Omit<ClientOptions, "address">, stop: () => Promise<void>) {
    super({ ...options, address });
    this.address = address;
    this.greeting = greeting;
    this.#stop = stop;
  }

  /** Ends the server, and forgets its data. */
  async stop(): Promise<void> {
    this.close();
    await this.#stop();
  }

  /** As `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Starts `perdure dev --test` on a free port of this machine; it keeps nothing. Rejects if it does not come up.
 *
 * @param options - Which executable, and what it is told.
 */
export async function startServer(options: StartServerOptions = {}): Promise<StartedServer> {
  const executable = options.executable ?? process.env["PERDURE_TEST_SERVER"] ?? "perdure";
  const args = ["dev", "--test", "--port", "0", ...(options.args ?? [])];
  const child = spawn(executable, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-4_096);
  });
  const stop = async (): Promise<void> => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  };
  try {
    const greeting = await new Promise<readonly string[]>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`${executable} did not come up in time: ${said}`));
      }, options.timeoutMs ?? 60_000);
      const lines: string[] = [];
      createInterface({ input: child.stdout }).on("line", (line) => {
        lines.push(line);
        if (!line.startsWith("Try: ")) return;
        clearTimeout(timer);
        resolve(lines);
      });
      child.once("error", reject);
      child.once("exit", (code) => {
        clearTimeout(timer);
        reject(new Error(`${executable} ${args.join(" ")} ended with ${String(code)}: ${said}`));
      });
    });
    const address = greeting.map((line) => SERVES.exec(line)?.[1]).find((found) => found !== undefined);
    if (address === undefined) throw new Error(`${executable} does not say where it serves: ${greeting.join("\n")}`);
    return new StartedServer(address, greeting, options.client ?? {}, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}
