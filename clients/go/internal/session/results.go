package session

import (
	"strings"

	perdurev1 "github.com/perdure/perdure/clients/go/gen/perdure/v1"
	"github.com/perdure/perdure/clients/go/internal/wire"
)

// RefusedType is the failure type of an attempt whose result the server did not take, such as one that is too large.
const RefusedType = "perdure.result_refused"

// Released gives a claim back unharmed, its checkpoint kept.
func Released() *perdurev1.Result {
	return &perdurev1.Result{Outcome: &perdurev1.Result_Released{Released: &perdurev1.Released{}}}
}

// Cancelled says that the activity stopped because it was asked to.
func Cancelled() *perdurev1.Result {
	return &perdurev1.Result{Outcome: &perdurev1.Result_Cancelled{Cancelled: &perdurev1.Cancelled{}}}
}

// refused is instead of a result that the server did not take: the attempt failed, with the server's words.
func refused(text string) *perdurev1.Result {
	if len(text) > wire.FailureMessageBytes {
		text = strings.ToValidUTF8(text[:wire.FailureMessageBytes/2], "") // without the half of a character
	}
	failure := &perdurev1.Failure{Type: RefusedType, Message: text}
	return &perdurev1.Result{Outcome: &perdurev1.Result_Failed{Failed: failure}}
}

// unaryOf is the same result for Complete: same fields and numbers by design, without what only the stream has.
func unaryOf(result *perdurev1.Result) *perdurev1.CompleteRequest {
	request := &perdurev1.CompleteRequest{ClaimToken: result.GetClaimToken(), LastFrameSeq: result.LastFrameSeq}
	switch outcome := result.GetOutcome().(type) {
	case *perdurev1.Result_Completed:
		request.Outcome = &perdurev1.CompleteRequest_Completed{Completed: outcome.Completed}
	case *perdurev1.Result_Failed:
		request.Outcome = &perdurev1.CompleteRequest_Failed{Failed: outcome.Failed}
	case *perdurev1.Result_Waiting:
		request.Outcome = &perdurev1.CompleteRequest_Waiting{Waiting: outcome.Waiting}
	case *perdurev1.Result_Released:
		request.Outcome = &perdurev1.CompleteRequest_Released{Released: outcome.Released}
	case *perdurev1.Result_Cancelled:
		request.Outcome = &perdurev1.CompleteRequest_Cancelled{Cancelled: outcome.Cancelled}
	case *perdurev1.Result_Page:
		request.Outcome = &perdurev1.CompleteRequest_Page{Page: outcome.Page}
	}
	return request
}
