package io.perdure;

import java.time.Instant;
import java.util.Optional;

/**
 * One thing that ended a wait: a signal that was consumed, or a time that came.
 *
 * @param <T> type of what signals carry
 * @param condition name of the condition that won
 * @param content what the signal carried; empty: nothing, or a time won
 * @param signalName name of the signal; empty: a time won
 * @param signalId id of the signal; empty: a time won
 * @param time store time at which the timer fired or the signal was stored; null: unknown
 */
public record Wake<T>(String condition, Optional<T> content, String signalName, Optional<String> signalId, Instant time) {}
