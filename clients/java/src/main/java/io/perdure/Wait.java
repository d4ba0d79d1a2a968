package io.perdure;

import io.perdure.v1.Payload;
import io.perdure.v1.Waiting;
import java.util.List;
import java.util.Optional;

/**
 * Return it from an activity to wait without holding a worker; the step is then run again from its top. Nothing is charged, and the
 * checkpoint stays unless another is given. The first condition to come true wins.
 */
public final class Wait {
    private final List<Condition> conditions;
    private final Payload checkpoint;

    private Wait(List<Condition> conditions, Payload checkpoint) {
        this.conditions = conditions;
        this.checkpoint = checkpoint;
    }

    /**
     * Waits for the first of these.
     *
     * @param conditions 1 to 16, with distinct names
     * @return the wait
     */
    public static Wait any(Condition... conditions) {
        if (conditions.length == 0) {
            throw new IllegalArgumentException("a wait needs at least one condition: a signal, a duration or a time");
        }
        return new Wait(List.of(conditions), null);
    }

    /**
     * The same wait, which stores a checkpoint.
     *
     * @param value the checkpoint; null: the stored one is cleared
     * @return the wait
     */
    public Wait withCheckpoint(Object value) {
        return new Wait(conditions, Values.encodeOrNone(value));
    }

    /** {@return what it waits for} */
    public List<Condition> conditions() {
        return conditions;
    }

    /** {@return the payload of the checkpoint that it stores, without data: it is cleared; empty: the stored one stays} */
    public Optional<Payload> checkpoint() {
        return Optional.ofNullable(checkpoint);
    }

    io.perdure.v1.Wait message() {
        io.perdure.v1.Wait.Builder wait = io.perdure.v1.Wait.newBuilder();
        conditions.forEach(condition -> wait.addAnyOf(condition.message()));
        return wait.build();
    }

    Waiting waiting() {
        Waiting.Builder waiting = Waiting.newBuilder().setWait(message());
        checkpoint().ifPresent(waiting::setCheckpoint);
        return waiting.build();
    }
}
