package io.perdure;

import io.perdure.v1.TimeRange;
import io.perdure.v1.WorkflowFilter;
import java.time.Instant;
import java.util.List;

/** Which workflows: those that match all that is given. */
public final class Filter {
    private final WorkflowFilter.Builder message;

    private Filter(WorkflowFilter.Builder message) {
        this.message = message;
    }

    /** {@return a filter that all workflows match} */
    public static Filter all() {
        return new Filter(WorkflowFilter.newBuilder());
    }

    /**
     * Workflows of one type.
     *
     * @param workflowType the type
     * @return the filter
     */
    public static Filter type(String workflowType) {
        return all().orType(workflowType);
    }

    /**
     * A filter as the wire has it, for conditions that have no method here.
     *
     * @param message the conditions
     * @return the filter
     */
    public static Filter of(WorkflowFilter message) {
        return new Filter(message.toBuilder());
    }

    /**
     * Also workflows of this type.
     *
     * @param workflowType the type
     * @return this filter
     */
    public Filter orType(String workflowType) {
        message.addWorkflowTypes(workflowType);
        return this;
    }

    /**
     * Only those in one of these states.
     *
     * @param states the states
     * @return this filter
     */
    public Filter states(WorkflowState... states) {
        for (WorkflowState state : states) {
            message.addStates(state.wire());
        }
        return this;
    }

    /**
     * Only those with this label.
     *
     * @param name its name
     * @param value its value
     * @return this filter
     */
    public Filter label(String name, String value) {
        message.putLabels(name, value);
        return this;
    }

    /**
     * Only these business keys.
     *
     * @param keys the keys
     * @return this filter
     */
    public Filter keys(String... keys) {
        message.addAllBusinessKeys(List.of(keys));
        return this;
    }

    /**
     * Only those started at or after this moment.
     *
     * @param time the moment
     * @return this filter
     */
    public Filter startedAfter(Instant time) {
        message.setStartTime(TimeRange.newBuilder(message.getStartTime()).setFromTime(Times.message(time)));
        return this;
    }

    /**
     * Only those started before this moment.
     *
     * @param time the moment
     * @return this filter
     */
    public Filter startedBefore(Instant time) {
        message.setStartTime(TimeRange.newBuilder(message.getStartTime()).setToTime(Times.message(time)));
        return this;
    }

    WorkflowFilter message() {
        return message.build();
    }
}
