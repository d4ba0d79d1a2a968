package io.perdure;

import com.google.protobuf.Duration;
import com.google.protobuf.Timestamp;
import java.time.Instant;

/** Times and durations to the wire and back. */
final class Times {
    private static final java.time.Duration LONGEST = java.time.Duration.ofDays(36_500);

    private Times() {}

    static java.time.Duration of(Duration message) {
        return java.time.Duration.ofSeconds(message.getSeconds(), message.getNanos());
    }

    static Duration message(java.time.Duration duration) {
        long seconds = duration.getSeconds();
        int nanos = duration.getNano();
        if (seconds < 0 && nanos > 0) { // on the wire both have one sign
            seconds++;
            nanos -= 1_000_000_000;
        }
        return Duration.newBuilder().setSeconds(seconds).setNanos(nanos).build();
    }

    /** The same, if a clock of nanoseconds can hold it: who gives {@code ChronoUnit.FOREVER} means no bound. */
    static java.time.Duration bounded(java.time.Duration wanted) {
        return Calls.min(LONGEST, wanted);
    }

    /** Null for one that is not set. */
    static Instant of(Timestamp message) {
        boolean unset = message.getSeconds() == 0 && message.getNanos() == 0;
        return unset ? null : Instant.ofEpochSecond(message.getSeconds(), message.getNanos());
    }

    static Timestamp message(Instant time) {
        return Timestamp.newBuilder().setSeconds(time.getEpochSecond()).setNanos(time.getNano()).build();
    }
}
