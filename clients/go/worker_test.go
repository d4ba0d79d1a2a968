package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

func done(perdure.Context, perdure.Inputs) (any, error) { return "done", nil }

// held is a step that a test lets go on.
type held struct {
	begun  chan perdure.Context
	goOn   chan struct{}
	result any
	err    error
}

func newHeld() *held { return &held{begun: make(chan perdure.Context, 100), goOn: make(chan struct{})} }

func (h *held) run(ctx perdure.Context, _ perdure.Inputs) (any, error) {
	h.begun <- ctx
	select {
	case <-h.goOn:
		return h.result, h.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestAClaimIsRunAndItsResultSent(t *testing.T) {
	server := newScripted(t)
	server.work(done, perdure.Slots(3))
	stream := server.accept()
	if credit := stream.credit(); credit.GetPool() != "job" || credit.GetCount() != 3 {
		t.Fatalf("credit %v, not 3 for the pool job", credit)
	}
	stream.grant(claim("a"))
	result := stream.result()
	if result.GetClaimToken() != "a" || result.GetCompleted().GetOutput().GetJson() != `"done"` || !result.GetWantNext() {
		t.Errorf("the result is %v", result)
	}
}

func TestHelloSaysWhoTheWorkerIs(t *testing.T) {
	server := newScripted(t)
	server.work(done, perdure.WorkerID("me"), perdure.WorkerLabel("zone", "a"), perdure.Lease(time.Minute))
	hello := server.accept().hello
	if hello.GetWorkerId() != "me" || hello.GetClientName() != "perdure-go" || hello.GetLabels()["zone"] != "a" || hello.GetNamespace() != "default" {
		t.Errorf("hello is %v", hello)
	}
	if contract := hello.GetPools()[0].GetStepContracts()["work"]; contract != "contract-1" || hello.GetLease().AsDuration() != time.Minute {
		t.Errorf("hello is %v", hello)
	}
}

func TestASlowStepIsAcknowledgedByARenewAtOnce(t *testing.T) {
	server, step := newScripted(t), newHeld()
	server.work(step.run)
	stream := server.accept()
	stream.grant(claim("a"))
	stream.renewalOf("a")
	close(step.goOn)
	stream.result()
}

func TestRenewalsGoOnWhileAStepComputesAndALargeResultHangs(t *testing.T) {
	server := newScripted(t).renewing(400 * time.Millisecond)
	server.renewed = stored
	hanging := make(chan struct{})
	release := sync.OnceFunc(func() { close(hanging) })
	defer release()
	arrived := make(chan struct{}, 1)
	server.complete = func(ctx context.Context, request *perdurev1.CompleteRequest) (*perdurev1.CompleteResponse, error) {
		arrived <- struct{}{}
		<-hanging
		return &perdurev1.CompleteResponse{}, nil
	}
	var stopComputing atomic.Bool
	defer stopComputing.Store(true)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		if ctx.BusinessKey() == "large" {
			return strings.Repeat("x", 300<<10), nil
		}
		for !stopComputing.Load() { // a computation that never blocks
		}
		return nil, nil
	})
	stream := server.accept()
	stream.grant(claim("large"), claim("busy"))
	receive(t, arrived, "the large result")
	for range 3 {
		renewal := stream.renewalOf("large")
		if len(renewal.GetHeld()) != 2 {
			t.Fatalf("a renewal names %d claims, not both", len(renewal.GetHeld()))
		}
	}
	release()
	stopComputing.Store(true)
	stream.result()
}

// blockedLog is a logger that blocks until the test lets it go.
type blockedLog struct {
	slog.Handler
	release chan struct{}
}

func (b blockedLog) Handle(context.Context, slog.Record) error {
	<-b.release
	return nil
}

func (b blockedLog) WithAttrs([]slog.Attr) slog.Handler { return b }

func TestRenewalsGoOnWhileTheLoggerBlocks(t *testing.T) {
	server, step := newScripted(t).renewing(400*time.Millisecond), newHeld()
	server.renewed = stored
	blocked := blockedLog{slog.NewTextHandler(io.Discard, nil), make(chan struct{})}
	release := sync.OnceFunc(func() { close(blocked.release) })
	defer release()
	server.logger = slog.New(blocked)
	server.work(step.run)
	stream := server.accept()
	stream.grant(claim("a"))
	for range 3 {
		stream.renewalOf("a")
	}
	release()
	close(step.goOn)
	stream.result()
}

