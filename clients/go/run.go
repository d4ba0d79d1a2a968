package perdure

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// Ref names a workflow.
type Ref struct {
	// Namespace is where it lives.
	Namespace string
	// Type is the name of its definition.
	Type string
	// Key is the caller's own name of the business object.
	Key string
	// Round is which round of the key. 0: the current one.
	Round int64
	// ExpectedFence is an expectation of the run's fence. Nil: none.
	ExpectedFence *int64
}

// String is type/key, with the round if it names one.
func (r Ref) String() string {
	if r.Round == 0 {
		return r.Type + "/" + r.Key
	}
	return fmt.Sprintf("%s/%s round %d", r.Type, r.Key, r.Round)
}

func (r Ref) message() *perdurev1.WorkflowRef {
	made := &perdurev1.WorkflowRef{Namespace: r.Namespace, WorkflowType: r.Type, BusinessKey: r.Key, ExpectedFence: r.ExpectedFence}
	if r.Round != 0 {
		made.Round = &r.Round
	}
	return made
}

func refOf(message *perdurev1.WorkflowRef) Ref {
	return Ref{
		Namespace: message.GetNamespace(), Type: message.GetWorkflowType(), Key: message.GetBusinessKey(),
		Round: message.GetRound(), ExpectedFence: message.ExpectedFence,
	}
}

// Run is a handle on one workflow, by name; made by [Client.Start] and [Client.Run]. Every method asks the server.
type Run struct {
	client  *Client
	ref     Ref
	started *perdurev1.StartWorkflowResponse
}

// Ref is its name; with the round if the handle comes from a start.
func (r *Run) Ref() Ref { return r.ref }

// Key is its business key.
func (r *Run) Key() string { return r.ref.Key }

// String is its name.
func (r *Run) String() string { return r.ref.String() }

// Created is whether the start that made this handle began the workflow; false for repeats and for other handles.
func (r *Run) Created() bool { return r.started.GetCreated() }

// Started is what the start answered; nil if the handle does not come from one.
func (r *Run) Started() *perdurev1.StartWorkflowResponse { return r.started }

// Expecting is the same workflow, if its fence is this one: else calls fail with FENCED.
func (r *Run) Expecting(fence int64) *Run {
	made := &Run{client: r.client, ref: r.ref}
	made.ref.ExpectedFence = &fence
	return made
}

// Signal sends a signal; it returns when that is stored.
func (r *Run) Signal(ctx context.Context, name string, value any, options ...SignalOption) (Signalled, error) {
	request := &perdurev1.SignalRequest{Target: &perdurev1.SignalRequest_Workflow{Workflow: r.ref.message()}, SignalName: name}
	return r.client.signal(ctx, request, value, options)
}

// Result waits for the end, however long it takes, and gives the output as a T. A workflow that did not complete is an error:
// [*WorkflowFailed], [*WorkflowCancelled] or [*WorkflowTerminated]. Bound the wait by the context: the workflow goes on.
func Result[T any](ctx context.Context, run *Run) (T, error) {
	var none T
	payload, err := run.result(ctx)
	if err != nil {
		return none, err
	}
	return Decode[T](payload)
}

func (r *Run) result(ctx context.Context) (Payload, error) {
	for {
		answer, err := r.waitForResult(ctx, wire.ResultWaitTimeout)
		if err != nil {
			return Payload{}, err
		}
		if answer.GetDone() {
			return r.outcome(ctx, answer)
		}
	}
}

func (r *Run) waitForResult(ctx context.Context, wait time.Duration) (*perdurev1.WaitForResultResponse, error) {
	// The server waits within the call's deadline, so a short one of the caller's is kept.
	ctx, cancel := context.WithTimeout(ctx, wait+max(r.client.contact.timeout, wire.CallMarginTimeout))
	defer cancel()
	request := &perdurev1.WaitForResultRequest{Workflow: r.ref.message(), Timeout: durationpb.New(wait)}
	answer, err := r.client.workflows.WaitForResult(ctx, request)
	if err == nil && !answer.GetDone() {
		// One that answers at once, as in tests with a moved clock, must not spin past the end of its caller.
		err = errorOfContext(ctx)
	}
	return answer, err
}

func (r *Run) outcome(ctx context.Context, answer *perdurev1.WaitForResultResponse) (Payload, error) {
	name := r.ref.Type + "/" + r.ref.Key
	base := func(reason Reason, what string, words string) *Error {
		if words != "" {
			what += ": " + words
		}
		return &Error{Message: name + " " + what, Reason: reason}
	}
	switch state := stateOf(answer.GetState()); state {
	case StateCompleted:
		return r.Fetch(ctx, PayloadOf(answer.GetOutput()))
	case StateFailed:
		failure, where := failureOf(answer.GetFailure()), ""
		if failure == nil {
			failure = &Failure{Type: "UNKNOWN"}
		}
		if answer.GetFailedStep() != "" {
			where = " in " + answer.GetFailedStep()
		}
		return Payload{}, &WorkflowFailed{failure, answer.GetFailedStep(), base(ReasonFailed, "failed"+where, failure.Error())}
	case StateCancelled:
		return Payload{}, &WorkflowCancelled{answer.GetReason(), base(ReasonCancelled, "was cancelled", answer.GetReason())}
	case StateTerminated:
		return Payload{}, &WorkflowTerminated{answer.GetReason(), base(ReasonTerminated, "was terminated", answer.GetReason())}
	default:
		return Payload{}, base("", "ended in a state that this version does not know", string(state))
	}
}

