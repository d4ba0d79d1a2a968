package perdure

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// ReadOption says how much is read.
type ReadOption interface{ applyToRead(*reading) }

type reading struct {
	view        perdurev1.WorkflowView
	oldestFirst bool
	states      []State
}

type readOption func(*reading)

func (o readOption) applyToRead(to *reading) { o(to) }

// WithSteps also reads the steps, without values.
func WithSteps() ReadOption {
	return readOption(func(to *reading) { to.view = max(to.view, perdurev1.WorkflowView_WORKFLOW_VIEW_STEPS) })
}

// WithValues also reads steps, inputs, outputs and checkpoints: at most 3 MiB in all, the rest as refs for [Run.Fetch].
func WithValues() ReadOption {
	return readOption(func(to *reading) { to.view = perdurev1.WorkflowView_WORKFLOW_VIEW_FULL })
}

// OldestFirst turns the order of a list around.
func OldestFirst() ReadOption { return readOption(func(to *reading) { to.oldestFirst = true }) }

// InStates reads only children in these states.
func InStates(states ...State) ReadOption {
	return readOption(func(to *reading) { to.states = append(to.states, states...) })
}

func readingOf(least perdurev1.WorkflowView, options []ReadOption) reading {
	made := reading{view: least}
	for _, option := range options {
		option.applyToRead(&made)
	}
	return made
}

// Get is the workflow as it is now, always fresh, with steps and values.
func (r *Run) Get(ctx context.Context) (*Workflow, error) {
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	answer, err := r.client.workflows.GetWorkflow(ctx, &perdurev1.GetWorkflowRequest{Workflow: r.ref.message()})
	if err != nil {
		return nil, err
	}
	return workflowOf(answer.GetWorkflow()), nil
}

// Children are the workflows that map and child steps run, by step and index; an empty step: those of all. Pages are fetched
// as they are needed. An error ends the iteration.
func (r *Run) Children(ctx context.Context, step string, options ...ReadOption) iter.Seq2[*Workflow, error] {
	told := readingOf(perdurev1.WorkflowView_WORKFLOW_VIEW_BASIC, options)
	request := &perdurev1.ListChildrenRequest{Workflow: r.ref.message(), Step: step, View: told.view, States: statesOf(told.states)}
	return pages(ctx, r.client, func(ctx context.Context, token string) ([]*perdurev1.Workflow, string, error) {
		request.PageToken = token
		answer, err := r.client.workflows.ListChildren(ctx, request)
		return answer.GetChildren(), answer.GetNextPageToken(), err
	}, workflowOf)
}

// Rounds are the rounds of its key that are kept, newest first.
func (r *Run) Rounds(ctx context.Context, options ...ReadOption) iter.Seq2[*Workflow, error] {
	told := readingOf(perdurev1.WorkflowView_WORKFLOW_VIEW_BASIC, options)
	request := &perdurev1.ListRoundsRequest{Workflow: r.ref.message(), View: told.view}
	return pages(ctx, r.client, func(ctx context.Context, token string) ([]*perdurev1.Workflow, string, error) {
		request.PageToken = token
		answer, err := r.client.workflows.ListRounds(ctx, request)
		return answer.GetRounds(), answer.GetNextPageToken(), err
	}, workflowOf)
}

// Attempts are the last claims of a step, newest first: 10 of each step are kept. An empty step: those of all.
func (r *Run) Attempts(ctx context.Context, step string) iter.Seq2[*perdurev1.Attempt, error] {
	request := &perdurev1.ListAttemptsRequest{Workflow: r.ref.message(), Step: step}
	return pages(ctx, r.client, func(ctx context.Context, token string) ([]*perdurev1.Attempt, string, error) {
		request.PageToken = token
		answer, err := r.client.workflows.ListAttempts(ctx, request)
		return answer.GetAttempts(), answer.GetNextPageToken(), err
	}, itself)
}

// Explain says why the workflow is where it is: what each step that has not ended waits for, since when, and what would move
// it. An empty step: all of them.
func (r *Run) Explain(ctx context.Context, step string) (*perdurev1.ExplainWorkflowResponse, error) {
	ctx, cancel := r.client.contact.bounded(ctx)
	defer cancel()
	return r.client.workflows.ExplainWorkflow(ctx, &perdurev1.ExplainWorkflowRequest{Workflow: r.ref.message(), Step: step})
}

