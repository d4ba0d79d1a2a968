package perduretest

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// Script is how attempts end when nobody runs them, for [Server.Script]. The first one that matches an attempt is used.
type Script struct {
	message *perdurev1.ScriptedOutcome
	fault   error
}

// Completes: the step is done, with this output. An empty step: any.
func Completes(step string, output any) Script {
	payload, err := perdure.NewPayload(output)
	completed := &perdurev1.Completed{Output: payload.Message()}
	return Script{&perdurev1.ScriptedOutcome{Step: step, Outcome: &perdurev1.ScriptedOutcome_Completed{Completed: completed}}, err}
}

// Fails: the attempt fails, and is retried by policy.
func Fails(step string, failure *perdure.Failure) Script {
	told := &perdurev1.Failure{Type: failure.Type, Message: failure.Message, NonRetryable: failure.NonRetryable}
	if failure.RetryAfter != 0 {
		told.RetryAfter = durationpb.New(max(0, failure.RetryAfter))
	}
	var err error
	if failure.Details != nil {
		var details perdure.Payload
		details, err = perdure.NewPayload(failure.Details)
		told.Details = details.Message()
	}
	return Script{&perdurev1.ScriptedOutcome{Step: step, Outcome: &perdurev1.ScriptedOutcome_Failed{Failed: told}}, err}
}

// Waits: the step waits durably, once unless told otherwise; the claim after it takes the next script.
func Waits(step string, wait *perdure.Wait) Script {
	waiting := &perdurev1.Waiting{Wait: wait.Message()}
	return Script{&perdurev1.ScriptedOutcome{Step: step, Times: 1, Outcome: &perdurev1.ScriptedOutcome_Waiting{Waiting: waiting}}, nil}
}

// NeverEnds: the attempt gives no result: a timeout ends it.
func NeverEnds(step string) Script {
	return Script{&perdurev1.ScriptedOutcome{Step: step, Outcome: &perdurev1.ScriptedOutcome_Never{Never: &perdurev1.NeverSettled{}}}, nil}
}

// LosesWorker: the worker vanishes in the middle of it, once unless told otherwise.
func LosesWorker(step string) Script {
	return Script{&perdurev1.ScriptedOutcome{Step: step, Times: 1, Outcome: &perdurev1.ScriptedOutcome_Lost{Lost: &perdurev1.WorkerLost{}}}, nil}
}

// Choosing takes these branches; only of a script by [Completes].
func (s Script) Choosing(branches ...string) Script {
	if completed := s.message.GetCompleted(); completed != nil {
		completed.Choose = branches
	}
	return s
}

// OfAttempt is only for this attempt, from 1.
func (s Script) OfAttempt(attempt int) Script {
	s.message.Attempt = int32(attempt)
	return s
}

// OfKey is only for this business key.
func (s Script) OfKey(key string) Script {
	s.message.BusinessKey = key
	return s
}

// Times is how often the script may be used. 0: always.
func (s Script) Times(times int) Script {
	s.message.Times = int32(times)
	return s
}

// Taking is how long the attempt takes on the test's clock.
func (s Script) Taking(duration time.Duration) Script {
	s.message.Duration = durationpb.New(duration)
	return s
}
