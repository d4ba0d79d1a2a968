package io.perdure;

/**
 * Why a call failed, as constants: one name in every client language. Branch on these, never on an error's text.
 *
 * <p>A newer server may send reasons that are not here; go by the {@link PerdureException#code() code} then.
 */
public final class ErrorReason {
    /** INVALID_ARGUMENT: a field is wrong; BadRequest names each. */
    public static final String INVALID_ARGUMENT = "INVALID_ARGUMENT";

    /** INVALID_ARGUMENT: a value is over its limit [field, limit_bytes, size_bytes]. */
    public static final String PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE";

    /** INVALID_ARGUMENT: a value is not JSON, too deep, or a ref sent by a client [field]. */
    public static final String PAYLOAD_INVALID = "PAYLOAD_INVALID";

    /** INVALID_ARGUMENT: a definition has faults; BadRequest names each. */
    public static final String DEFINITION_INVALID = "DEFINITION_INVALID";

    /** INVALID_ARGUMENT: steps depend on each other in a circle [cycle]. */
    public static final String DEFINITION_CYCLE = "DEFINITION_CYCLE";

    /** INVALID_ARGUMENT: page_token is not from this list with these arguments. */
    public static final String PAGE_TOKEN_INVALID = "PAGE_TOKEN_INVALID";

    /** INVALID_ARGUMENT: resume_token is not from this workflow, or not readable by this version. */
    public static final String RESUME_TOKEN_INVALID = "RESUME_TOKEN_INVALID";

    /** INVALID_ARGUMENT: wake_token is not readable. */
    public static final String WAKE_TOKEN_INVALID = "WAKE_TOKEN_INVALID";

    /** INVALID_ARGUMENT: update_mask names a field that does not exist or may not change [path]. */
    public static final String UPDATE_MASK_INVALID = "UPDATE_MASK_INVALID";

    /** Not used: a filter that no index serves is looked at row by row. */
    public static final String FILTER_NOT_SUPPORTED = "FILTER_NOT_SUPPORTED";

    /** INVALID_ARGUMENT: a cron expression, interval or time zone is wrong [field]. */
    public static final String SCHEDULE_INVALID = "SCHEDULE_INVALID";

    /** INVALID_ARGUMENT: branches named by a result are not those declared [step, branches]. */
    public static final String BRANCH_INVALID = "BRANCH_INVALID";

    /** INVALID_ARGUMENT: an exported workflow cannot be read back [detail]. */
    public static final String EXPORT_INVALID = "EXPORT_INVALID";

    /** ALREADY_EXISTS: same key or same request_id, other input; the stored run is untouched. */
    public static final String START_INPUT_MISMATCH = "START_INPUT_MISMATCH";

    /** ALREADY_EXISTS: the key is in use and the policy is REJECT [state, round]. */
    public static final String WORKFLOW_ALREADY_EXISTS = "WORKFLOW_ALREADY_EXISTS";

    /** ALREADY_EXISTS: the request_id was used before for a request with other content [request_id]. */
    public static final String REQUEST_ID_REUSED = "REQUEST_ID_REUSED";

    /** Not used: a signal_id that a run remembers is a repeat, whatever comes with it. */
    public static final String SIGNAL_ID_REUSED = "SIGNAL_ID_REUSED";

    /** NOT_FOUND: no such workflow or round. */
    public static final String WORKFLOW_NOT_FOUND = "WORKFLOW_NOT_FOUND";

    /** FAILED_PRECONDITION at start: the type has no active definition [command]. NOT_FOUND when one is asked for by name. */
    public static final String DEFINITION_NOT_FOUND = "DEFINITION_NOT_FOUND";

    /** NOT_FOUND: the workflow has no such step [step]. */
    public static final String STEP_NOT_FOUND = "STEP_NOT_FOUND";

    /** NOT_FOUND: no such resource of permits. */
    public static final String RESOURCE_NOT_FOUND = "RESOURCE_NOT_FOUND";

