package io.perdure;

import io.perdure.v1.StartSignal;
import io.perdure.v1.StartWorkflowRequest;
import io.perdure.v1.WorkflowRef;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.UUID;

/**
 * One piece of work to be started, with its policies. A start of one key is accepted once, however often it is sent.
 *
 * <pre>{@code client.start(Start.of("note", "note-42").input(audio).label("tenant", "acme"))}</pre>
 */
public final class Start {
    private final StartWorkflowRequest.Builder request = StartWorkflowRequest.newBuilder();
    private final String workflowType;
    private final String key;

    /** What if the key has an open round. */
    public enum OnOpen {
        /** It is returned, {@link Run#created()} false, if its input is the same. */
        USE_EXISTING,
        /** The start is refused with {@link ErrorReason#WORKFLOW_ALREADY_EXISTS}. */
        REJECT,
        /** It is fenced, and a new round begins. */
        SUPERSEDE
    }

    /** What if the key's last round has ended. */
    public enum OnClosed {
        /** It is returned, {@link Run#created()} false, if its input is the same. */
        USE_EXISTING,
        /** A new round begins. */
        NEW_ROUND,
        /** A new round begins if the last one did not complete. */
        NEW_ROUND_IF_FAILED,
        /** The start is refused with {@link ErrorReason#WORKFLOW_ALREADY_EXISTS}. */
        REJECT
    }

    private Start(String workflowType, String key) {
        this.workflowType = workflowType;
        this.key = key;
    }

    /**
     * A start by the name of the type.
     *
     * @param workflowType its type
     * @param key the caller's own name of the business object
     * @return the start
     */
    public static Start of(String workflowType, String key) {
        return new Start(workflowType, key);
    }

    /**
     * A start of a definition.
     *
     * @param definition its definition
     * @param key the caller's own name of the business object
     * @return the start
     */
    public static Start of(Definition definition, String key) {
        return new Start(definition.workflowType(), key);
    }

    /**
     * What it is about.
     *
     * @param value any value that JSON can hold, bytes, or a payload
     * @return this start
     * @throws PayloadRejectedException the value cannot travel
     */
    public Start input(Object value) {
        Values.encode(value).ifPresentOrElse(request::setInput, request::clearInput);
        return this;
    }

    /**
     * A label, to find it by.
     *
     * @param name its name
     * @param value its value
     * @return this start
     */
    public Start label(String name, String value) {
        request.putLabels(name, value);
        return this;
    }

    /**
     * Makes a repeat of this very request recognisable. Default: a new one.
     *
     * @param id the id
     * @return this start
     */
    public Start requestId(String id) {
        request.setRequestId(id);
        return this;
    }

    /**
     * What if the key has an open round. Default: USE_EXISTING.
     *
     * @param policy what then
     * @return this start
     */
    public Start onOpen(OnOpen policy) {
        request.setOnOpen(StartWorkflowRequest.OnOpen.valueOf("ON_OPEN_" + policy.name().toUpperCase(Locale.ROOT)));
        return this;
    }

    /**
     * What if the key's last round has ended. Default: USE_EXISTING.
     *
     * @param policy what then
     * @return this start
     */
    public Start onClosed(OnClosed policy) {
        request.setOnClosed(StartWorkflowRequest.OnClosed.valueOf("ON_CLOSED_" + policy.name().toUpperCase(Locale.ROOT)));
        return this;
    }

    /**
     * The first step waits until then.
     *
     * @param time when
     * @return this start
     */
    public Start startAt(Instant time) {
        request.setStartAt(Times.message(time));
        return this;
    }

    /**
     * A signal that is stored in the same write.
     *
     * @param name its name
     * @param payload what it carries; null: nothing
     * @return this start
     */
    public Start signal(String name, Object payload) {
        return signal(name, payload, UUID.randomUUID().toString());
    }

    /**
     * A signal that is stored in the same write, under an id that makes it count once.
     *
     * @param name its name
     * @param payload what it carries; null: nothing
     * @param signalId its id
     * @return this start
     */
    public Start signal(String name, Object payload, String signalId) {
        StartSignal.Builder signal = StartSignal.newBuilder().setSignalName(name).setSignalId(signalId);
        Values.encode(payload).ifPresent(signal::setPayload);
        request.addSignals(signal);
        return this;
    }

    /**
     * How urgent it is. Default: 5.
     *
     * @param priority 0 to 9, higher sooner
     * @return this start
     */
    public Start priority(int priority) {
        request.setPriority(priority);
        return this;
    }

    /**
     * Queue of all its steps, instead of their policies'.
     *
     * @param queue the queue
     * @return this start
     */
    public Start queue(String queue) {
        request.setQueue(queue);
        return this;
    }

    /**
     * Queue of one step, stronger than {@link #queue(String)}.
     *
     * @param step the step
     * @param queue its queue
     * @return this start
     */
    public Start stepQueue(String step, String queue) {
        request.putStepQueues(step, queue);
        return this;
    }

    /**
     * Work of one key shares a queue fairly with that of others.
     *
     * @param fairnessKey such as a tenant
     * @return this start
     */
    public Start fairnessKey(String fairnessKey) {
        request.setFairnessKey(fairnessKey);
        return this;
    }

    /**
     * Share of the fairness key.
     *
     * @param weight 1 is that of any other
     * @return this start
     */
    public Start fairnessWeight(double weight) {
        request.setFairnessWeight(weight);
        return this;
    }

    /**
     * Until when it must have ended, instead of the definition's.
     *
     * @param timeout from the start of the round
     * @return this start
     */
    public Start workflowTimeout(Duration timeout) {
        request.setWorkflowTimeout(Times.message(timeout));
        return this;
    }

    /**
     * How long it is kept after its end, instead of the definition's.
     *
     * @param retention how long
     * @return this start
     */
    public Start retention(Duration retention) {
        request.setRetention(Times.message(retention));
        return this;
    }

    /**
     * Which registered definition it runs by. Default: the active one.
     *
     * @param fingerprint its fingerprint
     * @return this start
     */
    public Start definitionFingerprint(String fingerprint) {
        request.setDefinitionFingerprint(fingerprint);
        return this;
    }

    /**
     * The fence of the round before; if it is another, {@link ConflictException}.
     *
     * @param fence the fence
     * @return this start
     */
    public Start expectedFence(long fence) {
        request.getWorkflowBuilder().setExpectedFence(fence);
        return this;
    }

    /**
     * Checks everything and stores nothing.
     *
     * @return this start
     */
    public Start validateOnly() {
        request.setValidateOnly(true);
        return this;
    }

    /** {@return name of its type} */
    public String workflowType() {
        return workflowType;
    }

    /** {@return its business key} */
    public String key() {
        return key;
    }

    StartWorkflowRequest message(String namespace) {
        StartWorkflowRequest.Builder message = request.clone();
        WorkflowRef.Builder ref = message.getWorkflowBuilder();
        ref.setNamespace(namespace).setWorkflowType(workflowType).setBusinessKey(key);
        if (message.getRequestId().isEmpty()) {
            message.setRequestId(UUID.randomUUID().toString());
        }
        return message.build();
    }
}
