package io.perdure;

import java.time.Duration;

/** Numbers of the client and the worker, in one file. Sizes are bytes. */
final class Limits {
    /** A unary call with all its retries, unless the client is told otherwise. */
    static final Duration CALL_TIMEOUT = Duration.ofSeconds(30);
    /** How long UNAVAILABLE is retried before the client has ever reached a server: probably none runs at that address. */
    static final Duration FIRST_CONTACT_TIMEOUT = Duration.ofSeconds(5);
    static final Duration RETRY_INITIAL_INTERVAL = Duration.ofMillis(100);
    static final Duration RETRY_MAX_INTERVAL = Duration.ofSeconds(2);
    /** One WaitForResult; the server answers within 60 s at most. */
    static final Duration RESULT_WAIT_TIMEOUT = Duration.ofSeconds(45);
    /** What a call that waits on purpose gets beyond its wait. */
    static final Duration CALL_MARGIN_TIMEOUT = Duration.ofSeconds(10);
    /** Largest answer that is taken; the server's own bounds are far below. */
    static final int MESSAGE_BYTES = 64 * 1024 * 1024;

    static final Duration KEEPALIVE_INTERVAL = Duration.ofSeconds(30);
    /** A connection that answers no ping for so long is dropped; pings go out only while calls run. */
    static final Duration KEEPALIVE_TIMEOUT = Duration.ofSeconds(10);
    /** How long closing waits for calls that still run. */
    static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);

    /** A watch that hears nothing for so long, not even a keep-alive, is opened again. */
    static final Duration WATCH_IDLE_TIMEOUT = Duration.ofSeconds(60);

    /** How long the start of a worker waits for its first welcome before it throws. */
    static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);
    /** From the dial to welcome; a handshake without a bound can hang for good. */
    static final Duration HANDSHAKE_TIMEOUT = Duration.ofSeconds(10);
    static final Duration RECONNECT_INITIAL_INTERVAL = Duration.ofMillis(200);
    static final Duration RECONNECT_MAX_INTERVAL = Duration.ofSeconds(5);
    /** A stream on which a renew stays unanswered for this many intervals is dead (15 s at the default of 10 s). */
    static final double MISSED_RENEWALS = 1.5;
    static final Duration RENEW_MIN_INTERVAL = Duration.ofMillis(200);
    /** A claim that still runs after this is acknowledged by a renew; a faster one by its result. */
    static final Duration ACKNOWLEDGE_DELAY = Duration.ofMillis(20);
    /** While no stream can be opened, that is said this often. */
    static final Duration FAILURE_LOG_INTERVAL = Duration.ofSeconds(30);

    /** Larger results and checkpoints go by unary calls, so that they never delay a renewal (the server's bound is 256 KiB). */
    static final int STREAM_RESULT_BYTES = 240 * 1024;
    /** Results and heartbeats are gathered into messages of about this size. */
    static final int STREAM_MESSAGE_BYTES = 1024 * 1024;

    static final int FRAME_BYTES = 64 * 1024;
    static final int FRAMES_PER_HEARTBEAT = 100;
    /** Frames of one claim that wait for a server; more are dropped (a frame is transient), before they are numbered. */
    static final int FRAME_BACKLOG = 10_000;

    static final int FAILURE_MESSAGE_BYTES = 4 * 1024;
    static final int FAILURE_TYPE_BYTES = 128;
    static final int FAILURE_STACK_BYTES = 16 * 1024;
    /** When an attempt whose values could not be decoded is tried again, by this worker or by one that has the keys. */
    static final Duration CODEC_RETRY_INTERVAL = Duration.ofSeconds(10);

    static final int SLOTS_MAX = 32;
    /** How long running activities may go on after a stop was asked for, before their claims are given back. */
    static final Duration STOP_GRACE = Duration.ofSeconds(30);
    /** How long an activity that was told to stop may take before the worker goes on without it. */
    static final Duration UNWIND_TIMEOUT = Duration.ofSeconds(5);
    /** How long a stopping worker waits for the server's answers to its last results. */
    static final Duration SETTLE_TIMEOUT = Duration.ofSeconds(10);
    /** How long the server may take to end a stream on which nothing more comes. */
    static final Duration GOODBYE_TIMEOUT = Duration.ofSeconds(1);
    /** How long an idle thread of an activity is kept. */
    static final Duration IDLE_THREAD = Duration.ofSeconds(10);

    private Limits() {}
}
