package leader

import (
	"net/http"
	"testing"

	"cordwood/proto/errs"
)

// TestJudgeReasons checks for each reason how a router continues when a call to a shard fails with it. A new reason
// must be added both here and in Judge.
func TestJudgeReasons(t *testing.T) {
	want := map[errs.Reason]Verdict{
		errs.NotLeader:      {Retry: true},
		errs.Busy:           {Retry: true, Same: true},
		errs.OutcomeUnknown: {Retry: true, Unknown: true},
		errs.WrongEpoch:     {},
		errs.SchemaStale:    {},
		errs.BadBatch:       {},
		errs.TableGone:      {},
		// The reason is only for reads. A write judges the error by its code.
		errs.ShardAway: {Retry: true, Unknown: true},
	}
	for _, reason := range errs.Reasons() {
		w, ok := want[reason]
		if !ok {
			t.Errorf("reason %s: add its verdict", reason)
		}
		if got := Judge(errs.New(errs.ShardUnreachable, "x").WithReason(reason)); got != w {
			t.Errorf("reason %s: %+v, want %+v", reason, got, w)
		}
	}
	if len(want) != len(errs.Reasons()) {
		t.Errorf("%d reasons here, errs has %d", len(want), len(errs.Reasons()))
	}
}

// TestJudgeStatuses checks how a router continues after an answer without a reason, by its status.
// Batches may have been appended unless the shard refused them, or did not exist.
func TestJudgeStatuses(t *testing.T) {
	for status := 400; status < 600; status++ {
		want := Verdict{
			Unknown: status >= 500, Retry: status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout,
		}
		if got := Judge(errs.New(errs.Internal, "x").WithStatus(status)); got != want {
			t.Errorf("status %d: %+v, want %+v", status, got, want)
		}
	}
	for _, code := range []errs.Code{errs.ShardNotFound, errs.ShardNotReady, errs.ShardBusy} {
		if got := Judge(errs.New(code, "x")); got != (Verdict{Retry: true}) {
			t.Errorf("code %d: %+v, want a try elsewhere", code, got)
		}
	}
	for _, code := range []errs.Code{errs.RuntimeResourcesExhausted, errs.RateLimited} {
		if got := Judge(errs.New(code, "x")); got != (Verdict{}) {
			t.Errorf("code %d: %+v, want no other try", code, got)
		}
	}
}
