package io.perdure;

/** The workflow was TERMINATED by a person. */
public final class WorkflowTerminatedException extends WorkflowNotCompletedException {
    private static final long serialVersionUID = 1L;

    WorkflowTerminatedException(String message) {
        super(message, WorkflowState.TERMINATED);
    }
}
