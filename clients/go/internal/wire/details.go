// Package wire reads what Perdure says beside the code and the message of a status.
package wire

import (
	"errors"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Domain of Perdure's ErrorInfo.
const Domain = "perdure"

// Violation is one field that is wrong.
type Violation struct {
	Field, Description string
}

// Details are all that a status says.
type Details struct {
	Code    codes.Code
	Message string
	// Reason is one of ErrorReason's names without its prefix; empty: the status is not Perdure's own.
	Reason     string
	Facts      map[string]string
	Violations []Violation
	// RetryAfter is 0 where nothing was said.
	RetryAfter time.Duration
}

// Of reads a status; nil for none and for OK.
func Of(found *spb.Status) *Details {
	if found == nil || found.GetCode() == int32(codes.OK) {
		return nil
	}
	return OfStatus(status.FromProto(found))
}

// OfError reads the status of what a call returned; nil for no error. What is no status is UNKNOWN.
func OfError(err error) *Details {
	if err == nil {
		return nil
	}
	var has interface{ GRPCStatus() *status.Status }
	if errors.As(err, &has) {
		return OfStatus(has.GRPCStatus())
	}
	return &Details{Code: codes.Unknown, Message: err.Error()}
}

// OfStatus reads a status that is not OK.
func OfStatus(found *status.Status) *Details {
	details := &Details{Code: found.Code(), Message: found.Message()}
	for _, detail := range found.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.GetDomain() == Domain {
				details.Reason, details.Facts = detail.GetReason(), detail.GetMetadata()
			}
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				details.Violations = append(details.Violations, Violation{violation.GetField(), violation.GetDescription()})
			}
		case *errdetails.RetryInfo:
			details.RetryAfter = detail.GetRetryDelay().AsDuration()
		}
	}
	return details
}
