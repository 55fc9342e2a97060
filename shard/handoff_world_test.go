package shard

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/compaction"
)

// mergeWorld is a table on shards of two nodes, and a map of its expected rows. The table merges
// rows or keeps them all. mergeWorld also plays the metadata: it decides where the table is.
type mergeWorld struct {
	*testNodes
	t       *testing.T
	rng     *rand.Rand
	def     *schemapb.Table
	ids     uint64
	seq     uint64
	nonNull bool
	narrow  uint32               // the last version in which b held integers, if b was widened
	want    map[string][2]string // columns a and b by host and ts, or by a number if all rows are kept
	moves   int
	// send writes a batch to a shard. def is what the router knows of the table.
	send func(shard uint32, batch []byte, def *schemapb.Table)
}

func newMergeWorld(t *testing.T, seed uint64, mode string) *mergeWorld {
	return newTieredWorld(t, seed, mode, nil)
}

// newTieredWorld is like newMergeWorld. With a bucket, disturb moves rows to it too.
func newTieredWorld(t *testing.T, seed uint64, mode string, b bucket.Bucket) *mergeWorld {
	w := &mergeWorld{
		//nolint:gosec // not for secrets
		t: t, testNodes: newTieredNodes(t, map[string][]uint32{"a": {1, 2}, "b": {3, 4}}, b),
		rng: rand.New(rand.NewPCG(seed, 1)), ids: 1,
		nonNull: mode == "last_non_null", want: map[string][2]string{},
	}
	for _, n := range w.nodes {
		for _, s := range n.shards {
			s.Shard.cfg.Compaction, s.cfg.Compaction = compaction.NewLimiter(1, 0), compaction.NewLimiter(1, 0)
		}
	}
	options := map[string]string{"append_mode": "false", "merge_mode": mode, "skip_wal": "true"}
	if mode == "append" {
		options = map[string]string{"append_mode": "true", "skip_wal": fmt.Sprint(seed%2 == 0)}
	}
	w.def = mergeTable(options)
	w.send = func(shard uint32, batch []byte, def *schemapb.Table) {
		w.t.Helper()
		if _, err := w.client.Write(wait(w.t), shard, [][]byte{batch}, func([]uint64) []*schemapb.Table {
			return []*schemapb.Table{def}
		}); err != nil {
			w.t.Fatal(err)
		}
	}
	return w
}

// mergeTable is the table of a mergeWorld, on shard 1.
func mergeTable(options map[string]string) *schemapb.Table {
	return &schemapb.Table{
		Id: 1, Database: "public", Name: "m", Version: 1, MinWriterVersion: 1, NextColumnId: 5,
		Options:   options,
		Placement: []*schemapb.Placement{{Epoch: 1, ShardId: 1}},
		Columns: []*schemapb.Column{
			{
				Id: 1, Name: "ts", Type: schemapb.Type_TYPE_TIMESTAMP_MILLISECOND,
				Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP, NotNull: true,
			},
			{Id: 2, Name: "host", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_TAG},
			{Id: 3, Name: "a", Type: schemapb.Type_TYPE_STRING, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
			{Id: 4, Name: "b", Type: schemapb.Type_TYPE_INT64, Semantic: schemapb.Semantic_SEMANTIC_FIELD},
		},
	}
}

func (w *mergeWorld) table() *schema.Table { return schema.FromProto(w.def) }

// widen changes column b to floating-point numbers. Some writers continue with the earlier
// definition.
func (w *mergeWorld) widen() {
	if w.narrow == 0 {
		w.narrow = w.def.Version
		w.change(func(d *schemapb.Table) { d.Columns[3].Type = schemapb.Type_TYPE_FLOAT64 })
	}
}

// write writes some rows, or deletes some.
func (w *mergeWorld) write() {
	w.t.Helper()
	w.writeAs(w.def)
}

// writeAs writes as a router that has the given definition, which may be outdated.
func (w *mergeWorld) writeAs(def *schemapb.Table) {
	w.t.Helper()
	t := schema.FromProto(def)
	if w.narrow > 0 && w.rng.IntN(2) == 0 {
		t.Version, t.Columns[3].Type = min(t.Version, w.narrow), schema.Int64
	}
	place := t.Writable()
	shards := place.Shards()
	part := column.NewPartitioner(t, len(shards))
	deletes := !t.AppendMode() && w.rng.IntN(4) == 0
	chosen := w.rng.IntN(len(shards)) // for a table that keeps all rows
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
					switch c.Type {
					case schema.String:
						row[i] = fmt.Sprint("v", w.seq)
						c.SetString(0, row[i])
					case schema.Int64:
						row[i] = fmt.Sprint(w.seq)
						c.SetInt(0, int64(w.seq))
					default:
						row[i] = fmt.Sprint(float64(w.seq) + 0.5)
						c.SetFloat(0, float64(w.seq)+0.5)
					}
				}
			}
			if t.AppendMode() {
				w.seq++
				key += fmt.Sprint("#", w.seq)
			} else if old, ok := w.want[key]; ok && w.nonNull {
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
		if t.AppendMode() {
			at = chosen
		}
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
		data := b.Encode(nil, column.Header{
			TableID: t.ID, Epoch: place.Epoch, SchemaVersion: t.Version, Session: 9, Seq: w.seq,
		})
		w.send(shards[i], data, def)
	}
}

