package query

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/router/access"
)

// TestSystemTables decodes the batches for the engine.
func TestSystemTables(t *testing.T) {
	w := newWorld(t)
	w.shards.stats = []*shardpb.ShardStats{
		{
			ShardId: 2, State: "Leader", Leader: "a", Term: 4, AppliedIndex: 10, FlushedIndex: 8, LogBytes: 100,
			MemtableBytes: 20, MemtableRows: 2,
			TableCount: 1, Rows: 5, SegmentBytes: 50,
			Tables: []*shardpb.TableStats{
				{TableId: 1, Rows: 5, SegmentBytes: 50, MemtableBytes: 20, ObjectBytes: 90, WaitingBytes: 30},
			},
			Operations: []*shardpb.OperationStats{
				{Id: 1, Kind: "flush", Detail: "d", StartedUnixNano: 5, EndedUnixNano: 6, DoneBytes: 7, TotalBytes: 7},
				{Id: 2, Kind: "compaction", StartedUnixNano: 5, EndedUnixNano: 6, TotalBytes: 7, Error: "no"},
				{Id: 3, Kind: "compaction", StartedUnixNano: 8},
			},
			Segments: []*shardpb.SegmentStats{
				{TableId: 1, File: "s/1.parquet", Rows: 3, Bytes: 50, MinTime: -1, MaxTime: 1700000000123},
				{TableId: 1, File: "c/data/x", Rows: 2, Bytes: 40, MinTime: 1, MaxTime: 2, Location: shardpb.LocationBucket},
			},
		},
		{
			ShardId: 2, State: "Follower", Leader: "a", Term: 4, AppliedIndex: 7,
			Tables: []*shardpb.TableStats{{TableId: 1, Rows: 4}},
		},
	}
	w.meta.pipelines = []*metapb.PipelineVersion{
		{Name: "edge", ContentType: "yaml", Version: 5}, {Name: "edge", ContentType: "yaml", Version: 7},
	}
	tests := []struct{ table, want string }{
		{"information_schema.schemata", `svc information_schema NULL "" NULL
svc public NULL "" 5
svc shop 7days "ttl='7days'" 6
svc svc_private NULL "" NULL
`},
		{
			"INFORMATION_SCHEMA.TABLES",
			`svc public logs BASE TABLE 1 mito 2 2 5 70 NULL append_mode='true', comment='it''s' it's 7 90 30
svc shop gone BASE TABLE 3 mito 1 3 NULL NULL instant ttl='instant' NULL 0 NULL NULL
svc shop orders BASE TABLE 2 mito 1 3 NULL NULL 7days "" NULL 0 NULL NULL
svc information_schema schemata SYSTEM VIEW 9223372036854775809 NULL 1 NULL NULL NULL NULL "" NULL NULL NULL NULL
`,
		},
		{"information_schema.columns", `svc public logs ts 1 NULL NO TimestampMillisecond TIMESTAMP(3) PRI TIMESTAMP
svc public logs host 2 NULL YES String STRING PRI TAG
svc public logs n 3 3 YES Int32 INT "" FIELD
`},
		{"svc_private.cluster_nodes", "a alpha router,shard x:1 NULL v1 8 NULL up leader 500 2 1 8 10 20\n"},
		{"svc_private.shards", `2 1 a,b a Leader 4 10 8 3 1 5 70 100 20 2 NULL 2 2 0
3 1 a NULL unknown NULL NULL NULL NULL NULL NULL NULL NULL NULL NULL NULL 1 0 1
`},
		{"svc_private.pipelines", "edge \"\" yaml text of edge 5\nedge \"\" yaml text of edge 7\n"},
		{"svc_private.operations", `2 4 shard-move failed no 1 2 3 4 no cluster a end 2 3 ann
NULL 5 node-drain running "" 1 NULL 0 0 NULL cluster b "" 0 NULL ann
3 6 shard-remove running "" 1 NULL 0 0 NULL cluster NULL "" 0 NULL ann
2 1 flush done d 5 6 7 7 NULL node NULL NULL NULL NULL NULL
2 2 compaction failed "" 5 6 0 7 no node NULL NULL NULL NULL NULL
2 3 compaction running "" 8 NULL 0 0 NULL node NULL NULL NULL NULL NULL
`},
		{"svc_private.segments", "public logs 1 2 s/1.parquet 3 50 -1000 1700000000123000 NULL local\n" +
			"public logs 1 2 c/data/x 2 40 1000 2000 NULL bucket\n"},
	}
	for _, tt := range tests {
		t.Run(tt.table, func(t *testing.T) {
			database, name, _ := strings.Cut(tt.table, ".")
			w.shards.reads = []*shardpb.TableName{{Database: database, Name: name}}
			w.shards.asked = 0
			if _, err := w.run(t.Context(), "SELECT * FROM "+tt.table); err != nil {
				t.Fatal(err)
			}
			qt := w.shards.queried.Tables[0]
			if qt.Name.Database != database || !qt.Inline || len(qt.InlineBatches) != 1 || w.shards.asked > 1 {
				t.Fatalf("got %v, %d calls for statistics", qt, w.shards.asked)
			}
			if got := dump(t, qt.InlineBatches[0]); !strings.HasPrefix(got,
				strings.ReplaceAll(tt.want, `"ttl='7days'"`, "ttl='7days'")) {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
	w.shards.reads = []*shardpb.TableName{
		{Database: "svc_private", Name: "shards"}, {Database: "information_schema", Name: "tables"},
	}
	w.shards.asked = 0
	if _, err := w.run(t.Context(), "SELECT 1"); err != nil || w.shards.asked != 1 {
		t.Errorf("two tables: %d calls for statistics, %v", w.shards.asked, err)
	}
}

// TestSystemTablesWithANodeDown checks that the data of other nodes is shown, and the shards that no node has reported
// are listed. If no node reports sizes, this is an error.
func TestSystemTablesWithANodeDown(t *testing.T) {
	w := newWorld(t)
	reader := w.reader.of(by("ann", access.ReadWrite))
	ask := func() ([]words.Missing, error) {
		_, facts, err := reader.queryTables(t.Context(), "SELECT * FROM svc_private.shards", &Request{},
			[]*shardpb.TableName{{Database: "svc_private", Name: "shards"}})
		if err != nil {
			return nil, err
		}
		return facts.missing, nil
	}
	w.shards.stats = []*shardpb.ShardStats{{ShardId: 2, State: "Leader"}}
	w.shards.statsErr = errs.New(errs.ShardUnreachable, "node b: away")
	if missing, err := ask(); err != nil || len(missing) != 1 || missing[0].Shard != 3 ||
		!strings.Contains(missing[0].Reason, "node b") {
		t.Errorf("missing %v, error %v", missing, err)
	}
	w.shards.stats = append(w.shards.stats, &shardpb.ShardStats{ShardId: 3, State: "Leader"})
	if missing, err := ask(); err != nil || len(missing) != 0 {
		t.Errorf("all shards are known: missing %v, error %v", missing, err)
	}
	w.shards.stats = nil
	if missing, err := ask(); err != nil || len(missing) != 2 {
		t.Errorf("nobody answers: missing %v, error %v", missing, err)
	}
	_, _, err := reader.queryTables(t.Context(), "SELECT * FROM information_schema.tables", &Request{},
		[]*shardpb.TableName{
			{Database: "information_schema", Name: "tables"},
		})
	if errs.CodeOf(err) != errs.ShardUnreachable {
		t.Errorf("sizes that no node reports: %v", err)
	}
}

// The condition on names decides which rows are computed. The columns decide whether the shards are asked.
func TestSystemTablesFiltered(t *testing.T) {
	for _, tt := range []struct {
		sql, table string
		want       string // tables of clients in the rows
		asked      int
	}{
		{"SELECT table_name FROM information_schema.tables", "tables", "logs orders gone", 0},
		{"SELECT table_name, rows FROM information_schema.tables", "tables", "logs orders gone", 1},
		{"SELECT * FROM information_schema.tables WHERE table_name = 'orders'", "tables", "orders", 1},
		{
			"SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' AND table_name LIKE 'o%'",
			"tables", "orders", 0,
		},
		{"SELECT * FROM information_schema.columns WHERE table_schema = 'shop'", "columns", "orders gone", 0},
		{"SELECT * FROM information_schema.columns WHERE table_name IN ('logs', 'nope')", "columns", "logs", 0},
		{"SELECT * FROM information_schema.columns WHERE table_name = 'x' OR true", "columns", "logs orders gone", 0},
	} {
		w := newWorld(t)
		w.shards.reads = []*shardpb.TableName{{Database: "information_schema", Name: tt.table}}
		if _, err := w.run(t.Context(), tt.sql); err != nil {
			t.Fatal(err)
		}
		rows := dump(t, w.shards.queried.Tables[0].InlineBatches[0])
		var got []string
		for _, name := range []string{"logs", "orders", "gone"} {
			if strings.Contains(rows, " "+name+" ") {
				got = append(got, name)
			}
		}
		if s := strings.Join(got, " "); s != tt.want || w.shards.asked != tt.asked {
			t.Errorf("%s: tables %s, shards asked %d times; want %s and %d", tt.sql, s, w.shards.asked, tt.want, tt.asked)
		}
	}
}

// Tables of the server with stored rows are listed among the system tables. They can be read like other tables
// but not changed.
func TestInternalTables(t *testing.T) {
	w := newWorld(t)
	w.meta.tables = append(w.meta.tables, (&schema.Table{
		ID: 9, Database: "svc_private", Name: "rejects", Version: 1, NextColumnID: 2,
		Placement: []schema.Placement{{Epoch: 1, ShardID: 2}},
		Options:   map[string]string{"ttl": "7days"},
		Columns: []schema.Column{
			{ID: 1, Name: "rejected_at", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true},
		},
	}).Index())
	w.shards.reads = []*shardpb.TableName{{Database: "SVC_PRIVATE", Name: "rejects"}}
	if _, err := w.run(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if q := w.shards.queried.Tables[0]; q.Inline || q.ShardId != 2 || q.ExpiredBefore == nil {
		t.Errorf("the engine got %v", q)
	}
	for sql, want := range map[string]string{
		"DESCRIBE svc_private.rejects":          "rejected_at,TimestampNanosecond,PRI,NO",
		"SHOW TABLES FROM svc_private":          "rejects",
		"SHOW CREATE TABLE svc_private.rejects": "CREATE TABLE IF NOT EXISTS",
	} {
		got, err := w.run(t.Context(), sql)
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %v", sql, got, err)
		}
	}
	for _, sql := range []string{
		"DROP TABLE svc_private.rejects", "TRUNCATE TABLE svc_private.rejects",
		"INSERT INTO svc_private.rejects VALUES (1)", "ALTER TABLE svc_private.rejects SET 'ttl'='1d'",
	} {
		if _, err := w.run(t.Context(), sql); errs.CodeOf(err) != errs.Unsupported {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// dump formats the values of a batch.
func dump(t *testing.T, batch []byte) string {
	t.Helper()
	b, err := column.Decode(batch, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for row := range b.Rows {
		for i := range b.Cols {
			if i > 0 {
				out.WriteByte(' ')
			}
			switch v := &b.Cols[i]; {
			case v.IsNull(row):
				out.WriteString("NULL")
			case v.Type.IsBytes() && len(v.Bytes(row)) == 0:
				out.WriteString(`""`)
			case v.Type.IsBytes():
				out.Write(v.Bytes(row))
			default:
				fmt.Fprint(&out, uintOrInt(v, row))
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func uintOrInt(v *column.View, row int) any {
	if v.Type.String() == "UInt64" {
		return uint64(v.Int(row))
	}
	return v.Int(row)
}

// TestSystemTableBatches checks that many rows become several batches.
func TestSystemTableBatches(t *testing.T) {
	w := newWorld(t)
	table := w.meta.tables[0]
	for i := range 5000 {
		c := *table
		c.Name, c.ID = fmt.Sprintf("logs_%04d", i), uint64(100+i)
		w.meta.tables = append(w.meta.tables, &c)
	}
	w.shards.reads = []*shardpb.TableName{{Database: "information_schema", Name: "columns"}}
	if _, err := w.run(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	rows := 0
	batches := w.shards.queried.Tables[0].InlineBatches
	for _, b := range batches {
		h, err := column.DecodeHeader(b)
		if err != nil {
			t.Fatal(err)
		}
		rows += h.Rows
	}
	if len(batches) < 2 || rows < 20000 {
		t.Errorf("%d batches of %d rows", len(batches), rows)
	}
}

// TestUnknownTableOfCatalog checks that an unknown table of PostgreSQL's catalog gets advice that ends.
func TestUnknownTableOfCatalog(t *testing.T) {
	for database, want := range map[string]string{
		"pg_catalog": "has the tables of PostgreSQL 15", "information_schema": "there are schemata",
	} {
		_, err := names{caller: access.From(with())}.findSystemTable(database, "nosuch")
		if err == nil || !strings.Contains(err.Error(), want) || strings.HasSuffix(err.Error(), "there are ") {
			t.Errorf("%s: got %v, want %q", database, err, want)
		}
	}
}

// TestSizesOfUnreachableShards checks that information_schema.tables has no sizes of a table if one of its shards sends
// no report: the sum of the others would be too small.
func TestSizesOfUnreachableShards(t *testing.T) {
	w := newWorld(t)
	w.shards.reads = []*shardpb.TableName{{Database: "information_schema", Name: "tables"}}
	for _, found := range []bool{true, false} {
		if !found {
			w.shards.stats = nil
		} else {
			for id := range uint32(8) {
				w.shards.stats = append(w.shards.stats, &shardpb.ShardStats{
					ShardId: id, State: "Leader", Tables: []*shardpb.TableStats{{TableId: 1, Rows: 11, SegmentBytes: 50}},
				})
			}
		}
		if _, err := w.run(t.Context(), "SELECT * FROM information_schema.tables"); err != nil {
			t.Fatal(err)
		}
		if rows := dump(t, w.shards.queried.Tables[0].InlineBatches[0]); strings.Contains(rows, " 88 400 ") != found {
			t.Errorf("reports of all shards: %v; the engine got\n%s", found, rows)
		}
	}
}
