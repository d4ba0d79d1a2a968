package io.perdure;

import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** One execution of a definition for one business key, as it was when it was read. */
public final class Workflow {
    private final io.perdure.v1.Workflow message;
    private final Map<String, StepView> steps = new LinkedHashMap<>();

    Workflow(io.perdure.v1.Workflow message) {
        this.message = message;
        message.getStepsList().forEach(step -> steps.put(step.getName(), new StepView(step)));
    }

    /** {@return the definition's name} */
    public String workflowType() {
        return message.getWorkflow().getWorkflowType();
    }

    /** {@return the caller's name of the business object} */
    public String businessKey() {
        return message.getWorkflow().getBusinessKey();
    }

    /** {@return its namespace} */
    public String namespace() {
        return message.getWorkflow().getNamespace();
    }

    /** {@return which round of the key} */
    public long round() {
        return message.getWorkflow().getRound();
    }

    /** {@return its random id} */
    public String runId() {
        return message.getRunId();
    }

    /** {@return its fence} */
    public long fence() {
        return message.getFence();
    }

    /** {@return its state} */
    public WorkflowState state() {
        return WorkflowState.of(message.getState());
    }

    /** {@return QUEUED, EXECUTING, WAITING and so on; empty once ended} */
    public String phase() {
        return Enums.name(message.getPhase(), "PHASE_");
    }

    /** {@return the phase in a sentence; may be empty} */
    public String phaseReason() {
        return message.getPhaseReason();
    }

    /** {@return its steps by name, in the definition's order; empty where the view has none} */
    public Map<String, StepView> steps() {
        return Collections.unmodifiableMap(steps);
    }

    /** {@return why it failed; empty: it did not} */
    public Optional<Failure> failure() {
        return Optional.ofNullable(Failures.of(message.hasFailure(), message.getFailure()));
    }

    /** {@return the step that failed it; empty: none} */
    public String failedStep() {
        return message.getFailedStep();
    }

    /** {@return its labels} */
    public Map<String, String> labels() {
        return message.getLabelsMap();
    }

    /** {@return when it was started} */
    public Instant startTime() {
        return Times.of(message.getStartTime());
    }

    /** {@return when it ended; empty: it has not} */
    public Optional<Instant> endTime() {
        return Optional.ofNullable(Times.of(message.getEndTime()));
    }

    /** {@return the definition that it runs by} */
    public String definitionFingerprint() {
        return message.getDefinitionFingerprint();
    }

    /**
     * Its input.
     *
     * @param <T> what to decode it to
     * @param type what to decode it to
     * @return the input; empty: none
     * @throws PayloadRejectedException it is of another type
     */
    public <T> Optional<T> input(Class<T> type) {
        return Values.isAbsent(message.getInput()) ? Optional.empty() : Optional.ofNullable(Values.decode(message.getInput(), type));
    }

    /**
     * Its output.
     *
     * @param <T> what to decode it to
     * @param type what to decode it to
     * @return the output; empty: none
     * @throws PayloadRejectedException it is of another type
     */
    public <T> Optional<T> output(Class<T> type) {
        return Values.isAbsent(message.getOutput()) ? Optional.empty() : Optional.ofNullable(Values.decode(message.getOutput(), type));
    }

    /**
     * Whether a step waits for a signal now.
     *
     * @param signal its name
     * @return whether one does
     */
    public boolean waitsFor(String signal) {
        return steps.values().stream().anyMatch(step -> step.waitsFor().contains(signal));
    }

    /** {@return all that the server told} */
    public io.perdure.v1.Workflow message() {
        return message;
    }

    /** {@return a line for people} */
    @Override
    public String toString() {
        String told = steps.values().stream()
                .filter(step -> step.state() != StepState.BLOCKED)
                .map(step -> step.name() + " " + step.state())
                .collect(Collectors.joining(", "));
        return workflowType() + "/" + businessKey() + " is " + state() + (told.isEmpty() ? "" : ": " + told);
    }
}
