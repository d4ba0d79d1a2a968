import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy before a server, whose connections a test may cut. */
export class Proxy {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((near) => {
    const [host = "", port = ""] = this.#target.split(":");
    const far = connect(Number(port), host);
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => this.#sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  readonly #target: string;

  constructor(target: string) {
    this.#target = target;
  }

  async start(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    return `127.0.0.1:${String(typeof address === "object" ? address?.port : "")}`;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    this.cut();
  }
}
