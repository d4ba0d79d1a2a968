package perdure_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// nilError is one whose method does not stand its own nil.
type nilError struct{ text string }

func (n *nilError) Error() string { return n.text }

type loudError struct{}

func (loudError) Error() string { panic("in Error") }

type loudValue struct{}

func (loudValue) MarshalJSON() ([]byte, error) { panic("in MarshalJSON") }

const notUTF8 = "\"\xff\""

// hostile are ends of a step that must cost its attempt, and nothing else: by business key, with the failure that they become.
var hostile = map[string]struct {
	step          func(ctx perdure.Context) (any, error)
	failure, says string
}{
	"a nil error": {func(perdure.Context) (any, error) {
		var found *nilError
		return nil, found
	}, "error", "a nil *perdure_test.nilError as its error"},
	"a nil Failure": {func(perdure.Context) (any, error) {
		var found *perdure.Failure
		return nil, found
	}, "error", "a nil *perdure.Failure"},
	"a nil Wait": {func(perdure.Context) (any, error) {
		var found *perdure.Wait
		return nil, found
	}, "error", "a nil *perdure.Wait"},
	"a panic in Error":       {func(perdure.Context) (any, error) { return nil, loudError{} }, "panic", "in Error"},
	"a panic in MarshalJSON": {func(perdure.Context) (any, error) { return loudValue{}, nil }, "panic", "in MarshalJSON"},
	"the goroutine's end": {func(perdure.Context) (any, error) {
		runtime.Goexit()
		return nil, nil
	}, "panic", "runtime.Goexit"},
	"an output that is no UTF-8": {func(perdure.Context) (any, error) { return perdure.JSON(notUTF8), nil }, "perdure.PAYLOAD_INVALID", "UTF-8"},
	"a branch that is no UTF-8":  {func(perdure.Context) (any, error) { return perdure.Choose(1, notUTF8), nil }, "perdure.PAYLOAD_INVALID", "UTF-8"},
	"a wait that is no UTF-8": {func(perdure.Context) (any, error) {
		return nil, perdure.WaitAny(perdure.Signal(notUTF8))
	}, "perdure.PAYLOAD_INVALID", "UTF-8"},
	"a checkpoint that is no UTF-8": {func(ctx perdure.Context) (any, error) {
		return nil, ctx.Save(perdure.JSON(notUTF8))
	}, "perdure.PAYLOAD_INVALID", "UTF-8"},
}

func TestNothingThatAStepReturnsHurtsMoreThanItsAttempt(t *testing.T) {
	server := newScripted(t)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		if found, ok := hostile[ctx.BusinessKey()]; ok {
			return found.step(ctx)
		}
		return "done", nil
	})
	stream := server.accept()
	for name, expected := range hostile {
		stream.grant(claim(name))
		failed := stream.result().GetFailed()
		if failed.GetType() != expected.failure || !strings.Contains(failed.GetMessage(), expected.says) {
			t.Errorf("%s becomes %v, not %s with %q", name, failed, expected.failure, expected.says)
		}
	}
	stream.grant(claim("the next one"))
	if found := stream.result(); found.GetCompleted() == nil {
		t.Errorf("the next one on the same stream becomes %v", found)
	}
}

func TestAResultThatIsTooLargeForGRPCFailsTheAttemptAtOnce(t *testing.T) {
	server := newScripted(t)
	server.complete = func(context.Context, *perdurev1.CompleteRequest) (*perdurev1.CompleteResponse, error) {
		return nil, status.Error(codes.ResourceExhausted, "grpc: received message larger than max (9 vs. 8)")
	}
	server.work(func(perdure.Context, perdure.Inputs) (any, error) { return strings.Repeat("x", 300<<10), nil })
	stream := server.accept()
	stream.grant(claim("a"))
	if failed := stream.result().GetFailed(); failed.GetType() != "perdure.result_refused" || !strings.Contains(failed.GetMessage(), "larger than max") {
		t.Errorf("it becomes %v", failed)
	}
}

func TestFramesStaySmallWhateverTheyHold(t *testing.T) {
	server := newScripted(t)
	server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		ctx.Progress(perdure.Progress{Unit: strings.Repeat("\x01", 1<<20), Message: strings.Repeat("\x01", 1<<20)})
		ctx.Frame(strings.Repeat("\xff\x00", 100<<10))
		return nil, nil
	})
	stream := server.accept()
	stream.grant(claim("a"))
	text := 0
	for text < 200<<10 {
		for _, heartbeat := range stream.heartbeats() {
			for _, frame := range heartbeat.GetFrames() {
				if size := len(frame.GetPayload().GetJson()); size > 64<<10 {
					t.Errorf("a frame has %d bytes", size)
				}
				if value, err := perdure.Decode[any](perdure.PayloadOf(frame.GetPayload())); err == nil {
					found, _ := value.(string)
					text += len([]rune(found))
				}
			}
		}
	}
	if text != 200<<10 {
		t.Errorf("%d characters arrived, not %d", text, 200<<10)
	}
	stream.result()
}

func TestASaveThatCouldNotBeStoredReturnsWhenTheWorkerStops(t *testing.T) {
	server := newScripted(t)
	saved := make(chan error, 1)
	working := server.work(func(ctx perdure.Context, _ perdure.Inputs) (any, error) {
		go func() { saved <- ctx.Save("here") }()
		<-ctx.Done()
		return nil, ctx.Err()
	}, perdure.Grace(0))
	stream := server.accept()
	stream.grant(claim("a"))
	told := statusOf(codes.Unavailable, perdure.ReasonStoreUnavailable, nil)
	stream.answer(&perdurev1.HeartbeatAnswer{HeartbeatId: stream.heartbeat().GetHeartbeatId(), Status: told})
	working.stop()
	stream.result()
	if err := receive(t, saved, "the end of the save"); err == nil {
		t.Error("it says that it was stored")
	}
}
