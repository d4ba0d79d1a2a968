package io.perdure;

import io.perdure.v1.StepView;

/** Life of a step. */
public enum StepState {
    /** One that only newer servers know. */
    UNKNOWN,
    /** What it depends on has not ended. */
    BLOCKED,
    /** It waits for a worker, or for permits. */
    READY,
    /** A worker runs it. */
    RUNNING,
    /** It waits durably, without a worker. */
    WAITING,
    /** The next attempt has its time. */
    BACKOFF,
    /** Its activity was asked to stop. */
    CANCELLING,
    /** It needs a person's decision. */
    HELD,
    /** It is done. */
    COMPLETED,
    /** It has failed for good. */
    FAILED,
    /** It was stopped. */
    CANCELLED,
    /** It is on a branch that was not taken, or depends on what failed. */
    SKIPPED,
    /** It was done, and is undone. */
    COMPENSATED;

    static StepState of(StepView.State state) {
        return Enums.named(StepState.class, Enums.name(state, "STATE_"), UNKNOWN);
    }
}
