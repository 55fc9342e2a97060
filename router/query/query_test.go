package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/query/statement"
)

func TestShow(t *testing.T) {
	tests := []struct{ sql, database, want string }{
		{sql: "SHOW DATABASES", want: "Database\ninformation_schema\npublic\nshop\nsvc_private\n"},
		{sql: "SHOW DATABASES LIKE 's%'", want: "Database\nshop\nsvc_private\n"},
		{sql: "SHOW TABLES", want: "Tables\nlogs\n"},
		{sql: "SHOW TABLES", database: "shop", want: "Tables\ngone\norders\n"},
		{sql: "SHOW TABLES FROM shop LIKE '_rders'", want: "Tables\norders\n"},
		{sql: "SHOW FULL TABLES FROM svc_private", want: "Tables,Table_type\ncluster_nodes,SYSTEM VIEW\noperations,SYSTEM VIEW\npipelines,SYSTEM VIEW\nsegments,SYSTEM VIEW\nshards,SYSTEM VIEW\n"},
		{sql: "SHOW CREATE DATABASE shop", want: "Database,Create Database\nshop,\"CREATE DATABASE IF NOT EXISTS \"\"shop\"\" WITH (ttl='7days')\"\n"},
		{sql: "SHOW CREATE TABLE shop.orders", want: "Table,Create Table\norders,\"CREATE TABLE IF NOT EXISTS \"\"orders\"\" (\n  \"\"at\"\" TIMESTAMP(0) NOT NULL,\n  TIME INDEX (\"\"at\"\")\n) ENGINE=mito\"\n"},
		{sql: "DESC logs", want: "Column,Type,Key,Null,Default,Semantic Type\nts,TimestampMillisecond,PRI,NO,\"\",TIMESTAMP\n" +
			"host,String,PRI,YES,\"\",TAG\nn,Int32,\"\",YES,3,FIELD\nok,Boolean,\"\",YES,\"\",FIELD\n"},
		{sql: "DESCRIBE svc_private.cluster_nodes", want: "Column,Type,Key,Null,Default,Semantic Type\nnode_id,String,\"\",YES,\"\",FIELD\nname,String,\"\",YES,\"\",FIELD\n" +
			"roles,String,\"\",YES,\"\",FIELD\nrpc_addr,String,\"\",YES,\"\",FIELD\nhttp_addr,String,\"\",YES,\"\",FIELD\nversion,String,\"\",YES,\"\",FIELD\n" +
			"registered_at,TimestampNanosecond,\"\",YES,\"\",FIELD\n" +
			"zone,String,\"\",YES,\"\",FIELD\n" +
			"state,String,\"\",YES,\"\",FIELD\n" +
			"meta_role,String,\"\",YES,\"\",FIELD\n" +
			"silent_ms,Int64,\"\",YES,\"\",FIELD\n" +
			"replicas,Int64,\"\",YES,\"\",FIELD\n" +
			"leads,Int64,\"\",YES,\"\",FIELD\n" +
			"bytes,Int64,\"\",YES,\"\",FIELD\n" +
			"disk_used,Int64,\"\",YES,\"\",FIELD\n" +
			"disk_capacity,Int64,\"\",YES,\"\",FIELD\n"},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			got, err := newWorld(t).run(t.Context(), tt.sql, func(r *Request) { r.Database = tt.database })
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Statements see what was acknowledged through other routers before they came.
func TestStatementsSeeOthersChanges(t *testing.T) {
	w := newWorld(t)
	later := *w.meta.tables[0]
	later.ID, later.Name = 99, "later"
	w.meta.fresh = func() error {
		if _, ok := w.meta.Table("public", "later"); !ok {
			w.meta.tables = append(w.meta.tables, &later)
		}
		return nil
	}
	if got, err := w.run(t.Context(), "SHOW TABLES LIKE 'later'"); err != nil || got != "Tables\nlater\n" {
		t.Errorf("got %q, %v", got, err)
	}
	// While nobody leads the metadata group, statements about rows go on.
	w.meta.fresh = func() error { return errs.New(errs.DeadlineExceeded, "nobody leads") }
	for sql, want := range map[string]errs.Code{"SHOW TABLES": errs.ShardNotReady, "DESC logs": errs.ShardNotReady, "SELECT 1": 0} {
		_, err := w.run(t.Context(), sql)
		if code := errs.CodeOf(err); code != want {
			t.Errorf("%s: %v, want code %d", sql, err, want)
		}
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		sql, database string
		code          errs.Code
		want          string
	}{
		{sql: "SHOW TABLES FROM shup", code: errs.DatabaseNotFound, want: `did you mean "shop"`},
		{sql: "SELECT 1", database: "nosuch", code: errs.DatabaseNotFound, want: `"nosuch"`},
		{sql: "DESC log", code: errs.TableNotFound, want: `did you mean "logs"`},
		{sql: "DESC LOGS", code: errs.TableNotFound, want: "case-sensitive"},
		{sql: "DESC nowhere.t", code: errs.DatabaseNotFound, want: `"nowhere"`},
		{sql: "DESC information_schema.table", code: errs.TableNotFound, want: `did you mean "tables"`},
		{sql: "SHOW CREATE TABLE information_schema.tables", code: errs.Unsupported, want: "DESCRIBE"},
		{sql: "CREATE TABLE information_schema.x (ts TIMESTAMP TIME INDEX)", code: errs.Unsupported, want: "belongs to the server"},
		{sql: "DROP DATABASE svc_private", code: errs.Unsupported, want: "belongs to the server"},
		{sql: "CREATE DATABASE information_schema", code: errs.DatabaseAlreadyExists, want: "exists already"},
		{sql: "CREATE DATABASE d WITH (append_mode='true')", code: errs.InvalidArguments, want: "ttl only"},
		{sql: "CREATE DATABASE d WITH (ttl='instant')", code: errs.InvalidArguments, want: "instant"},
		{sql: "CREATE DATABASE \"a/b\"", code: errs.InvalidArguments, want: "a/b"},
		{sql: "CREATE TABLE t (a INT)", code: errs.InvalidArguments, want: "needs a time index"},
		{sql: "CREATE TABLE t (a INT TIME INDEX)", code: errs.InvalidArguments, want: "must be a TIMESTAMP"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, b TIMESTAMP TIME INDEX)", code: errs.InvalidArguments, want: "exactly one"},
		{sql: "CREATE TABLE t (a TIMESTAMP NULL TIME INDEX)", code: errs.InvalidArguments, want: "cannot be NULL"},
		{sql: "CREATE TABLE t (a TIMESTAMP, TIME INDEX (b))", code: errs.ColumnNotFound, want: `"b"`},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, PRIMARY KEY (a))", code: errs.InvalidArguments, want: "leave it out"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, b INT, PRIMARY KEY (b, b))", code: errs.InvalidArguments, want: "twice"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, PRIMARY KEY (c))", code: errs.ColumnNotFound, want: `"c"`},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, a INT)", code: errs.ColumnExists, want: "twice"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, b HUGE)", code: errs.InvalidSyntax, want: `column "b"`},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, b INT DEFAULT 'x')", code: errs.InvalidArguments, want: "DEFAULT 'x'"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, __sequence INT)", code: errs.InvalidArguments, want: "reserved"},
		{sql: "CREATE TABLE \"1t\" (a TIMESTAMP TIME INDEX)", code: errs.InvalidArguments, want: "1t"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX) WITH (ttl='soon')", code: errs.InvalidArguments, want: "key: ttl, value: soon"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX) WITH (colour='red')", code: errs.InvalidArguments, want: "colour"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX) WITH (append_mode='true', merge_mode='last_non_null')", code: errs.InvalidArguments, want: "last_row"},
		{sql: "ALTER TABLE logs ADD COLUMN n INT", code: errs.ColumnExists, want: `"n"`},
		{sql: "ALTER TABLE logs ADD COLUMN m INT NOT NULL", code: errs.InvalidArguments, want: "without a DEFAULT"},
		{sql: "ALTER TABLE logs ADD COLUMN m STRING PRIMARY KEY NOT NULL DEFAULT 'x'", code: errs.InvalidArguments, want: "add it without NOT NULL"},
		{sql: "ALTER TABLE logs ADD COLUMN m TIMESTAMP NOT NULL DEFAULT now()", code: errs.InvalidArguments, want: "add it without NOT NULL"},
		{sql: "ALTER TABLE logs ADD COLUMN m INT NOT NULL DEFAULT NULL", code: errs.InvalidArguments, want: "exclude each other"},
		{sql: "ALTER TABLE logs RENAME \"\"", code: errs.InvalidSyntax, want: "column 25: the new table name is empty"},
		{sql: "INSERT INTO logs (ts) VALUES (1767600000000000000)", code: errs.InvalidArguments, want: "cannot hold that moment"},
		{sql: "INSERT INTO logs (ts) VALUES (-9200000000000001)", code: errs.InvalidArguments, want: "cannot hold that moment"},
		{sql: "ALTER TABLE logs ADD COLUMN m TIMESTAMP TIME INDEX", code: errs.InvalidArguments, want: `"ts"`},
		{sql: "ALTER TABLE logs DROP COLUMN hosts", code: errs.ColumnNotFound, want: `did you mean "host"`},
		{sql: "ALTER TABLE logs SET 'auto_create_table'='true'", code: errs.InvalidArguments, want: "no property"},
		{sql: "ALTER TABLE logs UNSET 'colour'", code: errs.InvalidArguments, want: "colour"},
		{sql: "ALTER TABLE logs RENAME \"a b\"", code: errs.InvalidArguments, want: "a b"},
		{sql: "ALTER TABLE nope RENAME x", code: errs.TableNotFound, want: "nope"},
		{sql: "DROP TABLE nope", code: errs.TableNotFound, want: "nope"},
		{sql: "TRUNCATE TABLE nope", code: errs.TableNotFound, want: "nope"},
		{sql: "INSERT INTO logs (a) VALUES (1)", code: errs.ColumnNotFound, want: `"a"`},
		{sql: "INSERT INTO logs (n, n) VALUES (1, 2)", code: errs.InvalidArguments, want: "named twice"},
		{sql: "INSERT INTO logs VALUES (1, 2)", code: errs.InvalidArguments, want: "2 values, but the table has 4"},
		{sql: "INSERT INTO logs (n) VALUES (1), ('x')", code: errs.InvalidArguments, want: `row 2, column "n"`},
		{sql: "INSERT INTO logs (n) VALUES (3000000000)", code: errs.InvalidArguments, want: "2147483647"},
		{sql: "INSERT INTO logs (ts) VALUES (NULL)", code: errs.InvalidArguments, want: "must not be null"},
		{sql: "INSERT INTO logs (ts) VALUES ('yesterday')", code: errs.InvalidArguments, want: "2024-05-06"},
		{sql: "INSERT INTO svc_private.shards VALUES (1)", code: errs.Unsupported, want: "belongs to the server"},
	}
	for _, tt := range tests {
		t.Run(tt.sql, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.run(t.Context(), tt.sql, func(r *Request) { r.Database = tt.database })
			if errs.CodeOf(err) != tt.code || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %d %v, want %d and %q", errs.CodeOf(err), err, tt.code, tt.want)
			}
			if len(w.meta.proposed) != 0 || w.writer.out != nil {
				t.Error("something was changed")
			}
		})
	}
}

