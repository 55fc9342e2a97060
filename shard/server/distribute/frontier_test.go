package distribute

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/shard/query"
)

// TestPatience checks how long a node may search after a bound for the time is known, before it gets a new request.
func TestPatience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ found, want time.Duration }{
		"a bound found at once":      {found: time.Millisecond, want: leastPatience},
		"a bound found after a time": {found: 3 * leastPatience, want: 3 * leastPatience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFrontier(&query.Split{Newest: &query.Newest{Column: 1, Columns: 1, Limit: 2, Descending: true}})
				time.Sleep(c.found)
				f.add(timesStream(t, []int64{3, 2}))
				known := time.Now()
				if !f.again(t.Context()) || time.Since(known) != c.want {
					t.Errorf("a new request after %s, want %s", time.Since(known), c.want)
				}
				ctx, cancel := context.WithTimeout(t.Context(), c.want/2)
				defer cancel()
				if f.again(ctx) {
					t.Error("a new request although the first one has ended")
				}
			})
		})
	}
}
