package io.perdure;

import io.perdure.v1.WaitCondition;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** One step of one workflow, as it was when it was read. */
public final class StepView {
    private final io.perdure.v1.StepView message;

    StepView(io.perdure.v1.StepView message) {
        this.message = message;
    }

    /** {@return its name} */
    public String name() {
        return message.getName();
    }

    /** {@return its state} */
    public StepState state() {
        return StepState.of(message.getState());
    }

    /** {@return QUEUED, EXECUTING, WAITING and so on; empty when blocked or ended} */
    public String phase() {
        return Enums.name(message.getPhase(), "PHASE_");
    }

    /** {@return charged executions of its generation} */
    public int attempt() {
        return message.getAttempt();
    }

    /** {@return number of its current or last claim} */
    public long claimNo() {
        return message.getClaimNo();
    }

    /** {@return why it failed, or its last attempt did; empty: nothing failed} */
    public Optional<Failure> failure() {
        return Optional.ofNullable(Failures.of(message.hasFailure(), message.getFailure()));
    }

    /** {@return names of the signals that it waits for now} */
    public List<String> waitsFor() {
        boolean waits = message.getState() == io.perdure.v1.StepView.State.STATE_WAITING;
        return waits ? signals(message.getWait().getAnyOfList()) : List.of();
    }

    /** {@return when it moves by itself; empty: it does not} */
    public Optional<Instant> nextTime() {
        return Optional.ofNullable(Times.of(message.getNextTime()));
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

    /** {@return all that the server told} */
    public io.perdure.v1.StepView message() {
        return message;
    }

    static List<String> signals(List<WaitCondition> conditions) {
        return conditions.stream().filter(WaitCondition::hasSignal).map(condition -> condition.getSignal().getSignalName()).toList();
    }
}