// check compares the answer of a query with the map.
func (w *mergeWorld) check(what string) {
	w.t.Helper()
	got := w.rows(what)
	want := []string{}
	for key, row := range w.want {
		key, _, _ = strings.Cut(key, "#")
		want = append(want, key+"|"+row[0]+"|"+row[1])
	}
	sort.Strings(want)
	if !slices.Equal(got, want) {
		w.t.Fatalf("%s, table %v: got\n%s\nwant\n%s", what, w.def.Placement, strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}

// rows returns the answer of a query, in the order of its text.
func (w *mergeWorld) rows(what string) []string {
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
	req.Tables = []*shardpb.QueryTable{
		{Name: &shardpb.TableName{Database: "public", Name: "m"}, Table: w.def, ShardId: shards[0], MoreShards: shards[1:]},
	}
	got, _, err := w.ask(req)
	if err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
	return got
}

// beside writes a row of another table, of which there is one in each shard.
func (w *mergeWorld) beside(shard uint32) {
	w.t.Helper()
	def := proto.CloneOf(w.def)
	def.Id, def.Name, def.Version, def.Handoff = 900+uint64(shard), fmt.Sprint("beside", shard), 1, nil
	def.Options = map[string]string{"append_mode": "true"}
	def.Placement = []*schemapb.Placement{{Epoch: 1, ShardId: shard}}
	var b column.Builder
	b.Add(schema.FromProto(def).Columns[0]).SetInt(0, 40_000_000)
	b.EndRow()
	b.Finish()
	w.seq++
	data := b.Encode(nil, column.Header{TableID: def.Id, Epoch: 1, SchemaVersion: 1, Session: 9, Seq: w.seq})
	w.send(shard, data, def)
}

// disturb flushes, compacts or restarts a shard. Before a restart it flushes rows that are not in
// the log.
func (w *mergeWorld) disturb(restarts bool) {
	s := w.shard(uint32(1 + w.rng.IntN(4)))
	if s.mover != nil && w.rng.IntN(2) == 0 { // another table shares its segments
		w.beside(s.ID())
	}
	if s.mover != nil && w.rng.IntN(2) == 0 {
		s.move()
		s.flush()
		s.move() // it drops the segments whose rows were moved
		return
	}
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

// change changes the definition of the table, as a command of the metadata does.
func (w *mergeWorld) change(set func(d *schemapb.Table)) {
	w.def = proto.CloneOf(w.def)
	w.def.Version++
	set(w.def)
}

// place moves the writes of a table that keeps all rows to other shards, but not its rows. The
// former shards may not learn of it. Then they still take rows from routers that have not learned
// of it either.
func (w *mergeWorld) place(to []uint32) {
	w.t.Helper()
	before := w.def
	w.change(func(d *schemapb.Table) {
		last := d.Placement[len(d.Placement)-1]
		d.Placement = append(d.Placement, &schemapb.Placement{Epoch: last.Epoch + 1, ShardId: to[0], MoreShards: to[1:]})
	})
	same := func(id uint32) bool { return slices.Contains(schema.FromProto(before).Writable().Shards(), id) }
	if !slices.ContainsFunc(to, same) {
		w.writeAs(before)
	}
	if w.rng.IntN(2) == 0 {
		for _, id := range w.table().Shards() {
			if _, err := w.shard(id).Seal(wait(w.t), []*schemapb.Table{w.def}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.write()
}

// keepAll changes the table so that it keeps all rows from now on.
func (w *mergeWorld) keepAll() {
	w.t.Helper()
	w.change(func(d *schemapb.Table) { d.Options = map[string]string{"append_mode": "true"} })
	for id := range uint32(4) {
		if _, err := w.shard(id+1).Seal(wait(w.t), []*schemapb.Table{w.def}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// remode changes how later rows merge.
func (w *mergeWorld) remode() {
	w.t.Helper()
	w.nonNull = !w.nonNull
	mode := "last_row"
	if w.nonNull {
		mode = "last_non_null"
	}
	w.change(func(d *schemapb.Table) {
		d.Options = map[string]string{"append_mode": "false", "merge_mode": mode, "skip_wal": "true"}
	})
	for id := range uint32(4) {
		if _, err := w.shard(id+1).Seal(wait(w.t), []*schemapb.Table{w.def}); err != nil {
			w.t.Fatal(err)
		}
	}
}

// move moves the table to other shards, with writes between all steps. ok is false if the move was
// cancelled.
func (w *mergeWorld) move(to []uint32) (ok bool) {
	w.t.Helper()
	from := w.table().Shards()
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
	if w.rng.IntN(4) == 0 { // the progress of the move is forgotten
		w.write()
		s := w.shard(from[0])
		s.flush()
		w.reopen(s.ID())
		if resp := w.handOver(&shardpb.HandOverRequest{ShardId: from[0]}); !resp.Unknown {
			w.t.Fatalf("a shard that was restarted knows of its handoff: %v", resp)
		}
		return giveUp()
	}
	for i := range w.rng.IntN(6) {
		w.write()
		w.disturb(false)
		if i == 1 && w.moves > 0 {
			w.widen()
		}
	}
	w.check("while it is copied")
	for _, id := range from {
		for {
			resp := w.handOver(&shardpb.HandOverRequest{ShardId: id, WaitMillis: 20})
			if resp.Error != "" || resp.Unknown {
				w.t.Fatalf("shard %d: %v", id, resp)
			}
			if resp.CaughtUp {
				break
			}
		}
		w.write()
	}
	w.change(func(d *schemapb.Table) {
		last := d.Placement[len(d.Placement)-1]
		d.Placement = append(d.Placement, &schemapb.Placement{
			Epoch: last.Epoch + 1, ShardId: last.ShardId, MoreShards: last.MoreShards, Closed: true,
		})
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
