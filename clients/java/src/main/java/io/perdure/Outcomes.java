package io.perdure;

import io.perdure.v1.Cancelled;
import io.perdure.v1.Completed;
import io.perdure.v1.MapPage;
import io.perdure.v1.Released;
import io.perdure.v1.Result;

/** How an attempt ended, as the message that says so. */
final class Outcomes {
    /** Failure type of an attempt whose result the server did not take, such as one that is too large. */
    private static final String REFUSED = "perdure.result_refused";

    private Outcomes() {}

    /** What an activity returned: an output, a choice, a page or a wait. Throws PayloadRejectedException if it cannot travel. */
    static Result ofValue(Object value) {
        Result.Builder result = Result.newBuilder();
        if (value instanceof Wait wait) {
            return result.setWaiting(wait.waiting()).build();
        }
        if (value instanceof Page page) {
            MapPage.Builder message = MapPage.newBuilder();
            page.children().forEach(child -> message.addChildren(Values.encodeOrNone(child)));
            Values.encode(page.cursor()).ifPresent(message::setCursor);
            return result.setPage(message).build();
        }
        if (value instanceof Failure || value instanceof Throwable) {
            throw Values.rejected("a failure is thrown, not returned: throw failure.exception()");
        }
        Completed.Builder completed = Completed.newBuilder();
        Object output = value;
        if (value instanceof Chosen chosen) {
            completed.addAllChoose(chosen.branches());
            output = chosen.output();
        }
        Values.encode(output).ifPresent(completed::setOutput);
        return result.setCompleted(completed).build();
    }

    static Result ofError(Throwable error) {
        return Result.newBuilder().setFailed(Failures.message(error)).build();
    }

    /** What is left to say of an exception whose own words cannot be had: its class. */
    static Result unspeakable(Throwable error) {
        return Result.newBuilder().setFailed(Failures.bare(error.getClass().getName())).build();
    }

    /** The claim is given back unharmed, its checkpoint kept. */
    static Result released() {
        return Result.newBuilder().setReleased(Released.getDefaultInstance()).build();
    }

    /** The activity stopped because it was asked to. */
    static Result cancelled() {
        return Result.newBuilder().setCancelled(Cancelled.getDefaultInstance()).build();
    }

    /** Instead of a result that the server did not take: the attempt failed, with the server's words. */
    static Result refused(PerdureException error) {
        return ofError(Failure.of(REFUSED, error.getMessage()).exception());
    }

    /** The result of this very claim, its checkpoint behind those that were saved before. */
    static Result addressed(Result result, Held held, Codec codec) {
        // The activity's side has sealed its own; what is made on this side is small.
        Result.Builder addressed = sealed(result, codec).toBuilder().setClaimToken(held.token()).setLastFrameSeq(held.lastFrameSeq);
        if (result.hasWaiting() && result.getWaiting().hasCheckpoint()) {
            held.checkpointNo++;
            addressed.getWaitingBuilder().setCheckpointNo(held.checkpointNo);
        }
        return addressed.build();
    }

    /** A codec that fails must not keep a result from being told: the attempt fails then. */
    private static Result sealed(Result result, Codec codec) {
        try {
            return Sealing.seal(result, codec);
        } catch (RuntimeException error) {
            return Result.newBuilder().setFailed(Failures.ofCodec(error)).build();
        }
    }
}
