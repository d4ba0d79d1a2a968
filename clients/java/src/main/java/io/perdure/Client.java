package io.perdure;

import com.google.protobuf.Message;
import io.grpc.Channel;
import io.perdure.v1.AdminServiceGrpc;
import io.perdure.v1.CountWorkflowsRequest;
import io.perdure.v1.CountWorkflowsResponse;
import io.perdure.v1.DeleteResourceRequest;
import io.perdure.v1.GetServerInfoRequest;
import io.perdure.v1.GetServerInfoResponse;
import io.perdure.v1.ListQueuesRequest;
import io.perdure.v1.ListQueuesResponse;
import io.perdure.v1.ListResourcesRequest;
import io.perdure.v1.ListResourcesResponse;
import io.perdure.v1.ListWorkflowsRequest;
import io.perdure.v1.ListWorkflowsResponse;
import io.perdure.v1.PutResourceRequest;
import io.perdure.v1.Queue;
import io.perdure.v1.Resource;
import io.perdure.v1.SignalRequest;
import io.perdure.v1.SignalResponse;
import io.perdure.v1.StartWorkflowResponse;
import io.perdure.v1.StartWorkflowResult;
import io.perdure.v1.StartWorkflowsRequest;
import io.perdure.v1.StartWorkflowsResponse;
import io.perdure.v1.WorkflowRef;
import io.perdure.v1.WorkflowServiceGrpc;
import io.perdure.v1.WorkflowView;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * Talks to a Perdure server: starts workflows, finds them, and makes workers. Without arguments to PERDURE_ADDRESS, else to
 * {@code perdure dev} on this machine. One client serves a whole program and all its threads; close it at the end.
 *
 * <p>Every call has a deadline, 30 s unless told otherwise; until then UNAVAILABLE is tried again, and nothing else is, so that a
 * restart of the server is no error. All errors are {@link PerdureException}s. An interrupted call ends with
 * {@link CallTimeoutException}, and the interrupt is kept.
 */
public final class Client implements AutoCloseable {
    /** Version of this library; that of the server which it came with. */
    public static final String VERSION = "0.1.0";

    private final Calls calls;
    private final Definitions definitions;

    /** A client as the environment says. */
    public Client() {
        this(new ClientOptions());
    }

    /**
     * A client of one server.
     *
     * @param address host:port
     */
    public Client(String address) {
        this(new ClientOptions().address(address));
    }

    /**
     * A client with options.
     *
     * @param options what is not as the environment says
     * @throws InvalidRequestException a file is missing or damaged
     */
    public Client(ClientOptions options) {
        this.calls = new Calls(ConnectionConfig.of(options, options.environment()), options.timeout, options.connectTimeout);
        this.definitions = new Definitions(calls);
    }

    /** {@return host:port of the server} */
    public String address() {
        return calls.config().address();
    }

    /** {@return the namespace of everything that names none} */
    public String namespace() {
        return calls.config().namespace();
    }

    /**
     * The channel, for the stubs in {@code io.perdure.v1} and for other services of the server. It adds the bearer token and the trace
     * context; values do not go through the codec, and nothing is tried again beyond the published service config.
     *
     * @return a channel that is closed with this client
     */
    public Channel channel() {
        return calls.channel();
    }

    /** {@return the definitions of the namespace} */
    public Definitions definitions() {
        return definitions;
    }

    /**
     * A worker for the steps of these definitions that have code.
     *
     * @param definitions what it can run; more by {@link WorkerBuilder#serve}
     * @return the worker to be, not started yet
     */
    public WorkerBuilder worker(Definition... definitions) {
        return new WorkerBuilder(calls, List.of(definitions));
    }

    /**
     * Accepts a piece of work, once per key: a repeat gives the same workflow. Returns when it is stored.
     *
     * @param start what to start
     * @return a handle on the workflow
     * @throws AlreadyExistsException the key has another input, or the policy says REJECT
     * @throws NotFoundException the type has no active definition
     * @throws InvalidRequestException a value is wrong; its violations name each
     */
    public Run start(Start start) {
        return started(start, calls.unary(WorkflowServiceGrpc.getStartWorkflowMethod(), start.message(namespace())));
    }

    /**
     * Accepts a piece of work with default policies.
     *
     * @param definition its definition
     * @param key the caller's own name of the business object
     * @param input what it is about; null: nothing
     * @return a handle on the workflow
     */
    public Run start(Definition definition, String key, Object input) {
        return start(Start.of(definition, key).input(input));
    }

