package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/compaction"
)

// mergeWorld is a table that merges rows, on shards of two nodes, beside a plain map of
// what it should hold. The world is the metadata: it says where the table is.
type mergeWorld struct {
	*testNodes
	t       *testing.T
	rng     *rand.Rand
	def     *schemapb.Table
	ids     uint64
	seq     uint64
	nonNull bool
	want    map[string][2]string // by host and ts: a, b
	moves   int
}

func newMergeWorld(t *testing.T, seed uint64, mode string) *mergeWorld {
	w := &mergeWorld{
		t: t, testNodes: newTestNodes(t, map[string][]uint32{"a": {1, 2}, "b": {3, 4}}), rng: rand.New(rand.NewPCG(seed, 1)), ids: 1, //nolint:gosec // not for secrets
		nonNull: mode == "last_non_null", want: map[string][2]string{},
	}
	for _, n := range w.nodes {
		for _, s := range n.shards {
			s.Shard.cfg.Peers = func(id string) (grpc.ClientConnInterface, error) { return w.conns[id], nil }
			s.cfg.Peers = s.Shard.cfg.Peers
			s.Shard.cfg.Compaction, s.cfg.Compaction = compaction.NewLimiter(1, 0), compaction.NewLimiter(1, 0)
		}
	}
	w.def = &schemapb.Table{
		Id: 1, Database: "public", Name: "m", Version: 1, MinWriterVersion: 1, NextColumnId: 5,
		Options:   map[string]string{"append_mode": "false", "merge_mode": mode, "skip_wal": "true"},
		Placement: []*schemapb.Placement{{Epoch: 1, ShardId: 1}},
		Columns: []*schemapb.Column{
			{Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_MILLISECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP, NotNull: true},
			{Id: 2, Name: "host", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_TAG},
			{Id: 3, Name: "a", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
			{Id: 4, Name: "b", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
		},
	}
	return w
}

func (w *mergeWorld) table() *schema.Table { return schema.FromProto(w.def) }

// write writes some rows, or deletes some.
func (w *mergeWorld) write() {
	w.t.Helper()
	t := w.table()
	place := t.Writable()
	shards := place.Shards()
	part := column.NewPartitioner(t, len(shards))
	deletes := w.rng.IntN(4) == 0
	parts := make([]*column.Builder, len(shards))
	for range 1 + w.rng.IntN(20) {
		host, ts := fmt.Sprint("h", w.rng.IntN(12)), int64(w.rng.IntN(6))*40_000_000 // over three days
		key := fmt.Sprintf("%s|%d", host, ts)
		one := &column.Builder{}
		tsCol, hostCol := one.Add(t.Columns[0]), one.Add(t.Columns[1])
		tsCol.SetInt(0, ts)
		if host == "h0" {
			hostCol.SetNull(0)
			key = fmt.Sprintf("NULL|%d", ts)
		} else {
			hostCol.SetString(0, host)
		}
		row := [2]string{"NULL", "NULL"}
		if deletes {
			one.Add(schema.DeletedColumn()).SetInt(0, 1)
			delete(w.want, key)
		} else {
			for i := range row {
				if c := one.Add(t.Columns[2+i]); w.rng.IntN(3) > 0 {
					w.seq++
					row[i] = fmt.Sprint("v", w.seq)
					c.SetString(0, row[i])
				}
			}
			if old, ok := w.want[key]; ok && w.nonNull {
				for i := range row {
					if row[i] == "NULL" {
						row[i] = old[i]
					}
				}
			}
			w.want[key] = row
		}
		one.EndRow()
		one.Finish()
		byID := map[uint32]*column.Col{}
		for _, c := range one.Cols() {
			byID[c.ID] = c
		}
		part.Use(func(id uint32) column.Values {
			if c := byID[id]; c != nil {
				return c
			}
			return nil
		})
		at := part.Of(0)
		if parts[at] == nil {
			parts[at] = &column.Builder{}
		}
		parts[at].AppendRows(one)
	}
	for i, b := range parts {
		if b == nil {
			continue
		}
		b.Finish()
		w.seq++
		data := b.Encode(nil, column.Header{TableID: t.ID, Epoch: place.Epoch, SchemaVersion: t.Version, Session: 9, Seq: w.seq})
		if _, err := w.client.Write(wait(w.t), shards[i], [][]byte{data}, func([]uint64) []*schemapb.Table { return []*schemapb.Table{w.def} }); err != nil {
			w.t.Fatal(err)
		}
	}
}

// check compares what a query sees with the map.
func (w *mergeWorld) check(what string) {
	w.t.Helper()
	shards := w.table().Shards()
	req := &shardpb.QueryRequest{Sql: "SELECT coalesce(host, 'NULL'), epoch_ms(ts), a, b FROM m", Database: "public"}
	for _, id := range shards {
		for node, n := range w.nodes {
			if slices.ContainsFunc(n.shards, func(s *opened) bool { return s.ID() == id }) {
				req.Nodes = append(req.Nodes, &shardpb.ShardNodes{ShardId: id, NodeIds: []string{node}})
			}
		}
	}
	req.Tables = []*shardpb.QueryTable{{Name: &shardpb.TableName{Database: "public", Name: "m"}, Table: w.def, ShardId: shards[0], MoreShards: shards[1:]}}
	got, _, err := w.ask(req)
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	want := []string{}
	for key, row := range w.want {
		want = append(want, key+"|"+row[0]+"|"+row[1])
	}
	sort.Strings(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("%s, table %v: got\n%s\nwant\n%s", what, w.def.Placement, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// disturb flushes, compacts or restarts a shard; a restarted one has flushed what is not
// in its log.
func (w *mergeWorld) disturb(restarts bool) {
	s := w.shard(uint32(1 + w.rng.IntN(4)))
	switch w.rng.IntN(3) {
	case 0:
		s.flush()
	case 1:
		if err := s.Compact(wait(w.t)); err != nil {
			w.t.Fatal(err)
		}
	case 2:
		if restarts {
			s.flush()
			w.reopen(s.ID())
		}
	}
}

func (w *mergeWorld) handOver(req *shardpb.HandOverRequest) *shardpb.HandOverResponse {
	w.t.Helper()
	req.Table = w.def
	for node, n := range w.nodes {
		for _, s := range n.shards {
			req.Nodes = append(req.Nodes, &shardpb.ShardNodes{ShardId: s.ID(), NodeIds: []string{node}})
		}
	}
	for node, n := range w.nodes {
		if slices.ContainsFunc(n.shards, func(s *opened) bool { return s.ID() == req.ShardId }) {
			resp, err := shardpb.NewShardServiceClient(w.conns[node]).HandOver(wait(w.t), req)
			if err != nil {
				w.t.Fatal(err)
			}
			return resp
		}
	}
	w.t.Fatalf("no shard %d", req.ShardId)
	return nil
}

// change makes the table another one, as a command of the metadata does.
func (w *mergeWorld) change(set func(d *schemapb.Table)) {
	w.def = proto.CloneOf(w.def)
	w.def.Version++
	set(w.def)
}

// move hands the table over to other shards, with writes between all steps; ok is false
// if it was given up.
func (w *mergeWorld) move(to []uint32) (ok bool) {
	w.t.Helper()
	from := w.table().Writable().Shards()
	w.ids++
	w.change(func(d *schemapb.Table) { d.Handoff = &schemapb.Handoff{TableId: w.ids, ShardIds: to} })
	giveUp := func() bool {
		dead := w.def.Handoff.TableId
		w.change(func(d *schemapb.Table) {
			d.Handoff = nil
			if last := d.Placement[len(d.Placement)-1]; last.Closed {
				d.Placement = d.Placement[:len(d.Placement)-1]
				d.Placement[len(d.Placement)-1].Epoch = last.Epoch + 1
			}
		})
		for _, n := range w.nodes {
			for _, s := range n.shards {
				if err := s.DropTable(wait(w.t), dead); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		return false
	}
	for _, id := range from {
		w.handOver(&shardpb.HandOverRequest{ShardId: id, Begin: true})
	}
	if w.rng.IntN(4) == 0 { // what it has done is not known any more
		w.write()
		s := w.shard(from[0])
		s.flush()
		w.reopen(s.ID())
		if resp := w.handOver(&shardpb.HandOverRequest{ShardId: from[0]}); !resp.Unknown {
			w.t.Fatalf("a shard that was restarted knows of its handoff: %v", resp)
		}
		return giveUp()
	}
	for range w.rng.IntN(6) {
		w.write()
		w.disturb(false)
	}
	w.check("while it is copied")
	for _, id := range from {
		for !w.handOver(&shardpb.HandOverRequest{ShardId: id, WaitMillis: 20}).CaughtUp {
		}
		w.write()
	}
	w.change(func(d *schemapb.Table) {
		last := d.Placement[len(d.Placement)-1]
		d.Placement = append(d.Placement, &schemapb.Placement{Epoch: last.Epoch + 1, ShardId: last.ShardId, MoreShards: last.MoreShards, Closed: true})
	})
	for _, id := range from {
		if _, err := w.shard(id).Seal(wait(w.t), []*schemapb.Table{w.def}); err != nil {
			w.t.Fatal(err)
		}
	}
	if w.rng.IntN(5) == 0 {
		return giveUp()
	}
	w.check("while it is closed")
	for _, id := range from {
		for {
			resp := w.handOver(&shardpb.HandOverRequest{ShardId: id, WaitMillis: 1000})
			if resp.Error != "" || resp.Unknown {
				w.t.Fatalf("shard %d: %v", id, resp)
			}
			if resp.Complete {
				break
			}
		}
	}
	old := w.def
	w.change(func(d *schemapb.Table) {
		closed := d.Placement[len(d.Placement)-1]
		d.Id, d.Handoff = d.Handoff.TableId, nil
		d.Placement = []*schemapb.Placement{{Epoch: closed.Epoch + 1, ShardId: to[0], MoreShards: to[1:]}}
	})
	if w.rng.IntN(2) == 0 {
		w.check("before the former rows go")
	}
	for _, id := range from {
		if err := w.shard(id).DropTable(wait(w.t), old.Id); err != nil {
			w.t.Fatal(err)
		}
	}
	w.moves++
	return true
}

// TestHandOver writes, deletes and moves a table at random, from one shard to several and
// back, with restarts, flushes and compactions between, and compares it with a map.
func TestHandOver(t *testing.T) {
	for _, mode := range []string{"last_row", "last_non_null"} {
		for seed := range uint64(2) {
			t.Run(fmt.Sprint(mode, seed), func(t *testing.T) {
				w := newMergeWorld(t, seed, mode)
				for range 8 {
					for range 1 + w.rng.IntN(5) {
						w.write()
						w.disturb(true)
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
					t.Errorf("%d moves came to their end", w.moves)
				}
			})
		}
	}
}

// TestHandOverTargetKilled has the shard that takes the rows crash during the copy: what
// was acknowledged is in its log, and the rest is sent again.
func TestHandOverTargetKilled(t *testing.T) {
	w := newMergeWorld(t, 7, "last_row")
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
	w.reopen(3) // nothing of it may be in memory alone
	w.change(func(d *schemapb.Table) {
		d.Id, d.Handoff, d.Placement = d.Handoff.TableId, nil, []*schemapb.Placement{{Epoch: 3, ShardId: 3}}
	})
	w.check("after the move")
}

// TestHandOverEnds has handoffs end that are of no use: the table is dropped, the copy is,
// or rows come to merge in another way.
func TestHandOverEnds(t *testing.T) {
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
		{"given up", func(w *mergeWorld) {
			d := proto.CloneOf(w.def)
			d.Version, d.Handoff = d.Version+1, nil
			if _, err := w.shard(1).Seal(wait(w.t), []*schemapb.Table{d}); err != nil {
				w.t.Fatal(err)
			}
		}, "given up"},
		{"merges in another way", func(w *mergeWorld) {
			d := proto.CloneOf(w.def)
			d.Version, d.Options = d.Version+1, map[string]string{"append_mode": "false", "merge_mode": "last_non_null"}
			if _, err := w.shard(1).Seal(wait(w.t), []*schemapb.Table{d}); err != nil {
				w.t.Fatal(err)
			}
		}, "in another way"},
		{"the copy is dropped", func(w *mergeWorld) {
			if err := w.shard(3).DropTable(wait(w.t), w.def.Handoff.TableId); err != nil {
				w.t.Fatal(err)
			}
			w.write()
		}, "does not take rows of the copy"},
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

// TestQueryOfGoneTable has a query by an old definition fail, rather than see nothing.
func TestQueryOfGoneTable(t *testing.T) {
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
