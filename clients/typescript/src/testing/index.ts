/**
 * For tests of programs that use Perdure: a server whose clock the test moves, scripts instead of workers, and activities by themselves.
 *
 * @packageDocumentation
 */

export { FakeContext, fakeContext, type FakeContextOptions, type Recorded, wake } from "./context.js";
export { StartedServer, startServer, type StartServerOptions } from "./process.js";
export { completes, fails, losesWorker, neverEnds, type ScriptOptions, waits } from "./scripts.js";
export { type Advanced, type Idle, StillMoving, Stuck, TestServer } from "./server.js";
