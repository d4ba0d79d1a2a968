package io.perdure;

import io.perdure.v1.Pool;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;

/**
 * A number of slots for some steps of one type and queue. The steps' contracts come from the definition of `definitionIndex`, which
 * goes along with hello; else they are given.
 */
record PoolPlan(
        String name, String workflowType, String queue, List<String> steps, Map<String, String> contracts, OptionalInt definitionIndex,
        int slots) {
    Pool message() {
        Pool.Builder pool = Pool.newBuilder().setPool(name).setQueue(queue).setWorkflowType(workflowType).setSlots(slots);
        if (definitionIndex.isPresent()) {
            return pool.addAllSteps(steps).setDefinitionIndex(definitionIndex.getAsInt()).build();
        }
        return pool.putAllStepContracts(contracts).build();
    }
}