    /** NOT_FOUND: no such batch. */
    public static final String BATCH_NOT_FOUND = "BATCH_NOT_FOUND";

    /** NOT_FOUND: no such schedule. */
    public static final String SCHEDULE_NOT_FOUND = "SCHEDULE_NOT_FOUND";

    /** Not used: a namespace is there without being made, with the server's settings. */
    public static final String NAMESPACE_NOT_FOUND = "NAMESPACE_NOT_FOUND";

    /** NOT_FOUND: no such payload in this run; it may have been freed or redacted. */
    public static final String PAYLOAD_NOT_FOUND = "PAYLOAD_NOT_FOUND";

    /**
     * FAILED_PRECONDITION: the token is not current; drop the work, do not retry [cause: EXPIRED, TIMED_OUT, CANCELLED,
     * SUPERSEDED, CLOSED or UNKNOWN].
     */
    public static final String CLAIM_LOST = "CLAIM_LOST";

    /** FAILED_PRECONDITION: this token was settled with another outcome. */
    public static final String CLAIM_ALREADY_SETTLED = "CLAIM_ALREADY_SETTLED";

    /** FAILED_PRECONDITION: the worker's session is dead; say hello anew. */
    public static final String SESSION_LOST = "SESSION_LOST";

    /** FAILED_PRECONDITION: a newer connection of the same session took over. */
    public static final String SESSION_SUPERSEDED = "SESSION_SUPERSEDED";

    /**
     * FAILED_PRECONDITION: the contract that the worker was built for is in no registered definition [step,
     * step_contract, active_step_contract].
     */
    public static final String DEFINITION_MISMATCH = "DEFINITION_MISMATCH";

    /** FAILED_PRECONDITION: the outcome does not fit the step's kind or state [step, kind]. */
    public static final String OUTCOME_NOT_ALLOWED = "OUTCOME_NOT_ALLOWED";

    /** FAILED_PRECONDITION: the workflow has ended [state]. */
    public static final String WORKFLOW_CLOSED = "WORKFLOW_CLOSED";

    /** FAILED_PRECONDITION: the workflow has not ended [state]. */
    public static final String WORKFLOW_NOT_CLOSED = "WORKFLOW_NOT_CLOSED";

    /** FAILED_PRECONDITION: the workflow is failing; it cannot be cancelled any more. */
    public static final String WORKFLOW_FAILING = "WORKFLOW_FAILING";

    /** Not used: what a cancelling workflow refuses is told as WORKFLOW_STATE_INVALID, with the state. */
    public static final String WORKFLOW_CANCELLING = "WORKFLOW_CANCELLING";

    /** Not used: to pause what is paused is a repeat, and starts and signals are accepted. */
    public static final String WORKFLOW_PAUSED = "WORKFLOW_PAUSED";

    /** Not used: to resume what is not paused is a repeat. */
    public static final String WORKFLOW_NOT_PAUSED = "WORKFLOW_NOT_PAUSED";

    /** FAILED_PRECONDITION: the verb is not allowed in this state [state]. */
    public static final String WORKFLOW_STATE_INVALID = "WORKFLOW_STATE_INVALID";

    /** FAILED_PRECONDITION: the step is not in a state that allows it [step, state]. */
    public static final String STEP_STATE_INVALID = "STEP_STATE_INVALID";

    /** FAILED_PRECONDITION: only the current round can be changed [current_round]. */
    public static final String ROUND_ARCHIVED = "ROUND_ARCHIVED";

    /** FAILED_PRECONDITION: the signals' inbox is full [limit]. */
    public static final String SIGNAL_INBOX_FULL = "SIGNAL_INBOX_FULL";

    /** FAILED_PRECONDITION: the workflow's document has no room for it [limit_bytes]. */
    public static final String DOCUMENT_FULL = "DOCUMENT_FULL";

    /** FAILED_PRECONDITION: the definition is active or has open workflows [open_count]. */
    public static final String DEFINITION_IN_USE = "DEFINITION_IN_USE";

