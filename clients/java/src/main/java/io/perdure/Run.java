package io.perdure;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JavaType;
import io.perdure.v1.Attempt;
import io.perdure.v1.CancelWorkflowRequest;
import io.perdure.v1.DeleteWorkflowRequest;
import io.perdure.v1.ExplainWorkflowRequest;
import io.perdure.v1.ExplainWorkflowResponse;
import io.perdure.v1.FetchPayloadRequest;
import io.perdure.v1.GetWorkflowRequest;
import io.perdure.v1.ListAttemptsRequest;
import io.perdure.v1.ListAttemptsResponse;
import io.perdure.v1.ListChildrenRequest;
import io.perdure.v1.ListChildrenResponse;
import io.perdure.v1.ListRoundsRequest;
import io.perdure.v1.ListRoundsResponse;
import io.perdure.v1.PauseWorkflowRequest;
import io.perdure.v1.Payload;
import io.perdure.v1.ReplayWorkflowRequest;
import io.perdure.v1.ResumeWorkflowRequest;
import io.perdure.v1.SignalRequest;
import io.perdure.v1.TerminateWorkflowRequest;
import io.perdure.v1.WaitForResultRequest;
import io.perdure.v1.WaitForResultResponse;
import io.perdure.v1.WatchRequest;
import io.perdure.v1.WorkflowRef;
import io.perdure.v1.WorkflowServiceGrpc;
import io.perdure.v1.WorkflowView;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** A handle on one workflow, by name. Making one asks nobody; every method asks the server and throws {@link PerdureException}. */
public final class Run {
    private final Calls calls;
    private final WorkflowRef ref;
    private final Started started;
    private final String requestId;

    Run(Calls calls, WorkflowRef ref, Started started) {
        this(calls, ref, started, "");
    }

    private Run(Calls calls, WorkflowRef ref, Started started, String requestId) {
        this.calls = calls;
        this.ref = ref;
        this.started = started;
        this.requestId = requestId;
    }

    /** {@return its name, with the round if the handle comes from a start} */
    public WorkflowRef ref() {
        return ref;
    }

    /** {@return the business key} */
    public String key() {
        return ref.getBusinessKey();
    }

    /** {@return what the start answered; empty: the handle does not come from one} */
    public Optional<Started> started() {
        return Optional.ofNullable(started);
    }

    /** {@return whether the start that made this handle began the workflow; false for repeats and for other handles} */
    public boolean created() {
        return started != null && started.created();
    }

    /**
     * The same workflow, if its fence is this one: else calls throw {@link ConflictException}.
     *
     * @param fence the fence that is expected
     * @return the handle
     */
    public Run expecting(long fence) {
        return new Run(calls, ref.toBuilder().setExpectedFence(fence).build(), null, requestId);
    }

    /**
     * The same workflow, for one verb (cancel, replay and so on) whose repeat must be recognised. Without it each has an id of its own,
     * which covers this library's retries.
     *
     * @param id makes the repeat recognisable
     * @return the handle
     */
    public Run withRequestId(String id) {
        return new Run(calls, ref, started, id);
    }

    /**
     * Waits for the end, however long it takes, and gives the output.
     *
     * @param <T> what to decode it to
     * @param type what to decode it to; {@code Optional} for one that may be absent by a {@link TypeReference}
     * @return the output
     * @throws WorkflowFailedException it FAILED; has the failure
     * @throws WorkflowCancelledException it was CANCELLED
     * @throws WorkflowTerminatedException it was TERMINATED
     * @throws NotFoundException there is no such workflow
     */
    public <T> T result(Class<T> type) {
        return Values.cast(outcome(Values.javaType(type), null));
    }

    /**
     * As {@link #result(Class)}, for at most a while.
     *
     * @param <T> what to decode it to
     * @param type what to decode it to
     * @param within how long to wait
     * @return the output
     * @throws CallTimeoutException it has not ended; the workflow goes on
     */
    public <T> T result(Class<T> type, Duration within) {
        return Values.cast(outcome(Values.javaType(type), within));
    }

    /**
     * As {@link #result(Class)}, for generic types.
     *
     * @param <T> what to decode it to
     * @param type such as {@code new TypeReference<List<String>>() {}}
     * @return the output
     */
    public <T> T result(TypeReference<T> type) {
        return Values.cast(outcome(Values.javaType(type.getType()), null));
    }

    /**
     * A snapshot, then changes and frames until the end; opens itself again after a cut.
     *
     * @return the events
     */
    public Watch watch() {
        return watch(new WatchOptions());
    }

    /**
     * As {@link #watch()}, with options.
     *
     * @param options what it tells
     * @return the events
     */
    public Watch watch(WatchOptions options) {
        WatchRequest request = WatchRequest.newBuilder()
                .setWorkflow(options.follow ? ref.toBuilder().clearRound().build() : ref)
                .setResumeToken(options.resumeToken)
                .setIncludeFrames(options.frames)
                .setFollow(options.follow)
                .build();
        return new Watch(calls, request, options.idle);
    }

