"""Every default and bound of the product, in one file; GetServerInfo publishes them and docs/reference/limits.md is made from here.

Durations are integer milliseconds, sizes are bytes. Changing a default is a change of contract.
"""

from typing import Final

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

# Defaults that a definition or a request may override.
SESSION_LEASE: Final = 30 * SECOND
SESSION_LEASE_MIN: Final = 3 * SECOND
POLL_LEASE_MAX: Final = 10 * MINUTE
RENEWALS_PER_LEASE: Final = 3
MAX_ATTEMPTS: Final = 3
RETRY_INITIAL_INTERVAL: Final = 1 * SECOND
RETRY_COEFFICIENT: Final = 2.0
RETRY_MAX_INTERVAL: Final = 1 * MINUTE
RETRY_COEFFICIENT_MAX: Final = 100.0
RETRY_JITTER: Final = 0.2
ATTEMPT_TIMEOUT: Final = 10 * MINUTE
CANCEL_GRACE: Final = 30 * SECOND
MAX_LOST_CLAIMS: Final = 5
PRIORITY: Final = 5
PRIORITY_MAX: Final = 9
AGE_PER_PRIORITY: Final = 30 * SECOND  # one step of priority is worth this much waiting in a ready queue
FAIRNESS_SHARE: Final = 5 * SECOND  # the distance that two steps of one fairness key of weight 1 keep in a ready queue
FAIRNESS_WEIGHT_MIN: Final = 0.001
FAIRNESS_WEIGHT_MAX: Final = 1_000.0
RETENTION: Final = 30 * DAY
TOMBSTONE: Final = 30 * DAY
MAX_IN_FLIGHT: Final = 100  # children of one map step that are open at once

CATCH_UP_WINDOW: Final = 1 * MINUTE  # of a schedule

WORKER_LABELS: Final = 16
WORKER_CAPABILITIES: Final = 64

# Rhythm of the server.
ACKNOWLEDGE_WITHIN: Final = 5 * SECOND
HOLD_AFTER: Final = 3 * SECOND  # a token that still runs this long after its grant is written into its session
EXPIRY_MARGIN: Final = 2 * SECOND
LOOK_AGAIN: Final = 15 * SECOND  # at a dead session that seems to have no claims; a primary that was cut off answers 10 s more
SWEEP_INTERVAL: Final = 1 * SECOND
UNSERVED_AFTER: Final = 30 * SECOND  # so long nobody must serve a queue before that is told
UNSERVED_TOLD_AGAIN: Final = 10 * MINUTE  # and before the log names that queue again
SURVEY_INTERVAL: Final = 15 * SECOND  # the store is asked what stands in its queues, for the metrics
REVISION_POLL_INTERVAL: Final = 2 * SECOND
THROTTLED_AFTER: Final = (
    SECOND // 2
)  # a step that lacks permits for this long is stored as throttled, unless its turn seems to come in as long again
THROTTLED_AT_LAST: Final = 2 * SECOND  # and in any case when it has lasted so long
WAITING_FRESH_FOR: Final = 1_500  # how long another server's word of its waiters keeps units for them
WAITING_KEPT_FOR: Final = MINUTE
AUDIT_INTERVAL: Final = 5 * SECOND
AUDITED_AFTER: Final = 10 * SECOND  # a holder this young is in the middle of its grant
DRAIN_GRACE: Final = 10 * SECOND
FRAMES_WITHIN: Final = 2 * SECOND  # how long a result waits for the frames before it
DUTY_RETRY_FIRST: Final = 1 * SECOND
DUTY_RETRY_CAP: Final = 1 * MINUTE
DUTY_DOUBLINGS: Final = 6
CHILDREN_MADE_WITHIN: Final = 5 * SECOND  # of their intent; then any server makes them
CHILDREN_AUDIT: Final = 10 * MINUTE
CHILDREN_TOLD_EVERY: Final = 1 * SECOND  # how often watchers hear of the progress of a map step, at most
MIN_WAKE_DELAY: Final = 50  # a timer never wakes sooner after its wait opened, so that a wait in the past is no hot loop

