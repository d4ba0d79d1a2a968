package perdure

import (
	"context"
	"maps"
	"strings"
	"time"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// Context is what a step knows and can do: the facts of its claim, checkpoints, progress. It is a context.Context that ends
// when the step should stop; [Context.CancelReason] says why, and what to do about it.
//
// Its methods may be called at the same time, and must not be called after the step has returned. A context that is derived
// from it (context.WithTimeout and so on) has no methods of its own; [FromContext] finds the Context in it.
type Context struct {
	context.Context
	activity *Activity
}

// Activity is the inside of a [Context]. Programs do not need it; package perduretest makes one.
type Activity struct {
	claim *perdurev1.Claim
	link  Link
}

// Link is the way from a step to its worker; package perduretest has one that records.
type Link interface {
	// Save stores a checkpoint, and returns when that is done.
	Save(checkpoint *perdurev1.Payload) error
	// Checkpoint is the last one that was saved, by this attempt or an earlier one. Nil: none.
	Checkpoint() *perdurev1.Payload
	// Frame sends progress, without waiting.
	Frame(kind perdurev1.Frame_Kind, payload *perdurev1.Payload)
	// Alive notes a sign of life.
	Alive()
	// CancelReason is why the step should stop. Empty: it should not.
	CancelReason() string
}

// NewContext is a Context for a claim, whose effects go to a link: for packages that test steps.
func NewContext(parent context.Context, claim *perdurev1.Claim, link Link) Context {
	activity := &Activity{claim, link}
	return Context{context.WithValue(parent, contextKey{}, activity), activity}
}

type contextKey struct{}

// FromContext finds the step's Context in one that was derived from it; false: this is not a step's.
func FromContext(ctx context.Context) (Context, bool) {
	activity, ok := ctx.Value(contextKey{}).(*Activity)
	return Context{ctx, activity}, ok
}

// Checkpoint is the last one that was saved, by this attempt or an earlier one; false: there is none.
func Checkpoint[T any](ctx Context) (T, bool, error) {
	stored := PayloadOf(ctx.activity.link.Checkpoint())
	if stored.IsAbsent() {
		var none T
		return none, false, nil
	}
	value, err := Decode[T](stored)
	return value, true, err
}

// Save stores a checkpoint, and returns when it is stored. Also a sign of life. If the claim is not this worker's any more the
// error has the reason CLAIM_LOST: stop, and return it. Nil clears the stored checkpoint.
//
// While the server is away it waits; it goes on though the context has ended, so that a step that was told to stop can still
// store where it is.
func (c Context) Save(checkpoint any) error {
	payload, err := encode(checkpoint)
	if err != nil {
		return err
	}
	return c.activity.link.Save(orNoValue(payload))
}

// Frame sends a piece of text to watchers, appended to the text before; it never waits. Long texts become several frames.
func (c Context) Frame(text string) {
	c.sendText(perdurev1.Frame_KIND_TEXT, strings.ToValidUTF8(text, "\ufffd"))
}

// Log sends a line for people to watchers; it never waits.
func (c Context) Log(line string) {
	c.sendText(perdurev1.Frame_KIND_LOG, strings.ToValidUTF8(line, "\ufffd"))
}

// Progress is how far a step is; zero fields are left out, but for Done.
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Unit    string  `json:"unit,omitempty"`
	Message string  `json:"message,omitempty"`
}

// Progress tells watchers how far the step is; it replaces what was told before, and never waits.
func (c Context) Progress(told Progress) {
	told.Message, told.Unit = cut(told.Message, wire.FrameBytes/8), cut(told.Unit, wire.FrameBytes/64)
	if payload, err := encode(told); err == nil { // NaN and infinite numbers cannot travel, and are no progress
		c.activity.link.Frame(perdurev1.Frame_KIND_PROGRESS, payload)
	}
}

func (c Context) sendText(kind perdurev1.Frame_Kind, text string) {
	payload, err := encode(text)
	if err != nil {
		return // a string is always JSON
	}
	// With room for what a codec adds.
	if len(payload.GetJson()) <= wire.FrameBytes-1024 {
		c.activity.link.Frame(kind, payload)
		return
	}
	first := cut(text[:len(text)/2+1], len(text)/2)
	if len(first) == 0 {
		return
	}
	c.sendText(kind, first)
	c.sendText(kind, text[len(first):])
}

// Alive is a sign of life, for steps with a silence_timeout; it costs next to nothing.
func (c Context) Alive() { c.activity.link.Alive() }

// Why a step should stop.
const (
	// CancelWorkflowCancelled, CancelWorkflowFailing and CancelTerminated are about the work: end what you began elsewhere, too.
	CancelWorkflowCancelled = "WORKFLOW_CANCELLED"
	CancelWorkflowFailing   = "WORKFLOW_FAILING"
	CancelTerminated        = "TERMINATED"
	// CancelTimedOut is about this attempt: attempt_timeout, silence_timeout or step_timeout is over.
	CancelTimedOut = "TIMED_OUT"
	// CancelClaimLost and CancelDraining are about this worker: the lease is over, a newer claim was granted, or the worker
	// stops. A next attempt may go on with it.
	CancelClaimLost = "CLAIM_LOST"
	CancelDraining  = "DRAINING"
)

// CancelReason is why the step should stop, one of the Cancel constants or one of a newer server. Empty: it should not.
func (c Context) CancelReason() string { return c.activity.link.CancelReason() }

// Stopped is the cause of a step's context that has ended: context.Cause(ctx).
type Stopped struct {
	// Reason is one of the Cancel constants, or one of a newer server.
	Reason string
}

// Error is the reason.
func (s *Stopped) Error() string { return "the step should stop: " + s.Reason }

