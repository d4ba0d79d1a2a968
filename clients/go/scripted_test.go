package perdure_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

const patience = 10 * time.Second

// scripted is a server of the worker's protocol that says what a test tells it to, over real gRPC.
type scripted struct {
	perdurev1.UnimplementedWorkerServiceServer
	perdurev1.UnimplementedAdminServiceServer

	t       *testing.T
	address string
	// welcome answers a hello; an error instead of it ends the stream.
	welcome func(hello *perdurev1.Hello) (*perdurev1.Welcome, error)
	// renewed answers a renewal of the n-th stream at once, however busy the test is; nil: the test answers it, or nobody.
	renewed func(stream int, renew *perdurev1.Renew) *perdurev1.Renewed
	opened  atomic.Int32
	// complete answers the unary Complete.
	complete func(ctx context.Context, request *perdurev1.CompleteRequest) (*perdurev1.CompleteResponse, error)
	streams  chan *stream
	logger   *slog.Logger
}

// stream is one that the worker opened.
type stream struct {
	t     *testing.T
	hello *perdurev1.Hello
	in    chan *perdurev1.ClaimRequest
	mutex sync.Mutex // gRPC takes one message at a time
	grpc  grpc.BidiStreamingServer[perdurev1.ClaimRequest, perdurev1.ClaimResponse]
	end   chan error
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	made := &scripted{t: t, streams: make(chan *stream, 16), logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	made.welcome = func(hello *perdurev1.Hello) (*perdurev1.Welcome, error) { return welcomed(hello), nil }
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made.address = listener.Addr().String()
	server := grpc.NewServer()
	perdurev1.RegisterWorkerServiceServer(server, made)
	perdurev1.RegisterAdminServiceServer(server, made)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return made
}

// welcomed is a welcome with a lease of 30 s, whose renewals a test need not answer.
func welcomed(hello *perdurev1.Hello) *perdurev1.Welcome {
	made := &perdurev1.Welcome{
		SessionId: "session-1", SessionSecret: "secret-1", Resumed: hello.GetSessionId() != "", ConnectionNo: 1,
		LeaseDuration: durationpb.New(30 * time.Second), RenewInterval: durationpb.New(time.Hour),
	}
	for _, pool := range hello.GetPools() {
		told := &perdurev1.PoolStatus{Pool: pool.GetPool()}
		for step, contract := range pool.GetStepContracts() {
			told.Steps = append(told.Steps, &perdurev1.PoolStatus_StepStatus{Step: step, StepContract: contract})
		}
		made.Pools = append(made.Pools, told)
	}
	return made
}

// renewing has the worker renew, and give a stream up on which a renewal stays unanswered for 1.5 intervals.
func (s *scripted) renewing(interval time.Duration) *scripted {
	s.welcome = func(hello *perdurev1.Hello) (*perdurev1.Welcome, error) {
		made := welcomed(hello)
		made.RenewInterval = durationpb.New(interval)
		return made, nil
	}
	return s
}

// stored answers every renewal with OK.
func stored(_ int, renew *perdurev1.Renew) *perdurev1.Renewed {
	return &perdurev1.Renewed{RenewId: renew.GetRenewId()}
}

func (s *scripted) GetDefinition(context.Context, *perdurev1.GetDefinitionRequest) (*perdurev1.GetDefinitionResponse, error) {
	found := &perdurev1.RegisteredDefinition{StepContracts: map[string]string{"work": "contract-1", "other": "contract-2"}}
	return &perdurev1.GetDefinitionResponse{Definition: found}, nil
}

func (s *scripted) Complete(ctx context.Context, request *perdurev1.CompleteRequest) (*perdurev1.CompleteResponse, error) {
	return s.complete(ctx, request)
}

func (s *scripted) Claim(told grpc.BidiStreamingServer[perdurev1.ClaimRequest, perdurev1.ClaimResponse]) error {
	first, err := told.Recv()
	if err != nil {
		return err
	}
	welcome, err := s.welcome(first.GetHello())
	if err != nil {
		return err
	}
	if err := told.Send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_Welcome{Welcome: welcome}}); err != nil {
		return err
	}
	made := &stream{t: s.t, hello: first.GetHello(), in: make(chan *perdurev1.ClaimRequest, 10_000), grpc: told, end: make(chan error, 1)}
	closed := make(chan error, 1)
	number := int(s.opened.Add(1))
	go func() {
		for {
			message, err := told.Recv()
			if err == nil && s.renewed != nil && message.GetRenew() != nil {
				if answer := s.renewed(number, message.GetRenew()); answer != nil {
					err = made.say(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_Renewed{Renewed: answer}})
				}
			}
			if err != nil {
				closed <- err
				return
			}
			made.in <- message
		}
	}()
	s.streams <- made
	select {
	case err := <-made.end:
		return err
	case err := <-closed:
		if err == io.EOF {
			return nil
		}
		return err
	}
}

// accept is the next stream that the worker opens.
func (s *scripted) accept() *stream {
	s.t.Helper()
	select {
	case found := <-s.streams:
		return found
	case <-time.After(patience):
		s.t.Fatal("the worker opens no stream")
		return nil
	}
}

// next is the next message that the test wants; others are passed over.
func next[M any](s *stream, want func(*perdurev1.ClaimRequest) M, is func(M) bool) M {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case message := <-s.in:
			if found := want(message); is(found) {
				return found
			}
		case <-deadline:
			s.t.Fatal("the worker does not say what it should")
		}
	}
}

func (s *stream) credit() *perdurev1.Credit {
	s.t.Helper()
	return next(s, (*perdurev1.ClaimRequest).GetCredit, func(found *perdurev1.Credit) bool { return found != nil })
}

