package perdure

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// State is where a workflow is in its life. A newer server may have others.
type State string

// Life of a workflow.
const (
	StateRunning         State = "RUNNING"          // steps run, wait or are ready
	StateCancelling      State = "CANCELLING"       // asked to cancel
	StateFailing         State = "FAILING"          // a step failed for good; compensations and the finalizer follow
	StatePreparingReplay State = "PREPARING_REPLAY" // reopened by a replay
	StateCompleted       State = "COMPLETED"        // ended well
	StateFailed          State = "FAILED"           // ended after a failure
	StateCancelled       State = "CANCELLED"        // ended after a cancel
	StateTerminated      State = "TERMINATED"       // ended at once by a person
)

// IsEnded is whether it is an end state.
func (s State) IsEnded() bool {
	return s == StateCompleted || s == StateFailed || s == StateCancelled || s == StateTerminated
}

// StepState is where a step is in its life. A newer server may have others.
type StepState string

// Life of a step.
const (
	StepBlocked     StepState = "BLOCKED"     // dependencies are open
	StepReady       StepState = "READY"       // may be claimed
	StepRunning     StepState = "RUNNING"     // a claim is out
	StepWaiting     StepState = "WAITING"     // in a durable wait, or with open children
	StepBackoff     StepState = "BACKOFF"     // waits for the next attempt
	StepCancelling  StepState = "CANCELLING"  // its running attempt was told to stop
	StepHeld        StepState = "HELD"        // out of attempts; a person must decide
	StepCompleted   StepState = "COMPLETED"   // its output is stored
	StepFailed      StepState = "FAILED"      // ended without output
	StepCancelled   StepState = "CANCELLED"   // ended by a cancel
	StepSkipped     StepState = "SKIPPED"     // not on a branch that was taken, or passed
	StepCompensated StepState = "COMPENSATED" // was completed or in doubt, and has been undone
)

// Workflow is one workflow as a reader sees it.
type Workflow struct {
	// Ref is its name, with the round.
	Ref Ref
	// RunID is the random id of this round's run.
	RunID string
	// Fence rises over rounds and replays of the key; hand it to your own store's conditional writes.
	Fence int64
	State State
	// Phase is what it does now: QUEUED, EXECUTING, WAITING, ...; empty once ended.
	Phase string
	// PhaseReason is the phase in a sentence, for people.
	PhaseReason string
	// Steps are by name; empty where the view has none.
	Steps map[string]Step
	// Failure is why it fails or failed. Nil: it does not.
	Failure *Failure
	// FailedStep is the step that failed it.
	FailedStep string
	Labels     map[string]string
	StartTime  time.Time
	// EndTime and NextTime are zero if there is none.
	EndTime, NextTime time.Time
	// Fingerprint is that of the definition that it runs by.
	Fingerprint string
	// Etag is for [IfUnchanged].
	Etag string
	// Input and Output are absent in views without values, and where there is none; see [Decode].
	Input, Output Payload
	// Message is all that the server told.
	Message *perdurev1.Workflow
}

// WaitsFor is whether a step waits for this signal now.
func (w *Workflow) WaitsFor(signal string) bool {
	for _, step := range w.Steps {
		for _, name := range step.Signals {
			if name == signal {
				return true
			}
		}
	}
	return false
}

// Step is one step of a workflow as a reader sees it.
type Step struct {
	Name  string
	State StepState
	// Phase is what it does now; empty when blocked or ended.
	Phase, PhaseReason string
	// Attempt counts the charged executions of the present generation.
	Attempt int
	// ClaimNo counts the grants.
	ClaimNo int64
	// WorkerID is who runs it. Empty: nobody now.
	WorkerID string
	// Failure is the last one. Nil: none.
	Failure *Failure
	// Signals are the names of those that it waits for now.
	Signals []string
	// NextTime is when it moves by itself. Zero: it does not.
	NextTime time.Time
	// Output and Checkpoint are absent in views without values, and where there is none.
	Output, Checkpoint Payload
	// Message is all that the server told.
	Message *perdurev1.StepView
}

func workflowOf(message *perdurev1.Workflow) *Workflow {
	made := &Workflow{
		Ref: refOf(message.GetWorkflow()), RunID: message.GetRunId(), Fence: message.GetFence(), State: stateOf(message.GetState()),
		Phase: enumName(message.GetPhase(), "PHASE_"), PhaseReason: message.GetPhaseReason(), Steps: map[string]Step{},
		Failure: failureOf(message.GetFailure()), FailedStep: message.GetFailedStep(), Labels: message.GetLabels(),
		StartTime: timeOf(message.GetStartTime()), EndTime: timeOf(message.GetEndTime()), NextTime: timeOf(message.GetNextTime()),
		Fingerprint: message.GetDefinitionFingerprint(), Etag: message.GetEtag(),
		Input: PayloadOf(message.GetInput()), Output: PayloadOf(message.GetOutput()), Message: message,
	}
	for _, step := range message.GetSteps() {
		made.Steps[step.GetName()] = stepOf(step)
	}
	return made
}

func stepOf(message *perdurev1.StepView) Step {
	made := Step{
		Name: message.GetName(), State: stepStateOf(message.GetState()), Phase: enumName(message.GetPhase(), "PHASE_"),
		PhaseReason: message.GetPhaseReason(), Attempt: int(message.GetAttempt()), ClaimNo: message.GetClaimNo(),
		WorkerID: message.GetWorkerId(), Failure: failureOf(message.GetFailure()), NextTime: timeOf(message.GetNextTime()),
		Output: PayloadOf(message.GetOutput()), Checkpoint: PayloadOf(message.GetCheckpoint()), Message: message,
	}
	if made.State == StepWaiting {
		made.Signals = signalsOf(message.GetWait())
	}
	return made
}

func signalsOf(wait *perdurev1.Wait) []string {
	var names []string
	for _, condition := range wait.GetAnyOf() {
		if condition.GetSignal() != nil {
			names = append(names, condition.GetSignal().GetSignalName())
		}
	}
	return names
}

func stateOf(value perdurev1.Workflow_State) State { return State(enumName(value, "STATE_")) }

func stepStateOf(value perdurev1.StepView_State) StepState {
	return StepState(enumName(value, "STATE_"))
}

// enumName is the name of an enum's value without its prefix; empty for unspecified, `UNKNOWN_<number>` for what is newer.
func enumName(value protoreflect.Enum, prefix string) string {
	if value.Number() == 0 {
		return ""
	}
	found := value.Descriptor().Values().ByNumber(value.Number())
	if found == nil {
		return fmt.Sprintf("UNKNOWN_%d", value.Number())
	}
	return strings.TrimPrefix(string(found.Name()), prefix)
}

func timeOf(found *timestamppb.Timestamp) time.Time {
	if found == nil {
		return time.Time{}
	}
	return found.AsTime()
}

func errorOfContext(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return errorOf(status.FromContextError(ctx.Err()).Err())
}
