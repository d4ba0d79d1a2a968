package perdure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/session"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

var capabilities = []string{"cancel", "lost", "heartbeats", "go_away", "pools", "refs", "hooks", "pages", "begin_after_renewed"}

// Worker runs steps while [Worker.Run] runs; made by [Client.Worker].
//
// It has one stream to the server, and renews all its claims on it, on goroutines of its own: a handler that computes or blocks
// costs no renewal. Each activity runs on a goroutine of its own, as many at once as its pool has slots.
type Worker struct {
	client  *Client
	options workerOptions

	once  sync.Once
	ready chan struct{}
	// hurry is closed when the grace should end.
	hurry     chan struct{}
	hurryOnce sync.Once

	mutex  sync.Mutex
	runner *runner
}

type workerOptions struct {
	served  []*Served
	offered []*perdurev1.OfferedDefinition
	id      string
	slots   int
	grace   time.Duration
	lease   time.Duration
	labels  map[string]string
	fault   error
	// contracts are by type and step.
	contracts map[string]map[string]string
}

// WorkerOption is a step that a worker serves ([Serve]), or says something about the worker as a whole.
type WorkerOption interface{ applyToWorker(*workerOptions) }

type workerOption func(*workerOptions)

func (o workerOption) applyToWorker(to *workerOptions) { o(to) }

func (s *Served) applyToWorker(to *workerOptions) { to.served = append(to.served, s) }

func (o SlotsOption) applyToWorker(to *workerOptions) {
	to.slots = int(o)
	if o < 1 {
		to.fault = fmt.Errorf("perdure.Slots: a pool needs at least 1 slot, not %d", o)
	}
}

// WorkerID is the worker's own name, for people and metrics. Default: host and process id.
func WorkerID(id string) WorkerOption { return workerOption(func(to *workerOptions) { to.id = id }) }

// Grace is how long running activities may go on after a stop was asked for; then they are cancelled and their claims given
// back with their checkpoints, uncharged. Default: 30 s.
func Grace(grace time.Duration) WorkerOption {
	return workerOption(func(to *workerOptions) { to.grace = grace })
}

// Lease is a wish for how long the claims live without a renewal. Default: the server's, 30 s.
func Lease(lease time.Duration) WorkerOption {
	return workerOption(func(to *workerOptions) { to.lease = lease })
}

// WorkerLabel is a free fact about the worker, for people; at most 16.
func WorkerLabel(name, value string) WorkerOption {
	return workerOption(func(to *workerOptions) {
		if to.labels == nil {
			to.labels = map[string]string{}
		}
		to.labels[name] = value
	})
}

// Contracts are those that the steps of a type were built for, by step, as the code says that `perdure definitions generate`
// writes: perdure.Contracts(note.WorkflowType, note.Contracts()). [Contract] of one step is stronger.
func Contracts(workflowType string, contracts map[string]string) WorkerOption {
	return workerOption(func(to *workerOptions) {
		if to.contracts == nil {
			to.contracts = map[string]map[string]string{}
		}
		to.contracts[workflowType] = contracts
	})
}

// Offer brings definitions along, whose contracts the worker's steps are built for; they are not registered.
func Offer(definitions ...*perdurev1.Definition) WorkerOption { return offered(definitions, false) }

// Register brings definitions along as [Offer] does, and registers them: this needs the right to. A definition becomes active
// only if its type has none, or on `perdure dev`; deploying is `perdure definitions apply FILE --activate`.
func Register(definitions ...*perdurev1.Definition) WorkerOption { return offered(definitions, true) }

func offered(definitions []*perdurev1.Definition, register bool) WorkerOption {
	return workerOption(func(to *workerOptions) {
		for _, definition := range definitions {
			to.offered = append(to.offered, &perdurev1.OfferedDefinition{Definition: definition, Register: register})
		}
	})
}

// Worker makes a worker of steps and options; it does nothing until [Worker.Run]. What is wrong with them Run tells.
func (c *Client) Worker(options ...WorkerOption) *Worker {
	made := &Worker{
		client:  c,
		options: workerOptions{slots: wire.DefaultSlots, grace: wire.StopGrace},
		ready:   make(chan struct{}),
		hurry:   make(chan struct{}),
	}
	for _, option := range options {
		option.applyToWorker(&made.options)
	}
	if made.options.id == "" {
		host, _ := os.Hostname() // a name for people: the process id alone will do
		made.options.id = fmt.Sprintf("%s-%d", firstOf(host, "worker"), os.Getpid())
	}
	return made
}

// ID is the worker's name, for people.
func (w *Worker) ID() string { return w.options.id }

// Ready is closed when the server has let the worker in.
func (w *Worker) Ready() <-chan struct{} { return w.ready }

// Hurry ends the grace of a worker that stops, or will: what still runs is cancelled, and its claims are given back.
func (w *Worker) Hurry() { w.hurryOnce.Do(func() { close(w.hurry) }) }

