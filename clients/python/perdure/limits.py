"""Numbers of the client and the worker, in one file. Durations are seconds, sizes are bytes."""

from typing import Final

# Calls.
CALL_TIMEOUT: Final = 30.0
"""A unary call with all its retries, unless the client is told otherwise."""
FIRST_CONTACT_TIMEOUT: Final = 5.0
"""How long UNAVAILABLE is retried before the client has ever reached a server: probably none runs at that address."""
REDRAW_INTERVAL: Final = 0.1
"""How often a live picture is drawn at most."""
REDRAW_IDLE_TIMEOUT: Final = 1.0
"""How often it is drawn, and what events do not tell is read, when nothing happens."""
BENCH_RETENTION: Final = 3600.0
"""How long the workflows of `perdure bench` are kept."""
COMPLETION_TIMEOUT: Final = 0.7
"""How long a shell that completes a word waits for a server."""
COMPLETIONS: Final = 100
"""How many words a shell is offered."""
COMMAND_CONNECT_TIMEOUT: Final = 1.5
"""The same for the command line, where a person waits."""
RETRY_INITIAL_INTERVAL: Final = 0.1
RETRY_MAX_INTERVAL: Final = 2.0
RESULT_WAIT_TIMEOUT: Final = 45.0
"""One WaitForResult; the server answers within 60 s at most."""
POLL_WAIT: Final = 20.0
"""How long `client.poll` waits for the first claim, unless told otherwise; the server waits 60 s at most."""
CALL_MARGIN_TIMEOUT: Final = 10.0
"""What a call that waits on purpose gets beyond its wait."""
STARTS_IN_FLIGHT: Final = 2
"""While so many calls of starts are in flight, further starts wait, to share the next call."""
STARTS_WAIT: Final = 0.02
"""How long a start waits for others at most."""
STARTS_TOGETHER: Final = 100
START_BYTES_TOGETHER: Final = 512 * 1024
"""Of all starts of one call; a larger start goes alone."""
MESSAGE_BYTES: Final = 64 * 1024 * 1024
"""Largest answer that is taken; the server's own bounds are far below."""

KEEPALIVE_INTERVAL: Final = 30.0
KEEPALIVE_TIMEOUT: Final = 10.0
"""A connection that answers no ping for so long is dropped; pings go out only while calls run."""

# Watch.
WATCH_IDLE_TIMEOUT: Final = 60.0
"""A watch that hears nothing for so long, not even a keep-alive, is opened again."""

# Worker: connection.
CONNECT_TIMEOUT: Final = 10.0
"""How long `async with client.worker(...)` waits for its first welcome before it raises."""
HANDSHAKE_TIMEOUT: Final = 10.0
"""From the dial to welcome; a handshake without a bound can hang for good."""
RECONNECT_INITIAL_INTERVAL: Final = 0.2
RECONNECT_MAX_INTERVAL: Final = 5.0
MISSED_RENEWALS: Final = 1.5
"""A stream on which a renew stays unanswered for this many intervals is dead (25 s at the default of 10 s)."""
STATUS_DELAY: Final = 0.2
"""How long the reason of a broken stream may lag behind the break."""
ACKNOWLEDGE_DELAY: Final = 0.02
"""A claim that still runs after this is acknowledged by a renew, so that a step that kills its worker is charged (case C27);
a faster one is acknowledged by its result."""
FAILURE_LOG_INTERVAL: Final = 30.0
"""While no stream can be opened, that is said this often."""

# Worker: sizes.
STREAM_RESULT_BYTES: Final = 240 * 1024
"""Larger results and checkpoints go by unary calls, so that they never delay a renewal (the server's bound is 256 KiB)."""
STREAM_MESSAGE_BYTES: Final = 1024 * 1024
"""Results and heartbeats are gathered into messages of about this size."""
FRAME_BYTES: Final = 64 * 1024
FRAMES_PER_HEARTBEAT: Final = 100
FRAME_BACKLOG: Final = 10_000
"""Frames of one claim that wait for a server; more are dropped (a frame is transient), before they are numbered."""
FAILURE_MESSAGE_BYTES: Final = 4 * 1024
FAILURE_TYPE_BYTES: Final = 128
FAILURE_STACK_BYTES: Final = 16 * 1024

# Codec.
CODEC_THREAD_BYTES: Final = 256 * 1024
"""Larger messages are encoded and decoded in a thread, so that the loop goes on (2 MiB of JSON take about 30 ms)."""
CODEC_RETRY_INTERVAL: Final = 10.0
"""When an attempt whose values could not be decoded is tried again, by this worker or by one that has the keys."""

# Worker: slots and stop.
ASYNC_SLOTS: Final = 100
"""Slots of the pool of all `async def` steps of a definition that `slots` does not name."""
THREAD_SLOTS_MAX: Final = 32
STOP_GRACE: Final = 30.0
"""How long running activities may go on after a stop was asked for, before their claims are given back."""
UNWIND_TIMEOUT: Final = 5.0
"""How long an activity that was told to stop may take before the worker goes on without it."""
SETTLE_TIMEOUT: Final = 10.0
"""How long a stopping worker waits for the server's answers to its last results."""
GOODBYE_TIMEOUT: Final = 1.0
"""How long the server may take to end a stream on which nothing more comes."""
PROCESS_POLL: Final = 0.1
"""How often the thread of an activity's process looks whether it should be stopped."""