    /**
     * What became of one of several starts: a run, or why there is none.
     *
     * @param run the handle; empty: it was refused
     * @param error why it was refused; empty: it was not
     */
    public record StartOutcome(Optional<Run> run, Optional<PerdureException> error) {
        /**
         * The handle.
         *
         * @return the handle
         * @throws PerdureException why there is none
         */
        public Run orThrow() {
            return run.orElseThrow(error::get);
        }
    }

    /**
     * Several starts in one call, each on its own: one that fails does not touch the others.
     *
     * @param starts 1 to 500; two of one key are applied in order
     * @return for each start, in order, what became of it
     */
    public List<StartOutcome> startAll(List<Start> starts) {
        StartWorkflowsRequest.Builder request = StartWorkflowsRequest.newBuilder();
        starts.forEach(start -> request.addRequests(start.message(namespace())));
        StartWorkflowsResponse answer = calls.unary(WorkflowServiceGrpc.getStartWorkflowsMethod(), request.build());
        List<StartOutcome> outcomes = new ArrayList<>();
        for (int index = 0; index < answer.getResultsCount(); index++) {
            StartWorkflowResult result = answer.getResults(index);
            Optional<PerdureException> error = Statuses.ofStatus(result.getStatus());
            Run run = error.isPresent() ? null : started(starts.get(index), result.getResponse());
            outcomes.add(new StartOutcome(Optional.ofNullable(run), error));
        }
        return outcomes;
    }

    /**
     * A handle on the current round of a key; asks nobody.
     *
     * @param workflowType its type
     * @param key its business key
     * @return the handle
     */
    public Run run(String workflowType, String key) {
        return new Run(calls, ref(workflowType, key).build(), null);
    }

    /**
     * A handle on one round of a key; asks nobody.
     *
     * @param workflowType its type
     * @param key its business key
     * @param round which round
     * @return the handle
     */
    public Run run(String workflowType, String key, long round) {
        return new Run(calls, ref(workflowType, key).setRound(round).build(), null);
    }

    /**
     * Signals by a claim's wake token, as a webhook does; by name it is {@link Run#signal}.
     *
     * @param wakeToken what the activity handed out
     * @param name which wait it is for
     * @param payload what it carries; null: nothing
     * @return whether it woke something
     * @throws ConflictException the token is of another round
     * @throws NotFoundException the workflow is gone
     */
    public Signalled signal(String wakeToken, String name, Object payload) {
        return signal(wakeToken, name, payload, UUID.randomUUID().toString());
    }

    /**
     * As {@link #signal(String, String, Object)}, under an id that makes it count once.
     *
     * @param wakeToken what the activity handed out
     * @param name which wait it is for
     * @param payload what it carries; null: nothing
     * @param signalId its id
     * @return whether it woke something
     */
    public Signalled signal(String wakeToken, String name, Object payload, String signalId) {
        return signal(calls, SignalRequest.newBuilder().setWakeToken(wakeToken), name, payload, signalId);
    }

    /**
     * Workflows of the namespace, newest first, with their steps and without values.
     *
     * @param filter which
     * @return the workflows
     */
    public Pages<Workflow> list(Filter filter) {
        return list(filter, ListWorkflowsRequest.Order.ORDER_START_TIME_DESC);
    }

    /**
     * Workflows of the namespace in either order, with their steps and without values.
     *
     * @param filter which
     * @param order by start time
     * @return the workflows
     */
    public Pages<Workflow> list(Filter filter, ListWorkflowsRequest.Order order) {
        ListWorkflowsRequest request = ListWorkflowsRequest.newBuilder()
                .setNamespace(namespace())
                .setFilter(filter.message())
                .setOrderBy(order)
                .setView(WorkflowView.WORKFLOW_VIEW_STEPS)
                .build();
        return Pages.of(
                token -> calls.unary(
                        WorkflowServiceGrpc.getListWorkflowsMethod(), request.toBuilder().setPageToken(token).build()),
                ListWorkflowsResponse::getWorkflowsList,
                ListWorkflowsResponse::getNextPageToken,
                Workflow::new);
    }

