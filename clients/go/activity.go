package perdure

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/session"
)

// activity is one claim's step while it runs: from its claim to its result, and its way to the server.
type activity struct {
	held   *session.Held
	served *Served
	runner *runner
	ctx    context.Context
	cancel context.CancelCauseFunc

	mutex      sync.Mutex
	reason     string
	isLost     bool
	checkpoint *perdurev1.Payload
}

// ---- Link: what the context asks for

// Save stores a checkpoint; it returns when that is done, or when it never will be.
func (a *activity) Save(checkpoint *perdurev1.Payload) error {
	stored, err := sealed(checkpoint, a.codec())
	if err == nil {
		err = checkSendable(stored)
	}
	if err != nil {
		return err
	}
	answer := make(chan error, 1)
	a.runner.session.Save(a.held, stored, func(err error) { answer <- err })
	if err := <-answer; err != nil {
		return errorOfSession(err)
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.checkpoint = checkpoint
	return nil
}

// Checkpoint is the last one.
func (a *activity) Checkpoint() *perdurev1.Payload {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.checkpoint
}

// Frame sends progress, without waiting.
func (a *activity) Frame(kind perdurev1.Frame_Kind, payload *perdurev1.Payload) {
	sent, err := sealed(payload, a.codec())
	if err != nil {
		a.runner.worker.client.logger.Warn("a frame cannot be encoded, and is dropped", "error", err)
		return
	}
	a.runner.session.Frame(a.held, kind, sent)
}

// Alive notes a sign of life.
func (a *activity) Alive() { a.runner.session.Alive(a.held) }

// CancelReason is why the step should stop.
func (a *activity) CancelReason() string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.reason
}

func (a *activity) codec() Codec { return a.runner.worker.client.Config().Codec }

// ---- what the worker asks for

// stop asks the step to stop, once.
func (a *activity) stop(reason string) {
	a.mutex.Lock()
	if a.reason == "" {
		a.reason = reason
	}
	reason = a.reason
	a.mutex.Unlock()
	a.cancel(&Stopped{reason})
}

// lose stops a step whose result does not count any more. Any other claim that is lost than these goes on in another worker, or
// in a later attempt.
func (a *activity) lose(cause string) {
	reason := CancelClaimLost
	switch cause {
	case "CLOSED":
		reason = CancelTerminated
	case "TIMED_OUT":
		reason = CancelTimedOut
	case "CANCELLED":
		reason = CancelWorkflowCancelled
	}
	a.mutex.Lock()
	a.isLost = true
	if cause != "CANCELLED" || a.reason == "" {
		a.reason = reason
	}
	reason = a.reason
	a.mutex.Unlock()
	a.cancel(&Stopped{reason})
}

// ---- the goroutine of the step

func (a *activity) run() {
	defer a.cancel(nil)
	var result *perdurev1.Result
	// Deferred, as a step may end its goroutine: its claim must not stay held for ever.
	defer func() {
		if result == nil {
			result = a.outcomeOf(nil, &panicked{value: "the step ended its goroutine by runtime.Goexit, as FailNow of a test does"})
		}
		a.mutex.Lock()
		if a.isLost {
			result = nil
		}
		a.mutex.Unlock()
		a.runner.ended(a, result)
	}()
	result = a.outcomeOf(a.invoke())
}

// outcomeOf is the outcome; whatever a step does is one: a panic too, be it in a method of what it returned.
func (a *activity) outcomeOf(value any, err error) *perdurev1.Result {
	made, failed := a.sendable(value, err)
	if failed != nil {
		made, failed = a.sendable(nil, failed)
	}
	if failed != nil {
		made = session.Released() // not even the failure can be sealed, and nothing may leave unencrypted
	}
	return made
}

// sendable is the outcome as it can be sent. An error says why it cannot.
func (a *activity) sendable(value any, err error) (result *perdurev1.Result, failed error) {
	defer func() {
		if found := recover(); found != nil {
			result, failed = nil, &panicked{found, string(debug.Stack())}
		}
	}()
	if err == nil {
		result, err = resultOf(value)
	}
	var wait *Wait
	if errors.As(err, &wait) && wait != nil {
		result, err = waitingOf(wait)
	}
	if err != nil {
		result = a.outcomeOfError(a.held.Claim, err)
	}
	if result, err = sealed(result, a.codec()); err != nil {
		return nil, err
	}
	return result, checkSendable(result)
}

// checkSendable finds what breaks the stream that has to take it, again and again, such as text that is no UTF-8.
func checkSendable(message proto.Message) error {
	if _, err := proto.Marshal(message); err != nil {
		return invalid(ReasonPayloadInvalid, "it cannot travel: %v", err)
	}
	return nil
}

// outcomeOfError is what an error reports. After a step was told to stop, any but a Failure is taken for the consequence.
func (a *activity) outcomeOfError(claim *perdurev1.Claim, err error) *perdurev1.Result {
	var failure *Failure
	reason := a.CancelReason()
	if reason != "" && !errors.As(err, &failure) {
		if reason == CancelDraining {
			return session.Released()
		}
		return session.Cancelled()
	}
	a.log(claim, err)
	return failedOf(err)
}

// log tells of a failure; with a codec without its text, which may hold values and travels encrypted.
func (a *activity) log(claim *perdurev1.Claim, err error) {
	if ReasonOf(err) == ReasonClaimLost {
		return // its save was refused: no fault of the step, and the loss has a line of its own
	}
	about := []any{
		"workflow", refOf(claim.GetWorkflow()).String(), "step", claim.GetStep(), "claim_no", claim.GetClaimNo(), "attempt", claim.GetAttempt(),
	}
	var undecodable *Undecodable
	if a.codec() == nil || errors.As(err, &undecodable) { // which holds nothing of a value
		about = append(about, "error", err)
	} else {
		about = append(about, "error_type", failureType(err))
	}
	a.runner.worker.client.logger.Warn("a step failed", about...)
}