func TestTheLeasesEndStopsWhatHoldsPermitsAndNothingElse(t *testing.T) {
	server, step := newScripted(t), newHeld()
	server.welcome = func(hello *perdurev1.Hello) (*perdurev1.Welcome, error) {
		made := welcomed(hello)
		made.LeaseDuration, made.RenewInterval = durationpb.New(1500*time.Millisecond), durationpb.New(500*time.Millisecond)
		return made, nil
	}
	// Renewals are answered, so the stream lives, but none is stored.
	server.renewed = func(_ int, renew *perdurev1.Renew) *perdurev1.Renewed {
		return &perdurev1.Renewed{RenewId: renew.GetRenewId(), Status: statusOf(codes.Unavailable, perdure.ReasonStoreUnavailable, nil)}
	}
	server.work(step.run)
	stream := server.accept()
	permits, plain := claim("permits"), claim("plain")
	permits.StopAtLeaseEnd = true
	stream.grant(permits, plain)
	contexts := map[string]perdure.Context{}
	for range 2 {
		ctx := receive(t, step.begun, "the step")
		contexts[ctx.BusinessKey()] = ctx
	}
	receive(t, contexts["permits"].Done(), "the end of the step that holds permits")
	if reason := contexts["permits"].CancelReason(); reason != perdure.CancelClaimLost {
		t.Errorf("it stops for %q", reason)
	}
	if contexts["plain"].Err() != nil {
		t.Error("the step that holds no permits was stopped, too")
	}
	close(step.goOn)
	if result := stream.result(); result.GetClaimToken() != "plain" {
		t.Errorf("a result of %s is sent", result.GetClaimToken())
	}
}

func TestAStreamWhoseRenewalsStayUnansweredIsReplaced(t *testing.T) {
	server, step := newScripted(t).renewing(400*time.Millisecond), newHeld()
	server.renewed = func(stream int, renew *perdurev1.Renew) *perdurev1.Renewed {
		if stream == 1 {
			return nil
		}
		return stored(stream, renew)
	}
	server.work(step.run)
	first := server.accept()
	first.grant(claim("a"))
	receive(t, step.begun, "the step")
	first.renewalOf("a")
	second := server.accept() // 1.5 intervals later
	if second.hello.GetSessionId() != "session-1" || second.hello.GetSessionSecret() != "secret-1" || len(second.hello.GetHeldClaimTokens()) != 1 {
		t.Errorf("the second hello is %v", second.hello)
	}
	second.renewalOf("a")
	close(step.goOn)
	second.result()
}

func TestAResultWithoutAnswerIsSentAgainOnTheNextStream(t *testing.T) {
	server := newScripted(t)
	server.work(done)
	first := server.accept()
	first.grant(claim("a"))
	first.unansweredResult()
	first.end <- status.Error(codes.Unavailable, "cut")
	second := server.accept()
	again := second.result()
	if again.GetClaimToken() != "a" || again.GetWantNext() {
		t.Errorf("said again it is %v; its slot is credit already", again)
	}
	if count := second.credit().GetCount(); count != 100 {
		t.Errorf("%d of credit on the new stream, not 100", count)
	}
}

func TestGoAwayOpensAnotherStreamWhileTheOldOneStillTakesResults(t *testing.T) {
	server, step := newScripted(t), newHeld()
	server.work(step.run)
	first := server.accept()
	first.grant(claim("a"))
	receive(t, step.begun, "the step")
	first.send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_GoAway{GoAway: &perdurev1.GoAway{}}})
	second := server.accept()
	if tokens := second.hello.GetHeldClaimTokens(); len(tokens) != 1 || tokens[0] != "a" {
		t.Errorf("the claims in hello are %v", tokens)
	}
	second.renewed(second.renewalOf("a").GetRenewId())
	close(step.goOn)
	second.result()
}

