package io.perdure;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Consumer;

/** A worker to be: what it serves, with how many slots; made by {@link Client#worker}. */
public final class WorkerBuilder {
    private final Calls calls;
    private final List<Definition> definitions;
    private final List<Served> served = new ArrayList<>();
    private final Map<String, Integer> slots = new LinkedHashMap<>();
    private final Set<String> steps = new LinkedHashSet<>();
    private final Map<String, String> labels = new LinkedHashMap<>();
    private int otherSlots = Math.min(Limits.SLOTS_MAX, Runtime.getRuntime().availableProcessors() + 4);
    private String workerId = "";
    private Duration lease;
    private Duration grace = Limits.STOP_GRACE;
    private boolean register = true;
    private boolean handlesShutdown = true;
    private Consumer<NotServed> whenNotServed = what -> {};

    /** A step that is served by its contract alone. */
    private record Served(String workflowType, String contract, String step, StepCode code, String queue) {}

    WorkerBuilder(Calls calls, List<Definition> definitions) {
        this.calls = calls;
        this.definitions = definitions;
    }

    /**
     * Serves one step of a definition that lives elsewhere, by the contract that this program was built for: a step that is added to
     * the definition later does not strand it.
     *
     * @param <N> what it needs
     * @param workflowType the type
     * @param step the step
     * @param contract its contract, as {@code perdure definitions generate --language java} writes it
     * @param needs a record, as in {@link Definition#step(String, Class, Activity)}
     * @param activity its code
     * @return this builder
     */
    public <N> WorkerBuilder serve(String workflowType, String step, String contract, Class<N> needs, Activity<N> activity) {
        return serve(workflowType, step, contract, "", needs, activity);
    }

    /**
     * As {@link #serve(String, String, String, Class, Activity)}, from a queue.
     *
     * @param <N> what it needs
     * @param workflowType the type
     * @param step the step
     * @param contract its contract
     * @param queue the queue; empty: {@code default}
     * @param needs a record
     * @param activity its code
     * @return this builder
     */
    public <N> WorkerBuilder serve(
            String workflowType, String step, String contract, String queue, Class<N> needs, Activity<N> activity) {
        served.add(new Served(workflowType, contract, step, StepCode.of(step, needs, activity), queue));
        return this;
    }

    /**
     * How many activities of a step may run at once, in a pool of its own.
     *
     * @param step its name, or {@code type.step} where several types have one of that name
     * @param count at least 1
     * @return this builder
     */
    public WorkerBuilder slots(String step, int count) {
        slots.put(step, atLeastOne(count));
        return this;
    }

    /**
     * How many activities of all other steps of a type (and queue) may run at once. Default: the cores and 4 more, at most 32.
     *
     * @param count at least 1
     * @return this builder
     */
    public WorkerBuilder slots(int count) {
        this.otherSlots = atLeastOne(count);
        return this;
    }

    /**
     * Serves only these steps. Default: all that have code here.
     *
     * @param names their names
     * @return this builder
     */
    public WorkerBuilder steps(String... names) {
        steps.addAll(List.of(names));
        return this;
    }

    /**
     * The worker's name, for people. Default: host name and process id.
     *
     * @param name the name
     * @return this builder
     */
    public WorkerBuilder workerId(String name) {
        this.workerId = name;
        return this;
    }

    /**
     * Wish for the session's lease. Default: the server's, 30 s.
     *
     * @param wish how long
     * @return this builder
     */
    public WorkerBuilder lease(Duration wish) {
        this.lease = wish;
        return this;
    }

    /**
     * How long running activities may go on after a stop was asked for, before their claims are given back. Default: 30 s.
     *
     * @param length how long
     * @return this builder
     */
    public WorkerBuilder grace(Duration length) {
        this.grace = Calls.max(Duration.ZERO, Times.bounded(length));
        return this;
    }

    /**
     * Whether definitions are registered, and activated where their type has no active one. Default: yes.
     *
     * @param wanted whether they are
     * @return this builder
     */
    public WorkerBuilder register(boolean wanted) {
        this.register = wanted;
        return this;
    }

    /**
     * Whether the end of the JVM, as by SIGTERM, stops the worker in order: it ends when the worker has stopped. Default: yes.
     *
     * @param wanted whether it does
     * @return this builder
     */
    public WorkerBuilder stopsWithJvm(boolean wanted) {
        this.handlesShutdown = wanted;
        return this;
    }

    /**
     * Who is told that a pool, or a step of it, is not served for now, at the start or later. Default: only the log.
     *
     * @param listener called in order on a thread of its own; it may block, and close the worker
     * @return this builder
     */
    public WorkerBuilder whenNotServed(Consumer<NotServed> listener) {
        this.whenNotServed = listener;
        return this;
    }

    /**
     * A free fact about the worker, for people.
     *
     * @param name its name
     * @param value its value
     * @return this builder
     */
    public WorkerBuilder label(String name, String value) {
        labels.put(name, value);
        return this;
    }

