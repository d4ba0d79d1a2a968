package io.perdure;

import com.fasterxml.jackson.databind.JavaType;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How a wait ended: which condition won, and what the signals carried.
 *
 * @param <T> type of what signals carry
 * @param condition name of the condition that won: the signal's name, {@code after}, {@code at_time}, or the name given to it
 * @param wakes what was consumed, oldest first; one for a time
 */
public record Woken<T>(String condition, List<Wake<T>> wakes) {
    /** {@return what the first signal carried; empty when a time won} */
    public Optional<T> value() {
        return wakes.isEmpty() ? Optional.empty() : wakes.get(0).content();
    }

    /** {@return what each signal carried} */
    public List<Optional<T>> values() {
        return wakes.stream().filter(wake -> wake.signalId().isPresent()).map(Wake::content).toList();
    }

    /** {@return whether a duration or a time won} */
    public boolean timedOut() {
        return wakes.stream().noneMatch(wake -> wake.signalId().isPresent());
    }

    static Woken<Object> of(String condition, List<io.perdure.v1.Wake> messages, JavaType type) {
        List<Wake<Object>> wakes = new ArrayList<>();
        for (io.perdure.v1.Wake message : messages) {
            Object carried = message.hasPayload() ? Values.decode(message.getPayload(), type) : null;
            Optional<String> signalId = message.hasSignalId() ? Optional.of(message.getSignalId()) : Optional.empty();
            wakes.add(new Wake<>(
                    message.getCondition(), Optional.ofNullable(carried), message.getSignalName(), signalId, Times.of(message.getWakeTime())));
        }
        return new Woken<>(condition, List.copyOf(wakes));
    }
}
