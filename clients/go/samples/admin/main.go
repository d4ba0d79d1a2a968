// A limit for a namespace, a schedule, and a batch: what the client does not wrap is called by the stubs of gen/perdure/v1.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

func run(ctx context.Context, out io.Writer) error {
	client, err := perdure.Dial()
	if err != nil {
		return err
	}
	defer client.Close()
	// The client's own connection: its address, TLS, token, codec, deadline and retries of UNAVAILABLE, and its errors.
	admin := perdurev1.NewAdminServiceClient(client.Conn())

	open := int64(1000)
	limits := &perdurev1.NamespaceLimits{OpenWorkflows: &open}
	namespace := &perdurev1.Namespace{Namespace: "reports-go", Limits: limits}
	if _, err := admin.PutNamespace(ctx, &perdurev1.PutNamespaceRequest{Namespace: namespace}); err != nil {
		return err
	}

	night := &perdurev1.ScheduleTrigger_Cron{Cron: &perdurev1.CronTrigger{Expression: "0 3 * * *", TimeZone: "Europe/Berlin"}}
	put, err := admin.PutSchedule(ctx, &perdurev1.PutScheduleRequest{Schedule: &perdurev1.Schedule{
		Namespace: "reports-go", ScheduleId: "nightly",
		Triggers: []*perdurev1.ScheduleTrigger{{Kind: night}},
		Start:    &perdurev1.ScheduledStart{WorkflowType: "report"},
	}})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d nights to come\n", len(put.GetSchedule().GetNextFireTimes()))

	started, err := admin.StartBatch(ctx, &perdurev1.StartBatchRequest{
		Namespace: "reports-go", RequestId: "pause-all-1", // a repeat of this id gives the same batch
		Filter:    &perdurev1.WorkflowFilter{WorkflowTypes: []string{"report"}},
		Operation: &perdurev1.BatchOperation{Operation: &perdurev1.BatchOperation_Pause{Pause: &perdurev1.BatchPause{}}},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d to pause\n", started.GetBatch().GetMatchedCount())

	_, err = admin.DeleteSchedule(ctx, &perdurev1.DeleteScheduleRequest{Namespace: "reports-go", ScheduleId: "monthly"})
	fmt.Fprintln(out, perdure.ReasonOf(err) == perdure.ReasonScheduleNotFound)
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
