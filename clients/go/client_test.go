package perdure_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/perduretest"
)

const letter = `
workflow_type: letter
version: "1"
steps:
  write: {needs: [input], retry: {max_attempts: 2, initial_interval: 1h}}
  approve: {after: [write], wait: {any_of: [{signal: approved}, {after: 3d}]}}
  send: {needs: [write, approve]}
`

// TestAgainstAServer starts one real server, whose clock the tests move.
func TestAgainstAServer(t *testing.T) {
	server := perduretest.Start(t)
	client := server.Client(t)
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(stop)
	definition, err := perdure.ParseDefinition([]byte(letter))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, context.Context, *perduretest.Server, *perdure.Client){
		"a start is accepted once":                     startOnce,
		"the clock moves a workflow to its end":        byTheClock,
		"a failed workflow says why":                   failing,
		"lists come page by page":                      listing,
		"errors have reasons":                          reasons,
		"a resource, a definition and their verbs":     administration,
		"an idle test server says what still moves":    stuck,
		"the stubs work on the client's connection":    stubs,
		"a definition of a value is the one of a file": fingerprints,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := client.Definitions().Apply(ctx, definition); err != nil {
				t.Fatal(err)
			}
			test(t, ctx, server, client)
		})
	}
}

func startOnce(t *testing.T, ctx context.Context, server *perduretest.Server, client *perdure.Client) {
	input := map[string]any{"n": json.Number("9007199254740993"), "text": "Grüße"}
	first, err := client.Start(ctx, "letter", "once", input, perdure.Label("tenant", "acme"), perdure.Priority(7))
	if err != nil || !first.Created() {
		t.Fatalf("%v, %v", first, err)
	}
	again, err := client.Start(ctx, "letter", "once", input)
	if err != nil || again.Created() || again.Ref().Round != first.Ref().Round {
		t.Errorf("a repeat gives %v, %v", again, err)
	}
	if _, err := client.Start(ctx, "letter", "once", "something else"); perdure.ReasonOf(err) != perdure.ReasonStartInputMismatch {
		t.Errorf("another input: %v", err)
	}
	if _, err := client.Start(ctx, "letter", "once", input, perdure.OnOpen(perdure.OpenReject)); perdure.ReasonOf(err) != perdure.ReasonWorkflowAlreadyExists {
		t.Errorf("OpenReject: %v", err)
	}
	found, err := first.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if value, err := perdure.Decode[map[string]any](found.Input); err != nil || value["n"] != json.Number("9007199254740993") || found.Labels["tenant"] != "acme" {
		t.Errorf("it is %v (%v)", value, err)
	}
	many, err := client.StartMany(ctx, []perdure.Start{{Type: "letter", Key: "many", Input: 1}, {Type: "nobody", Key: "many"}})
	if err != nil || many[0].Run == nil || many[0].Err != nil || perdure.ReasonOf(many[1].Err) != perdure.ReasonDefinitionNotFound {
		t.Errorf("several starts give %v, %v", many, err)
	}
}

func byTheClock(t *testing.T, ctx context.Context, server *perduretest.Server, client *perdure.Client) {
	err := server.Script(ctx, "letter",
		perduretest.Fails("write", &perdure.Failure{Type: "pen.broken"}).OfAttempt(1).OfKey("clock"),
		perduretest.Completes("write", "Dear Ann").OfKey("clock"),
		perduretest.Completes("send", int64(math.MaxInt64)).OfKey("clock"),
	)
	if err != nil {
		t.Fatal(err)
	}
	run, err := client.Start(ctx, "letter", "clock", nil)
	if err != nil {
		t.Fatal(err)
	}
	if result, err := perduretest.Result[int64](ctx, server, run); err != nil || result != math.MaxInt64 {
		t.Errorf("the result is %v, %v", result, err)
	}
	count := 0
	for attempt, err := range run.Attempts(ctx, "write") {
		if err != nil {
			t.Fatal(err)
		}
		if count++; attempt.GetAttempt() == 1 && attempt.GetFailure().GetType() != "pen.broken" {
			t.Errorf("the first attempt failed with %v", attempt.GetFailure())
		}
	}
	if count != 2 {
		t.Errorf("%d attempts", count)
	}
	var last perdure.Event
	for event, err := range run.Watch(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		last = event
	}
	if end, ok := last.(*perdure.End); !ok || end.State != perdure.StateCompleted || end.ResumeToken() == "" {
		t.Errorf("the last event is %v", last)
	}
}

