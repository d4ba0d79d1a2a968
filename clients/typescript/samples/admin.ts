// A limit for a namespace, a schedule, and a batch: what the client does not wrap is called by the stubs.
import { Client, ErrorReason, reasonOf } from "@perdure/client";
import { AdminService } from "@perdure/client/stubs";

const client = new Client();
// The client's own channel: its address, TLS, token, codec, deadline and retries of UNAVAILABLE, and its errors.
const admin = client.stub(AdminService);
const namespace = "reports-typescript";

await admin.putNamespace({ namespace: { namespace, limits: { openWorkflows: 1000n } } });

const { schedule } = await admin.putSchedule({
  schedule: {
    namespace,
    scheduleId: "nightly",
    triggers: [{ kind: { case: "cron", value: { expression: "0 3 * * *", timeZone: "Europe/Berlin" } } }],
    start: { workflowType: "report" },
  },
});
console.log(`${String(schedule?.nextFireTimes.length)} nights to come`);

const { batch } = await admin.startBatch({
  namespace,
  requestId: "pause-all-1", // a repeat of this id gives the same batch
  filter: { workflowTypes: ["report"] },
  operation: { operation: { case: "pause", value: {} } },
});
console.log(`${String(batch?.matchedCount)} to pause`);

const refused = await admin.deleteSchedule({ namespace, scheduleId: "monthly" }).catch(reasonOf);
console.log(refused === ErrorReason.SCHEDULE_NOT_FOUND);
client.close();