// TestSelect checks what the engine is told.
func TestSelect(t *testing.T) {
	w := newWorld(t)
	w.shards.reads = []*shardpb.TableName{{Database: "public", Name: "logs"}, {Database: "shop", Name: "orders"}}
	got, err := w.run(t.Context(), "SELECT n FROM logs", func(r *Request) { r.Limit, r.Limited = 4, true })
	if err != nil || got != "n\n0\n1\n2\n3\n" {
		t.Fatalf("%q, %v", got, err)
	}
	if !w.shards.closed {
		t.Error("the stream was not closed")
	}
	expired := now.Add(-7 * 24 * time.Hour).Unix()
	want := &shardpb.QueryRequest{Sql: "SELECT n FROM logs", Database: "public", Limit: 4, Tables: []*shardpb.QueryTable{
		{Name: w.shards.reads[0], Table: w.meta.tables[0].ToProto(), ShardId: 2},
		{Name: w.shards.reads[1], Table: w.meta.tables[1].ToProto(), ShardId: 3, ExpiredBefore: &expired},
	}}
	if d := cmp.Diff(want, w.shards.queried, protocmp.Transform()); d != "" {
		t.Error(d)
	}
	orders := *w.meta.tables[1]
	orders.Options = map[string]string{schema.OptionTTL: "instant"}
	w.meta.tables[1] = &orders
	if _, err := w.run(t.Context(), "SELECT n FROM logs"); err != nil {
		t.Fatal(err)
	}
	if before := w.shards.queried.Tables[1].ExpiredBefore; before == nil || *before != math.MaxInt64 {
		t.Errorf("ttl instant: rows before %v are hidden, want all", before)
	}
	if got, err = w.run(t.Context(), "SELECT 1; SHOW TABLES", func(r *Request) { r.Limited = true }); err != nil || got != "n\nTables\n" {
		t.Errorf("limit 0: %q, %v", got, err)
	}
	w.shards.reads = []*shardpb.TableName{{Database: "public", Name: "lugs"}}
	if _, err := w.run(t.Context(), "SELECT 1"); errs.CodeOf(err) != errs.TableNotFound || !strings.Contains(err.Error(), `"logs"`) {
		t.Errorf("unknown table: %v", err)
	}
}

