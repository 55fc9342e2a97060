package quota

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// catalog has the options of databases.
type catalog map[string]map[string]string

func (c catalog) Database(name string) (*schemapb.Database, bool) {
	options, ok := c[name]
	return &schemapb.Database{Name: name, Options: options}, ok
}

func (c catalog) Databases() (list []*schemapb.Database) {
	for name := range c {
		d, _ := c.Database(name)
		list = append(list, d)
	}
	return list
}

// TestQueryCPU: queries are refused from the time when the last report says that their database used its CPU time, with
// the figures, until a report says that it no longer does.
func TestQueryCPU(t *testing.T) {
	used := map[string]time.Duration{}
	k, err := New(Config{
		Catalog: catalog{
			"app":  {schema.QuotaCPU: "10"},
			"none": {schema.QuotaCPU: "0"},
			"free": {},
		},
		Share: func(context.Context, *metapb.ShareQuotasRequest) (*metapb.ShareQuotasResponse, error) {
			resp := &metapb.ShareQuotasResponse{ValidNanos: int64(time.Second)}
			for database, d := range used {
				resp.QueryCpu = append(resp.QueryCpu, &metapb.DatabaseCPU{Database: database, Nanos: int64(d)})
			}
			return resp, nil
		},
		Routers: func() int { return 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		used    time.Duration
		refused bool
		wait    time.Duration
	}{
		{0, false, 0},
		{9990 * time.Millisecond, false, 0},
		{12 * time.Second, true, 10 * time.Second},
		{600 * time.Second, true, maxWait},
		{5 * time.Second, false, 0},
	} {
		used["app"], used["free"] = step.used, time.Hour
		k.exchange(t.Context())
		err := k.QueryReady("app")
		if (err != nil) != step.refused {
			t.Errorf("%s of 10 s: %v", step.used, err)
		}
		if err != nil {
			e := errs.From(err)
			if q := e.Quota; e.Status() != 429 || q.Limit != 10 || q.Value != uint64(step.used.Seconds()) ||
				q.Name != schema.QuotaCPU || e.RetryAfter != step.wait {
				t.Errorf("%s: %v, %+v, retry after %s", step.used, err, q, e.RetryAfter)
			}
		}
		if v, ok := k.Value("app", schema.QuotaCPU); !ok || v != uint64(step.used.Round(time.Second).Seconds()) {
			t.Errorf("%s is shown as %d", step.used, v)
		}
		if k.QueryReady("free") != nil || k.QueryReady("unknown") != nil || k.QueryReady("none") == nil {
			t.Error("databases without a quota, or with a quota of 0")
		}
	}
}

// TestOldCPU: without answers for a minute, a database that had used its CPU time is no longer refused, because what it
// used then is over.
func TestOldCPU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down error
		k, err := New(Config{
			Catalog: catalog{"app": {schema.QuotaCPU: "10"}},
			Share: func(context.Context, *metapb.ShareQuotasRequest) (*metapb.ShareQuotasResponse, error) {
				return &metapb.ShareQuotasResponse{
					QueryCpu: []*metapb.DatabaseCPU{{Database: "app", Nanos: int64(time.Minute)}},
				}, down
			},
			Routers: func() int { return 1 },
		})
		if err != nil {
			t.Fatal(err)
		}
		k.exchange(t.Context())
		down = errs.New(errs.ShardUnreachable, "no leader")
		time.Sleep(59 * time.Second)
		k.exchange(t.Context())
		if k.QueryReady("app") == nil {
			t.Error("admitted after 59 s")
		}
		time.Sleep(time.Second)
		if err := k.QueryReady("app"); err != nil {
			t.Errorf("after a minute: %v", err)
		}
	})
}