func (a *activity) invoke() (value any, err error) {
	end := func(error) {}
	defer func() {
		if found := recover(); found != nil {
			value, err = nil, &panicked{found, string(debug.Stack())}
		}
		end(err)
	}()
	claim := a.held.Claim
	if err := a.fetchRefs(claim); err != nil {
		return nil, err
	}
	if codec := a.codec(); codec != nil {
		unseal(claim, codec)
	}
	a.mutex.Lock()
	a.checkpoint = claim.GetCheckpoint()
	a.mutex.Unlock()
	var ctx context.Context
	ctx, end = startSpan(a.ctx, claim)
	value, err = a.served.invoke(NewContext(ctx, claim, a), claim)
	if found := reflect.ValueOf(err); found.Kind() == reflect.Pointer && found.IsNil() {
		err = fmt.Errorf("the step returned a nil %T as its error, which is not nil to Go: return a plain nil", err)
	}
	return value, err
}

// fetchRefs reads the values that did not fit into the claim, into their places; those inside the outputs of waits too.
func (a *activity) fetchRefs(claim *perdurev1.Claim) error {
	for _, payload := range carried(claim) {
		if err := a.fetch(claim, payload); err != nil {
			return err
		}
	}
	for _, payload := range claim.GetInputs() {
		if payload.GetContentType() != waitResultType || !strings.Contains(payload.GetJson(), `"ref"`) {
			continue
		}
		result, err := parseWaitResult(payload)
		if err != nil {
			return err
		}
		for _, wake := range result.GetWakes() {
			if err := a.fetch(claim, wake.GetPayload()); err != nil {
				return err
			}
		}
		text, err := protojson.Marshal(result)
		if err != nil {
			return err
		}
		payload.Data = &perdurev1.Payload_Json{Json: string(text)}
	}
	return nil
}

// carried are all values of a claim, nil where there is none.
func carried(claim *perdurev1.Claim) []*perdurev1.Payload {
	found := []*perdurev1.Payload{claim.GetCheckpoint(), claim.GetCursor(), claim.GetHook().GetCompensatedOutput()}
	for _, payload := range claim.GetInputs() {
		found = append(found, payload)
	}
	for _, wake := range claim.GetWakes() {
		found = append(found, wake.GetPayload())
	}
	for _, step := range claim.GetHook().GetUnfinished() {
		found = append(found, step.GetCheckpoint())
	}
	return found
}

func (a *activity) fetch(claim *perdurev1.Claim, payload *perdurev1.Payload) error {
	if payload.GetRef() == nil {
		return nil
	}
	client := a.runner.worker.client
	ctx, cancel := client.contact.bounded(a.ctx)
	defer cancel()
	answer, err := client.workflows.FetchPayload(ctx, &perdurev1.FetchPayloadRequest{
		Holder:    &perdurev1.FetchPayloadRequest_ClaimToken{ClaimToken: claim.GetClaimToken()},
		PayloadId: payload.GetRef().GetPayloadId(),
	})
	if err != nil {
		return err
	}
	whole := answer.GetPayload()
	payload.Data, payload.ContentType, payload.Encoding = whole.GetData(), whole.GetContentType(), whole.GetEncoding()
	payload.Digest, payload.Metadata = whole.GetDigest(), whole.GetMetadata()
	return nil
}

// startSpan begins a span of the step below the attempt's, sampled as the attempt is; without a trace it does nothing. Of an
// error it gets the type only: a message may quote what a user typed.
func startSpan(ctx context.Context, claim *perdurev1.Claim) (context.Context, func(error)) {
	if claim.GetTraceparent() == "" {
		return ctx, func(error) {}
	}
	carrier := propagation.MapCarrier{"traceparent": claim.GetTraceparent(), "tracestate": claim.GetTracestate()}
	parent := propagation.TraceContext{}.Extract(ctx, carrier)
	workflow := claim.GetWorkflow()
	ctx, span := otel.Tracer("perdure").Start(parent, "activity "+workflow.GetWorkflowType()+"/"+claim.GetStep(), trace.WithAttributes(
		attribute.String("perdure.namespace", workflow.GetNamespace()),
		attribute.String("perdure.workflow_type", workflow.GetWorkflowType()),
		attribute.String("perdure.business_key", workflow.GetBusinessKey()),
		attribute.Int64("perdure.fence", claim.GetFence()),
		attribute.String("perdure.step", claim.GetStep()),
		attribute.Int("perdure.attempt", int(claim.GetAttempt())),
		attribute.Int64("perdure.claim_no", claim.GetClaimNo()),
	))
	return ctx, func(err error) {
		var wait *Wait
		if err != nil && !errors.As(err, &wait) {
			span.SetAttributes(attribute.String("error.type", failureType(err)))
			span.SetStatus(otelcodes.Error, "")
		}
		span.End()
	}
}

// errorOfSession is the typed error of what the session told.
func errorOfSession(err error) error {
	var lost *session.Lost
	var failed *session.Failed
	switch {
	case err == nil:
		return nil
	case errors.As(err, &lost):
		return claimLost(lost.Cause)
	case errors.As(err, &failed):
		return errorOfDetails(failed.Details)
	}
	return errorOf(err)
}