// Fetch is the value of a payload of this workflow's, read from its own place if it was too large to travel along. One that
// was freed or redacted: PAYLOAD_NOT_FOUND.
func (r *Run) Fetch(ctx context.Context, payload Payload) (Payload, error) {
	if !payload.IsRef() {
		return payload, nil
	}
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	answer, err := r.client.workflows.FetchPayload(ctx, &perdurev1.FetchPayloadRequest{
		Holder:    &perdurev1.FetchPayloadRequest_Workflow{Workflow: r.ref.message()},
		PayloadId: payload.message.GetRef().GetPayloadId(),
	})
	return PayloadOf(answer.GetPayload()), err
}

// verb is what most changes of a workflow can be told.
type verb struct{ reason, requestID, etag string }

// VerbOption goes with a change of a workflow.
type VerbOption interface{ applyToVerb(*verb) }

type verbOption func(*verb)

func (o verbOption) applyToVerb(to *verb) { o(to) }

// Because is why, in words for people; at most 4 KiB.
func Because(reason string) VerbOption { return verbOption(func(to *verb) { to.reason = reason }) }

// IfUnchanged makes the change only if the workflow's etag is still this one, else REVISION_CONFLICT.
func IfUnchanged(etag string) VerbOption { return verbOption(func(to *verb) { to.etag = etag }) }

func verbOf(options []VerbOption) verb {
	var made verb
	for _, option := range options {
		option.applyToVerb(&made)
	}
	if made.requestID == "" {
		made.requestID = newID() // the client's own retries must be recognised
	}
	return made
}

// Cancel asks for a cancel; it gives the state that follows, CANCELLING or CANCELLED. Failing: WORKFLOW_FAILING, ended:
// WORKFLOW_CLOSED.
func (r *Run) Cancel(ctx context.Context, options ...VerbOption) (State, error) {
	told := verbOf(options)
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	answer, err := r.client.workflows.CancelWorkflow(ctx, &perdurev1.CancelWorkflowRequest{
		Workflow: r.ref.message(), Reason: told.reason, RequestId: told.requestID, Etag: told.etag,
	})
	return stateOf(answer.GetState()), err
}

// Terminate ends the workflow at once: running claims are fenced, no hooks run. Ended: WORKFLOW_CLOSED.
func (r *Run) Terminate(ctx context.Context, options ...VerbOption) error {
	told := verbOf(options)
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	_, err := r.client.workflows.TerminateWorkflow(ctx, &perdurev1.TerminateWorkflowRequest{
		Workflow: r.ref.message(), Reason: told.reason, RequestId: told.requestID, Etag: told.etag,
	})
	return err
}

// Pause grants no more claims; results and signals still count. Not RUNNING: WORKFLOW_STATE_INVALID and the like.
func (r *Run) Pause(ctx context.Context, options ...VerbOption) error {
	told := verbOf(options)
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	_, err := r.client.workflows.PauseWorkflow(ctx, &perdurev1.PauseWorkflowRequest{
		Workflow: r.ref.message(), Reason: told.reason, RequestId: told.requestID, Etag: told.etag,
	})
	return err
}

// Resume ends a pause.
func (r *Run) Resume(ctx context.Context, options ...VerbOption) error {
	told := verbOf(options)
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	_, err := r.client.workflows.ResumeWorkflow(ctx, &perdurev1.ResumeWorkflowRequest{
		Workflow: r.ref.message(), Reason: told.reason, RequestId: told.requestID, Etag: told.etag,
	})
	return err
}

// Replay lets an ended workflow go on: what did not complete is done again, and the steps to reopen with all that comes after
// them. It gives all reopened steps. On a handle from [Run.Expecting] it happens once. Not ended: WORKFLOW_NOT_CLOSED.
func (r *Run) Replay(ctx context.Context, reopen []string, options ...VerbOption) ([]string, error) {
	told := verbOf(options)
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	answer, err := r.client.workflows.ReplayWorkflow(ctx, &perdurev1.ReplayWorkflowRequest{
		Workflow: r.ref.message(), ReopenSteps: reopen, Reason: told.reason, RequestId: told.requestID, Etag: told.etag,
	})
	return answer.GetReopenedSteps(), err
}

// Delete removes an ended workflow, all its rounds and values: take a handle without a round, by [Client.Run]. A handle with a
// round removes that round alone, which must not be the current one. Not ended: WORKFLOW_NOT_CLOSED.
func (r *Run) Delete(ctx context.Context, options ...VerbOption) error {
	told := verbOf(options)
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	_, err := r.client.workflows.DeleteWorkflow(ctx, &perdurev1.DeleteWorkflowRequest{
		Workflow: r.ref.message(), Reason: told.reason, RequestId: told.requestID, Etag: told.etag,
	})
	return err
}