// Unwrap makes errors.Is(err, context.Canceled) hold.
func (s *Stopped) Unwrap() error { return context.Canceled }

// WokenBy is what ended this step's last wait, with the signals' content as T; false: it has not waited in this generation.
func WokenBy[T any](ctx Context) (Woken[T], bool, error) {
	var made Woken[T]
	wakes := ctx.activity.claim.GetWakes()
	if len(wakes) == 0 {
		return made, false, nil
	}
	return made, true, made.fillFrom(wakes)
}

func (w *Woken[T]) fillFrom(wakes []*perdurev1.Wake) error {
	return w.fill(wakes[0].GetCondition(), wakes)
}

// Cursor is where a paging step goes on: what the [Page] before had; false: this is the first page.
func Cursor[T any](ctx Context) (T, bool, error) {
	stored := PayloadOf(ctx.activity.claim.GetCursor())
	if stored.IsAbsent() {
		var none T
		return none, false, nil
	}
	value, err := Decode[T](stored)
	return value, true, err
}

// Workflow names the workflow, with its round.
func (c Context) Workflow() Ref { return refOf(c.activity.claim.GetWorkflow()) }

// BusinessKey is the caller's name of the business object.
func (c Context) BusinessKey() string { return c.activity.claim.GetWorkflow().GetBusinessKey() }

// Step is the name of the step.
func (c Context) Step() string { return c.activity.claim.GetStep() }

// Attempt counts the charged executions of this generation, this one included.
func (c Context) Attempt() int { return int(c.activity.claim.GetAttempt()) }

// MaxAttempts is how many the policy allows. 0: any number.
func (c Context) MaxAttempts() int { return int(c.activity.claim.GetMaxAttempts()) }

// AttemptRemaining is how long the attempt had when it began, until attempt_timeout; false: no limit.
func (c Context) AttemptRemaining() (time.Duration, bool) {
	remaining := c.activity.claim.GetAttemptRemaining()
	return remaining.AsDuration(), remaining != nil
}

// ClaimNo rises with every grant of the step.
func (c Context) ClaimNo() int64 { return c.activity.claim.GetClaimNo() }

// Generation is 0 the first time; it rises when a completed or compensated step reopens.
func (c Context) Generation() int { return int(c.activity.claim.GetGeneration()) }

// Fence is the run's; hand it to your own store's conditional writes.
func (c Context) Fence() int64 { return c.activity.claim.GetFence() }

// IdempotencyKey is the same in all attempts of this generation; hand it to what you call.
func (c Context) IdempotencyKey() string { return c.activity.claim.GetIdempotencyKey() }

// WakeToken is for callbacks: whoever has it may signal this step, by [Client.SignalByToken]. A secret.
func (c Context) WakeToken() string { return c.activity.claim.GetWakeToken() }

// Labels are the workflow's.
func (c Context) Labels() map[string]string { return maps.Clone(c.activity.claim.GetLabels()) }

// LastFailure is that of the attempt before, in this generation. Nil: none.
func (c Context) LastFailure() *Failure { return failureOf(c.activity.claim.GetLastFailure()) }

// FailedInputs are the failures of steps that this one goes on after, by name; see also [Try].
func (c Context) FailedInputs() map[string]*Failure {
	made := map[string]*Failure{}
	for name, failure := range c.activity.claim.GetFailedInputs() {
		made[name] = failureOf(failure)
	}
	return made
}

// Traceparent is the W3C trace context of this attempt's span. Empty: not traced. The context itself carries the span.
func (c Context) Traceparent() string { return c.activity.claim.GetTraceparent() }

// Hook says why this runs, if it is a hook or a compensation; nil: an ordinary step.
func (c Context) Hook() *Hook {
	message := c.activity.claim.GetHook()
	if message == nil {
		return nil
	}
	made := &Hook{
		Kind: enumName(message.GetKind(), "HOOK_KIND_"), Failure: failureOf(message.GetFailure()), FailedStep: message.GetFailedStep(),
		CancelReason: message.GetCancel().GetReason(), Compensates: message.GetCompensates(), InDoubt: message.GetInDoubt(),
		CompensatedOutput:         PayloadOf(message.GetCompensatedOutput()),
		CompensatedIdempotencyKey: message.GetCompensatedIdempotencyKey(),
	}
	for _, step := range message.GetUnfinished() {
		made.Unfinished = append(made.Unfinished, UnfinishedStep{
			step.GetStep(), stepStateOf(step.GetState()), step.GetIdempotencyKey(), PayloadOf(step.GetCheckpoint()),
		})
	}
	return made
}

// Hook is why a hook or a compensation runs, and what it may need to know.
type Hook struct {
	// Kind is ON_SUCCESS, FAILURE_FINALIZER, CANCEL_FINALIZER, PREPARE_REPLAY or COMPENSATION.
	Kind string
	// Failure is what the workflow failed with, FailedStep where. Nil: it did not fail.
	Failure    *Failure
	FailedStep string
	// CancelReason is why it was cancelled.
	CancelReason string
	// Unfinished are steps that were cut short.
	Unfinished []UnfinishedStep
	// Compensates is, for a compensation, the step to undo.
	Compensates string
	// InDoubt: the step to undo was begun, and nobody knows whether it took effect.
	InDoubt bool
	// CompensatedOutput is the output of the step to undo; absent: in doubt, or none. See [Decode].
	CompensatedOutput Payload
	// CompensatedIdempotencyKey is what the step to undo handed to what it called.
	CompensatedIdempotencyKey string
}

// UnfinishedStep was begun and did not complete.
type UnfinishedStep struct {
	Step string
	// State is where it ended.
	State StepState
	// IdempotencyKey is what it handed to what it called.
	IdempotencyKey string
	// Checkpoint is its last one; absent: none.
	Checkpoint Payload
}
