package perdure

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Event is one thing that a watcher is told: a [*Snapshot], [*Change], [*Frame], [*FramesReset], [*Gap], [*End] or [*Idle].
// As a string it is a line for people.
type Event interface {
	fmt.Stringer
	// ResumeToken goes on after this event, in another process too; see [ResumeAfter].
	ResumeToken() string
	// WaitsFor is whether this event says that a step now waits for the signal.
	WaitsFor(signal string) bool

	event()
}

type token string

func (t token) ResumeToken() string { return string(t) }
func (token) WaitsFor(string) bool  { return false }
func (token) event()                {}

// Snapshot is the whole workflow; everything shown before is void.
type Snapshot struct {
	token
	Workflow *Workflow
}

// WaitsFor is whether a step waits for the signal.
func (s *Snapshot) WaitsFor(signal string) bool { return s.Workflow.WaitsFor(signal) }

func (s *Snapshot) String() string {
	var steps []string
	for _, step := range s.Workflow.Message.GetSteps() {
		if state := stepStateOf(step.GetState()); state != StepBlocked {
			steps = append(steps, fmt.Sprintf("%s %s", step.GetName(), state))
		}
	}
	text := fmt.Sprintf("%s/%s is %s", s.Workflow.Ref.Type, s.Workflow.Ref.Key, s.Workflow.State)
	if len(steps) > 0 {
		text += ": " + strings.Join(steps, ", ")
	}
	return text
}

// Change is one change of state.
type Change struct {
	token
	// Seq is the position in the order of the round's changes, without holes.
	Seq   int64
	Round int64
	// Reason is what happened, for people; an open set.
	Reason string
	// Step is the one that changed. Empty: the change is about the workflow alone.
	Step string
	// StepState is the step's new state. Empty: unchanged.
	StepState StepState
	// State is the workflow's new state. Empty: unchanged.
	State    State
	Attempt  int
	ClaimNo  int64
	WorkerID string
	// Failure is why something failed. Nil: nothing did.
	Failure *Failure
	// Signals are the names of those that the step now waits for.
	Signals []string
	// SignalName is the signal that arrived or was consumed. Empty: none.
	SignalName string
	// Time is the store's time of the change, NextTime when the step moves by itself. Zero: it does not.
	Time, NextTime time.Time
	// Output is the step's, if it came along.
	Output Payload
	// Message is all that the server told.
	Message *perdurev1.StateChange
}

// WaitsFor is whether the step now waits for the signal.
func (c *Change) WaitsFor(signal string) bool {
	for _, name := range c.Signals {
		if name == signal {
			return true
		}
	}
	return false
}

func (c *Change) String() string {
	parts := []string{firstOf(c.Step, "workflow"), firstOf(string(c.StepState), string(c.State), c.Reason, "changed")}
	if c.Step != "" && c.State != "" && c.StepState != "" {
		parts = append(parts, fmt.Sprintf("(workflow %s)", c.State))
	}
	if c.WorkerID != "" && c.StepState == StepRunning {
		parts = append(parts, fmt.Sprintf("attempt %d on %s", c.Attempt, c.WorkerID))
	}
	if len(c.Signals) > 0 {
		parts = append(parts, "for "+strings.Join(c.Signals, " or "))
	}
	if c.Failure != nil {
		parts = append(parts, fmt.Sprintf("(%s)", c.Failure))
	}
	return strings.Join(parts, " ")
}

// Frame is a piece of progress of one claim.
type Frame struct {
	token
	Step    string
	ClaimNo int64
	// Seq is from 1, without holes, within the claim.
	Seq int64
	// Kind is TEXT, PROGRESS or LOG.
	Kind string
	// Value is what was sent; see [Decode].
	Value Payload
	// Message is all that the server told.
	Message *perdurev1.Frame
}

// Text is the text of a TEXT or LOG frame; of progress, its numbers and message.
func (f *Frame) Text() string {
	text, ok := f.Value.JSON()
	if !ok {
		return f.Value.String()
	}
	var plain string
	if json.Unmarshal([]byte(text), &plain) == nil {
		return plain
	}
	var told struct {
		Done, Total   json.Number
		Unit, Message string
	}
	if json.Unmarshal([]byte(text), &told) != nil {
		return text
	}
	made := firstOf(told.Done.String(), "?")
	if told.Total != "" {
		made += "/" + told.Total.String()
	}
	return strings.Join(strings.Fields(made+" "+told.Unit+" "+told.Message), " ")
}

