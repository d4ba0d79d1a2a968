"""Every bound of the coordination adapters, in one file. Durations are milliseconds, sizes are bytes."""

from typing import Final

# Order of the ready queues (how they order: kernel/ordering.py).
FAIRNESS_KEPT: Final = 3_600_000  # Redis only: last scores go this long after the last offer with a fairness key
FAIRNESS_KEYS: Final = 10_000  # per queue; above it the queue's fairness starts anew

# What one queue, and all timers, may hold; above it an offer is dropped and the sweep makes it again.
QUEUE_ITEMS: Final = 200_000
TIMERS: Final = 500_000
WAKEUPS_WAITING: Final = 10_000  # unread, per subscription; above it they become one "re-read everything"
WAKEUPS_PER_MESSAGE: Final = 1_000

# Frames of one run.
FRAMES: Final = 1_000
FRAMES_SIZE: Final = 1024 * 1024
FRAMES_KEPT: Final = 86_400_000  # after the last append
FRAME_SOURCES: Final = 10_000  # (step, claim_no) pairs whose last seq is remembered
FRAME_OVERHEAD: Final = 64  # charged per frame, so that empty ones are bounded by size too
RUN_OVERHEAD: Final = 1024  # charged per run, in-process
FRAMES_TOTAL: Final = 256 * 1024 * 1024  # all runs together, in-process only: the runs appended to longest ago go first

# Redis.
TIMEOUT: Final = 1_000  # of a connect, and of a batch from its sending to its last reply
BATCH_COMMANDS: Final = 500
BATCH_SIZE: Final = 4 * 1024 * 1024
REQUESTS_WAITING: Final = 10_000  # calls that wait for the sender; above it they are refused at once
IDLE_PING: Final = 5_000  # a connection without traffic is asked this often whether it lives
BACKOFF_MIN: Final = 50
BACKOFF_MAX: Final = 5_000
STABLE: Final = 2_000  # a connection that lasted this long starts the back-off anew
POP_SLICE: Final = 2_000  # longest single blocked pop, and so how long a silently broken one stays unnoticed (plus TIMEOUT)
POLL_MIN: Final = 100  # where pops cannot block (Redis Cluster, Redis 6)
POLL_MAX: Final = 300
TEND: Final = 60_000  # how often expiry and cap of a key in use are renewed, per process
TENDED_KEYS: Final = 10_000
READY_KEPT: Final = 86_400_000  # a queue that nobody offered to or served goes after this
TIMERS_KEPT: Final = 3_600_000
TIMER_SHARDS: Final = 4
TIMERS_PER_POP: Final = 1_000
BELL_KEPT: Final = 60_000
