package perdure_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// holding is a server whose calls last until their caller ends them. tests/conformance has the CANCELLED that nobody asked for.
type holding struct {
	perdurev1.UnimplementedWorkflowServiceServer

	calls atomic.Int32
	came  chan struct{}
}

func (h *holding) hold(ctx context.Context) error {
	h.calls.Add(1)
	h.came <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (h *holding) GetWorkflow(ctx context.Context, _ *perdurev1.GetWorkflowRequest) (*perdurev1.GetWorkflowResponse, error) {
	return nil, h.hold(ctx)
}

func (h *holding) Watch(_ *perdurev1.WatchRequest, told grpc.ServerStreamingServer[perdurev1.WatchResponse]) error {
	return h.hold(told.Context())
}

func newHolding(t *testing.T) (*holding, *perdure.Client) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made := &holding{came: make(chan struct{}, 16)}
	server := grpc.NewServer()
	perdurev1.RegisterWorkflowServiceServer(server, made)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := perdure.Dial(perdure.WithAddress(listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return made, client
}

// lasting are calls that last.
var lasting = map[string]func(ctx context.Context, run *perdure.Run) error{
	"a call": func(ctx context.Context, run *perdure.Run) error {
		_, err := run.Get(ctx)
		return err
	},
	"a watch": func(ctx context.Context, run *perdure.Run) error {
		for _, err := range run.Watch(ctx) {
			return err
		}
		return nil
	},
}

func TestWhatItsContextEndsIsNotTriedAgain(t *testing.T) {
	for name, call := range lasting {
		server, client := newHolding(t)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- call(ctx, client.Run("note", "k")) }()
		receive(t, server.came, name)
		cancel()
		err := receive(t, ended, "the end of "+name)
		if found := codeOf(err); found != codes.Canceled || !errors.Is(err, context.Canceled) {
			t.Errorf("%s ends with %v", name, err)
		}

		limited, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		err = call(limited, client.Run("note", "k"))
		cancel()
		if found := codeOf(err); found != codes.DeadlineExceeded || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s ends at its deadline with %v", name, err)
		}
		if calls := server.calls.Load(); calls != 2 {
			t.Errorf("%s was tried %d times, not twice", name, calls)
		}
	}
}

func TestWhatACloseEndsIsNotTriedAgain(t *testing.T) {
	for name, call := range lasting {
		server, client := newHolding(t)
		ended := make(chan error, 1)
		go func() { ended <- call(context.Background(), client.Run("note", "k")) }()
		receive(t, server.came, name)
		_ = client.Close()
		if err := receive(t, ended, "the end of "+name); codeOf(err) != codes.Canceled {
			t.Errorf("%s ends with %v", name, err)
		}
		if calls := server.calls.Load(); calls != 1 {
			t.Errorf("%s was tried %d times", name, calls)
		}
	}
}

func codeOf(err error) codes.Code {
	var found *perdure.Error
	if !errors.As(err, &found) {
		return codes.OK
	}
	return found.Code
}
