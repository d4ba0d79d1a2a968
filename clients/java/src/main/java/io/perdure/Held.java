package io.perdure;

import io.perdure.v1.Claim;
import io.perdure.v1.FrameUpload;
import io.perdure.v1.Payload;
import io.perdure.v1.Result;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;

/** One claim that this worker holds; all but the claim and the sign of life belongs to the session's thread. */
final class Held {
    final Claim claim;
    final Pool pool;
    long connectionNo;
    Phase phase = Phase.HELD_BACK;
    boolean acknowledged;
    boolean mustBeRenewed;
    /** The renew of the current stream that first named it; 0: none has. */
    long namedIn;
    boolean hasSlot;
    final long receivedAt = System.nanoTime();
    /** Set by the activity, from any thread. */
    volatile long aliveAt = receivedAt;
    String cancelReason = "";
    /** Set on the loop; read by the threads of large calls too. */
    volatile boolean isLost;
    Result result;
    int refusals;
    long checkpointNo;
    final Deque<Save> saves = new ArrayDeque<>();
    final Deque<FrameUpload> frames = new ArrayDeque<>();
    int framesOpen;
    long lastFrameSeq;

    /** How far a held claim is. */
    enum Phase {
        /** Received, but not begun: waits for an answered renew, or for a slot. */
        HELD_BACK,
        /** Its activity runs. */
        RUNNING,
        /** Its result is on the way, or being sent again. */
        SETTLING
    }

    /** One checkpoint on its way; the reply gets null when it is stored. */
    record Save(Payload checkpoint, long checkpointNo, Consumer<PerdureException> reply) {}

    Held(Claim claim, Pool pool, long connectionNo) {
        this.claim = claim;
        this.pool = pool;
        this.connectionNo = connectionNo;
        this.mustBeRenewed = claim.getBeginAfterRenewed();
        this.checkpointNo = claim.getCheckpointNo();
    }

    String token() {
        return claim.getClaimToken();
    }

    /** {@return what it is, for the log; no secret} */
    @Override
    public String toString() {
        return claim.getStep() + " of " + claim.getWorkflow().getWorkflowType() + "/" + claim.getWorkflow().getBusinessKey()
                + ", attempt " + claim.getAttempt();
    }
}
