package io.perdure;

/** Ends an activity that should stop; thrown by {@link Context#throwIfCancelled()}. */
public final class ActivityCancelledException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * An activity stops because it was asked to.
     *
     * @param reason why, as {@link Context#cancelReason()} says it
     */
    public ActivityCancelledException(String reason) {
        super(reason);
    }
}
