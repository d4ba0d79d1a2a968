package io.perdure;

/** The workflow FAILED. */
public final class WorkflowFailedException extends WorkflowNotCompletedException {
    private static final long serialVersionUID = 1L;

    private final transient Failure failure;
    private final String step;

    WorkflowFailedException(String message, Failure failure, String step) {
        super(message, WorkflowState.FAILED);
        this.failure = failure;
        this.step = step;
    }

    /** {@return why, in the author's words; null only after Java serialization} */
    public Failure failure() {
        return failure;
    }

    /** {@return the step that failed it; empty after a workflow timeout} */
    public String step() {
        return step;
    }
}
