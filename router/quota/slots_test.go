package quota

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shares"
)

// tails are the open and the waiting tails of the database app on a router.
type tails struct{ open, waiting int }

func (n *tails) Running(each func(database string, running, waiting int)) {
	each("app", n.open, n.waiting)
}

// TestTailsOfSeveralRouters: the routers share the quota of tails by the tails that wait at each, and their parts never
// add up to more than the quota.
func TestTailsOfSeveralRouters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 5
		var reports shares.Reports
		key := shares.Quota{Database: "app", Name: schema.QuotaTails}
		away := false
		open := []*tails{{}, {}, {}}
		var routers []*Keeper
		for i, n := range open {
			k, err := New(Config{
				Catalog: catalog{"app": {schema.QuotaTails: "5"}, "free": {}},
				Share: func(_ context.Context, req *metapb.ShareQuotasRequest) (*metapb.ShareQuotasResponse, error) {
					if away {
						return nil, errors.New("no leader")
					}
					return reports.Divide(1, time.Now(), req, map[shares.Quota]uint64{key: limit}), nil
				},
				Routers: func() int { return len(open) }, NodeID: string(rune('a' + i)),
			})
			if err != nil {
				t.Fatal(err)
			}
			k.CountTails(n)
			routers = append(routers, k)
		}
		report := func() {
			for range 3 {
				for _, k := range routers {
					k.exchange(t.Context())
				}
			}
		}
		// admit opens the waiting tails that the routers admit.
		admit := func() (all int) {
			report()
			sum := 0
			for i, n := range open {
				most, ok := routers[i].TailLimit("app")
				if !ok {
					t.Fatal("there is no limit")
				}
				sum += most
				for n.waiting > 0 && n.open < most {
					n.open, n.waiting = n.open+1, n.waiting-1
				}
				all += n.open
			}
			if sum > limit {
				t.Errorf("the parts of the routers are %d together", sum)
			}
			return all
		}
		report()
		time.Sleep(shares.Valid) // until then, a new quota is not divided by demand
		open[1].waiting = 3
		if n := admit(); n != 3 {
			t.Errorf("%d tails of one router were admitted", n)
		}
		open[0].waiting = 4
		if n := admit(); n != limit || open[0].open != 2 {
			t.Errorf("%d tails are open, %d of them at the first router", n, open[0].open)
		}
		report()
		e := errs.From(routers[2].OverTails("app"))
		if e.Status() != 429 || e.Quota.Name != schema.QuotaTails || e.Quota.Limit != limit || e.Quota.Value != limit ||
			e.Quota.Unit != "tails" {
			t.Errorf("%v, %+v", e, e.Quota)
		}
		open[0].waiting, open[1].open, open[2].waiting = 0, 0, 3
		if n := admit(); n != limit {
			t.Errorf("%d tails are open after another router closed its own", n)
		}
		if _, limited := routers[0].TailLimit("free"); limited {
			t.Error("a database without a quota is limited")
		}
		away = true
		time.Sleep(time.Minute)
		if n, _ := routers[0].TailLimit("app"); n != 1 {
			t.Errorf("without answers, a router admits %d of 5", n)
		}
	})
}