func TestADeadSessionIsLeftAndItsStepsStop(t *testing.T) {
	server, step := newScripted(t), newHeld()
	server.work(step.run)
	first := server.accept()
	first.grant(claim("a"))
	ctx := receive(t, step.begun, "the step")
	renewal := first.renewalOf("a")
	lost := &perdurev1.Renewed{RenewId: renewal.GetRenewId(), Status: statusOf(codes.FailedPrecondition, perdure.ReasonSessionLost, nil)}
	first.send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_Renewed{Renewed: lost}})
	receive(t, ctx.Done(), "the end of the step")
	second := server.accept()
	if second.hello.GetSessionId() != "" || len(second.hello.GetHeldClaimTokens()) != 0 {
		t.Errorf("the hello of the new session is %v", second.hello)
	}
	second.renewed(second.renewal().GetRenewId())
}

func TestACancelEndsTheContextAndIsConfirmed(t *testing.T) {
	server, step := newScripted(t), newHeld()
	server.work(step.run)
	stream := server.accept()
	stream.grant(claim("a"))
	ctx := receive(t, step.begun, "the step")
	cancel := &perdurev1.CancelClaims{Claims: []*perdurev1.CancelClaim{{ClaimToken: "a", Reason: "WORKFLOW_FAILING"}}}
	stream.send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_Cancel{Cancel: cancel}})
	if result := stream.result(); result.GetCancelled() == nil {
		t.Errorf("the outcome is %v", result)
	}
	var stopped *perdure.Stopped
	if ctx.CancelReason() != perdure.CancelWorkflowFailing || !errors.As(context.Cause(ctx), &stopped) || stopped.Reason != ctx.CancelReason() {
		t.Errorf("the reason is %q, the cause %v", ctx.CancelReason(), context.Cause(ctx))
	}
}

func TestALostClaimEndsTheContextAndNothingIsSent(t *testing.T) {
	server, step := newScripted(t), newHeld()
	server.work(step.run)
	stream := server.accept()
	stream.grant(claim("a"))
	ctx := receive(t, step.begun, "the step")
	lost := &perdurev1.LostClaims{Claims: []*perdurev1.LostClaim{{ClaimToken: "a", Cause: perdurev1.ClaimLossCause_CLAIM_LOSS_CAUSE_TIMED_OUT}}}
	stream.send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_Lost{Lost: lost}})
	receive(t, ctx.Done(), "the end of the step")
	if ctx.CancelReason() != perdure.CancelTimedOut {
		t.Errorf("the reason is %q", ctx.CancelReason())
	}
	close(step.goOn)
	stream.grant(claim("b"))
	if result := stream.result(); result.GetClaimToken() != "b" {
		t.Errorf("a result of %s is sent", result.GetClaimToken())
	}
}

func TestASaveReturnsWhenItIsStoredAndSurvivesAReconnect(t *testing.T) {
	server := newScripted(t)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		if err := ctx.Save("here"); err != nil {
			return nil, err
		}
		value, found, err := perdure.Checkpoint[string](ctx)
		return []any{value, found}, err
	})
	first := server.accept()
	granted := claim("a")
	granted.CheckpointNo = 7
	first.grant(granted)
	if found := first.heartbeat(); found.GetCheckpoint().GetJson() != `"here"` || found.GetCheckpointNo() != 8 {
		t.Fatalf("the heartbeat is %v", found)
	}
	first.end <- status.Error(codes.Unavailable, "cut")
	second := server.accept()
	again := second.heartbeat()
	if again.GetCheckpointNo() != 8 {
		t.Errorf("said again it has the number %d", again.GetCheckpointNo())
	}
	second.answer(&perdurev1.HeartbeatAnswer{HeartbeatId: again.GetHeartbeatId()})
	if output := second.result().GetCompleted().GetOutput().GetJson(); output != `["here",true]` {
		t.Errorf("the output is %s", output)
	}
}