func TestSelectErrors(t *testing.T) {
	broken := errs.New(errs.ShardUnreachable, "shard 2 went away")
	w := newWorld(t)
	w.shards.stream, w.shards.tail = ipcStream(t, false, 3), broken
	if got, err := w.run(t.Context(), "SELECT 1"); !errors.Is(err, broken) || got == "" {
		t.Errorf("broken after a batch: %q, %v", got, err)
	}
	w.shards.stream = nil
	if _, err := w.run(t.Context(), "SELECT 1"); !errors.Is(err, broken) {
		t.Errorf("broken at once: %v", err)
	}
	w.shards.stream, w.shards.tail = []byte("garbage, and more of it"), nil
	if _, err := w.run(t.Context(), "SELECT 1"); errs.CodeOf(err) != errs.Internal {
		t.Errorf("no Arrow: %v", err)
	}
	w.shards.err = errs.New(errs.ColumnNotFound, "no column x")
	if _, err := w.run(t.Context(), "SELECT x"); errs.CodeOf(err) != errs.ColumnNotFound {
		t.Errorf("analyze: %v", err)
	}
}

func TestTimeout(t *testing.T) {
	w := newWorld(t)
	w.shards.block = make(chan struct{})
	_, err := w.run(t.Context(), "SELECT 1", func(r *Request) { r.Timeout = time.Millisecond })
	if errs.CodeOf(err) != errs.QueryTimeout || errs.From(err).Status() != 408 {
		t.Errorf("time up: %v", err)
	}
	w.shards.err = errs.New(errs.DeadlineExceeded, "stream terminated")
	if _, err := w.run(t.Context(), "SELECT 1", func(r *Request) { r.Timeout = 50 * time.Millisecond }); errs.CodeOf(err) != errs.QueryTimeout {
		t.Errorf("the other side's time up: %v", err)
	}
	if _, err := w.run(t.Context(), "SELECT 1"); errs.CodeOf(err) != errs.DeadlineExceeded {
		t.Errorf("another deadline: %v", err)
	}
	w.shards.err = nil
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.run(ctx, "SELECT 1"); errs.CodeOf(err) != errs.Cancelled {
		t.Errorf("client gone: %v", err)
	}
	if _, err := w.run(t.Context(), "SELECT 1", func(r *Request) { r.Timeout = 48 * time.Hour }); errs.CodeOf(err) != errs.InvalidArguments {
		t.Errorf("too long: %v", err)
	}
}

