package io.perdure.testing;

import io.perdure.Condition;
import io.perdure.Failure;
import io.perdure.Payloads;
import io.perdure.v1.Completed;
import io.perdure.v1.NeverSettled;
import io.perdure.v1.Payload;
import io.perdure.v1.ScriptedOutcome;
import io.perdure.v1.SignalCondition;
import io.perdure.v1.Waiting;
import io.perdure.v1.WorkerLost;
import java.time.Duration;
import java.util.List;

/** How attempts of a step end when nobody runs them; for {@link TestServer#script}. The first script that matches is used. */
public final class Script {
    private final ScriptedOutcome message;

    private Script(ScriptedOutcome message) {
        this.message = message;
    }

    /**
     * The step is done.
     *
     * @param step its name; empty: any
     * @param output what it gives; null: nothing
     * @param choose branches that it takes
     * @return the script
     */
    public static Script completes(String step, Object output, String... choose) {
        Completed.Builder completed = Completed.newBuilder().addAllChoose(List.of(choose));
        Payload payload = Payloads.of(output);
        if (payload.getDataCase() != Payload.DataCase.DATA_NOT_SET) {
            completed.setOutput(payload);
        }
        return new Script(of(step).setCompleted(completed).build());
    }

    /**
     * The attempt fails, and is retried by policy.
     *
     * @param step its name; empty: any
     * @param failure why
     * @return the script
     */
    public static Script fails(String step, Failure failure) {
        io.perdure.v1.Failure.Builder failed = io.perdure.v1.Failure.newBuilder()
                .setType(failure.type())
                .setMessage(failure.message())
                .setNonRetryable(failure.nonRetryable());
        if (failure.details() != null) {
            failed.setDetails(Payloads.of(failure.details()));
        }
        if (failure.retryDelay() != null) {
            failed.setRetryAfter(duration(failure.retryDelay()));
        }
        return new Script(of(step).setFailed(failed).build());
    }

    /**
     * The step waits durably for a signal; the claim after it takes the next script. Once, unless told otherwise.
     *
     * @param step its name
     * @param signal name of the signal, as in {@link Condition#signal(String)}
     * @return the script
     */
    public static Script waitsFor(String step, String signal) {
        Waiting.Builder waiting = Waiting.newBuilder();
        waiting.getWaitBuilder().addAnyOfBuilder().setSignal(SignalCondition.newBuilder().setSignalName(signal));
        return new Script(of(step).setWaiting(waiting).setTimes(1).build());
    }

    /**
     * The attempt gives no result: a timeout ends it.
     *
     * @param step its name; empty: any
     * @return the script
     */
    public static Script neverEnds(String step) {
        return new Script(of(step).setNever(NeverSettled.getDefaultInstance()).build());
    }

    /**
     * The worker vanishes in the middle of it. Once, unless told otherwise.
     *
     * @param step its name; empty: any
     * @return the script
     */
    public static Script losesWorker(String step) {
        return new Script(of(step).setLost(WorkerLost.getDefaultInstance()).setTimes(1).build());
    }

    /**
     * The same, only for this attempt.
     *
     * @param attempt from 1
     * @return the script
     */
    public Script onAttempt(int attempt) {
        return new Script(message.toBuilder().setAttempt(attempt).build());
    }

    /**
     * The same, only for this business key.
     *
     * @param key the key
     * @return the script
     */
    public Script forKey(String key) {
        return new Script(message.toBuilder().setBusinessKey(key).build());
    }

    /**
     * The same, so many times at most.
     *
     * @param most 0: always
     * @return the script
     */
    public Script times(int most) {
        return new Script(message.toBuilder().setTimes(most).build());
    }

    /**
     * The same, after so long on the test's clock.
     *
     * @param length how long the attempt takes
     * @return the script
     */
    public Script taking(Duration length) {
        return new Script(message.toBuilder().setDuration(duration(length)).build());
    }

    ScriptedOutcome message() {
        return message;
    }

    private static ScriptedOutcome.Builder of(String step) {
        return ScriptedOutcome.newBuilder().setStep(step);
    }

    private static com.google.protobuf.Duration duration(Duration length) {
        return com.google.protobuf.Duration.newBuilder().setSeconds(length.getSeconds()).setNanos(length.getNano()).build();
    }
}