func failing(t *testing.T, ctx context.Context, server *perduretest.Server, client *perdure.Client) {
	broken := &perdure.Failure{Type: "pen.broken", Message: "again", NonRetryable: true, Details: map[string]int{"pens": 0}}
	if err := server.Script(ctx, "letter", perduretest.Fails("write", broken).OfKey("failing")); err != nil {
		t.Fatal(err)
	}
	run, err := client.Start(ctx, "letter", "failing", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = perdure.Result[string](ctx, run)
	var failed *perdure.WorkflowFailed
	var failure *perdure.Failure
	if !errors.As(err, &failed) || failed.Step != "write" || !errors.As(err, &failure) || failure.Type != "pen.broken" || perdure.ReasonOf(err) != perdure.ReasonFailed {
		t.Fatalf("the result is %v", err)
	}
	details, ok := failure.Details.(perdure.Payload)
	if text, _ := details.JSON(); !ok || text != `{"pens":0}` {
		t.Errorf("the details are %v", failure.Details)
	}
	if steps, err := run.Replay(ctx, nil, perdure.Because("a new pen")); err != nil || len(steps) == 0 || steps[0] != "write" {
		t.Errorf("a replay reopens %v, %v", steps, err)
	}
	if _, err := perdure.Result[string](ctx, run); !errors.As(err, &failed) {
		t.Errorf("replayed it ends with %v", err)
	}
	if _, err := run.Cancel(ctx, perdure.Because("too late")); perdure.ReasonOf(err) != perdure.ReasonWorkflowClosed {
		t.Errorf("a cancel of an ended workflow: %v", err)
	}
}

func listing(t *testing.T, ctx context.Context, server *perduretest.Server, client *perdure.Client) {
	for _, key := range []string{"a", "b", "c"} {
		if _, err := client.Start(ctx, "letter", "list-"+key, nil, perdure.Label("list", "yes")); err != nil {
			t.Fatal(err)
		}
	}
	filter := perdure.Filter{Types: []string{"letter"}, Labels: map[string]string{"list": "yes"}}
	var keys []string
	for workflow, err := range client.List(ctx, filter, perdure.OldestFirst()) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, workflow.Ref.Key)
	}
	if strings.Join(keys, " ") != "list-a list-b list-c" {
		t.Errorf("the list is %v", keys)
	}
	for range client.List(ctx, filter) {
		break // early is fine
	}
	if found, err := client.Count(ctx, filter); err != nil || found.Count != 3 {
		t.Errorf("the count is %v, %v", found, err)
	}
	for _, err := range client.List(ctx, perdure.Filter{Keys: make([]string, 200)}) {
		if perdure.ReasonOf(err) != perdure.ReasonInvalidArgument {
			t.Errorf("too many keys: %v", err)
		}
	}
}

func reasons(t *testing.T, ctx context.Context, server *perduretest.Server, client *perdure.Client) {
	run := client.Run("letter", "nobody")
	if _, err := run.Get(ctx); perdure.ReasonOf(err) != perdure.ReasonWorkflowNotFound {
		t.Errorf("no such workflow: %v", err)
	}
	for _, err := range run.Watch(ctx) {
		if perdure.ReasonOf(err) != perdure.ReasonWorkflowNotFound {
			t.Errorf("a watch of no such workflow: %v", err)
		}
	}
	_, err := client.SignalByToken(ctx, "no token", "approved", nil)
	var known *perdure.Error
	if perdure.ReasonOf(err) != perdure.ReasonWakeTokenInvalid || !errors.As(err, &known) || known.Code != codes.InvalidArgument {
		t.Errorf("no wake token: %v", err)
	}
	started, err := client.Start(ctx, "letter", "fenced", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := started.Expecting(1).Terminate(ctx); perdure.ReasonOf(err) != perdure.ReasonFenced {
		t.Errorf("another fence: %v", err)
	}
	short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	if _, err := perdure.Result[string](short, started); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a result that does not come in time: %v", err)
	}
	if err := started.Pause(ctx); err != nil {
		t.Error(err)
	}
	if err := started.Resume(ctx); err != nil {
		t.Error(err)
	}
	if err := started.Terminate(ctx, perdure.Because("over"), perdure.RequestID("once")); err != nil {
		t.Error(err)
	}
	var terminated *perdure.WorkflowTerminated
	if _, err := perdure.Result[string](ctx, started); !errors.As(err, &terminated) || terminated.Words != "over" || perdure.ReasonOf(err) != perdure.ReasonTerminated {
		t.Errorf("the result of a terminated workflow is %v", err)
	}
	if err := client.Run("letter", "fenced").Delete(ctx); err != nil {
		t.Error(err)
	}
}

