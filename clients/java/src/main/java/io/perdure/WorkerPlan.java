package io.perdure;

import io.perdure.v1.Definition;
import io.perdure.v1.Hello;
import io.perdure.v1.OfferedDefinition;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** All that a worker offers. Activities are keyed by workflow type and step, see {@link #place}. */
record WorkerPlan(
        String workerId,
        String namespace,
        List<PoolPlan> pools,
        Map<String, StepCode> activities,
        List<Definition> definitions,
        boolean register,
        Optional<Duration> lease,
        Duration grace,
        Map<String, String> labels,
        Consumer<NotServed> whenNotServed) {
    private static final List<String> CAPABILITIES =
            List.of("cancel", "lost", "heartbeats", "go_away", "pools", "refs", "begin_after_renewed");

    static String place(String workflowType, String step) {
        return workflowType + "/" + step;
    }

    /** The hello of a new session. */
    Hello.Builder hello() {
        Hello.Builder hello = Hello.newBuilder()
                .setWorkerId(workerId)
                .setClientName(Channels.CLIENT_NAME)
                .setClientVersion(Channels.version())
                .addAllCapabilities(CAPABILITIES)
                .putAllLabels(labels)
                .setNamespace(namespace);
        pools.forEach(pool -> hello.addPools(pool.message()));
        definitions.forEach(
                definition -> hello.addDefinitions(OfferedDefinition.newBuilder().setDefinition(definition).setRegister(register)));
        lease.ifPresent(wish -> hello.setLease(Times.message(wish)));
        return hello;
    }
}
