"""The bounds of this adapter: how long a command may take, how much goes into one. Sizes in bytes."""

from typing import Final

# The socket waits longer than the server does for majority and journal, so that the server's own answer comes first.
WRITE_TIMEOUT_MS: Final = 5_000
READ_TIMEOUT_MS: Final = 5_000
SOCKET_TIMEOUT_MS: Final = 8_000
CONNECT_TIMEOUT_MS: Final = 3_000
SELECTION_TIMEOUT_MS: Final = 5_000
CONNECTIONS: Final = 32
CLOCK_APART_MS: Final = 1_000  # of this machine and the store; more is worth a word from `perdure doctor`

BATCHES_IN_FLIGHT: Final = 2
BATCH_WRITES: Final = 500
DIVIDED_FROM: Final = 16  # waiting writes; fewer go out as one batch
BATCH_BYTES: Final = 12 * 1024 * 1024  # below the 16 MiB of a command on every version
LOADS_TOGETHER: Final = 100
LISTS_IN_FLIGHT: Final = 4  # lists and counts never take the driver's threads from commits and renewals
REFUSED_KEPT: Final = 1_000  # of one session; an older one is lost in its workflow anyway
REVISIONS_TOGETHER: Final = 1_000
PAYLOAD_BATCH_BYTES: Final = 8 * 1024 * 1024
DOCUMENT_BYTES: Final = 16 * 1024 * 1024  # MongoDB's own bound
SESSIONS_AT_ONCE: Final = 1_000  # read in one command; each may have 16 KiB then
LISTED_DEFINITIONS: Final = 10_000
OUTLINED_STEPS: Final = 64  # steps whose contents are left out by name
OUTLINES_TOGETHER: Final = 100
MEASURED_TOGETHER: Final = 200  # documents whose size is asked for in one command
LOST_RACES: Final = 20  # each means that somebody else got on; more in a row is a fault

# Of the sessions that transactions run in: how long a server may be silent until others kill them, how often it says that it lives, and how
# long it uses them after it has said so.
REGISTRATION_MS: Final = 3_000
REGISTRATION_RENEWED_MS: Final = 1_000
REGISTRATION_USED_MS: Final = 2_000
REGISTRATION_IDLE_MS: Final = 10_000  # without a transaction; then a server has none registered
TRANSACTION_FROM: Final = 3  # writes; a smaller batch costs less without one
TRANSACTION_BYTES: Final = 4 * 1024 * 1024  # of documents; the stand-in store, with 256 MiB of cache, stops for good at 25 MiB
STEP_BYTES: Final = 300  # what a stored step takes without its payloads, about
