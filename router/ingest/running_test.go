package ingest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"cordwood/proto/errs"
)

func TestRunningIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunning()
		var leaves []func()
		for range cap(r) {
			leave, err := r.enter(t.Context(), runningWait)
			if err != nil {
				t.Fatal(err)
			}
			leaves = append(leaves, leave)
		}
		if _, err := r.enter(t.Context(), runningWait); errs.CodeOf(err) != errs.ShardBusy ||
			errs.From(err).Status() != 503 || errs.From(err).RetryAfter == 0 {
			t.Errorf("one too many: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.enter(ctx, runningWait); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		leaves[0]()
		if _, err := r.enter(t.Context(), runningWait); err != nil {
			t.Error(err)
		}
	})
}
