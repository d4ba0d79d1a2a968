package perdure

// What a server of this version can answer. TestReasonsAreThoseOfTheProto compares this list with the generated enum.
const (
	// ReasonInvalidArgument: INVALID_ARGUMENT: a field is wrong; BadRequest names each.
	ReasonInvalidArgument Reason = "INVALID_ARGUMENT"
	// ReasonPayloadTooLarge: INVALID_ARGUMENT: a value is over its limit [field, limit_bytes, size_bytes].
	ReasonPayloadTooLarge Reason = "PAYLOAD_TOO_LARGE"
	// ReasonPayloadInvalid: INVALID_ARGUMENT: a value is not JSON, too deep, or a ref sent by a client [field].
	ReasonPayloadInvalid Reason = "PAYLOAD_INVALID"
	// ReasonDefinitionInvalid: INVALID_ARGUMENT: a definition has faults; BadRequest names each.
	ReasonDefinitionInvalid Reason = "DEFINITION_INVALID"
	// ReasonDefinitionCycle: INVALID_ARGUMENT: steps depend on each other in a circle [cycle].
	ReasonDefinitionCycle Reason = "DEFINITION_CYCLE"
	// ReasonPageTokenInvalid: INVALID_ARGUMENT: page_token is not from this list with these arguments.
	ReasonPageTokenInvalid Reason = "PAGE_TOKEN_INVALID"
	// ReasonResumeTokenInvalid: INVALID_ARGUMENT: resume_token is not from this workflow, or not readable by this version.
	ReasonResumeTokenInvalid Reason = "RESUME_TOKEN_INVALID"
	// ReasonWakeTokenInvalid: INVALID_ARGUMENT: wake_token is not readable.
	ReasonWakeTokenInvalid Reason = "WAKE_TOKEN_INVALID"
	// ReasonUpdateMaskInvalid: INVALID_ARGUMENT: update_mask names a field that does not exist or may not change [path].
	ReasonUpdateMaskInvalid Reason = "UPDATE_MASK_INVALID"
	// ReasonFilterNotSupported: Not used: a filter that no index serves is looked at row by row.
	ReasonFilterNotSupported Reason = "FILTER_NOT_SUPPORTED"
	// ReasonScheduleInvalid: INVALID_ARGUMENT: a cron expression, interval or time zone is wrong [field].
	ReasonScheduleInvalid Reason = "SCHEDULE_INVALID"
	// ReasonBranchInvalid: INVALID_ARGUMENT: branches named by a result are not those declared [step, branches].
	ReasonBranchInvalid Reason = "BRANCH_INVALID"
	// ReasonExportInvalid: INVALID_ARGUMENT: an exported workflow cannot be read back [detail].
	ReasonExportInvalid Reason = "EXPORT_INVALID"
	// ReasonStartInputMismatch: ALREADY_EXISTS: same key or same request_id, other input; the stored run is untouched.
	ReasonStartInputMismatch Reason = "START_INPUT_MISMATCH"
	// ReasonWorkflowAlreadyExists: ALREADY_EXISTS: the key is in use and the policy is REJECT [state, round].
	ReasonWorkflowAlreadyExists Reason = "WORKFLOW_ALREADY_EXISTS"
	// ReasonRequestIDReused: ALREADY_EXISTS: the request_id was used before for a request with other content [request_id].
	ReasonRequestIDReused Reason = "REQUEST_ID_REUSED"
	// ReasonSignalIDReused: Not used: a signal_id that a run remembers is a repeat, whatever comes with it.
	ReasonSignalIDReused Reason = "SIGNAL_ID_REUSED"
	// ReasonWorkflowNotFound: NOT_FOUND: no such workflow or round.
	ReasonWorkflowNotFound Reason = "WORKFLOW_NOT_FOUND"
	// ReasonDefinitionNotFound: FAILED_PRECONDITION at start: the type has no active definition [command]. NOT_FOUND when
	// one is asked for by name.
	ReasonDefinitionNotFound Reason = "DEFINITION_NOT_FOUND"
	// ReasonStepNotFound: NOT_FOUND: the workflow has no such step [step].
	ReasonStepNotFound Reason = "STEP_NOT_FOUND"
	// ReasonResourceNotFound: NOT_FOUND: no such resource of permits.
	ReasonResourceNotFound Reason = "RESOURCE_NOT_FOUND"
	// ReasonBatchNotFound: NOT_FOUND: no such batch.
	ReasonBatchNotFound Reason = "BATCH_NOT_FOUND"
	// ReasonScheduleNotFound: NOT_FOUND: no such schedule.
	ReasonScheduleNotFound Reason = "SCHEDULE_NOT_FOUND"
	// ReasonNamespaceNotFound: Not used: a namespace is there without being made, with the server's settings.
	ReasonNamespaceNotFound Reason = "NAMESPACE_NOT_FOUND"
	// ReasonPayloadNotFound: NOT_FOUND: no such payload in this run; it may have been freed or redacted.
	ReasonPayloadNotFound Reason = "PAYLOAD_NOT_FOUND"
	// ReasonClaimLost: FAILED_PRECONDITION: the token is not current; drop the work, do not retry [cause: EXPIRED,
	// TIMED_OUT, CANCELLED, SUPERSEDED, CLOSED or UNKNOWN].
	ReasonClaimLost Reason = "CLAIM_LOST"
	// ReasonClaimAlreadySettled: FAILED_PRECONDITION: this token was settled with another outcome.
	ReasonClaimAlreadySettled Reason = "CLAIM_ALREADY_SETTLED"
	// ReasonSessionLost: FAILED_PRECONDITION: the worker's session is dead; say hello anew.
	ReasonSessionLost Reason = "SESSION_LOST"
	// ReasonSessionSuperseded: FAILED_PRECONDITION: a newer connection of the same session took over.
	ReasonSessionSuperseded Reason = "SESSION_SUPERSEDED"
	// ReasonDefinitionMismatch: FAILED_PRECONDITION: the contract that the worker was built for is in no registered
	// definition [step, step_contract, active_step_contract].
	ReasonDefinitionMismatch Reason = "DEFINITION_MISMATCH"
	// ReasonOutcomeNotAllowed: FAILED_PRECONDITION: the outcome does not fit the step's kind or state [step, kind].
	ReasonOutcomeNotAllowed Reason = "OUTCOME_NOT_ALLOWED"
	// ReasonWorkflowClosed: FAILED_PRECONDITION: the workflow has ended [state].
	ReasonWorkflowClosed Reason = "WORKFLOW_CLOSED"
	// ReasonWorkflowNotClosed: FAILED_PRECONDITION: the workflow has not ended [state].
	ReasonWorkflowNotClosed Reason = "WORKFLOW_NOT_CLOSED"
	// ReasonWorkflowFailing: FAILED_PRECONDITION: the workflow is failing; it cannot be cancelled any more.
	ReasonWorkflowFailing Reason = "WORKFLOW_FAILING"
	// ReasonWorkflowCancelling: Not used: what a cancelling workflow refuses is told as WORKFLOW_STATE_INVALID, with the
	// state.
	ReasonWorkflowCancelling Reason = "WORKFLOW_CANCELLING"
	// ReasonWorkflowPaused: Not used: to pause what is paused is a repeat, and starts and signals are accepted.
	ReasonWorkflowPaused Reason = "WORKFLOW_PAUSED"
	// ReasonWorkflowNotPaused: Not used: to resume what is not paused is a repeat.
	ReasonWorkflowNotPaused Reason = "WORKFLOW_NOT_PAUSED"
	// ReasonWorkflowStateInvalid: FAILED_PRECONDITION: the verb is not allowed in this state [state].
	ReasonWorkflowStateInvalid Reason = "WORKFLOW_STATE_INVALID"
	// ReasonStepStateInvalid: FAILED_PRECONDITION: the step is not in a state that allows it [step, state].
	ReasonStepStateInvalid Reason = "STEP_STATE_INVALID"
	// ReasonRoundArchived: FAILED_PRECONDITION: only the current round can be changed [current_round].
	ReasonRoundArchived Reason = "ROUND_ARCHIVED"
	// ReasonSignalInboxFull: FAILED_PRECONDITION: the signals' inbox is full [limit].
	ReasonSignalInboxFull Reason = "SIGNAL_INBOX_FULL"
	// ReasonDocumentFull: FAILED_PRECONDITION: the workflow's document has no room for it [limit_bytes].
	ReasonDocumentFull Reason = "DOCUMENT_FULL"
	// ReasonDefinitionInUse: FAILED_PRECONDITION: the definition is active or has open workflows [open_count].
	ReasonDefinitionInUse Reason = "DEFINITION_IN_USE"
	// ReasonDefinitionPaused: Not used: starts and signals are accepted while a definition is paused.
	ReasonDefinitionPaused Reason = "DEFINITION_PAUSED"
	// ReasonResourceInUse: FAILED_PRECONDITION: permits of the resource are held or asked for [holder_count].
	ReasonResourceInUse Reason = "RESOURCE_IN_USE"
	// ReasonMigrationLosesState: FAILED_PRECONDITION: the migration would lose something; the answer to validate_only
	// lists it.
	ReasonMigrationLosesState Reason = "MIGRATION_LOSES_STATE"
	// ReasonBatchClosed: FAILED_PRECONDITION: the batch has ended [state].
	ReasonBatchClosed Reason = "BATCH_CLOSED"
	// ReasonRevisionConflict: ABORTED: `etag` is not current; read again.
	ReasonRevisionConflict Reason = "REVISION_CONFLICT"
	// ReasonFenced: ABORTED: expected_fence, or the round of a wake_token, is not current; read again [fence].
	ReasonFenced Reason = "FENCED"
	// ReasonOverloaded: RESOURCE_EXHAUSTED: too much at once; retry later [scope, limit]. Never for Complete, RenewClaims,
	// CancelWorkflow and Heartbeat.
	ReasonOverloaded Reason = "OVERLOADED"
	// ReasonQuotaExceeded: RESOURCE_EXHAUSTED: a namespace's limit is reached; retry later [scope, namespace, limit_name,
	// limit].
	ReasonQuotaExceeded Reason = "QUOTA_EXCEEDED"
	// ReasonWatcherTooSlow: RESOURCE_EXHAUSTED: the watcher does not read; resume with the last token.
	ReasonWatcherTooSlow Reason = "WATCHER_TOO_SLOW"
	// ReasonStoreUnavailable: UNAVAILABLE: the store cannot be reached; nothing is known to have happened.
	ReasonStoreUnavailable Reason = "STORE_UNAVAILABLE"
	// ReasonDraining: UNAVAILABLE: this server stops; connect to another.
	ReasonDraining Reason = "DRAINING"
	// ReasonNotReady: UNAVAILABLE: the server has just started and is not ready.
	ReasonNotReady Reason = "NOT_READY"
	// ReasonDeadlineExceeded: DEADLINE_EXCEEDED: no answer within the caller's deadline; the effect is unknown, the same
	// request may be repeated. No server sends this reason: the caller's own gRPC says so by the code, and a library may
	// by this name.
	ReasonDeadlineExceeded Reason = "DEADLINE_EXCEEDED"
	// ReasonCallCancelled: CANCELLED: the caller gave up; the effect is unknown, the same request may be repeated. No
	// server sends this reason: the caller's own gRPC says so by the code, and a library may by this name.
	ReasonCallCancelled Reason = "CALL_CANCELLED"
	// ReasonUnauthenticated: UNAUTHENTICATED: no or wrong credentials.
	ReasonUnauthenticated Reason = "UNAUTHENTICATED"
	// ReasonPermissionDenied: PERMISSION_DENIED: the caller's roles do not allow it [role]. Answered before existence is
	// looked at.
	ReasonPermissionDenied Reason = "PERMISSION_DENIED"
	// ReasonNotImplemented: UNIMPLEMENTED: this server has no rules for the call [method].
	ReasonNotImplemented Reason = "NOT_IMPLEMENTED"
	// ReasonNotSupportedYet: Not used any more: what is refused is refused for good, with the reason that says why.
	ReasonNotSupportedYet Reason = "NOT_SUPPORTED_YET"
	// ReasonUnknownMessage: INVALID_ARGUMENT: a message of a kind that this server does not know came on a stream.
	ReasonUnknownMessage Reason = "UNKNOWN_MESSAGE"
	// ReasonProtocolViolation: INVALID_ARGUMENT or FAILED_PRECONDITION: a stream's messages came in an order that is not
	// allowed.
	ReasonProtocolViolation Reason = "PROTOCOL_VIOLATION"
	// ReasonInternal: INTERNAL: a bug of ours [incident_id, which is in the log].
	ReasonInternal Reason = "INTERNAL"
	// ReasonDocumentQuarantined: DATA_LOSS: a stored document does not decode and is quarantined [incident_id].
	ReasonDocumentQuarantined Reason = "DOCUMENT_QUARANTINED"
)
