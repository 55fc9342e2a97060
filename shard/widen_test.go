package shard

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold/object"
	"cordwood/shard/query/engine"
	"cordwood/shard/segment"
	"cordwood/shard/server"
)

// widening returns the definition of a table whose column n becomes wider with a newer version.
func widening(id uint64, version uint32, n schemapb.Type) *schemapb.Table {
	d := def(id)
	d.Version = version
	d.Columns = append(d.Columns, &schemapb.Column{Id: 4, Name: "n", Type: n, Semantic: schemapb.Semantic_SEMANTIC_FIELD})
	d.NextColumnId = 5
	return d
}

// numbersOf encodes a row for each number. d defines the type of column n. A nil number is null.
func numbersOf(d *schemapb.Table, session, seq uint64, at int64, numbers ...any) []byte {
	var b column.Builder
	t := schema.FromProto(d)
	ts, host, m, n := b.Add(t.Columns[0]), b.Add(t.Columns[1]), b.Add(t.Columns[2]), b.Add(t.Columns[3])
	for i, v := range numbers {
		ts.SetInt(i, at+int64(i))
		host.SetString(i, fmt.Sprint("h", i%3))
		m.SetString(i, fmt.Sprint("m", v))
		switch v := v.(type) {
		case nil:
			n.SetNull(i)
		case int:
			if t.Columns[3].Type.IsFloat() {
				n.SetFloat(i, float64(v))
			} else {
				n.SetInt(i, int64(v))
			}
		case float64:
			n.SetFloat(i, v)
		}
		b.EndRow()
	}
	h := head(d.Id, session, seq)
	h.SchemaVersion = d.Version
	return b.Encode(nil, h)
}

// queryStream collects the answer of a query.
type queryStream struct {
	grpc.ServerStream
	ctx context.Context
	ipc *bytes.Buffer
}

func (s queryStream) Context() context.Context   { return s.ctx }
func (queryStream) SendHeader(metadata.MD) error { return nil }

func (s queryStream) Send(c *shardpb.QueryChunk) error {
	_, err := s.ipc.Write(c.ArrowIpc)
	return err
}

// answers runs statements on a table of a shard, with the definition d.
func answers(t testing.TB, e *engine.Engine, o *opened, d *schemapb.Table, sql string) []string {
	t.Helper()
	return coldAnswers(t, e, o, nil, d, sql)
}

// coldAnswers is like answers, for rows that may be in object storage.
func coldAnswers(t testing.TB, e *engine.Engine, o *opened, objects *object.Reader, d *schemapb.Table, sql string,
) []string {
	t.Helper()
	var stream bytes.Buffer
	srv := server.New(server.Config{
		Shards: func(id uint32) (server.Shard, bool) { return o.Shard, id == o.ID() }, Engine: e, Cold: objects,
	})
	err := srv.Query(&shardpb.QueryRequest{
		Sql: sql, Database: "public", AnyReplica: true, // Ask this replica, which leads now.
		Tables: []*shardpb.QueryTable{{
			Name: &shardpb.TableName{Database: d.Database, Name: d.Name}, Table: d, ShardId: o.ID(),
		}},
	}, queryStream{ctx: wait(t), ipc: &stream})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	r, err := ipc.NewReader(&stream)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	var out []string
	for r.Next() {
		rec := r.RecordBatch()
		for row := range int(rec.NumRows()) {
			var values []string
			for c := range int(rec.NumCols()) {
				values = append(values, rec.Column(c).ValueStr(row))
			}
			out = append(out, strings.Join(values, "|"))
		}
	}
	return out
}

