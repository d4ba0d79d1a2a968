"""Every bound of the coordination adapters, in one file. Durations are milliseconds, sizes are bytes."""

from typing import Final

# Order of the ready queues.
AGE_PER_PRIORITY: Final = 30_000  # one step of priority is worth this much waiting
FAIRNESS_SHARE: Final = 1_000  # the distance that two items of one fairness key keep
FAIRNESS_KEPT: Final = 600_000  # how long a last score is kept after it has stopped to matter
FAIRNESS_KEPT_MAX: Final = 86_400_000
FAIRNESS_KEYS: Final = 10_000  # per queue, in-process; above this those that no longer matter are dropped

# What one queue, and all timers, may hold; above it an offer is dropped and the sweep makes it again.
QUEUE_ITEMS: Final = 200_000
TIMERS: Final = 500_000
WAKEUPS_WAITING: Final = 10_000  # unread, per subscription; above it they become one "re-read everything"

# Frames of one run.
FRAMES: Final = 1_000
FRAMES_SIZE: Final = 1024 * 1024
FRAMES_KEPT: Final = 86_400_000  # after the last append
FRAME_SOURCES: Final = 10_000  # (step, claim_no) pairs whose last seq is remembered
FRAME_OVERHEAD: Final = 64  # charged per frame, so that empty ones are bounded by size too
FRAMES_TOTAL: Final = 256 * 1024 * 1024  # all runs together, in-process only: the runs appended to longest ago go first