// Running is how many activities run now.
func (w *Worker) Running() int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.runner == nil {
		return 0
	}
	return w.runner.count()
}

// Run works until the context ends, then stops in order, and returns nil: no new claims are taken; running activities may go on
// for the grace, then those that still run are cancelled and their claims given back. Use [UntilTerminated] to stop on SIGTERM.
//
// Activities find the values of ctx in their contexts; its end does not end theirs. An error says why the worker cannot work: no
// server within 10 s, wrong credentials, a definition with faults, a step that does not exist. Later it connects again by
// itself, however long that takes. Run a worker once.
func (w *Worker) Run(ctx context.Context) error {
	err := errors.New("a worker runs once; make another by Client.Worker")
	w.once.Do(func() { err = w.run(ctx) })
	return err
}

func (w *Worker) run(ctx context.Context) error {
	hello, err := w.hello(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	runner := &runner{
		worker: w, values: context.WithoutCancel(ctx), served: map[stepOfType]*Served{}, activities: map[*session.Held]*activity{},
	}
	for _, served := range w.options.served {
		runner.served[stepOfType{served.workflowType, served.step}] = served
	}
	running := session.New(w.sessionConfig(hello), runner)
	runner.session = running
	w.mutex.Lock()
	w.runner = runner
	w.mutex.Unlock()
	running.Start()
	if err := w.connect(ctx, running); err != nil {
		running.Finish(0)
		<-running.Ended()
		return err
	}
	select {
	case <-ctx.Done():
	case <-running.Ended():
		w.client.logger.Error("the worker's session has ended by itself; the worker stops", "error", running.Err())
	}
	w.stop(ctx, running)
	return w.explained(running.Err())
}

// connect waits for the first welcome.
func (w *Worker) connect(ctx context.Context, running *session.Session) error {
	timer := time.NewTimer(wire.ConnectTimeout)
	defer timer.Stop()
	select {
	case <-running.Connected():
		w.client.contact.reached.Store(true)
		close(w.ready)
		return nil
	case <-ctx.Done():
		return nil
	case <-running.Ended():
		return w.explained(running.Err())
	case <-timer.C:
	}
	err := running.LastError()
	if err == nil {
		err = &Error{Message: "no answer", Code: codes.Unavailable}
	}
	return w.client.contact.explained(err)
}

func (w *Worker) stop(ctx context.Context, running *session.Session) {
	running.Drain(w.options.grace)
	runner := w.runner
	if !runner.idleWithin(w.options.grace, w.hurry, hurryOf(ctx)) {
		w.client.logger.Info("the grace is over: activities are stopped, their claims given back", "count", runner.count())
		runner.releaseAll()
		if !runner.idleWithin(wire.UnwindTimeout, nil, nil) {
			runner.abandonAll()
		}
	}
	running.Finish(wire.SettleTimeout)
	<-running.Ended()
}

func (w *Worker) sessionConfig(hello *perdurev1.Hello) session.Config {
	contact := w.client.contact
	made := session.Config{
		Hello:    hello,
		Dial:     func() (*grpc.ClientConn, error) { return contact.dial() },
		Describe: contact.described,
		Calls:    w.client.workers,
		Explain:  w.explained,
		Log:      w.client.logger.With("worker", w.options.id),
	}
	if codec := contact.config.Codec; codec != nil {
		made.Seal = func(result *perdurev1.Result) {
			if err := seal(result, codec); err != nil {
				result.Outcome = session.Released().Outcome // nothing may leave unencrypted
			}
		}
	}
	return made
}

// explained is the typed error of what the session ended with.
func (w *Worker) explained(err error) error {
	if err == nil {
		return nil
	}
	var fault *session.DefinitionFault
	if errors.As(err, &fault) {
		return errorOfDetails(fault.Details)
	}
	err = errorOf(err)
	var found *Error
	if errors.As(err, &found) && found.Code == codes.Canceled {
		err = cutOnTheWay(found) // the session tells nothing of what it has cancelled itself
	}
	return w.client.contact.explained(err)
}

// hello is what the worker says of itself: its pools, each with the contracts that its steps were built for.
func (w *Worker) hello(ctx context.Context) (*perdurev1.Hello, error) {
	pools, err := w.pools(ctx)
	if err != nil {
		return nil, err
	}
	for _, offered := range w.options.offered {
		if err := checkDefinition(offered.GetDefinition(), w.client.Config().Codec); err != nil {
			return nil, err
		}
	}
	hello := &perdurev1.Hello{
		WorkerId: w.options.id, ClientName: clientName, ClientVersion: Version, Capabilities: capabilities, Pools: pools,
		Definitions: w.options.offered, Labels: maps.Clone(w.options.labels), Namespace: w.client.Config().Namespace,
	}
	if w.options.lease > 0 {
		hello.Lease = durationpb.New(w.options.lease)
	}
	return hello, nil
}
