package shard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// TestHandOver writes to a table, deletes from it and moves it between shards at random, with
// restarts, flushes and compactions, and compares it with a map. One of its columns is widened,
// mostly while rows are copied.
func TestHandOver(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"last_row", "last_non_null"} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(mode, seed), func(t *testing.T) {
				w := newMergeWorld(t, seed, mode)
				for round := range 8 {
					for range 1 + w.rng.IntN(5) {
						w.write()
						w.disturb(true)
					}
					if round == 5 {
						w.widen()
					}
					w.check("between moves")
					to := w.rng.Perm(4)[:1+w.rng.IntN(4)]
					shards := make([]uint32, len(to))
					for i := range to {
						shards[i] = uint32(to[i] + 1)
					}
					w.move(shards)
					w.check(fmt.Sprint("after a move to ", shards))
				}
				if w.moves < 2 {
					t.Errorf("%d moves were completed", w.moves)
				}
			})
		}
	}
}

// TestHandOverAppend writes and moves a table in append mode that has many equal rows, and compares it with a list:
// the table must have each row exactly once. Half of the tables merged rows before.
func TestHandOverAppend(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"append", "last_row"} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprint(mode, seed), func(t *testing.T) {
				w := newMergeWorld(t, seed, mode)
				shards := func() []uint32 {
					to := w.rng.Perm(4)[:1+w.rng.IntN(4)]
					out := make([]uint32, len(to))
					for i := range to {
						out[i] = uint32(to[i] + 1)
					}
					return out
				}
				if mode != "append" {
					for range 5 {
						w.write()
						w.disturb(true)
					}
					w.move(shards())
					w.write()
					w.keepAll()
					w.check("once it keeps all rows")
				}
				moves := w.moves
				for range 8 {
					for range w.rng.IntN(3) {
						w.place(shards())
					}
					for range 1 + w.rng.IntN(5) {
						w.write()
						w.disturb(true)
					}
					w.check("between moves")
					to := shards()
					if w.move(to) && !slices.Equal(w.table().Shards(), to) {
						t.Fatalf("after a move to %v queries read %v", to, w.table().Shards())
					}
					w.check(fmt.Sprint("after a move to ", to))
				}
				if w.moves < moves+2 {
					t.Errorf("%d moves were completed", w.moves-moves)
				}
			})
		}
	}
}

// TestHandOverTargetKilled crashes the target shard during the copy. Acknowledged rows are in its
// log; the rest is sent again.
func TestHandOverTargetKilled(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"last_row", "append"} {
		t.Run(mode, func(t *testing.T) { handOverTargetKilled(t, mode) })
	}
}

func handOverTargetKilled(t *testing.T, mode string) {
	w := newMergeWorld(t, 7, mode)
	for range 60 {
		w.write()
	}
	w.ids++
	w.change(func(d *schemapb.Table) { d.Handoff = &schemapb.Handoff{TableId: w.ids, ShardIds: []uint32{3}} })
	w.handOver(&shardpb.HandOverRequest{ShardId: 1, Begin: true})
	w.reopen(3)
	w.write()
	for !w.handOver(&shardpb.HandOverRequest{ShardId: 1, WaitMillis: 20}).CaughtUp {
	}
	w.reopen(3)
	w.write()
	w.change(func(d *schemapb.Table) {
		d.Placement = append(d.Placement, &schemapb.Placement{Epoch: 2, ShardId: 1, Closed: true})
	})
	if _, err := w.shard(1).Seal(wait(t), []*schemapb.Table{w.def}); err != nil {
		t.Fatal(err)
	}
	resp := &shardpb.HandOverResponse{}
	for !resp.Complete {
		if resp = w.handOver(&shardpb.HandOverRequest{ShardId: 1, WaitMillis: 1000}); resp.Error != "" {
			t.Fatal(resp.Error)
		}
	}
	w.reopen(3) // no row may exist in memory only
	w.change(func(d *schemapb.Table) {
		d.Id, d.Handoff, d.Placement = d.Handoff.TableId, nil, []*schemapb.Placement{{Epoch: 3, ShardId: 3}}
	})
	w.check("after the move")
}

// TestHandOverEnds checks that handoffs end when they become pointless: the table or the copy is
// dropped, or the merge mode changes.
func TestHandOverEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(w *mergeWorld)
		want string
	}{
		{"dropped", func(w *mergeWorld) {
			if err := w.shard(1).DropTable(wait(w.t), w.def.Id); err != nil {
				w.t.Fatal(err)
			}
		}, "was dropped"},
		{"cancelled", func(w *mergeWorld) {
			d := proto.CloneOf(w.def)
			d.Version, d.Handoff = d.Version+1, nil
			if _, err := w.shard(1).Seal(wait(w.t), []*schemapb.Table{d}); err != nil {
				w.t.Fatal(err)
			}
		}, "cancelled"},
		{"merges the merge mode", func(w *mergeWorld) {
			d := proto.CloneOf(w.def)
			d.Version, d.Options = d.Version+1, map[string]string{"append_mode": "false", "merge_mode": "last_non_null"}
			if _, err := w.shard(1).Seal(wait(w.t), []*schemapb.Table{d}); err != nil {
				w.t.Fatal(err)
			}
		}, "the merge mode"},
		{"the copy is dropped", func(w *mergeWorld) {
			if err := w.shard(3).DropTable(wait(w.t), w.def.Handoff.TableId); err != nil {
				w.t.Fatal(err)
			}
			w.write()
		}, "the shard refuses it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newMergeWorld(t, 3, "last_row")
			w.write()
			w.ids++
			w.change(func(d *schemapb.Table) { d.Handoff = &schemapb.Handoff{TableId: w.ids, ShardIds: []uint32{3}} })
			w.handOver(&shardpb.HandOverRequest{ShardId: 1, Begin: true})
			for !w.handOver(&shardpb.HandOverRequest{ShardId: 1, WaitMillis: 20}).CaughtUp {
			}
			c.do(w)
			resp := &shardpb.HandOverResponse{}
			for resp.Error == "" {
				if resp = w.handOver(&shardpb.HandOverRequest{ShardId: 1, WaitMillis: 1000}); resp.Complete {
					t.Fatal("it is complete")
				}
			}
			if !strings.Contains(resp.Error, c.want) {
				t.Errorf("error %q, want %q", resp.Error, c.want)
			}
		})
	}
}

// TestQueryOfGoneTable checks that a query with an old definition fails instead of returning no
// rows.
func TestQueryOfGoneTable(t *testing.T) {
	t.Parallel()
	w := newMergeWorld(t, 1, "last_row")
	w.write()
	w.check("before")
	if err := w.shard(1).DropTable(wait(t), 1); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.ask(&shardpb.QueryRequest{Sql: "SELECT * FROM m", Database: "public", Tables: []*shardpb.QueryTable{{
		Name: &shardpb.TableName{Database: "public", Name: "m"}, Table: w.def, ShardId: 1,
	}}})
	if errs.ReasonOf(err) != errs.TableGone {
		t.Errorf("got %v, want reason %s", err, errs.TableGone)
	}
}