func TestASaveOfAFencedClaimSaysSo(t *testing.T) {
	server := newScripted(t)
	failed := make(chan error, 1)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		err := ctx.Save("here")
		failed <- err
		return nil, err
	})
	stream := server.accept()
	stream.grant(claim("a"))
	found := stream.heartbeat()
	lost := statusOf(codes.FailedPrecondition, perdure.ReasonClaimLost, map[string]string{"cause": "SUPERSEDED"})
	stream.answer(&perdurev1.HeartbeatAnswer{HeartbeatId: found.GetHeartbeatId(), Status: lost})
	err := receive(t, failed, "the error of the save")
	var known *perdure.Error
	if perdure.ReasonOf(err) != perdure.ReasonClaimLost || !errors.As(err, &known) || known.Cause() != "SUPERSEDED" {
		t.Errorf("the save says %v", err)
	}
}

func TestFramesAreNumberedFromOneAndToldWithTheResult(t *testing.T) {
	server := newScripted(t)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		ctx.Frame("a")
		ctx.Log("b")
		ctx.Progress(perdure.Progress{Done: 1, Total: 2})
		return nil, nil
	})
	stream := server.accept()
	stream.grant(claim("a"))
	var frames []*perdurev1.FrameUpload
	for len(frames) < 3 {
		for _, found := range stream.heartbeats() {
			frames = append(frames, found.GetFrames()...)
			stream.answer(&perdurev1.HeartbeatAnswer{HeartbeatId: found.GetHeartbeatId()})
		}
	}
	for index, frame := range frames {
		if frame.GetSeq() != int64(index+1) {
			t.Errorf("frame %d has the number %d", index, frame.GetSeq())
		}
	}
	if frames[2].GetPayload().GetJson() != `{"done":1,"total":2}` || frames[1].GetKind() != perdurev1.Frame_KIND_LOG {
		t.Errorf("the frames are %v", frames)
	}
	if result := stream.result(); result.GetLastFrameSeq() != 3 || result.GetCompleted().GetOutput() != nil {
		t.Errorf("the result is %v", result)
	}
}

func TestALongTextBecomesSeveralFrames(t *testing.T) {
	server := newScripted(t)
	text := strings.Repeat("ä", 100_000)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		ctx.Frame(text)
		return nil, nil
	})
	stream := server.accept()
	stream.grant(claim("a"))
	var whole strings.Builder
	for whole.Len() < len(text) {
		for _, heartbeat := range stream.heartbeats() {
			for _, frame := range heartbeat.GetFrames() {
				json := frame.GetPayload().GetJson()
				if len(json) > 64<<10 {
					t.Fatalf("a frame has %d bytes", len(json))
				}
				whole.WriteString(strings.Trim(json, `"`))
			}
		}
	}
	if whole.String() != text {
		t.Error("the text is not whole")
	}
	stream.result()
}

func TestAMaxAttemptsOfOneBeginsAfterTheRenewIsAnswered(t *testing.T) {
	server, step := newScripted(t), newHeld()
	server.work(step.run)
	stream := server.accept()
	once := claim("a")
	once.BeginAfterRenewed = true
	stream.grant(once)
	renewal := stream.renewalOf("a")
	select {
	case <-step.begun:
		t.Fatal("it has begun before the renew was answered")
	default:
	}
	stream.renewed(renewal.GetRenewId())
	receive(t, step.begun, "the step")
	close(step.goOn)
	stream.result()
}

func TestAClaimOfAnotherContractIsGivenBack(t *testing.T) {
	server := newScripted(t)
	server.work(done)
	stream := server.accept()
	foreign := claim("a")
	foreign.StepContract = "contract-9"
	stream.grant(foreign)
	if result := stream.result(); result.GetReleased() == nil {
		t.Errorf("the outcome is %v", result)
	}
}

func TestTheSlotOfAResultIsOfferedAndTheNextClaimRuns(t *testing.T) {
	server := newScripted(t)
	server.work(done, perdure.Slots(1))
	stream := server.accept()
	stream.credit()
	stream.grant(claim("a"))
	found := stream.unansweredResult()
	if !found.GetWantNext() {
		t.Fatal("the slot is not offered")
	}
	stream.settle(&perdurev1.Settled{ResultId: found.GetResultId(), NextClaims: []*perdurev1.Claim{claim("b")}})
	if result := stream.result(); result.GetClaimToken() != "b" {
		t.Errorf("a result of %s is sent", result.GetClaimToken())
	}
}