NAMESPACE_REFRESH: Final = 5 * SECOND  # how long other servers may not know of a change of a namespace
QUOTA_FRESH: Final = 5 * SECOND  # how old a count of open workflows may be
QUOTA_LOOK_AGAIN: Final = 1 * SECOND  # and one that says that there is no room
QUOTA_TELL: Final = 2 * SECOND  # how often servers tell one another of watchers, where they are limited
QUOTA_TELL_AGAIN: Final = 10 * SECOND
QUOTA_FORGET: Final = 30 * SECOND  # of a server that has said nothing since
QUOTA_MEASURED_WITHIN: Final = 1 * MINUTE  # one server measures the stored bytes for all; after this, another one does
START_BYTES: Final = 1_000  # what a started workflow takes beside its input, about
SIGNAL_BYTES: Final = 200  # what a signal takes beside its payload, about
SESSIONS_LISTED: Final = 10_000  # of one namespace: who serves a queue is told from so many workers
SESSIONS_COUNTED: Final = 100_000
NAMESPACE_USAGE: Final = 30 * SECOND  # how old what is told of its use may be
FIRING_RETRY: Final = 5 * SECOND  # a start that cannot be done now, and the longest pause between two looks at an open workflow
FIRING_PATIENCE: Final = 20  # a firing that waits is looked at again after this part of the time that it has waited
FIRING_STEPS: Final = 50  # stored changes of one schedule in a row, so that catching up is no storm

# Bounds of what is remembered in one schedule.
RECENT_FIRINGS: Final = 10
BUFFERED_FIRINGS: Final = 100
MISSED_COUNTED: Final = 1_000  # of one look; the rest of a long outage is jumped over

# Bounds of what is remembered in one instance.
SETTLED_TOKENS: Final = 4
REQUEST_IDS: Final = 16
PAST_RUNS: Final = 16  # whose claim tokens still lead to their archived round
SIGNAL_IDS: Final = 256
INBOX_SIGNALS: Final = 1_000
ATTEMPT_ERRORS: Final = 10
EVENT_RING: Final = 64
CHILD_ERRORS: Final = 20
CHILD_ERROR_MESSAGE: Final = 512
EAGER_IN_A_ROW: Final = 16
STRIPE_UNITS: Final = 256  # of a resource's capacity in one document
UNDELIVERED_BEFORE_BACKOFF: Final = 3
UNDELIVERED_AS_LOST: Final = 20
IDLE_PAGES: Final = 20  # empty pages in a row with one cursor; each backs off, the last fails the paging step

# Bounds of what comes in.
NAME_LENGTH: Final = 63  # step names: [a-z][a-z0-9_]{0,62}
TYPE_LENGTH: Final = 128
KEY_LENGTH: Final = 512
ID_LENGTH: Final = 128
FAIRNESS_KEY_LENGTH: Final = 256
LABELS: Final = 32
LABEL_KEY_LENGTH: Final = 63
LABEL_VALUE_LENGTH: Final = 256
SCHEDULE_ID_LENGTH: Final = 256
TRIGGERS: Final = 16
INTERVAL_MIN: Final = 1 * SECOND
NOTE: Final = 4 * 1024  # of a schedule; the description of a namespace
NAMESPACE_LABELS: Final = 16
STEPS: Final = 2_000
DEPENDENCIES: Final = 20_000  # of all steps of a definition together
DEFINITION: Final = 2 * 1024 * 1024  # bytes of all names and texts of a definition, so that it can be told in one answer
TEXT_LENGTH_BYTES: Final = 3  # what a text takes beyond itself in an answer
NON_RETRYABLE_TYPES: Final = 100
WAIT_CONDITIONS: Final = 16
SIGNAL_COUNT: Final = 100
PERMITS: Final = 32  # resources that one step asks for
PERMIT_UNITS: Final = 1_000
MAX_IN_FLIGHT_MAX: Final = 1_000
MAP_CHILDREN: Final = 1_000_000  # of one map step
MAP_PAGE: Final = 1_000  # children of one page
CHILD_DEPTH: Final = 16  # parents above a child
RESOURCE_CAPACITY: Final = 100_000
RATE_UNITS: Final = 1_000_000
RESOURCE_DESCRIPTION: Final = 4 * 1024
FAILURE_TYPE_LENGTH: Final = 128
FAILURE_MESSAGE: Final = 4 * 1024
PAYLOAD: Final = 2 * 1024 * 1024
PAYLOAD_METADATA: Final = 8 * 1024
JSON_DEPTH: Final = 90  # below the 100 levels of BSON and of protobuf, so that every layer can read it
FRAME_PAYLOAD: Final = 64 * 1024
FRAMES_PER_CALL: Final = 100
DURATION: Final = 100 * 366 * DAY
TIME: Final = 253_402_300_799_999  # the last millisecond of the year 9999

