package waypost

import (
	"fmt"
	"time"

	waypostv1 "github.com/waypost/waypost/clients/go/waypost/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const reasonPrefix = "REASON_"

// Error is a failure that the gateway answered with, or of the connection to it (then without a reason).
type Error struct {
	// Reason is stable; what a program decides by. REASON_UNSPECIFIED where no gateway answered, or a newer one.
	Reason waypostv1.Reason
	// Code is the gRPC status code.
	Code codes.Code
	// Message is for people: what went wrong and what to change.
	Message string
	// Field is the parameter that the failure is about; empty where it is about none.
	Field string
	// RetryAfter is how long to wait before the same call may succeed; 0 where the gateway does not say.
	RetryAfter time.Duration
	// RequestID is what to quote to the operator.
	RequestID string
	// Facts are further facts of the failure by name, such as the largest range of a RANGE_TOO_LARGE.
	Facts map[string]string

	status *status.Status
}

func (e *Error) Error() string {
	if e.Reason == waypostv1.Reason_REASON_UNSPECIFIED {
		return fmt.Sprintf("waypost: %s: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("waypost: %s: %s", e.Reason.String()[len(reasonPrefix):], e.Message)
}

// GRPCStatus returns the status that the call ended with, with all its details.
func (e *Error) GRPCStatus() *status.Status { return e.status }

// Is matches a reason: errors.Is(err, &waypost.Error{Reason: waypostv1.Reason_REASON_NOT_FOUND}).
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Reason != waypostv1.Reason_REASON_UNSPECIFIED && other.Reason == e.Reason
}

// retriesForQuota returns whether the call was refused for the key's quota, to be asked again later.
func (e *Error) retriesForQuota() bool {
	return e.Reason == waypostv1.Reason_REASON_RATE_LIMITED && e.RetryAfter > 0
}

// typed returns an error of a call as *Error; nil for nil.
func typed(failure error) error {
	if failure == nil {
		return nil
	}
	state, ok := status.FromError(failure)
	if !ok {
		state = status.FromContextError(failure)
	}
	result := &Error{Code: state.Code(), Message: state.Message(), status: state}
	for _, detail := range state.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			result.Reason = waypostv1.Reason(waypostv1.Reason_value[reasonPrefix+detail.Reason])
			result.Facts = detail.Metadata
		case *errdetails.BadRequest:
			if len(detail.FieldViolations) > 0 {
				result.Field = detail.FieldViolations[0].Field
			}
		case *errdetails.RetryInfo:
			result.RetryAfter = detail.RetryDelay.AsDuration()
		case *errdetails.RequestInfo:
			result.RequestID = detail.RequestId
		}
	}
	return result
}
