package tail

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/query/format"
)

// counted returns the value of a counter.
func counted(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// TestFollowIsCounted checks that tails of other protocols count in the metrics: their rows, and why they ended.
func TestFollowIsCounted(t *testing.T) {
	for reason, cause := range map[string]error{
		"client": context.Canceled, "slow": errs.New(errs.RateLimited, "too slow"), "error": errors.New("broken"),
		"access": errs.New(errs.AccessDenied, "no longer"),
	} {
		r := newRig(t, nil)
		ctx, end := context.WithCancelCause(access.With(t.Context(), &access.Caller{Sender: access.Everybody()}))
		rows := 0
		take := func(_ *schema.Table, list format.Rows) error {
			for list.Next() {
				rows += int(list.RecordBatch().NumRows())
			}
			if rows == 2 { // a row of each shard
				end(cause)
			}
			return list.Err()
		}
		err := r.h.Follow(ctx, Followed{Database: "public", Table: "t"}, func() {}, take)
		if !errors.Is(err, cause) {
			t.Errorf("%s: the tail ended by %v", reason, err)
		}
		if n := counted(t, r.h.metrics.rows); n != 2 {
			t.Errorf("%s: %v rows are counted", reason, n)
		}
		if n := counted(t, r.h.metrics.ended.WithLabelValues(reason)); n != 1 {
			t.Errorf("%s: %v tails are counted as ended for this reason", reason, n)
		}
	}
}
