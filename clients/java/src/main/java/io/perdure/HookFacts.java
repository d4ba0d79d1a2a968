package io.perdure;

import io.perdure.v1.HookContext;
import io.perdure.v1.Payload;
import java.util.List;
import java.util.Optional;

/** Why a hook or a compensation runs, and what it may need to know. */
public final class HookFacts {
    private final HookContext message;

    HookFacts(HookContext message) {
        this.message = message;
    }

    /** {@return ON_SUCCESS, FAILURE_FINALIZER, CANCEL_FINALIZER, PREPARE_REPLAY or COMPENSATION} */
    public String kind() {
        return Enums.name(message.getKind(), "HOOK_KIND_");
    }

    /** {@return what the workflow failed with; empty: it did not fail} */
    public Optional<Failure> failure() {
        return Optional.ofNullable(Failures.of(message.hasFailure(), message.getFailure()));
    }

    /** {@return the step that failed; empty: none} */
    public String failedStep() {
        return message.getFailedStep();
    }

    /** {@return why it was cancelled, in the words of whoever asked for it; may be empty} */
    public String cancelReason() {
        return message.getCancel().getReason();
    }

    /** {@return for a compensation: the step to undo} */
    public String compensates() {
        return message.getCompensates();
    }

    /** {@return for a compensation: whether nobody knows if the step to undo took effect} */
    public boolean isInDoubt() {
        return message.getInDoubt();
    }

    /** {@return for a compensation: what the step to undo handed to what it called} */
    public String compensatedIdempotencyKey() {
        return message.getCompensatedIdempotencyKey();
    }

    /**
     * For a compensation: the output of the step to undo.
     *
     * @param <T> what to decode it to
     * @param type what to decode it to
     * @return the output; empty: in doubt, or none
     * @throws PayloadRejectedException it is of another type
     */
    public <T> Optional<T> compensatedOutput(Class<T> type) {
        return optional(message.getCompensatedOutput(), type);
    }

    /** {@return the steps that were cut short} */
    public List<Unfinished> unfinished() {
        return message.getUnfinishedList().stream().map(Unfinished::new).toList();
    }

    private static <T> Optional<T> optional(Payload payload, Class<T> type) {
        return Values.isAbsent(payload) ? Optional.empty() : Optional.ofNullable(Values.decode(payload, type));
    }

    /** A step that was begun and did not complete. */
    public static final class Unfinished {
        private final io.perdure.v1.UnfinishedStep message;

        Unfinished(io.perdure.v1.UnfinishedStep message) {
            this.message = message;
        }

        /** {@return its name} */
        public String step() {
            return message.getStep();
        }

        /** {@return where it ended} */
        public StepState state() {
            return StepState.of(message.getState());
        }

        /** {@return what its activity handed to what it called} */
        public String idempotencyKey() {
            return message.getIdempotencyKey();
        }

        /**
         * Its last checkpoint.
         *
         * @param <T> what to decode it to
         * @param type what to decode it to
         * @return the checkpoint; empty: none
         * @throws PayloadRejectedException it is of another type
         */
        public <T> Optional<T> checkpoint(Class<T> type) {
            return optional(message.getCheckpoint(), type);
        }
    }
}
