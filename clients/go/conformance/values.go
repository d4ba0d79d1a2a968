package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/perdure/perdure/clients/go"
	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
)

// fields are those of one request.
type fields struct {
	id  int64
	raw map[string]json.RawMessage
}

func (f *fields) has(name string) bool {
	_, ok := f.raw[name]
	return ok
}

// read puts a field into target, which stays as it is if the field is absent.
func (f *fields) read(name string, target any) error {
	raw, ok := f.raw[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, target); err != nil {
		return usage("the field %s: %v", name, err)
	}
	return nil
}

func (f *fields) text(name string) string {
	var found string
	_ = f.read(name, &found) // what is no text counts as none
	return found
}

func (f *fields) flag(name string) bool {
	var found bool
	_ = f.read(name, &found)
	return found
}

func (f *fields) integer(name string) int64 {
	var found int64
	_ = f.read(name, &found)
	return found
}

func (f *fields) milliseconds(name string) time.Duration {
	return time.Duration(f.integer(name)) * time.Millisecond
}

// value is a value for the library: a Payload, or nil for none.
func (f *fields) value(name string) (any, error) {
	raw, ok := f.raw[name]
	if !ok {
		return nil, nil
	}
	return valueOf(raw)
}

func valueOf(raw json.RawMessage) (any, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil && len(members) == 1 && members["$binary"] != nil {
		var encoded string
		if err := json.Unmarshal(members["$binary"], &encoded); err != nil {
			return nil, usage("$binary: %v", err)
		}
		bytes, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return nil, usage("$binary: %v", err)
		}
		return bytes, nil
	}
	return raw, nil // a json.RawMessage travels as it is written
}

// told is a payload as a line has it; nil: no value.
func told(payload perdure.Payload) (any, error) {
	if payload.IsAbsent() {
		return nil, nil
	}
	if payload.Encoding() != "" {
		_, err := perdure.Decode[any](payload) // says why it is still encoded
		return nil, err
	}
	if bytes, ok := payload.Binary(); ok {
		return object{"$binary": base64.StdEncoding.EncodeToString(bytes)}, nil
	}
	text, ok := payload.JSON()
	if !ok {
		return nil, fmt.Errorf("a value is %s", payload)
	}
	return json.RawMessage(text), nil
}

// put adds a value to an object, unless there is none.
func put(into object, name string, payload perdure.Payload) error {
	value, err := told(payload)
	if err == nil && value != nil {
		into[name] = value
	}
	return err
}

type usageError struct{ text string }

func (u *usageError) Error() string { return u.text }

func usage(format string, arguments ...any) error {
	return &usageError{fmt.Sprintf(format, arguments...)}
}

// timedOut: a result did not come within its timeout.
type timedOut struct{ cause error }

func (t *timedOut) Error() string { return t.cause.Error() }

var codeNames = map[codes.Code]string{
	codes.Canceled: "CANCELLED", codes.Unknown: "UNKNOWN", codes.InvalidArgument: "INVALID_ARGUMENT",
	codes.DeadlineExceeded: "DEADLINE_EXCEEDED", codes.NotFound: "NOT_FOUND", codes.AlreadyExists: "ALREADY_EXISTS",
	codes.PermissionDenied: "PERMISSION_DENIED", codes.ResourceExhausted: "RESOURCE_EXHAUSTED",
	codes.FailedPrecondition: "FAILED_PRECONDITION", codes.Aborted: "ABORTED", codes.OutOfRange: "OUT_OF_RANGE",
	codes.Unimplemented: "UNIMPLEMENTED", codes.Internal: "INTERNAL", codes.Unavailable: "UNAVAILABLE",
	codes.DataLoss: "DATA_LOSS", codes.Unauthenticated: "UNAUTHENTICATED",
}