    /**
     * How many workflows there are.
     *
     * @param filter which
     * @return the number, and whether it is an estimate
     */
    public CountWorkflowsResponse count(Filter filter) {
        CountWorkflowsRequest request =
                CountWorkflowsRequest.newBuilder().setNamespace(namespace()).setFilter(filter.message()).build();
        return calls.unary(WorkflowServiceGrpc.getCountWorkflowsMethod(), request);
    }

    /** {@return the server that answers: version, defaults, limits, store, coordination, and what it found wrong} */
    public GetServerInfoResponse serverInfo() {
        return calls.unary(AdminServiceGrpc.getGetServerInfoMethod(), GetServerInfoRequest.getDefaultInstance());
    }

    /** {@return the queues of the namespace: what is ready, since when, and who serves it} */
    public Pages<Queue> queues() {
        ListQueuesRequest request = ListQueuesRequest.newBuilder().setNamespace(namespace()).build();
        return Pages.of(
                token -> calls.unary(AdminServiceGrpc.getListQueuesMethod(), request.toBuilder().setPageToken(token).build()),
                ListQueuesResponse::getQueuesList,
                ListQueuesResponse::getNextPageToken,
                found -> found);
    }

    /** {@return the resources of the namespace, whose permits steps hold} */
    public Pages<Resource> resources() {
        ListResourcesRequest request = ListResourcesRequest.newBuilder().setNamespace(namespace()).build();
        return Pages.of(
                token -> calls.unary(
                        AdminServiceGrpc.getListResourcesMethod(), request.toBuilder().setPageToken(token).build()),
                ListResourcesResponse::getResourcesList,
                ListResourcesResponse::getNextPageToken,
                found -> found);
    }

    /**
     * Makes or changes a resource.
     *
     * @param resource its name and limits; an empty namespace is this client's
     * @return the resource as the server keeps it
     */
    public Resource putResource(Resource resource) {
        Resource named = resource.getNamespace().isEmpty() ? resource.toBuilder().setNamespace(namespace()).build() : resource;
        PutResourceRequest request =
                PutResourceRequest.newBuilder().setResource(named).setRequestId(UUID.randomUUID().toString()).build();
        return calls.unary(AdminServiceGrpc.getPutResourceMethod(), request).getResource();
    }

    /**
     * Removes a resource.
     *
     * @param name its name
     * @throws NotAllowedException its permits are held or asked for
     */
    public void deleteResource(String name) {
        DeleteResourceRequest request = DeleteResourceRequest.newBuilder()
                .setNamespace(namespace())
                .setResource(name)
                .setRequestId(UUID.randomUUID().toString())
                .build();
        calls.unary(AdminServiceGrpc.getDeleteResourceMethod(), request);
    }

    /**
     * Calls any unary method of the API with this client's deadline, retries, errors and codec.
     *
     * @param <Q> its request
     * @param <A> its answer
     * @param method the method, such as {@code AdminServiceGrpc.getResolveStepMethod()}
     * @param request the request, with its namespace
     * @return the answer
     */
    public <Q extends Message, A extends Message> A call(io.grpc.MethodDescriptor<Q, A> method, Q request) {
        return calls.unary(method, request);
    }

    /** Closes the connection; calls that still run end. Workers have connections of their own: stop them first. */
    @Override
    public void close() {
        calls.close();
    }

    /** {@return address and namespace} */
    @Override
    public String toString() {
        return "Client[" + calls.config() + "]";
    }

    static Signalled signal(Calls calls, SignalRequest.Builder request, String name, Object payload, String signalId) {
        request.setSignalName(name).setSignalId(signalId);
        Values.encode(payload).ifPresent(request::setPayload);
        SignalResponse answer = calls.unary(WorkflowServiceGrpc.getSignalMethod(), request.build());
        return new Signalled(answer.getDuplicate(), answer.getConsumed(), signalId);
    }

    private Run started(Start start, StartWorkflowResponse answer) {
        Started started = new Started(
                answer.getCreated(),
                answer.getRunId(),
                answer.getFence(),
                WorkflowState.of(answer.getState()),
                answer.getDefinitionFingerprint());
        WorkflowRef.Builder ref = ref(start.workflowType(), start.key());
        if (answer.getWorkflow().getRound() > 0) {
            ref.setRound(answer.getWorkflow().getRound());
        }
        return new Run(calls, ref.build(), started);
    }

    private WorkflowRef.Builder ref(String workflowType, String key) {
        return WorkflowRef.newBuilder().setNamespace(namespace()).setWorkflowType(workflowType).setBusinessKey(key);
    }
}
