package perdure

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// Start accepts a piece of work, once per key: a repeat gives the same workflow, and [Run.Created] is false. It returns when
// the work is stored. Another input for the same key: START_INPUT_MISMATCH; no active definition: DEFINITION_NOT_FOUND.
func (c *Client) Start(ctx context.Context, workflowType, key string, input any, options ...StartOption) (*Run, error) {
	request, err := (&Start{Type: workflowType, Key: key, Input: input, Options: options}).request(c.Config().Namespace)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.contact.bounded(ctx)
	defer cancel()
	answer, err := c.workflows.StartWorkflow(ctx, request)
	if err != nil {
		return nil, err
	}
	return c.started(answer), nil
}

// Start is one piece of work for [Client.StartMany].
type Start struct {
	// Type is the name of the workflow's type.
	Type string
	// Key is the caller's own name of the business object, unique within namespace and type.
	Key string
	// Input is what the work is about. Nil: no value.
	Input any
	// Options are as for [Client.Start].
	Options []StartOption
}

// Started is what became of one of several starts.
type Started struct {
	// Run is the workflow. Nil: the start failed.
	Run *Run
	// Err is why, as [Client.Start] would have returned it.
	Err error
}

// StartMany makes 1 to 500 starts in one call, each on its own: one that fails does not touch the others. Two of one key are
// applied in order. The error is that of the call as a whole.
func (c *Client) StartMany(ctx context.Context, starts []Start) ([]Started, error) {
	request := &perdurev1.StartWorkflowsRequest{}
	for index := range starts {
		one, err := starts[index].request(c.Config().Namespace)
		if err != nil {
			return nil, fmt.Errorf("start %d: %w", index, err)
		}
		request.Requests = append(request.Requests, one)
	}
	ctx, cancel := c.contact.bounded(ctx)
	defer cancel()
	answer, err := c.workflows.StartWorkflows(ctx, request)
	if err != nil {
		return nil, err
	}
	found := make([]Started, 0, len(starts))
	for _, result := range answer.GetResults() {
		if failed := errorOfDetails(wire.Of(result.GetStatus())); failed != nil {
			found = append(found, Started{Err: failed})
			continue
		}
		found = append(found, Started{Run: c.started(result.GetResponse())})
	}
	return found, nil
}

func (c *Client) started(answer *perdurev1.StartWorkflowResponse) *Run {
	return &Run{client: c, ref: refOf(answer.GetWorkflow()), started: answer}
}

func (s *Start) request(namespace string) (*perdurev1.StartWorkflowRequest, error) {
	input, err := encode(s.Input)
	if err != nil {
		return nil, err
	}
	request := &perdurev1.StartWorkflowRequest{
		Workflow: &perdurev1.WorkflowRef{Namespace: namespace, WorkflowType: s.Type, BusinessKey: s.Key},
		Input:    input,
	}
	for _, option := range s.Options {
		if err := option.applyToStart(request); err != nil {
			return nil, err
		}
	}
	if request.RequestId == "" {
		request.RequestId = newID() // the client's own retries must be recognised
	}
	return request, nil
}

// StartOption says how a piece of work is started.
type StartOption interface {
	applyToStart(*perdurev1.StartWorkflowRequest) error
}

type startOption func(*perdurev1.StartWorkflowRequest) error

func (o startOption) applyToStart(to *perdurev1.StartWorkflowRequest) error { return o(to) }

func plainStart(set func(*perdurev1.StartWorkflowRequest)) StartOption {
	return startOption(func(to *perdurev1.StartWorkflowRequest) error {
		set(to)
		return nil
	})
}

// Label puts one label on the workflow, to find it by; at most 32.
func Label(name, value string) StartOption { return Labels(map[string]string{name: value}) }

// Labels puts labels on the workflow, beside those of other options.
func Labels(labels map[string]string) StartOption {
	return plainStart(func(to *perdurev1.StartWorkflowRequest) {
		if to.Labels == nil {
			to.Labels = map[string]string{}
		}
		maps.Copy(to.Labels, labels)
	})
}

// RequestID makes a repeat of this very request recognisable. Without it: a new one.
func RequestID(id string) RequestIDOption { return RequestIDOption(id) }

// RequestIDOption is made by [RequestID].
type RequestIDOption string

func (o RequestIDOption) applyToStart(to *perdurev1.StartWorkflowRequest) error {
	to.RequestId = string(o)
	return nil
}

func (o RequestIDOption) applyToVerb(to *verb) { to.requestID = string(o) }

// OpenPolicy says what a start does if the key has an open round.
type OpenPolicy string

// What a start does with an open round.
const (
	// OpenUseExisting answers the open round if its input is the same, else START_INPUT_MISMATCH. The default.
	OpenUseExisting OpenPolicy = "USE_EXISTING"
	// OpenReject: WORKFLOW_ALREADY_EXISTS.
	OpenReject OpenPolicy = "REJECT"
	// OpenSupersede fences the open round, cancels it aside, and begins a new one.
	OpenSupersede OpenPolicy = "SUPERSEDE"
)

// OnOpen is the policy for a key that has an open round.
func OnOpen(policy OpenPolicy) StartOption {
	return startOption(func(to *perdurev1.StartWorkflowRequest) error {
		value, ok := perdurev1.StartWorkflowRequest_OnOpen_value["ON_OPEN_"+string(policy)]
		if !ok {
			return invalid(ReasonInvalidArgument, "OnOpen: %q is no policy", policy)
		}
		to.OnOpen = perdurev1.StartWorkflowRequest_OnOpen(value)
		return nil
	})
}