func administration(t *testing.T, ctx context.Context, server *perduretest.Server, client *perdure.Client) {
	capacity := int64(4)
	if stored, err := client.Resources().Put(ctx, &perdurev1.Resource{Resource: "pens", Capacity: &capacity}); err != nil || stored.GetCapacity() != 4 {
		t.Errorf("the resource is %v, %v", stored, err)
	}
	found := false
	for resource, err := range client.Resources().List(ctx) {
		found = found || (err == nil && resource.GetResource() == "pens")
	}
	if !found {
		t.Error("the resource is not listed")
	}
	if err := client.Resources().Delete(ctx, "pens"); err != nil {
		t.Error(err)
	}
	active, err := client.Definitions().Get(ctx, "letter", "")
	if err != nil || !active.Active || active.StepContracts["write"] == "" {
		t.Fatalf("the active definition is %v, %v", active, err)
	}
	if err := client.Definitions().Delete(ctx, "letter", active.Fingerprint); perdure.ReasonOf(err) != perdure.ReasonDefinitionInUse {
		t.Errorf("a delete of the active definition: %v", err)
	}
	if info, err := client.ServerInfo(ctx); err != nil || info.GetServerVersion() == "" {
		t.Errorf("the server is %v, %v", info, err)
	}
	for _, err := range client.Queues(ctx, "") {
		if err != nil {
			t.Error(err)
		}
	}
	explained, err := client.Start(ctx, "letter", "explained", nil)
	if err != nil {
		t.Fatal(err)
	}
	if why, err := explained.Explain(ctx, "write"); err != nil || len(why.GetSteps()) != 1 {
		t.Errorf("the explanation is %v, %v", why, err)
	}
}

func stuck(t *testing.T, ctx context.Context, server *perduretest.Server, client *perdure.Client) {
	hold := `{workflow_type: hold, steps: {wait: {wait: {signal: never}}}}`
	definition, err := perdure.ParseDefinition([]byte(hold))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Definitions().Apply(ctx, definition); err != nil {
		t.Fatal(err)
	}
	run, err := client.Start(ctx, "hold", "stuck", nil)
	if err != nil {
		t.Fatal(err)
	}
	for { // other tests' workflows may have due times of their own
		_, err = perduretest.Result[string](ctx, server, run)
		if !errors.Is(err, perduretest.ErrStillMoving) {
			break
		}
	}
	if !errors.Is(err, perduretest.ErrStuck) {
		t.Errorf("it says %v", err)
	}
	before, err := server.Advance(ctx, time.Hour)
	if err != nil || before.Passed < time.Hour {
		t.Errorf("%v, %v", before, err)
	}
	if after, err := server.AdvanceTo(ctx, before.Now.Add(time.Minute)); err != nil || after.Passed < 59*time.Second {
		t.Errorf("%v, %v", after, err)
	}
}

func stubs(t *testing.T, ctx context.Context, server *perduretest.Server, client *perdure.Client) {
	admin := perdurev1.NewAdminServiceClient(client.Conn())
	answer, err := admin.ListNamespaces(ctx, &perdurev1.ListNamespacesRequest{})
	if err != nil || len(answer.GetNamespaces()) == 0 {
		t.Errorf("%v, %v", answer, err)
	}
	_, err = admin.GetBatch(ctx, &perdurev1.GetBatchRequest{BatchId: "nobody"})
	if perdure.ReasonOf(err) != perdure.ReasonBatchNotFound {
		t.Errorf("errors of stubs are not typed: %v", err)
	}
}

func fingerprints(t *testing.T, ctx context.Context, server *perduretest.Server, client *perdure.Client) {
	value := &perdurev1.Definition{WorkflowType: "tiny", Steps: []*perdurev1.StepDefinition{{
		Name: "work", Kind: &perdurev1.StepDefinition_Activity{Activity: &perdurev1.ActivityStep{}}, Needs: &perdurev1.Needs{Names: []string{"input"}},
	}}}
	file, err := perdure.ParseDefinition([]byte("{workflow_type: tiny, steps: {work: {needs: [input]}}}"))
	if err != nil {
		t.Fatal(err)
	}
	first, err := client.Definitions().Validate(ctx, value)
	if err != nil {
		t.Fatal(err)
	}
	second, err := client.Definitions().Validate(ctx, file)
	if err != nil || first.Fingerprint != second.Fingerprint || first.Fingerprint == "" || first.StepContracts["work"] != second.StepContracts["work"] {
		t.Errorf("%v and %v (%v)", first, second, err)
	}
	value.Steps[0].DependsOn = []string{"work"}
	if _, err := client.Definitions().Validate(ctx, value); perdure.ReasonOf(err) != perdure.ReasonDefinitionCycle {
		t.Errorf("a circle: %v", err)
	}
}

func TestWithoutAServerItSaysWhatToDo(t *testing.T) {
	client, err := perdure.Dial(perdure.WithAddress("127.0.0.1:1"), perdure.WithConnectTimeout(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	_, err = client.Start(context.Background(), "letter", "k", nil)
	if err == nil || !strings.Contains(err.Error(), "start one by `perdure dev`, or set PERDURE_ADDRESS") {
		t.Errorf("it says %v", err)
	}
	for _, err := range client.Run("letter", "k").Watch(context.Background()) {
		if err == nil || !strings.Contains(err.Error(), "perdure dev") {
			t.Errorf("a watch says %v", err)
		}
	}
}
