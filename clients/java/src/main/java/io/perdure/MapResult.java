package io.perdure;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.util.JsonFormat;
import io.perdure.v1.MapProgress;
import java.util.List;

/**
 * The output of a map step: how its children ended; {@link Run#children} gives the children themselves.
 *
 * @param total how many there are
 * @param completed how many completed
 * @param failed how many failed
 * @param cancelled how many were cancelled
 * @param open started and not ended when the step was done
 * @param errors the first 20 children that failed, by index
 */
public record MapResult(long total, long completed, long failed, long cancelled, long open, List<Error> errors) {
    /**
     * A child that failed.
     *
     * @param index which item, from 0
     * @param workflowType type of the child
     * @param businessKey key of the child
     * @param failure why it failed
     */
    public record Error(long index, String workflowType, String businessKey, Failure failure) {}

    static MapResult parse(String json) {
        io.perdure.v1.MapResult.Builder found = io.perdure.v1.MapResult.newBuilder();
        try {
            JsonFormat.parser().ignoringUnknownFields().merge(json, found);
        } catch (InvalidProtocolBufferException error) {
            throw Values.rejected("not the result of a map step: " + error.getMessage());
        }
        if (!found.hasProgress()) {
            throw Values.rejected("not the result of a map step");
        }
        MapProgress progress = found.getProgress();
        List<Error> errors = found.getErrorsList().stream()
                .map(error -> new Error(
                        error.getIndex(),
                        error.getWorkflow().getWorkflowType(),
                        error.getWorkflow().getBusinessKey(),
                        Failures.of(error.getFailure())))
                .toList();
        return new MapResult(
                progress.getTotalCount(),
                progress.getCompletedCount(),
                progress.getFailedCount(),
                progress.getCancelledCount(),
                progress.getOpenCount(),
                errors);
    }
}