// TestGate fills the places of running and of waiting queries.
func TestGate(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Running, c.Waiting, c.MaxWait = 1, 1, time.Hour })
	w.shards.block = make(chan struct{})
	results := make(chan error)
	run := func() { _, err := w.run(t.Context(), "SELECT 1"); results <- err }
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("never: " + what)
			}
		}
	}
	go run()
	until("one runs", func() bool { return len(w.gate.slots) == 1 })
	go run()
	until("one waits", func() bool { return w.gate.waiting.Load() == 1 })
	if _, err := w.run(t.Context(), "SELECT 1"); errs.CodeOf(err) != errs.ShardBusy || errs.From(err).RetryAfter == 0 {
		t.Errorf("third: %v", err)
	}
	if _, err := w.run(t.Context(), "SHOW TABLES"); err != nil {
		t.Errorf("SHOW needs no place: %v", err)
	}
	close(w.shards.block)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if len(w.gate.slots) != 0 || w.gate.waiting.Load() != 0 {
		t.Error("places are lost")
	}
	short := newWorld(t, func(c *Config) { c.Running, c.MaxWait = 1, time.Millisecond })
	leave, err := short.gate.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := short.gate.enter(t.Context()); errs.CodeOf(err) != errs.ShardBusy {
		t.Errorf("waited too long: %v", err)
	}
	leave()
}

