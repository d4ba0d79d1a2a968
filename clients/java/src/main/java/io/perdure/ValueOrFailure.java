package io.perdure;

import java.util.Optional;

/**
 * What a dependency gave, or why it failed: type of an input whose step may fail under {@link Step.OnExhausted#CONTINUE}.
 *
 * @param <T> type of the value
 * @param value the output; empty: it failed, or gave none
 * @param failure why it failed; empty: it did not
 */
public record ValueOrFailure<T>(Optional<T> value, Optional<Failure> failure) {}