// ClosedPolicy says what a start does if the key's last round has ended.
type ClosedPolicy string

// What a start does after an ended round.
const (
	// ClosedUseExisting answers the ended round if its input is the same, else START_INPUT_MISMATCH. The default.
	ClosedUseExisting ClosedPolicy = "USE_EXISTING"
	// ClosedNewRound begins a new round.
	ClosedNewRound ClosedPolicy = "NEW_ROUND"
	// ClosedNewRoundIfFailed begins a new round if the last one did not complete, else as ClosedUseExisting.
	ClosedNewRoundIfFailed ClosedPolicy = "NEW_ROUND_IF_FAILED"
	// ClosedReject: WORKFLOW_ALREADY_EXISTS.
	ClosedReject ClosedPolicy = "REJECT"
)

// OnClosed is the policy for a key whose last round has ended.
func OnClosed(policy ClosedPolicy) StartOption {
	return startOption(func(to *perdurev1.StartWorkflowRequest) error {
		value, ok := perdurev1.StartWorkflowRequest_OnClosed_value["ON_CLOSED_"+string(policy)]
		if !ok {
			return invalid(ReasonInvalidArgument, "OnClosed: %q is no policy", policy)
		}
		to.OnClosed = perdurev1.StartWorkflowRequest_OnClosed(value)
		return nil
	})
}

// StartAt holds the first step back until then.
func StartAt(when time.Time) StartOption {
	return plainStart(func(to *perdurev1.StartWorkflowRequest) { to.StartAt = timestamppb.New(when) })
}

// WithSignal stores a signal in the same write as the start; at most 16. An empty id: a new one.
func WithSignal(name string, value any, id string) StartOption {
	return startOption(func(to *perdurev1.StartWorkflowRequest) error {
		payload, err := encode(value)
		if err != nil {
			return fmt.Errorf("the signal %s: %w", name, err)
		}
		to.Signals = append(to.Signals, &perdurev1.StartSignal{SignalName: name, Payload: payload, SignalId: firstOf(id, newID())})
		return nil
	})
}

// Priority is 0 to 9, higher sooner. Without it: 5.
func Priority(priority int) StartOption {
	return plainStart(func(to *perdurev1.StartWorkflowRequest) { value := int32(priority); to.Priority = &value })
}

// Queue names a queue: at a start that of all steps, instead of their policies'; of [Serve] the one that claims come from.
func Queue(name string) QueueOption { return QueueOption(name) }

// QueueOption is made by [Queue].
type QueueOption string

func (o QueueOption) applyToStart(to *perdurev1.StartWorkflowRequest) error {
	to.Queue = string(o)
	return nil
}

// StepQueue is the queue of one step, stronger than [Queue].
func StepQueue(step, queue string) StartOption {
	return plainStart(func(to *perdurev1.StartWorkflowRequest) {
		if to.StepQueues == nil {
			to.StepQueues = map[string]string{}
		}
		to.StepQueues[step] = queue
	})
}

// Fairness: work of one key shares a queue fairly with that of others. The weight is its share, 0.001 to 1,000; 0 means 1.
func Fairness(key string, weight float64) StartOption {
	return plainStart(func(to *perdurev1.StartWorkflowRequest) {
		to.FairnessKey = key
		if weight != 0 {
			to.FairnessWeight = &weight
		}
	})
}

// WorkflowTimeout is instead of the definition's.
func WorkflowTimeout(timeout time.Duration) StartOption {
	return plainStart(func(to *perdurev1.StartWorkflowRequest) { to.WorkflowTimeout = durationpb.New(timeout) })
}

// Retention is instead of the definition's.
func Retention(retention time.Duration) StartOption {
	return plainStart(func(to *perdurev1.StartWorkflowRequest) { to.Retention = durationpb.New(retention) })
}

// Fingerprint names a registered definition. Without it: the type's active one.
func Fingerprint(fingerprint string) StartOption {
	return plainStart(func(to *perdurev1.StartWorkflowRequest) { to.DefinitionFingerprint = fingerprint })
}

// ValidateOnly checks everything and stores nothing.
func ValidateOnly() ValidateOnlyOption { return ValidateOnlyOption{} }

// ValidateOnlyOption is made by [ValidateOnly].
type ValidateOnlyOption struct{}

func (ValidateOnlyOption) applyToStart(to *perdurev1.StartWorkflowRequest) error {
	to.ValidateOnly = true
	return nil
}

func (ValidateOnlyOption) applyToSignal(to *perdurev1.SignalRequest) { to.ValidateOnly = true }

// ExpectedFence is an expectation: if the run's fence is another, calls fail with FENCED. Of a start it is the fence of the
// round before.
func ExpectedFence(fence int64) ExpectedFenceOption { return ExpectedFenceOption(fence) }

// ExpectedFenceOption is made by [ExpectedFence].
type ExpectedFenceOption int64

func (o ExpectedFenceOption) applyToStart(to *perdurev1.StartWorkflowRequest) error {
	fence := int64(o)
	to.Workflow.ExpectedFence = &fence
	return nil
}

func (o ExpectedFenceOption) applyToRun(to *Ref) { fence := int64(o); to.ExpectedFence = &fence }

// newID is a random id, unique for all purposes.
func newID() string {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(bytes[:])
}
