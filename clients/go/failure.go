package perdure

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// Failure is why a step, attempt or workflow did not work, in the author's own words. Return it from a step to choose the
// words that other languages and retry policies see:
//
//	return "", &perdure.Failure{Type: "asr.quota", Message: "no minutes left", RetryAfter: 5 * time.Minute}
//
// Any other error becomes a failure whose type is that of the error's Go type, such as `net.OpError`; a panic becomes one of
// type `panic`.
type Failure struct {
	// Type is a dotted string, the same in all languages; at most 128 bytes.
	Type string
	// Message is for people; cut at 4 KiB.
	Message string
	// Details are machine-readable: any value that JSON can hold. Nil: none. In a failure that was read it is a
	// [Payload], for [Decode].
	Details any
	// NonRetryable ends the step's attempts at once, whatever its policy says.
	NonRetryable bool
	// RetryAfter is a wish for the time until the next attempt; it wins over the policy's back-off. 0: by policy. [AtOnce]:
	// without any pause.
	RetryAfter time.Duration
}

// Error is the type and the message.
func (f *Failure) Error() string {
	if f.Message == "" {
		return f.Type
	}
	return f.Type + ": " + f.Message
}

// AtOnce is a [Failure.RetryAfter] without any pause.
const AtOnce time.Duration = -1

// PanicType is the failure type of a step that panicked.
const PanicType = "panic"

func failureOf(message *perdurev1.Failure) *Failure {
	if message == nil {
		return nil
	}
	found := &Failure{
		Type: message.GetType(), Message: failureText(message),
		NonRetryable: message.GetNonRetryable(), RetryAfter: message.GetRetryAfter().AsDuration(),
	}
	if message.GetRetryAfter() != nil && found.RetryAfter == 0 {
		found.RetryAfter = AtOnce
	}
	if message.GetDetails() != nil {
		found.Details = PayloadOf(message.GetDetails())
	}
	return found
}

// failureMessage is the wire's failure of an error.
func failureMessage(err error) *perdurev1.Failure {
	var own *Failure
	var panicked *panicked
	var undecodable *Undecodable
	message := &perdurev1.Failure{}
	var details any
	switch {
	case errors.As(err, &own) && own != nil:
		message.Type, message.Message = cut(own.Type, wire.FailureTypeBytes), own.Message
		message.NonRetryable = own.NonRetryable
		if own.RetryAfter != 0 {
			message.RetryAfter = durationpb.New(max(0, own.RetryAfter))
		}
		details = own.Details
	case errors.As(err, &undecodable) && undecodable != nil:
		// Another worker may have the key, or this one may get it: tried again by policy, but not at once.
		message.Type, message.Message = codecFailurePrefix+undecodable.Cause, undecodable.Message
		message.RetryAfter = durationpb.New(wire.CodecRetryInterval)
	default:
		message.Type, message.Message = failureType(err), err.Error()
		// The same value fails the same way in every attempt.
		message.NonRetryable = isPayloadFault(err)
	}
	if message.Type == "" {
		message.Type = "Failure"
	}
	message.Message = cut(message.Message, wire.FailureMessageBytes)
	stack := ""
	if errors.As(err, &panicked) {
		stack = panicked.stack
	}
	message.Details = failureDetails(details, stack)
	return message
}

func failureDetails(details any, stack string) *perdurev1.Payload {
	if len(stack) > wire.FailureStackBytes {
		stack = strings.ToValidUTF8(stack[len(stack)-wire.FailureStackBytes:], "")
	}
	switch details.(type) {
	case []byte, Payload, *Payload:
		if encoded, err := encode(details); err == nil {
			return encoded
		}
	}
	told := map[string]any{}
	if stack != "" {
		told["stack"] = stack
	}
	if details != nil {
		told["details"] = details
	}
	if len(told) == 0 {
		return nil
	}
	encoded, err := encode(told)
	if err != nil {
		encoded, _ = encode(map[string]string{"stack": stack, "details_error": err.Error()})
	}
	return encoded
}

func isPayloadFault(err error) bool {
	var found *Error
	if !errors.As(err, &found) {
		return false
	}
	isTooLargeForGRPC := found.Code == codes.ResourceExhausted && found.Reason == ""
	return isTooLargeForGRPC || found.Reason == ReasonPayloadInvalid || found.Reason == ReasonPayloadTooLarge
}

// failureType names an error by the outermost type in its chain that is not just a wrapper of text.
func failureType(err error) string {
	for current := err; current != nil; current = errors.Unwrap(current) {
		if own, ok := current.(*Error); ok {
			if own.Reason != "" {
				return cut("perdure."+string(own.Reason), wire.FailureTypeBytes)
			}
			return cut("perdure."+codeName(own.Code), wire.FailureTypeBytes)
		}
		if _, ok := current.(*panicked); ok {
			return PanicType
		}
		switch current {
		case context.Canceled:
			return "context.Canceled"
		case context.DeadlineExceeded:
			return "context.DeadlineExceeded"
		}
		kind := reflect.TypeOf(current)
		name := strings.TrimLeft(kind.String(), "*")
		switch name {
		case "errors.errorString", "fmt.wrapError", "fmt.wrapErrors", "errors.joinError":
			continue
		}
		return cut(name, wire.FailureTypeBytes)
	}
	return "error"
}

// cut is the text, cut so that it has at most `size` bytes and no broken character.
func cut(text string, size int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size]
}

// panicked is what a step that panicked failed with, and where.
type panicked struct {
	value any
	stack string
}

func (p *panicked) Error() string { return fmt.Sprint(p.value) }
