package io.perdure;

import io.perdure.v1.Claim;
import io.perdure.v1.Payload;
import java.util.Collections;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * What a step needs, by name: the needs type of an {@link Activity} that serves steps which it does not know beforehand, such as one
 * for all steps of a definition file. A step with code of its own takes a record instead.
 */
public final class Inputs {
    private final Claim claim;

    Inputs(Claim claim) {
        this.claim = claim;
    }

    /** {@return names of the inputs that came, with a value or a failure} */
    public Set<String> names() {
        Set<String> names = new TreeSet<>(claim.getInputsMap().keySet());
        names.addAll(claim.getFailedInputsMap().keySet());
        return Collections.unmodifiableSet(names);
    }

    /**
     * An input as it came, decoded by the codec only.
     *
     * @param name {@code input}, or a step
     * @return its payload; empty: there is none
     */
    public Optional<Payload> payload(String name) {
        return Optional.ofNullable(claim.getInputsMap().get(name)).filter(payload -> !Values.isAbsent(payload));
    }

    /**
     * An input.
     *
     * @param <T> what to decode it to
     * @param name {@code input}, or a step
     * @param type what to decode it to
     * @return its value; empty: there is none
     * @throws PayloadRejectedException it is of another type
     */
    public <T> Optional<T> get(String name, Class<T> type) {
        return payload(name).map(payload -> Values.decode(payload, type));
    }

    /**
     * What an input that is the output of a wait step says.
     *
     * @param <T> type of what signals carry
     * @param name the wait step
     * @param type type of what signals carry
     * @return how the wait ended; empty: there is no such input
     */
    public <T> Optional<Woken<T>> woken(String name, Class<T> type) {
        return payload(name).map(WaitResults::parse)
                .map(result -> Values.cast(Woken.of(result.getCondition(), result.getWakesList(), Values.javaType(type))));
    }

    /**
     * Why a dependency failed, under {@link Step.OnExhausted#CONTINUE}.
     *
     * @param name the step
     * @return the failure; empty: it did not fail
     */
    public Optional<Failure> failure(String name) {
        return Optional.ofNullable(claim.getFailedInputsMap().get(name)).map(Failures::of);
    }
}
