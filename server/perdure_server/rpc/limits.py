"""Bounds and rhythms of the transport, each with its reason. Durations in ms, sizes in bytes; the product's own are in kernel/limits.py."""

from typing import Final

from perdure_server.kernel.limits import DAY, MINUTE, PAYLOAD, SECOND

KIB: Final = 1024
MIB: Final = 1024 * KIB

# Messages. Clients of every language take 4 MiB unless told otherwise, so no answer of ours is larger than RESPONSE; a request may
# carry several payloads of the largest size (a start with its signals, a batch of starts).
REQUEST: Final = 4 * PAYLOAD
RESPONSE: Final = 3 * MIB + 512 * KIB
RESPONSE_MAX: Final = 4 * MIB
POOL_STATUSES: Final = 1 * MIB  # in an answer that carries claims, too

# An error's details travel in a trailer. gRPC clients drop a whole answer whose metadata is over 8 KiB, so they are cut before.
ERROR_DETAILS: Final = 4 * KIB
ERROR_MESSAGE: Final = 1 * KIB

# RetryInfo, which goes with every RESOURCE_EXHAUSTED and UNAVAILABLE.
RETRY_STORE: Final = 1 * SECOND  # a step-down takes seconds; sooner only adds load to what is struggling
RETRY_ELSEWHERE: Final = 100  # draining, not ready: another replica can answer at once
RETRY_OVERLOADED: Final = 2 * SECOND

# Keepalive: a peer that vanished without a word is found within about half a minute, sooner than a session's lease ends (case C57).
KEEPALIVE_INTERVAL: Final = 20 * SECOND
KEEPALIVE_TIMEOUT: Final = 10 * SECOND
# Clients may ping this often; pings above it are ignored, never punished: "too many pings" would cut healthy workers (case C58).
PING_INTERVAL_MIN: Final = 5 * SECOND

# A server that leaves stops to listen when no call has come for this long: what is on its way then would be answered with CANCELLED.
QUIET: Final = 250
# After the last handler of ours has returned, its answer may still be on its way; what else is open then is cut.
LINGER: Final = 250
# How often readiness is looked at for those who watch the health service.
HEALTH_INTERVAL: Final = 1_000
PROBE: Final = 3 * SECOND
# How often files of the doors (certificates, access file) are looked at; published: what is revoked in a file has ended 5 s later.
DOORS_INTERVAL: Final = 2 * SECOND
DOORS_FILE: Final = 4 * MIB
JWT_LEEWAY_SECONDS: Final = 30
CERTIFICATE_BACKDATED: Final = 5 * MINUTE  # clocks of two machines differ
TRY_OUT_CERTIFICATES: Final = 30 * DAY
JWTS_REMEMBERED: Final = 10_000
JWKS_BYTES: Final = 256 * KIB
JWKS_KEYS: Final = 100
JWKS_TIMEOUT: Final = 5 * SECOND
JWKS_REFRESH: Final = 10 * MINUTE
JWKS_REFETCH: Final = 30 * SECOND  # so often at most, whatever keys tokens name: a stranger must not make this server ask

# Connection age spreads clients over replicas that were added later. The order is what matters: our own go_away comes first, at
# STREAM_AGE; the transport's GOAWAY at CONNECTION_AGE only stops new calls on the connection; and its grace outlives any stream that
# began before, so that the transport never cuts a stream in the middle of a message (case C58).
STREAM_AGE: Final = 20 * MINUTE  # the default of the setting; a quarter of it is jitter
GO_AWAY_GRACE: Final = 30 * SECOND
CONNECTION_AGE_FACTOR: Final = 1.5  # of the stream's age; its grace is as long again

# So many calls may wait to be accepted; of more, a growing share is refused by gRPC itself, and all above twice as many. A call that
# waits takes about 10 KiB, and gRPC drops one that has waited 30 s.
PENDING_CALLS: Final = 20_000

# A peer that does not read for this long is cut; what it missed is kept where it belongs, in the workflow (case C62).
WRITE_STALL: Final = 30 * SECOND
# After the worker's half-close, answers to what it had sent are still written for this long.
FINISH_AFTER_HALF_CLOSE: Final = 10 * SECOND

# One call.
CANCEL_REASON: Final = 4 * KIB  # and every other reason that a person gives
ETAG: Final = 256
AUDIT_METHODS: Final = 64
FILE_CHUNK: Final = 256 * KIB  # of exported and imported workflows
ACTOR: Final = 256  # characters of the name that a call gives itself
START_SIGNALS: Final = 16
FAIRNESS_KEY: Final = 256
OFFERED_DEFINITIONS: Final = 64
FILTER_TYPES: Final = 16
FILTER_LABELS: Final = 8
FILTER_QUEUES: Final = 16
FILTER_KEYS: Final = 100
FILTER_FINGERPRINTS: Final = 16
FILTER_FAILURES: Final = 16
COUNTED: Final = 10_000  # counting stops here, and says so
STREAM_RESULT: Final = 256 * KIB  # told to clients: larger ones go by unary Complete, so that they never delay a renewal
SCRIPTS: Final = 1_000
CHANGES_BETWEEN_COUNTS: Final = 100
IDLE_WAIT: Final = 10_000
IDLE_WAIT_MAX: Final = 60_000
ANSWER_MARGIN: Final = 200  # a long poll answers this much before the caller's deadline, so that the answer still arrives
TRACESTATE: Final = 512

# Ids and tokens.
RUN_ID: Final = 12
WORKFLOW_ID: Final = 16
PAGE_TOKEN_DIGEST: Final = 8