// Filter says which workflows: all that is given must hold; of several values in one field, one must match. The zero value
// means all workflows of the client's namespace.
type Filter struct {
	// Types are names of types; at most 16.
	Types []string
	// States are those to be in.
	States []State
	// Phases are what open workflows do: QUEUED, EXECUTING, WAITING, ...
	Phases []string
	// Queues are those of steps that are ready or running; at most 16.
	Queues []string
	// Labels must be there with this value; at most 8.
	Labels map[string]string
	// Keys are exact business keys; at most 100.
	Keys []string
	// StartedAfter is the first moment of the start, StartedBefore the first moment after the last. Zero: no bound.
	StartedAfter, StartedBefore time.Time
	// EndedAfter and EndedBefore are the same of the end; only ended workflows match.
	EndedAfter, EndedBefore time.Time
	// Parent: only children of this workflow. Nil: any.
	Parent *Ref
	// ParentStep: only children of this step of the parent.
	ParentStep string
	// Fingerprints are definitions that they run by; at most 16.
	Fingerprints []string
	// ScheduleID: only those that this schedule started.
	ScheduleID string
	// Paused: only paused (true) or only unpaused ones. Nil: both.
	Paused *bool
	// FailureTypes ended, or are ending, the workflow; at most 16.
	FailureTypes []string
	// IncludeArchived: also archived rounds.
	IncludeArchived bool
}

// Message is the filter as the wire has it, for the generated stubs. An unknown phase counts for nothing.
func (f Filter) Message() *perdurev1.WorkflowFilter {
	made := &perdurev1.WorkflowFilter{
		WorkflowTypes: f.Types, States: statesOf(f.States), Queues: f.Queues, Labels: f.Labels, BusinessKeys: f.Keys,
		StartTime: rangeOf(f.StartedAfter, f.StartedBefore), EndTime: rangeOf(f.EndedAfter, f.EndedBefore),
		ParentStep: f.ParentStep, DefinitionFingerprints: f.Fingerprints, ScheduleId: f.ScheduleID,
		Paused: f.Paused, FailureTypes: f.FailureTypes, IncludeArchived: f.IncludeArchived,
	}
	if f.Parent != nil {
		made.Parent = f.Parent.message()
	}
	for _, phase := range f.Phases {
		made.Phases = append(made.Phases, perdurev1.Phase(perdurev1.Phase_value["PHASE_"+phase]))
	}
	return made
}

func statesOf(states []State) []perdurev1.Workflow_State {
	var made []perdurev1.Workflow_State
	for _, state := range states {
		made = append(made, perdurev1.Workflow_State(perdurev1.Workflow_State_value["STATE_"+string(state)]))
	}
	return made
}

func rangeOf(from, to time.Time) *perdurev1.TimeRange {
	if from.IsZero() && to.IsZero() {
		return nil
	}
	made := &perdurev1.TimeRange{}
	if !from.IsZero() {
		made.FromTime = timestamppb.New(from)
	}
	if !to.IsZero() {
		made.ToTime = timestamppb.New(to)
	}
	return made
}

// List are the workflows that match, newest first unless told otherwise; pages are fetched as they are needed. An error ends
// the iteration:
//
//	for workflow, err := range client.List(ctx, perdure.Filter{Types: []string{"note"}}) { ... }
func (c *Client) List(ctx context.Context, filter Filter, options ...ReadOption) iter.Seq2[*Workflow, error] {
	told := readingOf(perdurev1.WorkflowView_WORKFLOW_VIEW_BASIC, options)
	request := &perdurev1.ListWorkflowsRequest{Namespace: c.Config().Namespace, Filter: filter.Message(), View: told.view}
	if told.oldestFirst {
		request.OrderBy = perdurev1.ListWorkflowsRequest_ORDER_START_TIME_ASC
	}
	return pages(ctx, c, func(ctx context.Context, token string) ([]*perdurev1.Workflow, string, error) {
		request.PageToken = token
		answer, err := c.workflows.ListWorkflows(ctx, request)
		return answer.GetWorkflows(), answer.GetNextPageToken(), err
	}, workflowOf)
}

// Counted is how many workflows match.
type Counted struct {
	Count int64
	// IsEstimate: such as "at least".
	IsEstimate bool
}

// Count is how many workflows match.
func (c *Client) Count(ctx context.Context, filter Filter) (Counted, error) {
	ctx, cancel := c.contact.bounded(ctx)
	defer cancel()
	answer, err := c.workflows.CountWorkflows(ctx, &perdurev1.CountWorkflowsRequest{
		Namespace: c.Config().Namespace, Filter: filter.Message(),
	})
	return Counted{answer.GetCount(), answer.GetEstimate()}, err
}

func itself[M any](message M) M { return message }

type fetchPage[M any] func(ctx context.Context, token string) (items []M, next string, err error)

// pages walks a list page by page.
func pages[M, V any](ctx context.Context, client *Client, fetch fetchPage[M], make func(M) V) iter.Seq2[V, error] {
	return func(yield func(V, error) bool) {
		var none V
		for token := ""; ; {
			bounded, cancel := client.contact.bounded(ctx)
			items, next, err := fetch(bounded, token)
			cancel()
			if err != nil {
				yield(none, err)
				return
			}
			for _, item := range items {
				if !yield(make(item), nil) {
					return
				}
			}
			if token = next; token == "" {
				return
			}
		}
	}
}