func (f *Frame) String() string {
	return fmt.Sprintf("%s [%d.%d] %s", f.Step, f.ClaimNo, f.Seq, f.Text())
}

// FramesReset: what was shown of this step's claim, and of those before it, is void.
type FramesReset struct {
	token
	Step    string
	ClaimNo int64
}

func (r *FramesReset) String() string {
	return fmt.Sprintf("%s: frames up to claim %d are void", r.Step, r.ClaimNo)
}

// Gap: something is no longer retained; a snapshot follows if changes are missing.
type Gap struct {
	token
	Changes, Frames bool
	// Reason is for people.
	Reason string
}

func (g *Gap) String() string {
	missing := "something"
	switch {
	case g.Changes && g.Frames:
		missing = "changes and frames"
	case g.Changes:
		missing = "changes"
	case g.Frames:
		missing = "frames"
	}
	return fmt.Sprintf("gap: %s missing (%s)", missing, g.Reason)
}

// Idle: nothing happened for a while; only told to who asks for it ([TellIdle]).
type Idle struct{ token }

func (*Idle) String() string { return "idle" }

// End: the workflow has ended.
type End struct {
	token
	State State
	// Failure is why, if it FAILED. Nil: it did not.
	Failure *Failure
	// Output is its result, if it COMPLETED.
	Output Payload
	Time   time.Time
	Fence  int64
	Round  int64
	// Message is all that the server told.
	Message *perdurev1.WatchEnd
}

func (e *End) String() string {
	if e.Failure != nil {
		return fmt.Sprintf("%s: %s", e.State, e.Failure)
	}
	return string(e.State)
}

// eventOf is the value of a message; nil for keep-alives and for kinds that only newer servers know.
func eventOf(message *perdurev1.WatchEvent) Event {
	at := token(message.GetResumeToken())
	switch told := message.GetEvent().(type) {
	case *perdurev1.WatchEvent_Snapshot:
		return &Snapshot{at, workflowOf(told.Snapshot)}
	case *perdurev1.WatchEvent_Change:
		return changeOf(at, told.Change)
	case *perdurev1.WatchEvent_Frame:
		frame := told.Frame
		kind := enumName(frame.GetKind(), "KIND_")
		return &Frame{at, frame.GetStep(), frame.GetClaimNo(), frame.GetSeq(), kind, PayloadOf(frame.GetPayload()), frame}
	case *perdurev1.WatchEvent_FramesReset:
		return &FramesReset{at, told.FramesReset.GetStep(), told.FramesReset.GetClaimNo()}
	case *perdurev1.WatchEvent_Gap:
		return &Gap{at, told.Gap.GetChanges(), told.Gap.GetFrames(), told.Gap.GetReason()}
	case *perdurev1.WatchEvent_End:
		end := told.End
		return &End{
			at, stateOf(end.GetState()), failureOf(end.GetFailure()), PayloadOf(end.GetOutput()), timeOf(end.GetEndTime()),
			end.GetFence(), end.GetRound(), end,
		}
	}
	return nil
}

func changeOf(at token, change *perdurev1.StateChange) *Change {
	return &Change{
		token: at, Seq: change.GetSeq(), Round: change.GetRound(), Reason: change.GetReason(), Step: change.GetStep(),
		StepState: stepStateOf(change.GetStepState()), State: stateOf(change.GetWorkflowState()), Attempt: int(change.GetAttempt()),
		ClaimNo: change.GetClaimNo(), WorkerID: change.GetWorkerId(), Failure: failureOf(change.GetFailure()),
		Signals: signalsOf(change.GetWait()), SignalName: change.GetSignalName(), Time: timeOf(change.GetChangeTime()),
		NextTime: timeOf(change.GetNextTime()), Output: PayloadOf(change.GetOutput()), Message: change,
	}
}
