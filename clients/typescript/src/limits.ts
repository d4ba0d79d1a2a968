/** Numbers of the client and the worker, in one file. Durations are milliseconds, sizes are bytes. */

// Calls.
/** A unary call with all its retries, unless the client is told otherwise. */
export const CALL_TIMEOUT = 30_000;
/** How long UNAVAILABLE is retried before a server has ever been reached: probably none runs at that address. */
export const FIRST_CONTACT_TIMEOUT = 5_000;
export const RETRY_INITIAL_INTERVAL = 100;
export const RETRY_MAX_INTERVAL = 2_000;
/** One WaitForResult; the server answers within 60 s at most. */
export const RESULT_WAIT_TIMEOUT = 45_000;
/** What a call that waits on purpose gets beyond its wait. */
export const CALL_MARGIN_TIMEOUT = 10_000;
/** What a timer of Node's can be set to; anything longer would be over at once. */
export const TIMER_MAX = 2 ** 31 - 1;
/** Ten years: gRPC cannot write down deadlines that are much later. */
export const DEADLINE_MAX = 315_360_000_000;
/** Largest answer that is taken; the server's own bounds are far below. */
export const MESSAGE_BYTES = 64 * 1024 * 1024;
/** Messages that a stream holds unread before it stops reading; one may have 3 MiB, and gRPC holds up to 16 more of its own. */
export const STREAM_BACKLOG = 1;
export const KEEPALIVE_INTERVAL = 30_000;
/** A connection that answers no ping for so long is dropped; pings go out only while calls run. */
export const KEEPALIVE_TIMEOUT = 10_000;

// Watch.
/** A watch that hears nothing for so long, not even a keep-alive, is opened again. */
export const WATCH_IDLE_TIMEOUT = 60_000;

// Worker: connection.
/** How long `worker.start()` waits for its first welcome before it rejects. */
export const CONNECT_TIMEOUT = 10_000;
/** From the dial to welcome; a handshake without a bound can hang for good. */
export const HANDSHAKE_TIMEOUT = 10_000;
export const RECONNECT_INITIAL_INTERVAL = 200;
export const RECONNECT_MAX_INTERVAL = 5_000;
/** A stream on which a renewal stays unanswered for this many intervals is dead (15 s at the default of 10 s). */
export const MISSED_RENEWALS = 1.5;
/** What a loop that was blocked gets to read answers that may have come meanwhile, before a stream counts as dead. */
export const CATCH_UP_TIME = 500;
/**
 * A claim that still runs after this is acknowledged by a renewal, so that a step that kills its worker is charged;
 * a faster one is acknowledged by its result.
 */
export const ACKNOWLEDGE_DELAY = 20;
/** While no stream can be opened, that is said this often. */
export const FAILURE_LOG_INTERVAL = 30_000;

// Worker: sizes.
/** Larger results and checkpoints go by unary calls, so that they never delay a renewal (the server's bound is 256 KiB). */
export const STREAM_RESULT_BYTES = 240 * 1024;
/** Results and heartbeats are gathered into messages of about this size. */
export const STREAM_MESSAGE_BYTES = 1024 * 1024;
export const FRAME_BYTES = 64 * 1024;
export const FRAMES_PER_HEARTBEAT = 100;
/** Frames of one claim that wait for a server; more are dropped (a frame is transient), before they are numbered. */
export const FRAME_BACKLOG = 10_000;
export const FAILURE_MESSAGE_BYTES = 4 * 1024;
export const FAILURE_TYPE_BYTES = 128;
export const FAILURE_STACK_BYTES = 16 * 1024;
/** How often a result is said again after a fault of the server's. */
export const REFUSALS_MAX = 5;

// Codec.
/** When an attempt whose values could not be decoded is tried again, by this worker or by one that has the keys. */
export const CODEC_RETRY_INTERVAL = 10_000;

// Worker: slots and stop.
/** Slots of the pool of all steps of a definition that `slots` does not name. */
export const DEFAULT_SLOTS = 100;
/** How long running activities may go on after a stop was asked for, before their claims are given back. */
export const STOP_GRACE = 30_000;
/** How long an activity that was told to stop may take before the worker goes on without it. */
export const UNWIND_TIMEOUT = 5_000;
/** How long a stopping worker waits for the server's answers to its last results. */
export const SETTLE_TIMEOUT = 10_000;
/** How long the server may take to end a stream on which nothing more comes. */
export const GOODBYE_TIMEOUT = 1_000;
