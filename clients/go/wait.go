package perdure

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

const waitResultType = "application/vnd.perdure.wait-result+json"

// Condition is one thing to wait for; made by [Signal], [After] and [At].
type Condition struct {
	message *perdurev1.WaitCondition
}

// Signal waits for a signal of this name.
func Signal(name string) Condition {
	return Condition{&perdurev1.WaitCondition{
		Kind: &perdurev1.WaitCondition_Signal{Signal: &perdurev1.SignalCondition{SignalName: name, Count: 1}},
	}}
}

// After comes true this long after the wait was stored; at least 50 ms in effect, years are fine.
func After(delay time.Duration) Condition {
	return Condition{&perdurev1.WaitCondition{Kind: &perdurev1.WaitCondition_After{After: durationpb.New(delay)}}}
}

// At comes true at this time, by the store's clock.
func At(when time.Time) Condition {
	return Condition{&perdurev1.WaitCondition{Kind: &perdurev1.WaitCondition_AtTime{AtTime: timestamppb.New(when)}}}
}

// Count waits for so many signals of the name, oldest first; 1 to 100. It does nothing to a time.
func (c Condition) Count(count int) Condition {
	made := c.copy()
	if signal := made.message.GetSignal(); signal != nil {
		signal.Count = int32(count)
	}
	return made
}

// Named is told when this condition won. Without it: the signal's name, `after` or `at_time`.
func (c Condition) Named(name string) Condition {
	made := c.copy()
	made.message.Name = name
	return made
}

func (c Condition) copy() Condition {
	made := &perdurev1.WaitCondition{Name: c.message.GetName(), Kind: c.message.GetKind(), Choose: c.message.GetChoose()}
	if signal := c.message.GetSignal(); signal != nil {
		made.Kind = &perdurev1.WaitCondition_Signal{
			Signal: &perdurev1.SignalCondition{SignalName: signal.GetSignalName(), Count: signal.GetCount()},
		}
	}
	return Condition{made}
}

// Wait is returned from a step, as its error, to wait without holding a worker; the step is then run again from its top.
// Nothing is charged, and the stored checkpoint stays unless another is given. It is made by [WaitAny].
type Wait struct {
	conditions []Condition
	checkpoint *any
}

// WaitAny waits for the first of 1 to 16 conditions with distinct names:
//
//	return "", perdure.WaitAny(perdure.Signal("asr.done"), perdure.After(30*time.Second))
func WaitAny(conditions ...Condition) *Wait { return &Wait{conditions: conditions} }

// Saving also stores a checkpoint, in the same write. Nil clears the stored one.
func (w *Wait) Saving(checkpoint any) *Wait {
	return &Wait{w.conditions, &checkpoint}
}

// Conditions is how many conditions it waits for.
func (w *Wait) Conditions() int { return len(w.conditions) }

// Error makes a Wait an error, so that a step can return it; it is no failure.
func (w *Wait) Error() string {
	var names []string
	for _, condition := range w.conditions {
		names = append(names, firstOf(condition.message.GetName(), condition.message.GetSignal().GetSignalName(), "a time"))
	}
	return "the step waits for " + strings.Join(names, " or ")
}

// Message is the wait as the wire has it, without the checkpoint.
func (w *Wait) Message() *perdurev1.Wait {
	made := &perdurev1.Wait{}
	for _, condition := range w.conditions {
		made.AnyOf = append(made.AnyOf, condition.message)
	}
	return made
}

// Wake is one thing that ended a wait: a signal that was consumed, or a time that came.
type Wake[T any] struct {
	// Condition is the name of the one that won.
	Condition string
	// Value is what the signal carried; zero for a time, or a signal without content.
	Value T
	// SignalName and SignalID are empty for a time.
	SignalName, SignalID string
	// Time is the store's: when the timer fired, or the signal was stored.
	Time time.Time
}

// Woken is how a wait ended. As the type of a step's input it is the output of a wait step.
type Woken[T any] struct {
	// Condition is the name of the one that won: the signal's name, `after`, `at_time`, or the name that was given to it.
	Condition string
	// Wakes are what was consumed, oldest first; one for a time.
	Wakes []Wake[T]
}

// TimedOut is whether a duration or a time won.
func (w Woken[T]) TimedOut() bool {
	for _, wake := range w.Wakes {
		if wake.SignalID != "" {
			return false
		}
	}
	return true
}

// Value is what the first signal carried; false: a time won, or the signal carried nothing.
func (w Woken[T]) Value() (T, bool) {
	if len(w.Wakes) == 0 || w.TimedOut() {
		var none T
		return none, false
	}
	return w.Wakes[0].Value, true
}

func (w *Woken[T]) fill(condition string, wakes []*perdurev1.Wake) error {
	w.Condition = condition
	for _, wake := range wakes {
		made := Wake[T]{
			Condition: wake.GetCondition(), SignalName: wake.GetSignalName(), SignalID: wake.GetSignalId(), Time: timeOf(wake.GetWakeTime()),
		}
		if wake.GetPayload() != nil {
			if err := decodeInto(wake.GetPayload(), reflect.ValueOf(&made.Value).Elem()); err != nil {
				return fmt.Errorf("what the signal %s carried: %w", wake.GetSignalName(), err)
			}
		}
		w.Wakes = append(w.Wakes, made)
	}
	return nil
}

// DecodeWoken reads the output of a wait step as it travels, with the signals' content as T.
func DecodeWoken[T any](payload Payload) (Woken[T], error) {
	var made Woken[T]
	result, err := parseWaitResult(payload.message)
	if err != nil {
		return made, err
	}
	return made, made.fill(result.GetCondition(), result.GetWakes())
}

// wokenFiller is what a *Woken[T] is, whatever its T.
type wokenFiller interface {
	fill(condition string, wakes []*perdurev1.Wake) error
}

func parseWaitResult(payload *perdurev1.Payload) (*perdurev1.WaitResult, error) {
	result := &perdurev1.WaitResult{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(payload.GetJson()), result); err != nil {
		return nil, invalid(ReasonPayloadInvalid, "not the output of a wait step: %v", err)
	}
	return result, nil
}
