package quota

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/proto/shares"
)

// cluster is a fake of the metadata group: its database and the reports of routers.
type cluster struct {
	mu     sync.Mutex // guards the rest
	def    *schemapb.Database
	limits map[shares.Quota]uint64
	stored uint64
	away   bool

	reports shares.Reports
}

func (c *cluster) Database(name string) (*schemapb.Database, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.def, name == "app"
}

func (c *cluster) Databases() []*schemapb.Database {
	d, _ := c.Database("app")
	return []*schemapb.Database{d}
}

func (c *cluster) share(_ context.Context, req *metapb.ShareQuotasRequest) (*metapb.ShareQuotasResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return nil, errors.New("no leader")
	}
	resp := c.reports.Divide(1, time.Now(), req, c.limits)
	resp.Stored = []*metapb.DatabaseBytes{{Database: "app", Bytes: c.stored}}
	return resp, nil
}

// set changes the quotas of the database app.
func (c *cluster) set(rows uint64, others ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	options := map[string]string{"quota.ingest_rows_per_second": fmt.Sprint(rows)}
	for i := 0; i < len(others); i += 2 {
		options[others[i]] = others[i+1]
	}
	c.def = &schemapb.Database{Name: "app", Options: options}
	c.limits = map[shares.Quota]uint64{{Database: "app", Name: "quota.ingest_rows_per_second"}: rows}
}

// routers starts n routers of the cluster, until the context ends.
func (c *cluster) routers(ctx context.Context, t *testing.T, n int) (out []*Keeper) {
	t.Helper()
	for i := range n {
		k, err := New(Config{
			Catalog: c, Share: c.share, Routers: func() int { return n }, NodeID: fmt.Sprint("r", i),
		})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, k)
		go func() { _ = k.Run(ctx) }()
	}
	return out
}

// TestRatesOfSeveralRouters sends 1.2 times and 10 times the quota to one router, to all, and to another one every few
// seconds. In each 30 s, the routers together admit at least 0.9 times the quota, and at most 1.1 times the quota, the
// burst, and one request for each router.
func TestRatesOfSeveralRouters(t *testing.T) {
	const limit, batch, seconds = 10_000, 250, 30
	spread := map[string]func(i, n int, at time.Duration) int{
		"one":    func(int, int, time.Duration) int { return 0 },
		"even":   func(i, n int, _ time.Duration) int { return i % n },
		"moving": func(_, n int, at time.Duration) int { return int(at/(7*time.Second)) % n },
	}
	for _, n := range []int{1, 3, 8} {
		for name, router := range spread {
			for _, times := range []float64{1.2, 10} {
				t.Run(fmt.Sprintf("%s of %d, %g times", name, n, times), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						c := &cluster{}
						c.set(limit)
						routers := c.routers(ctx, t, n)
						time.Sleep(time.Second)
						every := time.Duration(float64(time.Second) * batch / (limit * times))
						for window := range 3 {
							admitted := 0
							for begin, i := time.Now(), 0; time.Since(begin) < seconds*time.Second; i++ {
								at := time.Since(begin) + time.Duration(window)*seconds*time.Second
								if routers[router(i, n, at)].Take("app", batch, 0) == nil {
									admitted += batch
								}
								time.Sleep(every)
							}
							const least, most = 0.9 * limit * seconds, 1.1*limit*seconds + 10*limit
							if admitted < least || admitted > most+n*batch {
								t.Errorf("window %d: %d rows were admitted, want %.0f to %.0f", window, admitted, float64(least),
									float64(most))
							}
						}
					})
				})
			}
		}
	}
}

// TestWithoutLeader: while the metadata group does not answer, the limit is divided equally among the routers.
func TestWithoutLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &cluster{away: true}
		c.set(900, "quota.ingest_burst", "1s")
		routers := c.routers(ctx, t, 3)
		time.Sleep(5 * time.Second)
		admitted := 0
		for range 1000 {
			if routers[0].Take("app", 10, 0) == nil {
				admitted += 10
			}
			time.Sleep(10 * time.Millisecond)
		}
		if admitted < 3000 || admitted > 3400 {
			t.Errorf("one of three routers admitted %d rows in 10 s, with a limit of 900 a second", admitted)
		}
	})
}

// TestLargeRequest: a request that is larger than the burst is admitted, and the next ones wait until the rate has made
// up for it. What is given back counts no longer.
func TestLargeRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &cluster{}
		c.set(100, "quota.ingest_burst", "2s")
		k := c.routers(ctx, t, 1)[0]
		time.Sleep(time.Second)
		if err := k.Take("app", 1200, 0); err != nil {
			t.Fatal(err)
		}
		e := errs.From(k.Ready("app"))
		if e.Quota == nil || e.Status() != 429 || e.Quota.Limit != 100 || e.Quota.Value < 1200 || e.Quota.Unit != "rows/s" ||
			e.RetryAfter != 10*time.Second || !strings.Contains(e.Msg, "quota.ingest_rows_per_second") {
			t.Errorf("%v with %+v, again after %s", e, e.Quota, e.RetryAfter)
		}
		if err := k.Ready("other"); err != nil {
			t.Errorf("another database: %v", err)
		}
		time.Sleep(9 * time.Second)
		if k.Ready("app") == nil {
			t.Error("admitted before the rate has made up for the large request")
		}
		time.Sleep(1100 * time.Millisecond)
		if err := k.Ready("app"); err != nil {
			t.Error(err)
		}
		k.Owe("app", 500, 0)
		k.GiveBack("app", 500, 0)
		if err := k.Ready("app"); err != nil {
			t.Errorf("after rows were given back: %v", err)
		}
	})
}

// TestChangedQuota: a change of a quota counts at once, also if shares of the former one arrive.
func TestChangedQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &cluster{}
		c.set(1_000_000)
		k := c.routers(ctx, t, 1)[0]
		time.Sleep(time.Second)
		c.set(0)
		if k.Ready("app") == nil {
			t.Error("admitted with a quota of 0")
		}
		c.set(5)
		time.Sleep(3 * time.Second)
		if err := k.Take("app", 1, 0); err != nil {
			t.Error(err)
		}
	})
}

// TestStoredBytes: a database that stores as much as its quota takes no rows.
func TestStoredBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &cluster{stored: 3 << 30}
		c.set(1_000_000, "quota.stored_bytes", "3221225472")
		k := c.routers(ctx, t, 1)[0]
		time.Sleep(time.Second)
		e := errs.From(k.Ready("app"))
		if e.Quota == nil || e.Quota.Name != "quota.stored_bytes" || e.Quota.Value != 3<<30 || e.RetryAfter != time.Minute ||
			!strings.Contains(e.Msg, "3 GiB") {
			t.Errorf("%v with %+v", e, e.Quota)
		}
		c.mu.Lock()
		c.stored--
		c.mu.Unlock()
		time.Sleep(time.Second)
		if err := k.Ready("app"); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkTake is the cost for each request, with quotas and without.
func BenchmarkTake(b *testing.B) {
	for _, name := range []string{"app", "other"} {
		b.Run(name, func(b *testing.B) {
			c := &cluster{}
			c.set(1_000_000_000)
			k, err := New(Config{Catalog: c, Share: c.share, Routers: func() int { return 1 }})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := k.Take(name, 1, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
