package io.perdure;

import io.perdure.v1.Branch;
import io.perdure.v1.MapStep;
import io.perdure.v1.PermitRequirement;
import io.perdure.v1.StepDefinition;
import io.perdure.v1.StepPolicy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** A step of a {@link Definition}. Its methods say more about it, and return it. */
public final class Step {
    private final StepDefinition.Builder message;
    private final Set<String> after = new LinkedHashSet<>();
    private final Map<String, List<String>> branches = new LinkedHashMap<>();
    private final Definition definition;

    /** What a step without attempts left does to its workflow. */
    public enum OnExhausted {
        /** The workflow fails. */
        FAIL_WORKFLOW,
        /** The step is held for a person. */
        HOLD,
        /** What depends on it is skipped, the rest goes on. */
        SKIP_DEPENDANTS,
        /** Dependants get the failure as their input, as {@link ValueOrFailure}. */
        CONTINUE
    }

    /** When a map step is done. */
    public enum Join {
        /** All children completed. */
        ALL,
        /** One completed. */
        ANY,
        /** All ended, however. */
        BEST_EFFORT
    }

    /** What the end of a map or child step does to children that are open. */
    public enum ParentClose {
        /** They are asked to cancel. */
        CANCEL,
        /** They are terminated. */
        TERMINATE,
        /** They go on alone. */
        ABANDON
    }

    Step(Definition definition, StepDefinition.Builder message) {
        this.definition = definition;
        this.message = message;
    }

    /** {@return its name} */
    public String name() {
        return message.getName();
    }

    /**
     * Steps that must have completed before, without their outputs being needed.
     *
     * @param steps their names
     * @return this step
     */
    public Step after(String... steps) {
        for (String step : steps) {
            definition.require(step, "after of " + name());
            after.add(step);
        }
        return this;
    }

    /**
     * Steps that must have completed before, without their outputs being needed.
     *
     * @param first one of them
     * @param others the others
     * @return this step
     */
    public Step after(Step first, Step... others) {
        after.add(first.name());
        for (Step other : others) {
            after.add(other.name());
        }
        return this;
    }

    /**
     * Puts this step on a branch: it runs only if the other step chooses that, by {@link Chosen} or {@link Condition#choosing}.
     *
     * @param chooser the step that chooses
     * @param branch name of the branch
     * @return this step
     */
    public Step on(Step chooser, String branch) {
        after.add(chooser.name());
        chooser.branches.computeIfAbsent(branch, name -> new ArrayList<>()).add(name());
        return this;
    }

    /**
     * The step that undoes this one when the workflow fails.
     *
     * @param compensation a step that needs nothing but, perhaps, {@code input}; {@link Context#hook()} tells it the rest
     * @return this step
     */
    public Step compensateWith(Step compensation) {
        message.setCompensateWith(compensation.name());
        return this;
    }

    /**
     * The author's version of its code contract; raise it when the code means something else.
     *
     * @param version the version
     * @return this step
     */
    public Step version(String version) {
        message.setVersion(version);
        return this;
    }

    /**
     * For people.
     *
     * @param text what it does
     * @return this step
     */
    public Step description(String text) {
        message.setDescription(text);
        return this;
    }

    /**
     * What follows a failed attempt.
     *
     * @param retry the policy
     * @return this step
     */
    public Step retry(Retry retry) {
        policy().setRetry(retry.message());
        return this;
    }

    /**
     * From claim to result; then the attempt is fenced. Default: 10 min.
     *
     * @param timeout how long
     * @return this step
     */
    public Step attemptTimeout(Duration timeout) {
        policy().setAttemptTimeout(Times.message(timeout));
        return this;
    }

    /**
     * Longest time without checkpoint, frame or {@link Context#alive()}. Default: any.
     *
     * @param timeout at least three renewal intervals
     * @return this step
     */
    public Step silenceTimeout(Duration timeout) {
        policy().setSilenceTimeout(Times.message(timeout));
        return this;
    }

    /**
     * All attempts and back-offs together. Default: no limit.
     *
     * @param timeout how long
     * @return this step
     */
    public Step stepTimeout(Duration timeout) {
        policy().setStepTimeout(Times.message(timeout));
        return this;
    }

    /**
     * Longest time ready without a worker. Default: no limit.
     *
     * @param timeout how long
     * @return this step
     */
    public Step queueTimeout(Duration timeout) {
        policy().setQueueTimeout(Times.message(timeout));
        return this;
    }

    /**
     * Which queue its claims come from. Default: {@code default}.
     *
     * @param queue the queue
     * @return this step
     */
    public Step queue(String queue) {
        policy().setQueue(queue);
        return this;
    }

    /**
     * How urgent it is. Default: the workflow's.
     *
     * @param priority 0 to 9, higher sooner
     * @return this step
     */
    public Step priority(int priority) {
        policy().setPriority(priority);
        return this;
    }

    /**
     * What follows the last failed attempt. Default: the workflow fails.
     *
     * @param then what follows
     * @return this step
     */
    public Step onExhausted(OnExhausted then) {
        policy().setOnExhausted(StepPolicy.OnExhausted.valueOf("ON_EXHAUSTED_" + then.name()));
        return this;
    }

    /**
     * Units of a shared resource that it holds while it runs.
     *
     * @param resource its name
     * @param units how many
     * @return this step
     */
    public Step permits(String resource, int units) {
        policy().addPermits(PermitRequirement.newBuilder().setResource(resource).setUnits(units));
        return this;
    }

    /**
     * Of a map step: when it is done. Default: all children completed.
     *
     * @param join when
     * @return this step
     */
    public Step join(Join join) {
        message.getMapBuilder().setJoin(MapStep.Join.valueOf("JOIN_" + join.name()));
        return this;
    }

    /**
     * Of a map step: it is done when so many children completed.
     *
     * @param required how many
     * @return this step
     */
    public Step joinCount(int required) {
        message.getMapBuilder().setJoin(MapStep.Join.JOIN_N_OF_M).setRequiredCount(required);
        return this;
    }

    /**
     * Of a map step: how many children are open at once. Default: 100.
     *
     * @param most 1 to 1,000
     * @return this step
     */
    public Step maxInFlight(int most) {
        policy().setMaxInFlight(most);
        return this;
    }

    /**
     * Of a map or child step: what its end does to open children. Default: they are cancelled.
     *
     * @param then what then
     * @return this step
     */
    public Step parentClose(ParentClose then) {
        policy().setParentClose(StepPolicy.ParentClosePolicy.valueOf("PARENT_CLOSE_POLICY_" + then.name()));
        return this;
    }

    /** {@return its name} */
    @Override
    public String toString() {
        return name();
    }

    Optional<String> queue() {
        return message.getPolicy().getQueue().isEmpty() ? Optional.empty() : Optional.of(message.getPolicy().getQueue());
    }

    StepDefinition message() {
        StepDefinition.Builder whole = message.clone();
        Set<String> dependencies = new LinkedHashSet<>(message.getDependsOnList());
        message.getNeeds().getNamesList().stream().filter(need -> !need.equals(Definition.INPUT)).forEach(dependencies::add);
        dependencies.addAll(after);
        whole.clearDependsOn().addAllDependsOn(dependencies);
        branches.forEach((name, steps) -> whole.addBranches(Branch.newBuilder().setName(name).addAllSteps(steps)));
        return whole.build();
    }

    private StepPolicy.Builder policy() {
        return message.getPolicyBuilder();
    }
}
