package io.perdure;

/** The workflow was CANCELLED; the message holds the words of whoever asked for it. */
public final class WorkflowCancelledException extends WorkflowNotCompletedException {
    private static final long serialVersionUID = 1L;

    WorkflowCancelledException(String message) {
        super(message, WorkflowState.CANCELLED);
    }
}
