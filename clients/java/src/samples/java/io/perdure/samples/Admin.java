package io.perdure.samples;

import io.perdure.Client;
import io.perdure.ErrorReason;
import io.perdure.NotFoundException;
import io.perdure.v1.AdminServiceGrpc;
import io.perdure.v1.Batch;
import io.perdure.v1.BatchOperation;
import io.perdure.v1.BatchPause;
import io.perdure.v1.CronTrigger;
import io.perdure.v1.DeleteScheduleRequest;
import io.perdure.v1.Namespace;
import io.perdure.v1.NamespaceLimits;
import io.perdure.v1.PutNamespaceRequest;
import io.perdure.v1.PutScheduleRequest;
import io.perdure.v1.Schedule;
import io.perdure.v1.ScheduleTrigger;
import io.perdure.v1.ScheduledStart;
import io.perdure.v1.StartBatchRequest;
import io.perdure.v1.WorkflowFilter;

/** A limit for a namespace, a schedule, and a batch: what the client does not wrap is called by its method's name in the stubs. */
public final class Admin {
    private static final String NAMESPACE = "reports-java";

    public static void main(String[] args) {
        try (Client client = new Client()) {
            // The client's own channel: its address, TLS, token, codec, deadline and retries of UNAVAILABLE, and its errors.
            Namespace namespace = Namespace.newBuilder().setNamespace(NAMESPACE)
                    .setLimits(NamespaceLimits.newBuilder().setOpenWorkflows(1000)).build();
            client.call(AdminServiceGrpc.getPutNamespaceMethod(), PutNamespaceRequest.newBuilder().setNamespace(namespace).build());

            CronTrigger night = CronTrigger.newBuilder().setExpression("0 3 * * *").setTimeZone("Europe/Berlin").build();
            Schedule nightly = Schedule.newBuilder().setNamespace(NAMESPACE).setScheduleId("nightly")
                    .addTriggers(ScheduleTrigger.newBuilder().setCron(night))
                    .setStart(ScheduledStart.newBuilder().setWorkflowType("report")).build();
            Schedule kept = client.call(
                    AdminServiceGrpc.getPutScheduleMethod(), PutScheduleRequest.newBuilder().setSchedule(nightly).build()).getSchedule();
            System.out.println(kept.getNextFireTimesCount() + " nights to come");

            Batch batch = client.call(AdminServiceGrpc.getStartBatchMethod(), StartBatchRequest.newBuilder()
                    .setNamespace(NAMESPACE).setRequestId("pause-all-1") // a repeat of this id gives the same batch
                    .setFilter(WorkflowFilter.newBuilder().addWorkflowTypes("report"))
                    .setOperation(BatchOperation.newBuilder().setPause(BatchPause.getDefaultInstance())).build()).getBatch();
            System.out.println(batch.getMatchedCount() + " to pause");

            try {
                client.call(AdminServiceGrpc.getDeleteScheduleMethod(),
                        DeleteScheduleRequest.newBuilder().setNamespace(NAMESPACE).setScheduleId("monthly").build());
            } catch (NotFoundException error) {
                System.out.println(error.reason().equals(ErrorReason.SCHEDULE_NOT_FOUND));
            }
        }
    }

    private Admin() {}
}
