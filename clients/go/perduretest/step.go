package perduretest

import (
	"context"
	"sync"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Step is one claim of one step, made up: give its Context to the step's function, several times if need be, as attempts of one
// claim. What the function did is recorded.
//
//	step := perduretest.NewStep(context.Background(), perduretest.Checkpoint("task-7"), perduretest.Wake("asr.done", nil))
//	text, err := transcribe(step.Context(), struct{ Input Audio }{Audio{URL: "s3://a.mp3"}})
type Step struct {
	claim  *perdurev1.Claim
	ctx    context.Context
	cancel context.CancelCauseFunc
	fault  error

	mutex       sync.Mutex
	checkpoint  *perdurev1.Payload
	checkpoints []perdure.Payload
	frames      []perdure.Payload
	alive       int
	reason      string
	saveFault   error
}

// Option says something about the claim of a [Step].
type Option func(*Step)

// Checkpoint is the stored checkpoint.
func Checkpoint(value any) Option {
	return func(to *Step) {
		payload, err := perdure.NewPayload(value)
		to.checkpoint, to.fault = payload.Message(), err
	}
}

// Wake says that the last wait was ended by this condition. A nil value: by a time.
func Wake(condition string, value any) Option {
	return func(to *Step) {
		wake := &perdurev1.Wake{Condition: condition}
		if value != nil {
			payload, err := perdure.NewPayload(value)
			id := "signal-1"
			wake.SignalName, wake.SignalId, wake.Payload, to.fault = condition, &id, payload.Message(), err
		}
		to.claim.Wakes = append(to.claim.Wakes, wake)
	}
}

// Claim changes the claim in any other way.
func Claim(change func(*perdurev1.Claim)) Option {
	return func(to *Step) { change(to.claim) }
}

// NewStep makes up a claim. It panics if a value of an option cannot travel.
func NewStep(parent context.Context, options ...Option) *Step {
	round := int64(1)
	made := &Step{claim: &perdurev1.Claim{
		Workflow: &perdurev1.WorkflowRef{Namespace: "default", WorkflowType: "test", BusinessKey: "key-1", Round: &round},
		Step:     "step", Attempt: 1, ClaimNo: 1, Fence: 1, IdempotencyKey: "idempotency-key-1", WakeToken: "wake-token-1",
	}}
	for _, option := range options {
		if option(made); made.fault != nil {
			panic(made.fault)
		}
	}
	made.ctx, made.cancel = context.WithCancelCause(parent)
	return made
}

// Context is what the step's function gets.
func (s *Step) Context() perdure.Context { return perdure.NewContext(s.ctx, s.claim, (*link)(s)) }

// Cancel asks the step to stop, for one of perdure's Cancel reasons.
func (s *Step) Cancel(reason string) {
	s.mutex.Lock()
	s.reason = reason
	s.mutex.Unlock()
	s.cancel(&perdure.Stopped{Reason: reason})
}

// FailNextSave makes the next ctx.Save return this.
func (s *Step) FailNextSave(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.saveFault = err
}

// LoseClaim is what ctx.Save returns when the claim is lost, for [Step.FailNextSave].
func LoseClaim() error {
	return &perdure.Error{Message: "the claim is lost (EXPIRED)", Reason: perdure.ReasonClaimLost, Facts: map[string]string{"cause": "EXPIRED"}}
}

// Checkpoints are what the step saved, oldest first.
func (s *Step) Checkpoints() []perdure.Payload {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]perdure.Payload(nil), s.checkpoints...)
}

// Frames are texts, progress and log lines that it sent, oldest first.
func (s *Step) Frames() []perdure.Payload {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]perdure.Payload(nil), s.frames...)
}

// SignsOfLife is how often it called ctx.Alive.
func (s *Step) SignsOfLife() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.alive
}

// link records instead of sending.
type link Step

func (l *link) Save(checkpoint *perdurev1.Payload) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.saveFault; err != nil {
		l.saveFault = nil
		return err
	}
	l.checkpoint = checkpoint
	l.checkpoints = append(l.checkpoints, perdure.PayloadOf(checkpoint))
	return nil
}

func (l *link) Checkpoint() *perdurev1.Payload {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.checkpoint
}

func (l *link) Frame(_ perdurev1.Frame_Kind, payload *perdurev1.Payload) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.frames = append(l.frames, perdure.PayloadOf(payload))
}

func (l *link) Alive() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.alive++
}

func (l *link) CancelReason() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.reason
}
