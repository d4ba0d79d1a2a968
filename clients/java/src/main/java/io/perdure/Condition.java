package io.perdure;

import io.perdure.v1.SignalCondition;
import io.perdure.v1.WaitCondition;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/** One thing to wait for: signals, a duration, or a time. */
public final class Condition {
    private final WaitCondition message;

    private Condition(WaitCondition message) {
        this.message = message;
    }

    /**
     * A signal arrives.
     *
     * @param name the signal's name
     * @return the condition
     */
    public static Condition signal(String name) {
        return signal(name, 1);
    }

    /**
     * Several signals of one name arrive; the oldest are taken.
     *
     * @param name the signals' name
     * @param count how many; at most 100
     * @return the condition
     */
    public static Condition signal(String name, int count) {
        SignalCondition.Builder signal = SignalCondition.newBuilder().setSignalName(name).setCount(count);
        return new Condition(WaitCondition.newBuilder().setSignal(signal).build());
    }

    /**
     * Time passes, counted from when the wait is stored; at least 50 ms in effect, years are fine.
     *
     * @param duration how long
     * @return the condition
     */
    public static Condition after(Duration duration) {
        return new Condition(WaitCondition.newBuilder().setAfter(Times.message(duration)).build());
    }

    /**
     * A time comes, by the store's clock; one in the past has come at once.
     *
     * @param time when
     * @return the condition
     */
    public static Condition at(Instant time) {
        return new Condition(WaitCondition.newBuilder().setAtTime(Times.message(time)).build());
    }

    /**
     * The same condition under a name of its own, which is told when it won; else it is the signal's name, {@code after} or
     * {@code at_time}.
     *
     * @param name its name
     * @return the condition
     */
    public Condition named(String name) {
        return new Condition(message.toBuilder().setName(name).build());
    }

    /**
     * In a wait step with branches: the same condition, which takes these when it wins.
     *
     * @param branches their names
     * @return the condition
     */
    public Condition choosing(String... branches) {
        return new Condition(message.toBuilder().addAllChoose(List.of(branches)).build());
    }

    WaitCondition message() {
        return message;
    }
}