func TestAResultThatCannotBeStoredNowIsSentAgain(t *testing.T) {
	server := newScripted(t)
	server.work(done)
	stream := server.accept()
	stream.grant(claim("a"))
	found := stream.unansweredResult()
	stream.settle(&perdurev1.Settled{ResultId: found.GetResultId(), Status: statusOf(codes.Unavailable, perdure.ReasonStoreUnavailable, nil)})
	stream.result()
}

func TestAResultThatIsRefusedFailsTheAttemptInstead(t *testing.T) {
	server := newScripted(t)
	server.work(done)
	stream := server.accept()
	stream.grant(claim("a"))
	found := stream.unansweredResult()
	stream.settle(&perdurev1.Settled{ResultId: found.GetResultId(), Status: statusOf(codes.InvalidArgument, perdure.ReasonBranchInvalid, nil)})
	if failed := stream.result().GetFailed(); failed.GetType() != "perdure.result_refused" || !strings.Contains(failed.GetMessage(), "BRANCH_INVALID") {
		t.Errorf("the failure is %v", failed)
	}
}

func TestAStoppingWorkerWaitsForItsStepsWithinTheGrace(t *testing.T) {
	server, step := newScripted(t), newHeld()
	step.result = "done"
	working := server.work(step.run)
	stream := server.accept()
	stream.grant(claim("a"))
	ctx := receive(t, step.begun, "the step")
	working.stop()
	next(stream, (*perdurev1.ClaimRequest).GetDrain, func(found *perdurev1.Drain) bool { return found != nil })
	stream.grant(claim("b")) // it was on its way
	if result := stream.result(); result.GetClaimToken() != "b" || result.GetReleased() == nil {
		t.Errorf("the outcome of a claim that comes late is %v", result)
	}
	if ctx.Err() != nil {
		t.Error("the running step was stopped within the grace")
	}
	close(step.goOn)
	if result := stream.result(); result.GetCompleted() == nil || result.GetWantNext() {
		t.Errorf("the outcome is %v", result)
	}
	working.end()
}

func TestAfterTheGraceClaimsAreGivenBackWithTheirCheckpoints(t *testing.T) {
	server, step := newScripted(t), newHeld()
	working := server.work(step.run, perdure.Grace(10*time.Millisecond))
	stream := server.accept()
	stream.grant(claim("a"))
	ctx := receive(t, step.begun, "the step")
	working.stop()
	if result := stream.result(); result.GetReleased() == nil {
		t.Errorf("the outcome is %v", result)
	}
	if ctx.CancelReason() != perdure.CancelDraining {
		t.Errorf("the reason is %q", ctx.CancelReason())
	}
	working.end()
}

func TestAStepMaySaveWhereItIsWhenItIsToldToStop(t *testing.T) {
	server := newScripted(t)
	begun := make(chan struct{})
	working := server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		close(begun)
		<-ctx.Done()
		if err := ctx.Save("so far"); err != nil {
			return nil, err
		}
		return nil, ctx.Err()
	}, perdure.Grace(10*time.Millisecond))
	stream := server.accept()
	stream.grant(claim("a"))
	receive(t, begun, "the step")
	working.stop()
	found := stream.heartbeat()
	stream.answer(&perdurev1.HeartbeatAnswer{HeartbeatId: found.GetHeartbeatId()})
	if result := stream.result(); result.GetReleased() == nil {
		t.Errorf("the outcome is %v", result)
	}
	working.end()
}

func TestAWaitIsAnOutcomeAndKeepsTheCheckpoint(t *testing.T) {
	server := newScripted(t)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		wait := perdure.WaitAny(perdure.Signal("asr.done").Count(2).Named("both"), perdure.After(30*time.Second))
		if ctx.BusinessKey() == "saving" {
			wait = wait.Saving(nil)
		}
		return nil, wait
	})
	stream := server.accept()
	stream.grant(claim("keeping"))
	waiting := stream.result().GetWaiting()
	conditions := waiting.GetWait().GetAnyOf()
	if len(conditions) != 2 || conditions[0].GetSignal().GetCount() != 2 || conditions[0].GetName() != "both" || waiting.GetCheckpoint() != nil {
		t.Errorf("it waits by %v", waiting)
	}
	stream.grant(claim("saving"))
	if waiting := stream.result().GetWaiting(); waiting.GetCheckpoint() == nil || waiting.GetCheckpointNo() != 1 {
		t.Errorf("a wait that clears the checkpoint is %v", waiting)
	}
}

