package coordinator

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/router/httpapi/clusterapi"
)

// removalWorld is three nodes, each with a shard, and a table on each shard.
func removalWorld(t *testing.T) *world {
	w := newWorld(t).node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").voting("a")
	return w.table(7, nil, 1).table(8, nil, 2).table(9, nil, 3)
}

// TestShardRemoveRefused names each reason for which a shard cannot be taken away. Nothing is begun then.
func TestShardRemoveRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		set     func(w *world)
		request clusterapi.Request
		want    string
	}{
		{"no shard", func(*world) {}, clusterapi.Request{}, "shard-remove needs shard"},
		{"an unknown one", func(*world) {}, clusterapi.Request{Shard: 9}, "there is no shard 9: there are 1, 2, 3"},
		{"an older cluster", func(w *world) { w.version = 8 }, clusterapi.Request{Shard: 2}, "before the cluster uses protocol version 9; it uses 8"},
		{"the last one", func(w *world) {
			w.shards[1].Retiring, w.shards[3].Retiring = true, true
		}, clusterapi.Request{Shard: 2}, "there is no other shard that stays; add one with 'cordwood shard add'"},
		{"a table needs three", func(w *world) {
			w.table(10, map[string]string{"append_mode": "true", "partitions": "3"}, 1, 2, 3)
		}, clusterapi.Request{Shard: 2}, "table public.t10 has the option partitions=3, and 2 other shards would stay"},
		{"it is taken away already", func(w *world) { w.request(removes(2)) }, clusterapi.Request{Shard: 2}, "operation 1 takes shard 2 away already"},
		{"it is being made", func(w *world) {
			w.request(&metapb.Operation{Kind: operation.ShardAdd, Progress: &metapb.Operation_ShardAdd{ShardAdd: &metapb.ShardAddProgress{Count: 2, Begun: true, Base: 1}}})
		}, clusterapi.Request{Shard: 2}, "operation 1 makes shard 2: wait until it has ended"},
		{"a plan of another kind", func(*world) {}, clusterapi.Request{Kind: operation.ShardSplitHot, Shard: 2, Plan: true}, "plan goes with shard-remove"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := removalWorld(t)
				c.set(w)
				before := len(w.ops)
				if c.request.Kind == "" {
					c.request.Kind = operation.ShardRemove
				}
				_, err := NewAdmin(catalog{&process{w: w, leads: true}, false}).Start(t.Context(), &c.request, "ann")
				if err == nil || !strings.Contains(err.Error(), c.want) || len(w.ops) != before {
					t.Errorf("got %v and %d operations, want %q and %d", err, len(w.ops), c.want, before)
				}
			})
		})
	}
}

// fakeStats has two replicas of each shard, one of which lags, of a table with 100 bytes for each of its number.
type fakeStats struct {
	w   *world
	err error
}

func (f fakeStats) Stats(context.Context, *shardpb.StatsRequest) (out []*shardpb.ShardStats, err error) {
	for _, t := range f.w.tables {
		for _, id := range t.Shards() {
			for _, n := range []int64{1, 100} {
				out = append(out, &shardpb.ShardStats{ShardId: id, Tables: []*shardpb.TableStats{{TableId: t.ID, SegmentBytes: n * int64(t.ID), MemtableBytes: 1}}})
			}
		}
	}
	return out, f.err
}

// TestShardRemovePlan shows where tables would go, begins nothing, and is what is then done.
func TestShardRemovePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := removalWorld(t).table(10, nil, 2).table(11, nil, 1, 2).table(12, nil, 2).placed(12, 3)
		w.reads[2], w.keys[2] = 2, time.Now().Add(90*time.Second)
		stats := fakeStats{w, nil}
		admin := NewAdmin(catalog{&process{w: w, leads: true}, false}).WithShards(&stats)
		plan := func() *clusterapi.Removal {
			t.Helper()
			answer, err := admin.Start(t.Context(), &clusterapi.Request{Kind: operation.ShardRemove, Shard: 2, Plan: true}, "ann")
			if err != nil || answer.Removal == nil || answer.Operation != nil || len(w.ops) > 0 {
				t.Fatalf("%+v, %v, %d operations", answer, err, len(w.ops))
			}
			return answer.Removal
		}
		w.settle()
		want := &clusterapi.Removal{
			Shard: 2, Bytes: 801 + 1001 + 2*1101 + 2*1201,
			Tables: []clusterapi.TableMove{
				{Table: "public.t8", Bytes: 801, From: []uint32{2}, To: []uint32{1}},
				{Table: "public.t10", Bytes: 1001, From: []uint32{2}, To: []uint32{3}},
				{Table: "public.t11", Bytes: 2202, From: []uint32{1, 2}, To: []uint32{1, 3}},
				{Table: "public.t12", Bytes: 2402, From: []uint32{3, 2}, To: []uint32{3}},
			},
			Waits: []string{"2 queries or backups read the replica of shard 2 on node node-b"},
		}
		got := plan()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("plan (-want +got):\n%s", diff)
		}
		stats.err = errors.New("node b does not answer")
		w.reads[2] = 0
		want.Waits = []string{
			"the sizes of tables are not complete: node b does not answer",
			"shard 2 remembers the Idempotency-Keys of requests for 2 minutes more, so that they are not stored twice if they are repeated",
		}
		if diff := cmp.Diff(want.Waits, plan().Waits); diff != "" {
			t.Errorf("waits (-want +got):\n%s", diff)
		}
		if answer, err := admin.Start(t.Context(), &clusterapi.Request{Kind: operation.ShardRemove, Shard: 2}, "ann"); err != nil || answer.Operation.Subject != "shard 2" {
			t.Fatalf("%+v, %v", answer, err)
		}
		run(t, w, 10*time.Minute, w.idle)
		for _, m := range want.Tables {
			if to := w.copyOf(strings.TrimPrefix(m.Table, "public.")).Shards(); !slices.Equal(to, m.To) {
				t.Errorf("table %s went to shards %v, planned were %v", m.Table, to, m.To)
			}
		}
		w.settledCheck()
	})
}