    /** Not used: starts and signals are accepted while a definition is paused. */
    public static final String DEFINITION_PAUSED = "DEFINITION_PAUSED";

    /** FAILED_PRECONDITION: permits of the resource are held or asked for [holder_count]. */
    public static final String RESOURCE_IN_USE = "RESOURCE_IN_USE";

    /** FAILED_PRECONDITION: the migration would lose something; the answer to validate_only lists it. */
    public static final String MIGRATION_LOSES_STATE = "MIGRATION_LOSES_STATE";

    /** FAILED_PRECONDITION: the batch has ended [state]. */
    public static final String BATCH_CLOSED = "BATCH_CLOSED";

    /** ABORTED: `etag` is not current; read again. */
    public static final String REVISION_CONFLICT = "REVISION_CONFLICT";

    /** ABORTED: expected_fence, or the round of a wake_token, is not current; read again [fence]. */
    public static final String FENCED = "FENCED";

    /** RESOURCE_EXHAUSTED: too much at once; retry later [scope, limit]. Never for Complete, RenewClaims, CancelWorkflow and Heartbeat. */
    public static final String OVERLOADED = "OVERLOADED";

    /** RESOURCE_EXHAUSTED: a namespace's limit is reached; retry later [scope, namespace, limit_name, limit]. */
    public static final String QUOTA_EXCEEDED = "QUOTA_EXCEEDED";

    /** RESOURCE_EXHAUSTED: the watcher does not read; resume with the last token. */
    public static final String WATCHER_TOO_SLOW = "WATCHER_TOO_SLOW";

    /** UNAVAILABLE: the store cannot be reached; nothing is known to have happened. */
    public static final String STORE_UNAVAILABLE = "STORE_UNAVAILABLE";

    /** UNAVAILABLE: this server stops; connect to another. */
    public static final String DRAINING = "DRAINING";

    /** UNAVAILABLE: the server has just started and is not ready. */
    public static final String NOT_READY = "NOT_READY";

    /**
     * DEADLINE_EXCEEDED: no answer within the caller's deadline; the effect is unknown, the same request may be
     * repeated. No server sends this reason: the caller's own gRPC says so by the code, and a library may by this name.
     */
    public static final String DEADLINE_EXCEEDED = "DEADLINE_EXCEEDED";

    /**
     * CANCELLED: the caller gave up; the effect is unknown, the same request may be repeated. No server sends this
     * reason: the caller's own gRPC says so by the code, and a library may by this name.
     */
    public static final String CALL_CANCELLED = "CALL_CANCELLED";

    /** UNAUTHENTICATED: no or wrong credentials. */
    public static final String UNAUTHENTICATED = "UNAUTHENTICATED";

    /** PERMISSION_DENIED: the caller's roles do not allow it [role]. Answered before existence is looked at. */
    public static final String PERMISSION_DENIED = "PERMISSION_DENIED";

    /** UNIMPLEMENTED: this server has no rules for the call [method]. */
    public static final String NOT_IMPLEMENTED = "NOT_IMPLEMENTED";

    /** Not used any more: what is refused is refused for good, with the reason that says why. */
    public static final String NOT_SUPPORTED_YET = "NOT_SUPPORTED_YET";

    /** INVALID_ARGUMENT: a message of a kind that this server does not know came on a stream. */
    public static final String UNKNOWN_MESSAGE = "UNKNOWN_MESSAGE";

    /** INVALID_ARGUMENT or FAILED_PRECONDITION: a stream's messages came in an order that is not allowed. */
    public static final String PROTOCOL_VIOLATION = "PROTOCOL_VIOLATION";

    /** INTERNAL: a bug of ours [incident_id, which is in the log]. */
    public static final String INTERNAL = "INTERNAL";

    /** DATA_LOSS: a stored document does not decode and is quarantined [incident_id]. */
    public static final String DOCUMENT_QUARANTINED = "DOCUMENT_QUARANTINED";

    private ErrorReason() {}
}