func TestFailuresHaveTheAuthorsWords(t *testing.T) {
	server := newScripted(t)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		switch ctx.BusinessKey() {
		case "own":
			return nil, &perdure.Failure{Type: "asr.quota", Message: "none left", RetryAfter: time.Minute, NonRetryable: true, Details: map[string]int{"left": 0}}
		case "panic":
			panic("oh")
		case "nan":
			return func() {}, nil
		}
		return nil, io.ErrUnexpectedEOF
	})
	stream := server.accept()
	failedOf := func(key string) *perdurev1.Failure {
		stream.grant(claim(key))
		return stream.result().GetFailed()
	}
	own := failedOf("own")
	if own.GetType() != "asr.quota" || own.GetMessage() != "none left" || own.GetRetryAfter().AsDuration() != time.Minute || !own.GetNonRetryable() ||
		own.GetDetails().GetJson() != `{"details":{"left":0}}` {
		t.Errorf("the failure is %v", own)
	}
	if found := failedOf("panic"); found.GetType() != "panic" || found.GetMessage() != "oh" || !strings.Contains(found.GetDetails().GetJson(), "worker_test.go") {
		t.Errorf("of a panic it is %v", found)
	}
	if found := failedOf("nan"); found.GetType() != "perdure.PAYLOAD_INVALID" || !found.GetNonRetryable() {
		t.Errorf("of a value that cannot travel it is %v", found)
	}
	if found := failedOf("plain"); found.GetMessage() != "unexpected EOF" || found.GetNonRetryable() {
		t.Errorf("of a plain error it is %v", found)
	}
}

func TestAMessageThatNobodyKnowsIsIgnored(t *testing.T) {
	server := newScripted(t)
	server.work(done)
	stream := server.accept()
	stream.send(&perdurev1.ClaimResponse{})
	stream.grant(claim("a"))
	stream.result()
}

func TestAPoolWithoutItsDefinitionLeavesTheOthersAlone(t *testing.T) {
	server := newScripted(t)
	server.welcome = func(hello *perdurev1.Hello) (*perdurev1.Welcome, error) {
		made := welcomed(hello)
		made.Pools[1].Status = statusOf(codes.FailedPrecondition, perdure.ReasonDefinitionMismatch, nil)
		made.Pools[1].Steps = nil
		return made, nil
	}
	server.work(done, perdure.Serve("job", "other", done, perdure.Slots(2)))
	stream := server.accept()
	stream.grant(claim("a"))
	stream.result()
	other := claim("b")
	other.Step, other.Pool, other.StepContract = "other", "job.other", "contract-2"
	changed := &perdurev1.PoolStatus{Pool: "job.other", Steps: []*perdurev1.PoolStatus_StepStatus{{Step: "other", StepContract: "contract-2"}}}
	told := &perdurev1.PoolsChanged{Pools: []*perdurev1.PoolStatus{changed}}
	stream.send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_PoolsChanged{PoolsChanged: told}})
	stream.grant(other)
	if result := stream.result(); result.GetCompleted() == nil {
		t.Errorf("after the definition has come the outcome is %v", result)
	}
}

func TestAWorkerThatIsNotLetInSaysWhy(t *testing.T) {
	server := newScripted(t)
	server.welcome = func(*perdurev1.Hello) (*perdurev1.Welcome, error) {
		return nil, status.FromProto(statusOf(codes.PermissionDenied, perdure.ReasonPermissionDenied, nil)).Err()
	}
	client, err := perdure.Dial(perdure.WithAddress(server.address))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	err = client.Worker(perdure.Serve("job", "work", done)).Run(context.Background())
	if perdure.ReasonOf(err) != perdure.ReasonPermissionDenied {
		t.Errorf("it says %v", err)
	}
	nothingIsLeft(t)
}