    /**
     * Sends a signal; returns when it is stored.
     *
     * @param name which wait it is for
     * @param payload what it carries; null: nothing
     * @return whether it woke something
     * @throws NotFoundException there is no such workflow
     * @throws NotAllowedException it has ended, or its inbox is full
     */
    public Signalled signal(String name, Object payload) {
        return signal(name, payload, UUID.randomUUID().toString());
    }

    /**
     * As {@link #signal(String, Object)}, under an id that makes it count once however often it is sent.
     *
     * @param name which wait it is for
     * @param payload what it carries; null: nothing
     * @param signalId its id
     * @return whether it woke something
     * @throws AlreadyExistsException the id was used with another name or payload
     */
    public Signalled signal(String name, Object payload, String signalId) {
        return Client.signal(calls, SignalRequest.newBuilder().setWorkflow(ref), name, payload, signalId);
    }

    /** {@return the workflow now, with its steps and values} */
    public Workflow get() {
        return get(WorkflowView.WORKFLOW_VIEW_FULL);
    }

    /**
     * The workflow now.
     *
     * @param view how much of it
     * @return the workflow
     * @throws NotFoundException there is none
     */
    public Workflow get(WorkflowView view) {
        GetWorkflowRequest request = GetWorkflowRequest.newBuilder().setWorkflow(ref).setView(view).build();
        return new Workflow(calls.unary(WorkflowServiceGrpc.getGetWorkflowMethod(), request).getWorkflow());
    }

    /**
     * Asks for a cancel.
     *
     * @param reason why, for people
     * @return the state that follows, CANCELLING or CANCELLED
     * @throws NotAllowedException it is failing, or has ended
     */
    public WorkflowState cancel(String reason) {
        CancelWorkflowRequest request =
                CancelWorkflowRequest.newBuilder().setWorkflow(ref).setReason(reason).setRequestId(newId()).build();
        return WorkflowState.of(calls.unary(WorkflowServiceGrpc.getCancelWorkflowMethod(), request).getState());
    }

    /**
     * Ends it at once: its claims are fenced, no hook runs.
     *
     * @param reason why, for people
     */
    public void terminate(String reason) {
        TerminateWorkflowRequest request =
                TerminateWorkflowRequest.newBuilder().setWorkflow(ref).setReason(reason).setRequestId(newId()).build();
        calls.unary(WorkflowServiceGrpc.getTerminateWorkflowMethod(), request);
    }

    /**
     * No step is begun any more until {@link #resume}; what runs goes on. Only while RUNNING.
     *
     * @param reason why, for people
     */
    public void pause(String reason) {
        PauseWorkflowRequest request =
                PauseWorkflowRequest.newBuilder().setWorkflow(ref).setReason(reason).setRequestId(newId()).build();
        calls.unary(WorkflowServiceGrpc.getPauseWorkflowMethod(), request);
    }

    /**
     * Ends a pause; queue, step and workflow timeouts move by its length.
     *
     * @param reason why, for people
     */
    public void resume(String reason) {
        ResumeWorkflowRequest request =
                ResumeWorkflowRequest.newBuilder().setWorkflow(ref).setReason(reason).setRequestId(newId()).build();
        calls.unary(WorkflowServiceGrpc.getResumeWorkflowMethod(), request);
    }

    /**
     * Lets an ended workflow go on: what did not complete is done again. With {@link #expecting} it happens once.
     *
     * @param reason why, for people
     * @param reopen completed steps to do again, with all that comes after them
     * @return the reopened steps
     * @throws NotAllowedException it has not ended
     */
    public List<String> replay(String reason, String... reopen) {
        ReplayWorkflowRequest request = ReplayWorkflowRequest.newBuilder()
                .setWorkflow(ref)
                .setReason(reason)
                .addAllReopenSteps(List.of(reopen))
                .setRequestId(newId())
                .build();
        return List.copyOf(calls.unary(WorkflowServiceGrpc.getReplayWorkflowMethod(), request).getReopenedStepsList());
    }

    /**
     * Removes an ended workflow, all its rounds and values; a handle on an earlier round removes that round alone.
     *
     * @param reason why, for people
     * @throws NotAllowedException it has not ended
     */
    public void delete(String reason) {
        // A handle from a start names the round that it began, and the current one goes only with its key.
        WorkflowRef whole = started == null ? ref : ref.toBuilder().clearRound().build();
        DeleteWorkflowRequest request =
                DeleteWorkflowRequest.newBuilder().setWorkflow(whole).setReason(reason).setRequestId(newId()).build();
        calls.unary(WorkflowServiceGrpc.getDeleteWorkflowMethod(), request);
    }

    /**
     * Why it is where it is: what each step that has not ended waits for, since when, what would move it.
     *
     * @param step only this one; empty: all
     * @return the explanation
     */
    public ExplainWorkflowResponse explain(String step) {
        ExplainWorkflowRequest request = ExplainWorkflowRequest.newBuilder().setWorkflow(ref).setStep(step).build();
        return calls.unary(WorkflowServiceGrpc.getExplainWorkflowMethod(), request);
    }

