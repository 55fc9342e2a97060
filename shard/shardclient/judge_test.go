package shardclient

import (
	"net/http"
	"testing"

	"cordwood/proto/errs"
)

// TestJudgeReasons says of each reason what a router does about a call to a shard that
// failed with it. A new reason must be entered here, and in judge.
func TestJudgeReasons(t *testing.T) {
	want := map[errs.Reason]verdict{
		errs.NotLeader:      {retry: true},
		errs.Busy:           {retry: true, same: true},
		errs.OutcomeUnknown: {retry: true, unknown: true},
		errs.WrongEpoch:     {},
		errs.SchemaStale:    {},
		errs.BadBatch:       {},
		errs.TableGone:      {},
		// Of reads only: a write judges it by its code.
		errs.ShardAway: {retry: true, unknown: true},
	}
	for _, reason := range errs.Reasons() {
		w, ok := want[reason]
		if !ok {
			t.Errorf("reason %s: say what is done about it", reason)
		}
		if got := judge(errs.New(errs.ShardUnreachable, "x").WithReason(reason)); got != w {
			t.Errorf("reason %s: %+v, want %+v", reason, got, w)
		}
	}
	if len(want) != len(errs.Reasons()) {
		t.Errorf("%d reasons here, errs has %d", len(want), len(errs.Reasons()))
	}
}

// TestJudgeStatuses says what a router does about an answer without a reason, by its
// status. Batches may have been appended unless the shard refused them, or had no shard.
func TestJudgeStatuses(t *testing.T) {
	for status := 400; status < 600; status++ {
		want := verdict{unknown: status >= 500, retry: status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout}
		if got := judge(errs.New(errs.Internal, "x").WithStatus(status)); got != want {
			t.Errorf("status %d: %+v, want %+v", status, got, want)
		}
	}
	for _, code := range []errs.Code{errs.ShardNotFound, errs.ShardNotReady, errs.ShardBusy} {
		if got := judge(errs.New(code, "x")); got != (verdict{retry: true}) {
			t.Errorf("code %d: %+v, want a try elsewhere", code, got)
		}
	}
	for _, code := range []errs.Code{errs.RuntimeResourcesExhausted, errs.RateLimited} {
		if got := judge(errs.New(code, "x")); got != (verdict{}) {
			t.Errorf("code %d: %+v, want no other try", code, got)
		}
	}
}