func openTestEngine(t testing.TB) *engine.Engine {
	e, err := engine.Open(engine.Config{MemoryLimit: 256 << 20, Threads: 1, Dirs: []string{"/"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestWidening widens a column of integers to doubles. Batches of the narrower type arrive late.
// Queries read memory and segments, with either definition.
func TestWidening(t *testing.T) {
	e := openTestEngine(t)
	narrow, wide := widening(1, 2, schemapb.Type_TYPE_INT64), widening(1, 3, schemapb.Type_TYPE_FLOAT64)
	o := openShard(t, testConfig(t))
	write := func(d *schemapb.Table, batches ...[]byte) error {
		_, need, err := o.Write(context.Background(), batches, []*schemapb.Table{d})
		if err == nil && len(need) > 0 {
			err = fmt.Errorf("needs %v", need)
		}
		return err
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(write(narrow, numbersOf(narrow, 9, 1, 1000, 1, 2, nil, 1<<53)))
	o.flush()
	must(write(narrow, numbersOf(narrow, 9, 2, 2000, 3)))
	// The definition arrives with the first batch that needs it, between two batches of the old
	// one.
	must(write(wide, numbersOf(narrow, 9, 3, 3000, 4), numbersOf(wide, 9, 4, 4000, 2.5, 2),
		numbersOf(narrow, 9, 5, 5000, -5)))
	if err := write(wide, numbersOf(narrow, 9, 6, 6000, 1<<53+1)); err == nil ||
		!strings.Contains(err.Error(), "beyond 2^53") {
		t.Errorf("an integer that a double rounds: %v", err)
	}
	check := func(when string, rows int) {
		t.Helper()
		for _, d := range []*schemapb.Table{narrow, wide} {
			for sql, want := range map[string]string{
				"SELECT typeof(n), count(*) FROM t1 GROUP BY ALL": fmt.Sprintf("DOUBLE|%d", rows),
				"SELECT n FROM t1 WHERE n = 2 ORDER BY ts":        "2 2",
				"SELECT n FROM t1 WHERE n > 2.4 ORDER BY n":       "2.5 3 4 9.007199254740992e+15",
				"SELECT min(n), count(n) FROM t1":                 fmt.Sprintf("-5|%d", rows-1),
				"SELECT n FROM t1 ORDER BY ts DESC LIMIT 3":       "-5 2 2.5",
				"SELECT m FROM t1 WHERE n IS NULL":                "m<nil>",
			} {
				if got := strings.Join(answers(t, e, o, d, sql), " "); got != want {
					t.Errorf("%s, version %d, %s: %s, want %s", when, d.Version, sql, got, want)
				}
			}
		}
	}
	check("in memory", 9)
	o = o.reopen()
	check("after a restart", 9)
	o.flush()
	check("flushed", 9)
	v := o.ReadView(1)
	defer v.Close()
	types := map[schema.Type]int{}
	for _, s := range v.Segments(1) {
		for _, c := range s.Columns {
			if c.ID == 4 {
				types[c.Type]++
			}
		}
	}
	if types[schema.Int64] != 1 || types[schema.Float64] != 1 || len(v.Batches(1)) != 0 {
		t.Errorf("segments with n of types %v, %d batches", types, len(v.Batches(1)))
	}
}

// TestChangedInSharedFile renames and widens a column. A shared file has another table's column
// with the same id, the new name and the new type.
func TestChangedInSharedFile(t *testing.T) {
	e := openTestEngine(t)
	o := openShard(t, testConfig(t))
	o.stopCompactor()
	before, after := widening(1, 2, schemapb.Type_TYPE_INT64), widening(1, 3, schemapb.Type_TYPE_FLOAT64)
	after.Columns[3].Name = "number"
	other := widening(2, 2, schemapb.Type_TYPE_FLOAT64)
	other.Columns[3].Name = "number"
	_, need, err := o.Write(context.Background(), [][]byte{
		numbersOf(before, 9, 1, 1000, 1, 2), numbersOf(other, 9, 2, 1000, 7.5),
	}, []*schemapb.Table{before, other})
	if err != nil || len(need) > 0 {
		t.Fatal(need, err)
	}
	o.flush()
	if err := o.DefineTable(context.Background(), after); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := strings.Join(answers(t, e, o, after, "SELECT number FROM t1 ORDER BY ts"), " "); got != "1 2" {
			t.Errorf("the column reads %s, want 1 2", got)
		}
		if got := strings.Join(answers(t, e, o, other, "SELECT number FROM t2 ORDER BY ts"), " "); got != "7.5" {
			t.Errorf("the other table's reads %s, want 7.5", got)
		}
		o = o.reopen()
	}
	v := o.ReadView(1)
	defer v.Close()
	if list := v.Segments(1); len(list) != 1 || !list[0].Shared() {
		t.Errorf("segments: %+v", list)
	}
}

// TestNewIndex adds an index to a column. Segments without it get it once, when there is nothing
// else to do.
func TestNewIndex(t *testing.T) {
	e := openTestEngine(t)
	o := openShard(t, testConfig(t))
	o.stopCompactor()
	plain, indexed := widening(1, 2, schemapb.Type_TYPE_INT64), widening(1, 3, schemapb.Type_TYPE_INT64)
	indexed.Columns[2].Index = &schemapb.Index{Kind: schemapb.IndexKind_INDEX_KIND_FULLTEXT}
	indexed.Columns[3].Index = &schemapb.Index{Kind: schemapb.IndexKind_INDEX_KIND_SKIPPING}
	_, need, err := o.Write(context.Background(), [][]byte{numbersOf(plain, 9, 1, 1000, 1, 2, 3)},
		[]*schemapb.Table{plain})
	if err != nil || len(need) > 0 {
		t.Fatal(need, err)
	}
	o.flush()
	segments := func() (ids []uint64, lacks bool) {
		v := o.ReadView(1)
		defer v.Close()
		for _, s := range v.Segments(1) {
			less, err := segment.LacksIndex(o.Shard.cfg.FS, s.Path, &s.Meta, schema.FromProto(indexed))
			if err != nil {
				t.Fatal(err)
			}
			ids, lacks = append(ids, s.ID), lacks || less
		}
		return ids, lacks
	}
	compact := func() {
		t.Helper()
		if err := o.compactNow(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(answers(t, e, o, indexed, "SELECT n FROM t1 WHERE matches(m, 'm2') OR n = 3 ORDER BY ts"),
			" "); got != "2 3" {
			t.Errorf("found %s, want 2 3", got)
		}
	}
	compact()
	if ids, lacks := segments(); len(ids) != 1 || ids[0] != 1 || !lacks {
		t.Fatalf("segments %v before there is an index, lacking it: %v", ids, lacks)
	}
	if err := o.DefineTable(context.Background(), indexed); err != nil {
		t.Fatal(err)
	}
	compact()
	ids, lacks := segments()
	if len(ids) != 1 || ids[0] == 1 || lacks {
		t.Fatalf("segments %v, lacking the index: %v", ids, lacks)
	}
	indexed.Version++ // segments that need no index are not rewritten
	if err := o.DefineTable(context.Background(), indexed); err != nil {
		t.Fatal(err)
	}
	compact()
	if again, _ := segments(); again[0] != ids[0] {
		t.Errorf("segments %v were rewritten again", again)
	}
	indexed.Version++
	indexed.Columns[2].Index = nil
	if err := o.DefineTable(context.Background(), indexed); err != nil {
		t.Fatal(err)
	}
	compact()
	if again, _ := segments(); again[0] != ids[0] {
		t.Errorf("segments %v were rewritten after an index was dropped", again)
	}
}

// TestWideningReplicas widens a column while a replica is stopped. The log that it missed is gone,
// so it fetches files with both types, and the rows in memory by a snapshot. Its answers must equal
// the leader's.
func TestWideningReplicas(t *testing.T) {
	t.Parallel()
	e := openTestEngine(t)
	g := newGroup(t, func(_ string, cfg *Config) { cfg.TrailingBytes, cfg.trailing = 1, 1 }, "n1", "n2", "n3")
	leader := g.leader()
	away := g.followers(leader)[1]
	narrow, wide := widening(1, 2, schemapb.Type_TYPE_INT16), widening(1, 3, schemapb.Type_TYPE_FLOAT64)
	seq := uint64(0)
	write := func(def, of *schemapb.Table, numbers ...any) {
		t.Helper()
		seq++
		_, need, err := leader.Write(wait(t), [][]byte{numbersOf(of, 9, seq, int64(1000*seq), numbers...)},
			[]*schemapb.Table{def})
		if err != nil || len(need) > 0 {
			t.Fatal(need, err)
		}
	}
	write(narrow, narrow, 1, 2, nil)
	g.barrier(leader, away)
	away.flush()
	write(narrow, narrow, 3, -4)
	g.barrier(leader, away)
	g.node(away.cfg.NodeID).setCut(true)
	write(narrow, narrow, 5)
	leader.flush()
	write(wide, narrow, 6)
	write(wide, wide, 2.5, 2)
	leader.flush()
	write(wide, narrow, 7, 8)
	write(wide, wide, 0.5)
	g.node(away.cfg.NodeID).setCut(false)
	for range 2 {
		leader = g.leader()
		g.barrier(leader, away)
		for _, d := range []*schemapb.Table{narrow, wide} {
			for sql, want := range map[string]string{
				"SELECT n FROM t1 ORDER BY ts":                    "1 2 (null) 3 -4 5 6 2.5 2 7 8 0.5",
				"SELECT n FROM t1 WHERE n > 2.25 ORDER BY n":      "2.5 3 5 6 7 8",
				"SELECT DISTINCT typeof(n) FROM t1":               "DOUBLE",
				"SELECT count(*) FROM t1 WHERE n IN (2, 2.5)":     "3",
				"SELECT n FROM t1 ORDER BY ts DESC LIMIT 2":       "0.5 8",
				"SELECT min(n), max(n), sum(n), count(*) FROM t1": "-4|8|33|12",
			} {
				for _, o := range []*opened{leader, away} {
					if got := strings.Join(answers(t, e, o, d, sql), " "); got != want {
						t.Errorf("node %s, version %d, %s: %s, want %s", o.cfg.NodeID, d.Version, sql, got, want)
					}
				}
			}
		}
		away.flush()
	}
}