func errorOf(err error) object {
	made := object{"type": "usage", "reason": "", "code": "", "message": err.Error(), "violations": []object{}, "facts": object{}}
	var known *perdure.Error
	if errors.As(err, &known) {
		made["type"], made["reason"], made["code"] = "call", known.Reason, codeNames[known.Code]
		violations := []object{}
		for _, violation := range known.Violations {
			violations = append(violations, object{"field": violation.Field, "description": violation.Description})
		}
		made["violations"] = violations
		if known.Facts != nil {
			made["facts"] = known.Facts
		}
		if known.RetryAfter > 0 {
			made["retry_after_ms"] = known.RetryAfter.Milliseconds()
		}
	}
	var undecodable *perdure.Undecodable
	var failed *perdure.WorkflowFailed
	var cancelled *perdure.WorkflowCancelled
	var terminated *perdure.WorkflowTerminated
	var late *timedOut
	switch {
	case errors.As(err, &undecodable):
		made["type"], made["cause"] = "undecodable", undecodable.Cause
	case errors.As(err, &failed):
		made["type"], made["step"] = "failed", failed.Step
		made["failure"] = failureOf(failed.Failure)
	case errors.As(err, &cancelled):
		made["type"] = "cancelled"
	case errors.As(err, &terminated):
		made["type"] = "terminated"
	case errors.As(err, &late):
		made["type"], made["code"] = "timeout", "DEADLINE_EXCEEDED"
	}
	return made
}

func failureOf(failure *perdure.Failure) object {
	made := object{"type": failure.Type, "message": failure.Message, "non_retryable": failure.NonRetryable}
	if details, ok := failure.Details.(perdure.Payload); ok && details.Encoding() == "" {
		_ = put(made, "details", details) // a ref stays out
	}
	if failure.RetryAfter != 0 {
		made["retry_after_ms"] = max(0, failure.RetryAfter.Milliseconds())
	}
	return made
}

func putFailure(into object, name string, failure *perdure.Failure) {
	if failure != nil {
		into[name] = failureOf(failure)
	}
}

// workflowOf is a workflow as a line has it; fetch gets what was too large to come along. Nil: values are left out.
func workflowOf(ctx context.Context, found *perdure.Workflow, run *perdure.Run) (object, error) {
	made := object{
		"namespace": found.Ref.Namespace, "type": found.Ref.Type, "key": found.Ref.Key, "round": found.Ref.Round, "run_id": found.RunID,
		"fence": found.Fence, "state": found.State, "phase": found.Phase, "labels": orEmpty(found.Labels),
		"definition_fingerprint": found.Fingerprint, "failed_step": found.FailedStep,
	}
	putFailure(made, "failure", found.Failure)
	if run == nil {
		return made, nil
	}
	if err := fetchInto(ctx, run, made, "input", found.Input); err != nil {
		return nil, err
	}
	if err := fetchInto(ctx, run, made, "output", found.Output); err != nil {
		return nil, err
	}
	steps := object{}
	for name, step := range found.Steps {
		one := object{
			"state": step.State, "phase": step.Phase, "attempt": step.Attempt, "claim_no": step.ClaimNo, "waits_for": orNone(step.Signals),
		}
		putFailure(one, "failure", step.Failure)
		if err := fetchInto(ctx, run, one, "output", step.Output); err != nil {
			return nil, err
		}
		steps[name] = one
	}
	made["steps"] = steps
	return made, nil
}

func fetchInto(ctx context.Context, run *perdure.Run, into object, name string, payload perdure.Payload) error {
	whole, err := run.Fetch(ctx, payload)
	if err != nil {
		return err
	}
	return put(into, name, whole)
}

func orEmpty(found map[string]string) map[string]string {
	if found == nil {
		return map[string]string{}
	}
	return found
}

func orNone(found []string) []string {
	if found == nil {
		return []string{}
	}
	return found
}

func wakesOf(wakes []perdure.Wake[perdure.Payload]) ([]object, error) {
	made := []object{}
	for _, wake := range wakes {
		one := object{"condition": wake.Condition, "signal_name": wake.SignalName}
		if wake.SignalID != "" {
			one["signal_id"] = wake.SignalID
		}
		if err := put(one, "value", wake.Value); err != nil {
			return nil, err
		}
		made = append(made, one)
	}
	return made, nil
}

func registeredOf(found *perdure.Registered, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return object{
		"type": found.Type, "version": found.Version, "fingerprint": found.Fingerprint, "step_contracts": orEmpty(found.StepContracts),
		"active": found.Active, "created": found.Created, "warnings": orNone(found.Warnings),
	}, nil
}

// definitionOf is that of a field with the text of a file.
func definitionOf(text string) (*perdurev1.Definition, error) {
	return perdure.ParseDefinition([]byte(text))
}