    /**
     * Starts the worker; returns once the server has let it in.
     *
     * @return the worker, to be closed
     * @throws UnavailableException no server within 10 s
     * @throws DefinitionRejectedException a definition has faults
     * @throws AccessDeniedException the credentials do not allow it
     * @throws IllegalArgumentException there is nothing to run, or a name is not known
     */
    public Worker start() {
        Worker worker = new Worker(plan(), calls, handlesShutdown);
        worker.open();
        return worker;
    }

    /**
     * Works until the JVM is asked to end, as by SIGTERM, or {@link Thread#interrupt} comes; then stops in order.
     *
     * @throws UnavailableException no server within 10 s
     * @throws PerdureException the session has ended for good
     */
    public void run() {
        try (Worker worker = start()) {
            worker.await();
        }
    }

    private WorkerPlan plan() {
        Map<String, StepCode> activities = new LinkedHashMap<>();
        Map<String, String> queues = new LinkedHashMap<>();
        Map<String, Integer> indexes = new LinkedHashMap<>();
        Map<String, String> contracts = new LinkedHashMap<>();
        for (Definition definition : definitions) {
            if (indexes.put(definition.workflowType(), indexes.size()) != null) {
                throw new IllegalArgumentException("a worker serves one definition of a type; run another worker for the other");
            }
            definition.checkFor(calls.config().codec());
            definition.code().forEach((step, code) -> {
                String place = WorkerPlan.place(definition.workflowType(), step);
                activities.put(place, code);
                queues.put(place, definition.steps().get(step).queue().orElse(""));
            });
        }
        for (Served one : served) {
            String place = WorkerPlan.place(one.workflowType(), one.step());
            activities.put(place, one.code());
            queues.put(place, one.queue());
            contracts.put(place, one.contract());
        }
        if (!steps.isEmpty()) {
            Set<String> wanted = new LinkedHashSet<>();
            steps.forEach(name -> wanted.add(find(activities.keySet(), name)));
            activities.keySet().retainAll(wanted);
        }
        if (activities.isEmpty()) {
            throw new IllegalArgumentException("nothing to run: give client.worker a definition with at least one step that has code");
        }
        return new WorkerPlan(
                workerId.isEmpty() ? hostAndProcess() : workerId,
                calls.config().namespace(),
                pools(activities.keySet(), queues, indexes, contracts),
                activities,
                definitions.stream().map(Definition::message).toList(),
                register,
                Optional.ofNullable(lease),
                grace,
                labels,
                whenNotServed);
    }

    /** One pool for each step that has slots of its own, one for the rest of each type and queue. */
    private List<PoolPlan> pools(
            Set<String> places, Map<String, String> queues, Map<String, Integer> indexes, Map<String, String> contracts) {
        Map<String, Integer> own = new LinkedHashMap<>();
        slots.forEach((name, count) -> own.put(find(places, name), count));
        Map<String, List<String>> groups = new LinkedHashMap<>();
        for (String place : places) {
            String type = type(place);
            String kind = contracts.containsKey(place) ? "#" : "";
            String queue = queues.get(place).isEmpty() ? "" : "@" + queues.get(place);
            String name = own.containsKey(place) ? type + "." + step(place) : type + kind + queue;
            groups.computeIfAbsent(name, pool -> new ArrayList<>()).add(place);
        }
        List<PoolPlan> pools = new ArrayList<>();
        groups.forEach((name, members) -> {
            String first = members.get(0);
            Map<String, String> given = new LinkedHashMap<>();
            members.stream().filter(contracts::containsKey).forEach(place -> given.put(step(place), contracts.get(place)));
            pools.add(new PoolPlan(
                    name,
                    type(first),
                    queues.get(first),
                    members.stream().map(WorkerBuilder::step).toList(),
                    given,
                    given.isEmpty() ? OptionalInt.of(indexes.get(type(first))) : OptionalInt.empty(),
                    own.getOrDefault(first, otherSlots)));
        });
        return pools;
    }

    private static String find(Set<String> places, String name) {
        List<String> found = places.stream()
                .filter(place -> name.equals(step(place)) || name.equals(type(place) + "." + step(place)))
                .toList();
        if (found.size() != 1) {
            throw new IllegalArgumentException("'" + name + "' names " + (found.isEmpty() ? "no step with code here" : "several steps")
                    + "; there are: " + String.join(", ", places));
        }
        return found.get(0);
    }

    private static String type(String place) {
        return place.substring(0, place.indexOf('/'));
    }

    private static String step(String place) {
        return place.substring(place.indexOf('/') + 1);
    }

    private static int atLeastOne(int count) {
        if (count < 1) {
            throw new IllegalArgumentException("a pool needs at least 1 slot; leave a step out by steps(...)");
        }
        return count;
    }

    private static String hostAndProcess() {
        String host = "unknown";
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException error) {
            // a machine that does not know its own name: the process id has to do
        }
        return host + "-" + ProcessHandle.current().pid();
    }
}