# What is kept of people's deeds.
AUDIT_RETENTION: Final = 90 * DAY
AUDIT_WITHIN: Final = 5 * SECOND  # an answer waits this long for its audit record
AUDIT_GIVE_UP: Final = 10 * MINUTE  # after that a record that the store never took is counted as lost
AUDIT_REFUSALS_WAITING: Final = 100
BATCH_RETENTION: Final = 30 * DAY  # of an ended batch; as long its request id is remembered
BATCH_LEASE: Final = 15 * SECOND  # a server that has not got on with a batch for so long is thought lost
BATCH_ITEMS: Final = 100  # taken in hand at once
BATCH_AT_ONCE: Final = 16
BATCH_PER_SECOND: Final = 200.0  # and the most that may be asked for
BATCH_REFUSALS: Final = 20
BATCHES_RUNNING: Final = 100  # looked at by one server
ORPHAN_AFTER: Final = 1 * DAY  # a payload that nothing refers to goes so long after it was put last
DELETED_DEFINITION_KEPT: Final = 1 * DAY  # for what was started by it at that moment; a start is decided, or given up, long before
IN_USE_LISTED: Final = 5  # workflows that a refusal to delete a definition names
PAYLOAD_UNUSED: Final = 2 * MINUTE  # put so long ago, it will not be referred to any more: a state is given up 60 s after its payloads
IMPORT: Final = 64 * 1024 * 1024
HOUSEKEEPING_INTERVAL: Final = 20 * SECOND
HOUSEKEEPING_BATCH: Final = 500

# Bounds of a document.
INLINE_PAYLOAD: Final = 16 * 1024
INLINE_TOTAL: Final = 256 * 1024
CLAIM_INLINE: Final = 1024 * 1024
FAILURES_TOLD: Final = 256 * 1024  # messages of all failures in one claim or answer; of more, each is cut to its share
READ_INLINE: Final = 3 * 1024 * 1024
DOCUMENT: Final = 8 * 1024 * 1024
DOCUMENT_RESERVE: Final = 1024 * 1024  # for ends
DOCUMENT_WARNING: Final = DOCUMENT * 4 // 5  # from here on a workflow is named in the log and in its explanation
PLAIN_STEPS: Final = 64

# Bounds of a call.
PAGE_SIZE: Final = 100
PAGE_SIZE_MAX: Final = 1_000
WATCHED_WORKFLOWS: Final = 10_000  # by one WatchWorkflows
LIST_ROWS: Final = 5_000  # looked at for one page; then it is short, and the next goes on from there
COUNT_ROWS: Final = 10_000  # looked at for one count; then it is an estimate
STARTS_PER_CALL: Final = 500
RESULT_WAIT_MAX: Final = 60 * SECOND
POLL_WAIT_MAX: Final = 60 * SECOND
POLL_CLAIMS_MAX: Final = 100
POOLS: Final = 200
CREDIT: Final = 10_000
