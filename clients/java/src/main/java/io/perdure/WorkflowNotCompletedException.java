package io.perdure;

/** The workflow has ended, but not COMPLETED; the reason is its end state. */
public class WorkflowNotCompletedException extends PerdureException {
    private static final long serialVersionUID = 1L;

    WorkflowNotCompletedException(String message, WorkflowState state) {
        super(ErrorFacts.of(message, state.name()));
    }
}