// TestSystemTables decodes the batches that the engine would be given.
func TestSystemTables(t *testing.T) {
	w := newWorld(t)
	w.shards.stats = []*shardpb.ShardStats{
		{
			ShardId: 2, State: "Leader", Leader: "a", Term: 4, AppliedIndex: 10, FlushedIndex: 8, LogBytes: 100, MemtableBytes: 20, MemtableRows: 2,
			TableCount: 1, Rows: 5, SegmentBytes: 50,
			Tables: []*shardpb.TableStats{{TableId: 1, Rows: 5, SegmentBytes: 50, MemtableBytes: 20}},
			Operations: []*shardpb.OperationStats{
				{Id: 1, Kind: "flush", Detail: "d", StartedUnixNano: 5, EndedUnixNano: 6, DoneBytes: 7, TotalBytes: 7},
				{Id: 2, Kind: "compaction", StartedUnixNano: 5, EndedUnixNano: 6, TotalBytes: 7, Error: "no"},
				{Id: 3, Kind: "compaction", StartedUnixNano: 8},
			},
			Segments: []*shardpb.SegmentStats{{TableId: 1, File: "s/1.parquet", Rows: 3, Bytes: 50, MinTime: -1, MaxTime: 1700000000123}},
		},
		{ShardId: 2, State: "Follower", Leader: "a", Term: 4, AppliedIndex: 7, Tables: []*shardpb.TableStats{{TableId: 1, Rows: 4}}},
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
		{"INFORMATION_SCHEMA.TABLES", `svc public logs BASE TABLE 1 mito 2 2 5 70 NULL append_mode='true', comment='it''s' it's 7
svc shop gone BASE TABLE 3 mito 1 3 0 0 instant ttl='instant' NULL 0
svc shop orders BASE TABLE 2 mito 1 3 0 0 7days "" NULL 0
svc information_schema schemata SYSTEM VIEW 9223372036854775809 NULL 1 NULL NULL NULL NULL "" NULL NULL
`},
		{"information_schema.columns", `svc public logs ts 1 NULL NO TimestampMillisecond TIMESTAMP(3) PRI TIMESTAMP
svc public logs host 2 NULL YES String STRING PRI TAG
svc public logs n 3 3 YES Int32 INT "" FIELD
`},
		{"svc_private.cluster_nodes", "a alpha router,shard x:1 NULL v1 8 NULL up leader 500 2 1 8 10 20\n"},
		{"svc_private.shards", `2 1 a,b a Leader 4 10 8 3 1 5 70 100 20 2 NULL 2 2
3 1 a NULL unknown NULL NULL NULL NULL NULL NULL NULL NULL NULL NULL NULL 1 0
`},
		{"svc_private.pipelines", "edge \"\" yaml text of edge 5\nedge \"\" yaml text of edge 7\n"},
		{"svc_private.operations", `2 4 shard-move failed no 1 2 3 4 no cluster a end 2 3 ann
NULL 5 node-drain running "" 1 NULL 0 0 NULL cluster b "" 0 NULL ann
2 1 flush done d 5 6 7 7 NULL node NULL NULL NULL NULL NULL
2 2 compaction failed "" 5 6 0 7 no node NULL NULL NULL NULL NULL
2 3 compaction running "" 8 NULL 0 0 NULL node NULL NULL NULL NULL NULL
`},
		{"svc_private.segments", "public logs 1 2 s/1.parquet 3 50 -1000 1700000000123000 NULL\n"},
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
			if got := dump(t, qt.InlineBatches[0]); !strings.HasPrefix(got, strings.ReplaceAll(tt.want, `"ttl='7days'"`, "ttl='7days'")) {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
	w.shards.reads = []*shardpb.TableName{{Database: "svc_private", Name: "shards"}, {Database: "information_schema", Name: "tables"}}
	w.shards.asked = 0
	if _, err := w.run(t.Context(), "SELECT 1"); err != nil || w.shards.asked != 1 {
		t.Errorf("two tables: %d calls for statistics, %v", w.shards.asked, err)
	}
}

// TestSystemTablesWithANodeDown: what the others know is shown, and the shards that nobody
// told of are named; sizes that nobody tells of are an error.
func TestSystemTablesWithANodeDown(t *testing.T) {
	w := newWorld(t)
	ask := func() ([]string, error) {
		_, missing, err := w.queryTables(t.Context(), "SELECT * FROM svc_private.shards", []*shardpb.TableName{{Database: "svc_private", Name: "shards"}})
		return missing, err
	}
	w.shards.stats = []*shardpb.ShardStats{{ShardId: 2, State: "Leader"}}
	w.shards.statsErr = errs.New(errs.ShardUnreachable, "node b: away")
	if missing, err := ask(); err != nil || len(missing) != 1 || !strings.Contains(missing[0], "shard 3") || !strings.Contains(missing[0], "node b") {
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
	_, _, err := w.queryTables(t.Context(), "SELECT * FROM information_schema.tables", []*shardpb.TableName{{Database: "information_schema", Name: "tables"}})
	if errs.CodeOf(err) != errs.ShardUnreachable {
		t.Errorf("sizes of which nobody tells: %v", err)
	}
}

// What the statement asks of names decides which rows are made, and what it names
// whether the shards are asked.
func TestSystemTablesFiltered(t *testing.T) {
	for _, tt := range []struct {
		sql, table string
		want       string // tables of clients in the rows
		asked      int
	}{
		{"SELECT table_name FROM information_schema.tables", "tables", "logs orders gone", 0},
		{"SELECT table_name, rows FROM information_schema.tables", "tables", "logs orders gone", 1},
		{"SELECT * FROM information_schema.tables WHERE table_name = 'orders'", "tables", "orders", 1},
		{"SELECT table_name FROM information_schema.tables WHERE table_schema = 'shop' AND table_name LIKE 'o%'", "tables", "orders", 0},
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

// Tables that the server keeps rows in lie among the system tables; they are read like
// any other, and nobody can change them.
func TestInternalTables(t *testing.T) {
	w := newWorld(t)
	w.meta.tables = append(w.meta.tables, (&schema.Table{
		ID: 9, Database: "svc_private", Name: "rejects", Version: 1, NextColumnID: 2, Placement: []schema.Placement{{Epoch: 1, ShardID: 2}},
		Options: map[string]string{"ttl": "7days"},
		Columns: []schema.Column{{ID: 1, Name: "rejected_at", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true}},
	}).Index())
	w.shards.reads = []*shardpb.TableName{{Database: "SVC_PRIVATE", Name: "rejects"}}
	if _, err := w.run(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if q := w.shards.queried.Tables[0]; q.Inline || q.ShardId != 2 || q.ExpiredBefore == nil {
		t.Errorf("the engine is given %v", q)
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
	for _, sql := range []string{"DROP TABLE svc_private.rejects", "TRUNCATE TABLE svc_private.rejects", "INSERT INTO svc_private.rejects VALUES (1)", "ALTER TABLE svc_private.rejects SET 'ttl'='1d'"} {
		if _, err := w.run(t.Context(), sql); errs.CodeOf(err) != errs.Unsupported {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// dump prints the values of a batch.
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

func TestLike(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"%", "", true},
		{"a%", "abc", true},
		{"%c", "abc", true},
		{"%b%", "abc", true},
		{"a_c", "abc", true},
		{"a_c", "aüc", true},
		{"a_", "a", false},
		{`a\_c`, "abc", false},
		{`a\_c`, "a_c", true},
		{`a\%`, "a%", true},
		{"A%", "abc", false},
		{"%a%a%a%a%a%a%a%a%b", strings.Repeat("a", 100), false},
	} {
		if got := like(&tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q LIKE %q: %v", tt.name, tt.pattern, got)
		}
	}
}

func TestValidate(t *testing.T) {
	if _, err := New(Config{Running: -1}); err == nil || !strings.Contains(err.Error(), "Config.Meta") || !strings.Contains(err.Error(), "negative") {
		t.Errorf("got %v", err)
	}
	if got := kindOf(&statement.CreateTable{}); got != "createtable" {
		t.Error(got)
	}
}