    /**
     * The workflows that its map and child steps run, by step and index.
     *
     * @param step only those of this step; empty: all
     * @return the children
     */
    public Pages<Workflow> children(String step) {
        ListChildrenRequest request = ListChildrenRequest.newBuilder()
                .setWorkflow(ref)
                .setStep(step)
                .setView(WorkflowView.WORKFLOW_VIEW_FULL)
                .build();
        return Pages.of(
                token -> calls.unary(
                        WorkflowServiceGrpc.getListChildrenMethod(), request.toBuilder().setPageToken(token).build()),
                ListChildrenResponse::getChildrenList,
                ListChildrenResponse::getNextPageToken,
                Workflow::new);
    }

    /** {@return the rounds of its key that are kept, newest first} */
    public Pages<Workflow> rounds() {
        ListRoundsRequest request = ListRoundsRequest.newBuilder().setWorkflow(ref).setView(WorkflowView.WORKFLOW_VIEW_BASIC).build();
        return Pages.of(
                token -> calls.unary(WorkflowServiceGrpc.getListRoundsMethod(), request.toBuilder().setPageToken(token).build()),
                ListRoundsResponse::getRoundsList,
                ListRoundsResponse::getNextPageToken,
                Workflow::new);
    }

    /**
     * The last claims of its steps, newest first: 10 of each step are kept.
     *
     * @param step only those of this step; empty: all
     * @return the attempts
     */
    public Pages<Attempt> attempts(String step) {
        ListAttemptsRequest request = ListAttemptsRequest.newBuilder().setWorkflow(ref).setStep(step).build();
        return Pages.of(
                token -> calls.unary(
                        WorkflowServiceGrpc.getListAttemptsMethod(), request.toBuilder().setPageToken(token).build()),
                ListAttemptsResponse::getAttemptsList,
                ListAttemptsResponse::getNextPageToken,
                attempt -> attempt);
    }

    /**
     * The value of a payload of this workflow's, read from its own place if it was too large to travel along.
     *
     * @param <T> what to decode it to
     * @param payload the payload
     * @param type what to decode it to
     * @return the value
     * @throws NotFoundException it was freed or redacted
     */
    public <T> T fetch(Payload payload, Class<T> type) {
        return Values.decode(whole(payload), type);
    }

    /** {@return type and key} */
    @Override
    public String toString() {
        return ref.getWorkflowType() + "/" + ref.getBusinessKey() + (ref.hasRound() ? " round " + ref.getRound() : "");
    }

    private Object outcome(JavaType type, Duration asked) {
        Duration within = asked == null ? null : Times.bounded(asked);
        long began = System.nanoTime();
        while (true) {
            Duration left = within == null ? Limits.RESULT_WAIT_TIMEOUT : within.minusNanos(System.nanoTime() - began);
            Duration wait = Calls.max(Duration.ZERO, Calls.min(Limits.RESULT_WAIT_TIMEOUT, left));
            WaitForResultRequest request =
                    WaitForResultRequest.newBuilder().setWorkflow(ref).setTimeout(Times.message(wait)).build();
            Duration bound = wait.plus(Calls.max(calls.timeout(), Limits.CALL_MARGIN_TIMEOUT));
            WaitForResultResponse answer = calls.unary(WorkflowServiceGrpc.getWaitForResultMethod(), request, bound);
            if (answer.getDone()) {
                return output(answer, type);
            }
            if (within != null && System.nanoTime() - began >= within.toNanos()) {
                String text = this + " has not ended within " + within + ": it is " + WorkflowState.of(answer.getState());
                throw new CallTimeoutException(ErrorFacts.of(text, ""));
            }
        }
    }

    private Object output(WaitForResultResponse answer, JavaType type) {
        String told = answer.getReason().isEmpty() ? "" : ": " + answer.getReason();
        switch (WorkflowState.of(answer.getState())) {
            case COMPLETED -> {
                return Values.decode(answer.hasOutput() ? whole(answer.getOutput()) : null, type);
            }
            case FAILED -> {
                Failure failure = Failures.of(answer.getFailure());
                String where = answer.getFailedStep().isEmpty() ? "" : " in " + answer.getFailedStep();
                throw new WorkflowFailedException(this + " failed" + where + ": " + failure, failure, answer.getFailedStep());
            }
            case CANCELLED -> throw new WorkflowCancelledException(this + " was cancelled" + told);
            default -> throw new WorkflowTerminatedException(this + " was terminated" + told);
        }
    }

    private Payload whole(Payload payload) {
        if (!payload.hasRef()) {
            return payload;
        }
        FetchPayloadRequest request = FetchPayloadRequest.newBuilder()
                .setWorkflow(ref)
                .setPayloadId(payload.getRef().getPayloadId())
                .build();
        return calls.unary(WorkflowServiceGrpc.getFetchPayloadMethod(), request).getPayload();
    }

    private String newId() {
        return requestId.isEmpty() ? UUID.randomUUID().toString() : requestId;
    }
}
