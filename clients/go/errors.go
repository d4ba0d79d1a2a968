package perdure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/perdure/perdure/clients/go/internal/wire"
)

// Reason is why a call failed: one name in every client language. A newer server may send reasons that this version has
// no constant for; go by the code then.
type Reason string

// Reasons of a workflow that has ended, but not COMPLETED, as [Result] reports it.
const (
	// ReasonFailed: the workflow FAILED; see [*WorkflowFailed].
	ReasonFailed Reason = "FAILED"
	// ReasonCancelled: the workflow was CANCELLED; see [*WorkflowCancelled].
	ReasonCancelled Reason = "CANCELLED"
	// ReasonTerminated: the workflow was TERMINATED; see [*WorkflowTerminated].
	ReasonTerminated Reason = "TERMINATED"
)

// Violation is one field of a request that is wrong.
type Violation struct {
	// Field is its path, such as `definition.steps[1].needs`.
	Field string
	// Description says what is wrong with it.
	Description string
}

// Error is what went wrong with a call, or with a value before the call. All errors of this package are one, or wrap one:
//
//	var failed *perdure.Error
//	if errors.As(err, &failed) && failed.Reason == perdure.ReasonWorkflowNotFound { ... }
//
// [ReasonOf] is the short form. UNAVAILABLE was tried again until the call's deadline; nothing else is ever tried again.
// A CANCELLED that neither the context nor [Client.Close] brought about is UNAVAILABLE here: a server or proxy has had enough.
type Error struct {
	// Message is for people; never parse it.
	Message string
	// Reason is why. Empty: the error is not the server's own, such as a broken connection.
	Reason Reason
	// Code is the canonical gRPC code. OK: no server was asked.
	Code codes.Code
	// Facts go with the reason, as named beside each reason's constant. Nil: none.
	Facts map[string]string
	// Violations are all wrong fields, where the code is INVALID_ARGUMENT.
	Violations []Violation
	// RetryAfter is how long the server asks to wait before another try. 0: nothing was said.
	RetryAfter time.Duration

	status *status.Status
	cause  error
}

// Error is the message with the reason, and a line for each violation.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString(e.Message)
	switch {
	case e.Reason != "":
		fmt.Fprintf(&text, " [%s]", e.Reason)
	case e.Code != codes.OK:
		fmt.Fprintf(&text, " [%s]", codeName(e.Code))
	}
	for _, violation := range e.Violations {
		fmt.Fprintf(&text, "\n  %s: %s", violation.Field, violation.Description)
	}
	return text.String()
}

// Unwrap gives what caused it, if that was another error of this program.
func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, context.DeadlineExceeded) and context.Canceled hold for calls that ended for these.
func (e *Error) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return e.Code == codes.DeadlineExceeded
	case context.Canceled:
		return e.Code == codes.Canceled
	}
	return false
}

// GRPCStatus is the status that it was made of, with all details; status.FromError finds it.
func (e *Error) GRPCStatus() *status.Status {
	if e.status != nil {
		return e.status
	}
	code := e.Code
	if code == codes.OK {
		code = codes.Unknown // a status of code OK would be no error at all
	}
	return status.New(code, e.Message)
}

// ReasonOf is the reason of an error, wherever in its chain; empty for nil and for errors that have none.
func ReasonOf(err error) Reason {
	var found *Error
	if errors.As(err, &found) {
		return found.Reason
	}
	return ""
}

// Cause says why a claim was lost: EXPIRED, TIMED_OUT, CANCELLED, SUPERSEDED, CLOSED or UNKNOWN. Empty for other errors.
func (e *Error) Cause() string {
	if e.Reason != ReasonClaimLost {
		return ""
	}
	if cause := e.Facts["cause"]; cause != "" {
		return cause
	}
	return "UNKNOWN"
}

// WorkflowFailed is returned by [Result] for a workflow that FAILED.
type WorkflowFailed struct {
	// Failure is why, in the author's words.
	Failure *Failure
	// Step is the one that failed it. Empty: none, as after a workflow timeout.
	Step string

	base *Error
}

// Error says which workflow failed, where and why.
func (e *WorkflowFailed) Error() string { return e.base.Message }

// Unwrap gives the [*Error] and the [*Failure].
func (e *WorkflowFailed) Unwrap() []error { return []error{e.base, e.Failure} }

// WorkflowCancelled is returned by [Result] for a workflow that was CANCELLED.
type WorkflowCancelled struct {
	// Words are those of whoever asked for it. Empty: none.
	Words string

	base *Error
}

// Error says which workflow was cancelled.
func (e *WorkflowCancelled) Error() string { return e.base.Message }

// Unwrap gives the [*Error].
func (e *WorkflowCancelled) Unwrap() error { return e.base }

// WorkflowTerminated is returned by [Result] for a workflow that was TERMINATED by a person.
type WorkflowTerminated struct {
	// Words are those of whoever did it. Empty: none.
	Words string

	base *Error
}

// Error says which workflow was terminated.
func (e *WorkflowTerminated) Error() string { return e.base.Message }

// Unwrap gives the [*Error].
func (e *WorkflowTerminated) Unwrap() error { return e.base }

// errorOf is the typed error of what a call returned; nil for nil.
func errorOf(err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	found := errorOfDetails(wire.OfError(err))
	if st, ok := status.FromError(err); ok {
		found.status = st
	} else {
		found.cause = err
	}
	return found
}

func errorOfDetails(details *wire.Details) *Error {
	if details == nil {
		return nil
	}
	made := &Error{
		Message: details.Message, Reason: Reason(details.Reason), Code: details.Code,
		Facts: details.Facts, RetryAfter: details.RetryAfter,
	}
	if made.Message == "" {
		made.Message = codeName(details.Code)
	}
	for _, violation := range details.Violations {
		made.Violations = append(made.Violations, Violation(violation))
	}
	return made
}

func claimLost(cause string) *Error {
	return &Error{
		Message: fmt.Sprintf("the claim is lost (%s)", cause), Reason: ReasonClaimLost,
		Code: codes.FailedPrecondition, Facts: map[string]string{"cause": cause},
	}
}

// invalid is an error about a value of this program's own, made before any call.
func invalid(reason Reason, format string, arguments ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, arguments...), Reason: reason}
}

// codeName is the code as the protocol spells it, such as NOT_FOUND.
func codeName(code codes.Code) string {
	names := [...]string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE",
		"DATA_LOSS", "UNAUTHENTICATED",
	}
	if int(code) < len(names) {
		return names[code]
	}
	return fmt.Sprintf("CODE_%d", code)
}
