package io.perdure;

import io.perdure.v1.Workflow.State;

/** Life of a workflow. */
public enum WorkflowState {
    /** One that only newer servers know. */
    UNKNOWN,
    /** It goes on. */
    RUNNING,
    /** A cancel was asked for, and what runs is being stopped. */
    CANCELLING,
    /** A step has failed; what was done is being settled. */
    FAILING,
    /** It is being reopened. */
    PREPARING_REPLAY,
    /** It has ended well. */
    COMPLETED,
    /** It has failed for good. */
    FAILED,
    /** It was cancelled. */
    CANCELLED,
    /** A person has ended it at once. */
    TERMINATED;

    /** {@return whether it is an end state} */
    public boolean isEnded() {
        return this == COMPLETED || this == FAILED || this == CANCELLED || this == TERMINATED;
    }

    static WorkflowState of(State state) {
        return Enums.named(WorkflowState.class, Enums.name(state, "STATE_"), UNKNOWN);
    }

    State wire() {
        return this == UNKNOWN ? State.STATE_UNSPECIFIED : State.valueOf("STATE_" + name());
    }
}