func TestAWorkerThatCannotBeRightSaysSoAtOnce(t *testing.T) {
	client, err := perdure.Dial(perdure.WithAddress("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	scalar := perdure.Serve("job", "work", func(perdure.Context, int) (any, error) { return nil, nil })
	for name, worker := range map[string]*perdure.Worker{
		"nothing to run":   client.Worker(),
		"at least 1 slot":  client.Worker(perdure.Serve("job", "work", done, perdure.Slots(0))),
		"served twice":     client.Worker(perdure.Serve("job", "work", done, perdure.Contract("c")), perdure.Serve("job", "work", done, perdure.Contract("c"))),
		"must be a struct": client.Worker(scalar),
	} {
		if err := worker.Run(context.Background()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("instead of %q it says %v", name, err)
		}
	}
}

func TestTheStepsSpanIsInTheTraceOfItsClaim(t *testing.T) {
	server := newScripted(t)
	found := make(chan string, 1)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		found <- trace.SpanContextFromContext(ctx).TraceID().String()
		return nil, nil
	})
	stream := server.accept()
	traced := claim("a")
	traced.Traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	stream.grant(traced)
	if id := receive(t, found, "the step"); id != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("its trace is %s", id)
	}
	stream.result()
}

func TestContractsOfGeneratedConstantsAreNamed(t *testing.T) {
	server := newScripted(t)
	server.work(done, perdure.Contracts("job", map[string]string{"work": "contract-7"}))
	if contract := server.accept().hello.GetPools()[0].GetStepContracts()["work"]; contract != "contract-7" {
		t.Errorf("the contract is %q", contract)
	}
}

func TestOfferedDefinitionsGiveTheContracts(t *testing.T) {
	server := newScripted(t)
	server.welcome = func(hello *perdurev1.Hello) (*perdurev1.Welcome, error) {
		made := welcomed(hello)
		for _, pool := range made.Pools {
			pool.Steps = []*perdurev1.PoolStatus_StepStatus{{Step: "work", StepContract: "contract-1"}}
		}
		return made, nil
	}
	definition, err := perdure.ParseDefinition([]byte("{workflow_type: job, steps: {work: {needs: [input]}}}"))
	if err != nil {
		t.Fatal(err)
	}
	server.work(done, perdure.Offer(definition))
	stream := server.accept()
	pool := stream.hello.GetPools()[0]
	if pool.GetDefinitionIndex() != 0 || pool.DefinitionIndex == nil || pool.GetSteps()[0] != "work" || stream.hello.GetDefinitions()[0].GetRegister() {
		t.Errorf("hello is %v", stream.hello)
	}
	stream.grant(claim("a"))
	stream.result()
}

func TestAHurryEndsTheGrace(t *testing.T) {
	server, step := newScripted(t), newHeld()
	working := server.work(step.run, perdure.Grace(time.Hour))
	stream := server.accept()
	stream.grant(claim("a"))
	receive(t, step.begun, "the step")
	working.stop()
	working.worker.Hurry()
	if result := stream.result(); result.GetReleased() == nil {
		t.Errorf("the outcome is %v", result)
	}
	working.end()
}

func TestManyClaimsComeThroughReconnectsOnce(t *testing.T) {
	server := newScripted(t)
	server.work(done, perdure.Slots(8))
	const claims = 200
	seen := map[string]int{}
	granted := 0
	for len(seen) < claims {
		stream := server.accept()
		for range 60 {
			select {
			case message := <-stream.in:
				for range message.GetCredit().GetCount() {
					if granted < claims {
						stream.grant(claim(fmt.Sprint("c", granted)))
						granted++
					}
				}
				for _, result := range message.GetResults().GetResults() {
					seen[result.GetClaimToken()]++
					settled := &perdurev1.Settled{ResultId: result.GetResultId()}
					if result.GetWantNext() && granted < claims {
						settled.NextClaims = []*perdurev1.Claim{claim(fmt.Sprint("c", granted))}
						granted++
					}
					stream.settle(settled)
				}
			case <-time.After(patience):
				t.Fatalf("the worker is silent after %d of %d results", len(seen), granted)
			}
			if len(seen) == claims {
				break
			}
		}
		stream.end <- status.Error(codes.Unavailable, "cut")
	}
	for token, count := range seen {
		if count > 2 { // once more where the answer was cut off
			t.Errorf("%s: %d results", token, count)
		}
	}
}
