package io.perdure;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JavaType;
import io.perdure.v1.Claim;
import io.perdure.v1.Frame;
import io.perdure.v1.Payload;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** The context of a real claim. */
final class ActivityContext implements Context {
    private final Claim claim;
    private final ActivityRun run;
    private volatile Payload checkpoint;

    /** `claim`: its values at hand and decoded. */
    ActivityContext(Claim claim, ActivityRun run) {
        this.claim = claim;
        this.run = run;
        this.checkpoint = claim.getCheckpoint();
    }

    @Override
    public String namespace() {
        return claim.getWorkflow().getNamespace();
    }

    @Override
    public String workflowType() {
        return claim.getWorkflow().getWorkflowType();
    }

    @Override
    public String businessKey() {
        return claim.getWorkflow().getBusinessKey();
    }

    @Override
    public long round() {
        return claim.getWorkflow().getRound();
    }

    @Override
    public String step() {
        return claim.getStep();
    }

    @Override
    public int attempt() {
        return claim.getAttempt();
    }

    @Override
    public long claimNo() {
        return claim.getClaimNo();
    }

    @Override
    public long fence() {
        return claim.getFence();
    }

    @Override
    public String idempotencyKey() {
        return claim.getIdempotencyKey();
    }

    @Override
    public String wakeToken() {
        return claim.getWakeToken();
    }

    @Override
    public Map<String, String> labels() {
        return claim.getLabelsMap();
    }

    @Override
    public Optional<Failure> lastFailure() {
        return Optional.ofNullable(Failures.of(claim.hasLastFailure(), claim.getLastFailure()));
    }

    @Override
    public Optional<Duration> attemptRemaining() {
        return claim.hasAttemptRemaining() ? Optional.of(Times.of(claim.getAttemptRemaining())) : Optional.empty();
    }

    @Override
    public Optional<HookFacts> hook() {
        return claim.hasHook() ? Optional.of(new HookFacts(claim.getHook())) : Optional.empty();
    }

    @Override
    public String traceparent() {
        return claim.getTraceparent();
    }

    @Override
    public <T> Optional<T> checkpoint(Class<T> type) {
        return decoded("checkpoint", checkpoint, Values.javaType(type));
    }

    @Override
    public <T> Optional<T> checkpoint(TypeReference<T> type) {
        return decoded("checkpoint", checkpoint, Values.javaType(type.getType()));
    }

    @Override
    public <T> T save(T value) {
        Payload payload = Values.encodeOrNone(value);
        run.save(payload);
        checkpoint = payload;
        return value;
    }

    @Override
    public <T> Optional<T> cursor(Class<T> type) {
        return decoded("cursor", claim.getCursor(), Values.javaType(type));
    }

    @Override
    public <T> Optional<Woken<T>> woken(Class<T> type) {
        if (claim.getWakesCount() == 0) {
            return Optional.empty();
        }
        return Optional.of(Values.cast(Woken.of(claim.getWakes(0).getCondition(), claim.getWakesList(), Values.javaType(type))));
    }

    @Override
    public String frame(String text) {
        run.frame(Frame.Kind.KIND_TEXT, Values.encodeOrNone(text));
        return text;
    }

    @Override
    public void progress(Progress progress) {
        run.frame(Frame.Kind.KIND_PROGRESS, Values.encodeOrNone(progress.told()));
    }

    @Override
    public void log(String line) {
        run.frame(Frame.Kind.KIND_LOG, Values.encodeOrNone(line));
    }

    @Override
    public void alive() {
        run.alive();
    }

    @Override
    public boolean isCancelled() {
        return !run.cancelReason().isEmpty();
    }

    @Override
    public String cancelReason() {
        return run.cancelReason();
    }

    /** {@return what it is, for logs; no secret} */
    @Override
    public String toString() {
        return workflowType() + "/" + businessKey() + " " + step() + " attempt " + attempt();
    }

    private static <T> Optional<T> decoded(String what, Payload payload, JavaType type) {
        if (Values.isAbsent(payload)) {
            return Optional.empty();
        }
        try {
            return Optional.ofNullable(Values.cast(Values.decode(payload, type)));
        } catch (PayloadUndecodableException error) {
            throw new PayloadUndecodableException(what + ": " + error.description(), error.codecCause());
        } catch (PayloadRejectedException error) {
            throw new PayloadRejectedException(error.told().withMessage(what + ": " + error.description()));
        }
    }
}
