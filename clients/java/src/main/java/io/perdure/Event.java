package io.perdure;

import io.perdure.v1.StateChange;
import io.perdure.v1.WatchEnd;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One thing that a watcher is told; {@code toString} gives a line for people. */
public sealed interface Event {
    /** {@return what goes on after this event when it is given to {@link WatchOptions#resumeToken}, in another process too} */
    String resumeToken();

    /**
     * Whether this event says that a step now waits for a signal.
     *
     * @param signal its name
     * @return whether one does
     */
    default boolean waitsFor(String signal) {
        return false;
    }

    /**
     * The whole workflow; everything shown before is void.
     *
     * @param resumeToken goes on after it
     * @param workflow how it is
     */
    record Snapshot(String resumeToken, Workflow workflow) implements Event {
        @Override
        public boolean waitsFor(String signal) {
            return workflow.waitsFor(signal);
        }

        @Override
        public String toString() {
            return workflow.toString();
        }
    }

    /**
     * One change of state.
     *
     * @param resumeToken goes on after it
     * @param message all that the server told
     */
    record Change(String resumeToken, StateChange message) implements Event {
        /** {@return position in the order of the round's changes, without holes} */
        public long seq() {
            return message.getSeq();
        }

        /** {@return which round} */
        public long round() {
            return message.getRound();
        }

        /** {@return the step; empty: the change is about the workflow alone} */
        public String step() {
            return message.getStep();
        }

        /** {@return the step's new state; empty: unchanged} */
        public Optional<StepState> stepState() {
            return message.getStepStateValue() == 0 ? Optional.empty() : Optional.of(StepState.of(message.getStepState()));
        }

        /** {@return the workflow's new state; empty: unchanged} */
        public Optional<WorkflowState> workflowState() {
            return message.getWorkflowStateValue() == 0 ? Optional.empty() : Optional.of(WorkflowState.of(message.getWorkflowState()));
        }

        /** {@return why something failed; empty: nothing did} */
        public Optional<Failure> failure() {
            return Optional.ofNullable(Failures.of(message.hasFailure(), message.getFailure()));
        }

        /** {@return names of the signals that the step now waits for} */
        public List<String> signals() {
            return StepView.signals(message.getWait().getAnyOfList());
        }

        /**
         * The step's output, if it came along.
         *
         * @param <T> what to decode it to
         * @param type what to decode it to
         * @return the output; empty: read it by {@link Run#get()}
         */
        public <T> Optional<T> output(Class<T> type) {
            return Values.isAbsent(message.getOutput()) ? Optional.empty() : Optional.ofNullable(Values.decode(message.getOutput(), type));
        }

        @Override
        public boolean waitsFor(String signal) {
            return signals().contains(signal);
        }

        @Override
        public String toString() {
            List<String> parts = new ArrayList<>();
            parts.add(step().isEmpty() ? "workflow" : step());
            parts.add(stepState().map(StepState::name).or(() -> workflowState().map(WorkflowState::name)).orElse(message.getReason()));
            if (stepState().filter(StepState.RUNNING::equals).isPresent() && !message.getWorkerId().isEmpty()) {
                parts.add("attempt " + message.getAttempt() + " on " + message.getWorkerId());
            }
            if (!signals().isEmpty()) {
                parts.add("for " + String.join(" or ", signals()));
            }
            failure().ifPresent(failure -> parts.add("(" + failure + ")"));
            return String.join(" ", parts);
        }
    }

    /**
     * A piece of progress of one claim.
     *
     * @param resumeToken goes on after it
     * @param message all that the server told
     */
    record Frame(String resumeToken, io.perdure.v1.Frame message) implements Event {
        /** {@return the step} */
        public String step() {
            return message.getStep();
        }

        /** {@return the claim that sent it} */
        public long claimNo() {
            return message.getClaimNo();
        }

        /** {@return from 1, without holes, within the claim} */
        public long seq() {
            return message.getSeq();
        }

        /** {@return TEXT, PROGRESS or LOG} */
        public String kind() {
            return Enums.name(message.getKind(), "KIND_");
        }

        /** {@return what was sent: text, a map for progress; as sent by other languages for the rest} */
        public Object value() {
            return Values.inline(message.getPayload());
        }

        /** {@return the text of a TEXT or LOG frame; of progress, its numbers and message} */
        public String text() {
            if (!(value() instanceof Map<?, ?> told)) {
                return String.valueOf(value());
            }
            List<String> parts = new ArrayList<>();
            parts.add(told.get("done") + (told.get("total") == null ? "" : "/" + told.get("total")));
            for (String name : List.of("unit", "message")) {
                if (told.get(name) != null) {
                    parts.add(String.valueOf(told.get(name)));
                }
            }
            return String.join(" ", parts);
        }

        @Override
        public String toString() {
            return step() + " [" + claimNo() + "." + seq() + "] " + text();
        }
    }

    /**
     * What was shown of this step's claim, and of those before it, is void.
     *
     * @param resumeToken goes on after it
     * @param step the step
     * @param claimNo the claim
     */
    record FramesReset(String resumeToken, String step, long claimNo) implements Event {
        @Override
        public String toString() {
            return step + ": frames up to claim " + claimNo + " are void";
        }
    }

    /**
     * Something is no longer retained; a snapshot follows if changes are missing.
     *
     * @param resumeToken goes on after it
     * @param changes whether changes are missing
     * @param frames whether frames are missing, for good
     * @param reason why, for people
     */
    record Gap(String resumeToken, boolean changes, boolean frames, String reason) implements Event {
        @Override
        public String toString() {
            return "gap: " + (changes ? "changes " : "") + (frames ? "frames " : "") + "missing (" + reason + ")";
        }
    }

    /**
     * Nothing happened for a while; only told to who asks for it by {@link WatchOptions#idle}.
     *
     * @param resumeToken goes on after it
     */
    record Idle(String resumeToken) implements Event {
        @Override
        public String toString() {
            return "idle";
        }
    }

    /**
     * The workflow has ended.
     *
     * @param resumeToken goes on after it
     * @param message all that the server told
     */
    record End(String resumeToken, WatchEnd message) implements Event {
        /** {@return how} */
        public WorkflowState state() {
            return WorkflowState.of(message.getState());
        }

        /** {@return why it failed; empty: it did not} */
        public Optional<Failure> failure() {
            return Optional.ofNullable(Failures.of(message.hasFailure(), message.getFailure()));
        }

        /** {@return which round ended} */
        public long round() {
            return message.getRound();
        }

        /**
         * Its output.
         *
         * @param <T> what to decode it to
         * @param type what to decode it to
         * @return the output; empty: none
         */
        public <T> Optional<T> output(Class<T> type) {
            return Values.isAbsent(message.getOutput()) ? Optional.empty() : Optional.ofNullable(Values.decode(message.getOutput(), type));
        }

        @Override
        public String toString() {
            return state() + failure().map(failure -> ": " + failure).orElse("");
        }
    }
}