func (s *stream) renewal() *perdurev1.Renew {
	s.t.Helper()
	return next(s, (*perdurev1.ClaimRequest).GetRenew, func(found *perdurev1.Renew) bool { return found != nil })
}

// renewalOf passes over renewals that do not name the claim.
func (s *stream) renewalOf(token string) *perdurev1.Renew {
	s.t.Helper()
	return next(s, (*perdurev1.ClaimRequest).GetRenew, func(found *perdurev1.Renew) bool {
		for _, held := range found.GetHeld() {
			if held.GetClaimToken() == token {
				return true
			}
		}
		return false
	})
}

// result is the next one, answered with OK.
func (s *stream) result() *perdurev1.Result {
	s.t.Helper()
	found := s.unansweredResult()
	s.settle(&perdurev1.Settled{ResultId: found.GetResultId()})
	return found
}

func (s *stream) unansweredResult() *perdurev1.Result {
	s.t.Helper()
	found := next(s, (*perdurev1.ClaimRequest).GetResults, func(found *perdurev1.Results) bool { return found != nil })
	if len(found.GetResults()) != 1 {
		s.t.Fatalf("%d results in one message; the test expects one", len(found.GetResults()))
	}
	return found.GetResults()[0]
}

func (s *stream) heartbeats() []*perdurev1.StreamHeartbeat {
	s.t.Helper()
	found := next(s, (*perdurev1.ClaimRequest).GetHeartbeats, func(found *perdurev1.Heartbeats) bool { return found != nil })
	return found.GetHeartbeats()
}

func (s *stream) heartbeat() *perdurev1.StreamHeartbeat {
	s.t.Helper()
	return s.heartbeats()[0]
}

func (s *stream) say(message *perdurev1.ClaimResponse) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.grpc.Send(message)
}

func (s *stream) send(message *perdurev1.ClaimResponse) {
	s.t.Helper()
	if err := s.say(message); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stream) grant(claims ...*perdurev1.Claim) {
	s.t.Helper()
	s.send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_Claims{Claims: &perdurev1.Claims{Claims: claims}}})
}

func (s *stream) settle(settled ...*perdurev1.Settled) {
	s.t.Helper()
	s.send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_Settled{Settled: &perdurev1.SettledResults{Settled: settled}}})
}

func (s *stream) renewed(renewID int64) {
	s.t.Helper()
	s.send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_Renewed{Renewed: &perdurev1.Renewed{RenewId: renewID}}})
}

func (s *stream) answer(answers ...*perdurev1.HeartbeatAnswer) {
	s.t.Helper()
	told := &perdurev1.HeartbeatsAnswered{Answers: answers}
	s.send(&perdurev1.ClaimResponse{Message: &perdurev1.ClaimResponse_HeartbeatsAnswered{HeartbeatsAnswered: told}})
}

// claim is one of the step `work`.
func claim(token string) *perdurev1.Claim {
	round := int64(1)
	return &perdurev1.Claim{
		ClaimToken: token, Workflow: &perdurev1.WorkflowRef{Namespace: "default", WorkflowType: "job", BusinessKey: token, Round: &round},
		Step: "work", Attempt: 1, ClaimNo: 1, Fence: 1, Pool: "job", StepContract: "contract-1", IdempotencyKey: "key-" + token,
	}
}

// statusOf is a status with Perdure's reason, as the server makes one.
func statusOf(code codes.Code, reason perdure.Reason, facts map[string]string) *spb.Status {
	made, err := status.New(code, "as the test says").WithDetails(&errdetails.ErrorInfo{Domain: "perdure", Reason: string(reason), Metadata: facts})
	if err != nil {
		panic(err)
	}
	return made.Proto()
}

// working is a worker that runs, and what Run returned.
type working struct {
	t      *testing.T
	worker *perdure.Worker
	stop   context.CancelFunc
	ended  chan error
}

// work runs a worker of the step `work` until the test ends; nothing of it may be left then.
func (s *scripted) work(activity func(perdure.Context, perdure.Inputs) (any, error), options ...perdure.WorkerOption) *working {
	s.t.Helper()
	client, err := perdure.Dial(perdure.WithAddress(s.address), perdure.WithLogger(s.logger))
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	told := []perdure.WorkerOption{perdure.Serve("job", "work", activity), perdure.Grace(patience)}
	made := &working{t: s.t, worker: client.Worker(append(told, options...)...), stop: stop, ended: make(chan error, 1)}
	go func() { made.ended <- made.worker.Run(ctx) }()
	s.t.Cleanup(func() {
		made.end()
		_ = client.Close()
		nothingIsLeft(s.t)
	})
	return made
}

// end stops the worker and waits for it; twice is once.
func (w *working) end() {
	w.t.Helper()
	w.stop()
	select {
	case err := <-w.ended:
		if err != nil {
			w.t.Errorf("the worker ended with %v", err)
		}
		w.ended <- nil
	case <-time.After(2 * patience):
		w.t.Fatal("the worker does not stop")
	}
}

// nothingIsLeft fails a test that leaves goroutines of a worker behind.
func nothingIsLeft(t *testing.T) {
	t.Helper()
	var left []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		left = nil
		for _, stack := range strings.Split(string(stacks), "\n\n") {
			if strings.Contains(stack, "clients/go/internal/session.") || strings.Contains(stack, "clients/go.(*activity)") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
}

func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case found := <-from:
		return found
	case <-time.After(patience):
		t.Fatalf("%s does not come", what)
		panic("unreachable")
	}
}
