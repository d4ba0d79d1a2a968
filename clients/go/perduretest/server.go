package perduretest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/perdure/perdure/clients/go"
	perduretestingv1 "github.com/perdure/perdure/clients/go/gen/perdure/testing/v1"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Server is a server that serves TestService: `perdure dev --test`, by [Start] or [Connect].
//
// Leases and silence go on by real time, however far the test's time jumps: a connected worker keeps its claims.
type Server struct {
	// Address is its host:port.
	Address string

	client *perdure.Client
	stub   perduretestingv1.TestServiceClient
}

// ServerVariable names the executable that [Start] runs. Without it: `perdure` on the path.
const ServerVariable = "PERDURE_TEST_SERVER"

const (
	startTimeout = 3 * time.Minute
	stopTimeout  = 15 * time.Second
	patience     = 60 * time.Second
)

// Start runs `perdure dev --test` on a free port, with data that is thrown away, until the test ends. Further arguments go to
// the command. Without an executable the test is skipped; where CI is set it fails.
func Start(t testing.TB, arguments ...string) *Server {
	t.Helper()
	return StartWith(t, nil, append([]string{"--test"}, arguments...)...)
}

// StartWith runs `perdure dev` with these arguments alone; dial says how clients reach it, such as by which token.
func StartWith(t testing.TB, dial []perdure.DialOption, arguments ...string) *Server {
	t.Helper()
	process := Launch(t, arguments...)
	server, err := Connect(append([]perdure.DialOption{perdure.WithAddress(process.Address)}, dial...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server
}

// Process is a server of this test's own.
type Process struct {
	// Address is its host:port; the same after [Process.Restart].
	Address string

	t         testing.TB
	arguments []string
	command   *exec.Cmd
	over      chan struct{}
}

// Launch runs `perdure dev` on a free port until the test ends, and waits until it serves. Its data is thrown away.
func Launch(t testing.TB, arguments ...string) *Process {
	t.Helper()
	process := &Process{t: t, arguments: arguments}
	if !slices.Contains(arguments, "--test") { // which has a directory of its own
		process.arguments = append([]string{"--data-dir", t.TempDir()}, arguments...)
	}
	t.Cleanup(process.Stop)
	process.start("0")
	return process
}

// Restart starts it again, on the same port and data; one that runs is killed before.
func (p *Process) Restart() {
	p.t.Helper()
	p.Kill()
	_, port, _ := strings.Cut(p.Address, ":")
	p.start(port)
}

func (p *Process) start(port string) {
	p.t.Helper()
	executable := executableOf(p.t)
	p.command = exec.Command(executable, append([]string{"dev", "--port", port}, p.arguments...)...)
	out, err := p.command.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	log := &strings.Builder{}
	p.command.Stderr = log
	if err := p.command.Start(); err != nil {
		p.t.Fatalf("%s cannot be started: %v", executable, err)
	}
	serves, over := make(chan string, 1), make(chan struct{})
	p.over = over
	go func(command *exec.Cmd) {
		defer close(over)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if _, address, ok := strings.Cut(lines.Text(), "Perdure serves on "); ok {
				serves <- address
			}
		}
		_ = command.Wait() // it ends by a signal
	}(p.command)
	select {
	case p.Address = <-serves:
	case <-over:
		p.t.Fatalf("the server has ended: %s", log)
	case <-time.After(startTimeout):
		p.t.Fatalf("the server does not serve within %s", startTimeout)
	}
}

// Kill ends it at once, as a crash would.
func (p *Process) Kill() { p.signal(os.Kill) }

// Stop ends it in order.
func (p *Process) Stop() { p.signal(syscall.SIGTERM) }

func (p *Process) signal(signal os.Signal) {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Signal(signal) // it may have ended already
	select {
	case <-p.over:
	case <-time.After(stopTimeout):
		_ = p.command.Process.Kill()
		<-p.over
	}
	p.command = nil
}

func executableOf(t testing.TB) string {
	t.Helper()
	name := os.Getenv(ServerVariable)
	if name == "" {
		name = "perdure"
	}
	found, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no server: %s: %v", name, err)
		}
		t.Skipf("no server: %s is not there; set %s to the executable `perdure`", name, ServerVariable)
	}
	return found
}

// Connect is a test server that runs already, found as perdure.Dial finds one.
func Connect(options ...perdure.DialOption) (*Server, error) {
	client, err := perdure.Dial(options...)
	if err != nil {
		return nil, err
	}
	return &Server{client.Config().Address, client, perduretestingv1.NewTestServiceClient(client.Conn())}, nil
}

// Close closes the connection; the server goes on.
func (s *Server) Close() error { return s.client.Close() }

