package errs

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
)

// domain is the domain of cordwood's ErrorInfo details.
const domain = "cordwood"

// ToGRPC turns err into an error that gRPC carries, with code, reason, HTTP status
// and retry time in its details. nil stays nil.
func ToGRPC(err error) error {
	if err == nil {
		return nil
	}
	e := &Error{}
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.Canceled):
		e = New(Cancelled, "%s", err)
	case errors.Is(err, context.DeadlineExceeded):
		e = New(DeadlineExceeded, "%s", err)
	default:
		e = From(err)
	}
	info := &errdetails.ErrorInfo{Domain: domain, Reason: string(e.Reason), Metadata: map[string]string{
		"code": strconv.Itoa(int(e.Code)),
	}}
	if e.HTTPStatus != 0 {
		info.Metadata["http"] = strconv.Itoa(e.HTTPStatus)
	}
	if e.Leader != "" {
		info.Metadata["leader"] = e.Leader
	}
	e.Quota.encode(info.Metadata)
	st := status.New(e.Code.grpc(), e.Msg)
	if d, derr := st.WithDetails(info); derr == nil {
		st = d
	}
	if e.RetryAfter > 0 {
		if d, derr := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}); derr == nil {
			st = d
		}
	}
	return st.Err()
}

// FromGRPC is the inverse of ToGRPC. A status that did not come from ToGRPC, such as the status of
// a broken connection, becomes ShardUnreachable with reason OutcomeUnknown, or the code for
// cancellation or deadline.
func FromGRPC(err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	e := &Error{Msg: st.Message(), Err: err}
	found := false
	for _, d := range st.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			if d.Domain != domain {
				continue
			}
			n, perr := strconv.ParseUint(d.Metadata["code"], 10, 32)
			if perr != nil {
				continue
			}
			found = true
			e.Code, e.Reason = Code(n), Reason(d.Reason)
			e.HTTPStatus, _ = strconv.Atoi(d.Metadata["http"])
			e.Leader, e.Quota = d.Metadata["leader"], decodeQuota(d.Metadata)
		case *errdetails.RetryInfo:
			e.RetryAfter = max(d.RetryDelay.AsDuration(), time.Duration(0))
		}
	}
	if found {
		return e
	}
	e.Msg = cutDialing(e.Msg)
	switch st.Code() {
	case codes.Canceled:
		e.Code = Cancelled
	case codes.DeadlineExceeded:
		e.Code, e.Reason = DeadlineExceeded, OutcomeUnknown
	case codes.ResourceExhausted:
		e.Code = RuntimeResourcesExhausted
	default:
		e.Code, e.Reason = ShardUnreachable, OutcomeUnknown
	}
	return e
}

// encode adds the quota to the metadata of an error.
func (q *Quota) encode(to map[string]string) {
	if q == nil {
		return
	}
	to["quota"], to["quota_database"], to["quota_unit"] = q.Name, q.Database, q.Unit
	to["quota_limit"], to["quota_value"] = strconv.FormatUint(q.Limit, 10), strconv.FormatUint(q.Value, 10)
}

// decodeQuota is the inverse of encode.
func decodeQuota(from map[string]string) *Quota {
	if from["quota"] == "" {
		return nil
	}
	q := &Quota{Database: from["quota_database"], Name: from["quota"], Unit: from["quota_unit"]}
	q.Limit, _ = strconv.ParseUint(from["quota_limit"], 10, 64)
	q.Value, _ = strconv.ParseUint(from["quota_value"], 10, 64)
	return q
}

// cutDialing removes gRPC's text around the error of a dialer.
func cutDialing(msg string) string {
	const before = "Error while dialing: "
	if i := strings.LastIndex(msg, before); i >= 0 {
		return strings.TrimSuffix(msg[i+len(before):], `"`)
	}
	return msg
}

func (c Code) grpc() codes.Code {
	switch s := c.Status(); {
	case c == Cancelled:
		return codes.Canceled
	case c == DeadlineExceeded || c == QueryTimeout:
		return codes.DeadlineExceeded
	case s == 400:
		return codes.InvalidArgument
	case s == 401:
		return codes.Unauthenticated
	case s == 403:
		return codes.PermissionDenied
	case s == 429:
		return codes.ResourceExhausted
	case s == 503:
		return codes.Unavailable
	default:
		return codes.Internal
	}
}
