package errs

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestDialing checks that gRPC's text is removed from the reason why a node cannot be reached.
func TestDialing(t *testing.T) {
	const refused = "node n2 (10.0.0.2:4001): dial tcp 10.0.0.2:4001: connect: connection refused"
	for text, want := range map[string]string{
		`connection error: desc = "transport: Error while dialing: ` + refused + `"`:                        refused,
		`latest balancer error: connection error: desc = "transport: Error while dialing: ` + refused + `"`: refused,
		`no "such" node`: `no "such" node`,
	} {
		e := From(FromGRPC(status.Error(codes.Unavailable, text)))
		if e.Msg != want || e.Code != ShardUnreachable || e.Reason != OutcomeUnknown {
			t.Errorf("%s: %q, code %d, reason %q", text, e.Msg, e.Code, e.Reason)
		}
	}
}

// TestQuotaCrossesNodes checks that an error keeps its quota between nodes and when it is wrapped.
func TestQuotaCrossesNodes(t *testing.T) {
	q := Quota{Database: "app", Name: "quota.tables", Limit: 3, Value: 4, Unit: "tables"}
	e := From(FromGRPC(ToGRPC(Wrap(Internal, OverQuota(q, time.Minute, "full"), "create"))))
	if e.Quota == nil || *e.Quota != q || e.Code != RateLimited || e.RetryAfter != time.Minute || e.Msg != "create: full" {
		t.Errorf("%+v with %+v", e, e.Quota)
	}
}