// Client is a client of this server, closed when the test ends.
func (s *Server) Client(t testing.TB, options ...perdure.DialOption) *perdure.Client {
	t.Helper()
	config := s.client.Config()
	told := []perdure.DialOption{perdure.WithAddress(s.Address), perdure.WithNamespace(config.Namespace), perdure.WithToken(config.Token)}
	client, err := perdure.Dial(append(told, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// Advanced is what came of moving the clock.
type Advanced struct {
	// Now is the test's time.
	Now time.Time
	// Passed is how much passed.
	Passed time.Duration
	// Fired is how many due times were fired.
	Fired int64
	// NextDue is the next due time. Zero: there is none.
	NextDue time.Time
}

// Advance lets time pass: what falls due on the way is done in order, each before the next falls due.
func (s *Server) Advance(ctx context.Context, by time.Duration) (Advanced, error) {
	return s.advance(ctx, &perduretestingv1.AdvanceTimeRequest{Target: &perduretestingv1.AdvanceTimeRequest_By{By: durationpb.New(by)}})
}

// AdvanceTo lets time pass up to this time; in the past: no change.
func (s *Server) AdvanceTo(ctx context.Context, to time.Time) (Advanced, error) {
	return s.advance(ctx, &perduretestingv1.AdvanceTimeRequest{Target: &perduretestingv1.AdvanceTimeRequest_ToTime{ToTime: timestamppb.New(to)}})
}

// AdvanceToNextDue lets time pass up to the next due time of any workflow, and no further.
func (s *Server) AdvanceToNextDue(ctx context.Context) (Advanced, error) {
	return s.advance(ctx, &perduretestingv1.AdvanceTimeRequest{Target: &perduretestingv1.AdvanceTimeRequest_ToNextDue{ToNextDue: true}})
}

func (s *Server) advance(ctx context.Context, request *perduretestingv1.AdvanceTimeRequest) (Advanced, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := s.stub.AdvanceTime(ctx, request)
	if err != nil {
		return Advanced{}, err
	}
	return Advanced{answer.GetNowTime().AsTime(), answer.GetAdvanced().AsDuration(), answer.GetFiredCount(), timeOf(answer.GetNextDueTime())}, nil
}

// Script says how attempts of a type's steps end, in order of preference and before those that were told earlier; from then on
// no worker gets them. Attempts without one wait until one is given.
func (s *Server) Script(ctx context.Context, workflowType string, scripts ...Script) error {
	request := &perduretestingv1.ScriptOutcomesRequest{Namespace: s.client.Config().Namespace, WorkflowType: workflowType}
	for _, script := range scripts {
		if script.fault != nil {
			return script.fault
		}
		request.Outcomes = append(request.Outcomes, script.message)
	}
	_, err := s.stub.ScriptOutcomes(ctx, request)
	return err
}

// ErrStillMoving: something still moved when the time was over; the error's text says what.
var ErrStillMoving = errors.New("still moving")

// WaitIdle waits until nothing moves but by time, a signal, a person, or a worker that is not there; 10 s at most, and then the
// error wraps [ErrStillMoving]. It gives the next due time; zero: there is none.
func (s *Server) WaitIdle(ctx context.Context, workflowTypes ...string) (time.Time, error) {
	request := &perduretestingv1.WaitIdleRequest{Namespace: s.client.Config().Namespace}
	if len(workflowTypes) > 0 {
		request.Filter = &perdurev1.WorkflowFilter{WorkflowTypes: workflowTypes}
	}
	answer, err := s.stub.WaitIdle(ctx, request)
	if err != nil {
		return time.Time{}, err
	}
	if !answer.GetIdle() {
		return time.Time{}, fmt.Errorf("%w: %s", ErrStillMoving, strings.Join(answer.GetBusy(), "; "))
	}
	return timeOf(answer.GetNextDueTime()), nil
}

// ErrStuck: the workflow has not ended, and nothing moves it but a signal, a person, or a worker that is not there.
var ErrStuck = errors.New("time does not move it")

// Result lets time pass until the workflow ends, and gives its output as perdure.Result does.
func Result[T any](ctx context.Context, server *Server, run *perdure.Run) (T, error) {
	var none T
	for {
		nextDue, err := server.WaitIdle(ctx)
		if err != nil {
			return none, err
		}
		found, err := run.Get(ctx)
		if err != nil {
			return none, err
		}
		if found.State.IsEnded() {
			return perdure.Result[T](ctx, run)
		}
		if nextDue.IsZero() {
			return none, fmt.Errorf("%w: %s is %s (%s)", ErrStuck, run, found.State, found.PhaseReason)
		}
		if _, err := server.AdvanceToNextDue(ctx); err != nil {
			return none, err
		}
	}
}

func timeOf(found *timestamppb.Timestamp) time.Time {
	if found == nil {
		return time.Time{}
	}
	return found.AsTime()
}
