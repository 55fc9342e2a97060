package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

func TestShow(t *testing.T) {
	tests := []struct{ sql, database, want string }{
		{sql: "SHOW DATABASES", want: "Database\ninformation_schema\npublic\nshop\nsvc_private\n"},
		{sql: "SHOW DATABASES LIKE 's%'", want: "Database\nshop\nsvc_private\n"},
		{sql: "SHOW TABLES", want: "Tables\nlogs\n"},
		{sql: "SHOW TABLES", database: "shop", want: "Tables\ngone\norders\n"},
		{sql: "SHOW TABLES FROM shop LIKE '_rders'", want: "Tables\norders\n"},
		{
			sql: "SHOW FULL TABLES FROM svc_private",
			want: "Tables,Table_type\ncluster_nodes,SYSTEM VIEW\noperations,SYSTEM VIEW\npg_sessions,SYSTEM VIEW\n" +
				"pipelines,SYSTEM VIEW\nqueries,SYSTEM VIEW\nquotas,SYSTEM VIEW\nsegments,SYSTEM VIEW\nshards,SYSTEM VIEW\n",
		},
		{
			sql:  "SHOW CREATE DATABASE shop",
			want: "Database,Create Database\nshop,\"CREATE DATABASE IF NOT EXISTS \"\"shop\"\" WITH (ttl='7days')\"\n",
		},
		{
			sql: "SHOW CREATE TABLE shop.orders",
			want: "Table,Create Table\norders,\"CREATE TABLE IF NOT EXISTS \"\"orders\"\" (\n  \"\"at\"\" TIMESTAMP(0) NOT " +
				"NULL,\n  TIME INDEX (\"\"at\"\")\n) ENGINE=mito WITH (append_mode='false', merge_mode='last_row')\"\n",
		},
		{
			sql: "DESC logs",
			want: "Column,Type,Key,Null,Default,Semantic Type\nts,TimestampMillisecond,PRI,NO,\"\",TIMESTAMP\n" +
				"host,String,PRI,YES,\"\",TAG\nn,Int32,\"\",YES,3,FIELD\nok,Boolean,\"\",YES,\"\",FIELD\n",
		},
		{
			sql: "DESCRIBE svc_private.cluster_nodes",
			want: "Column,Type,Key,Null,Default,Semantic Type\nnode_id,String,\"\",YES,\"\",FIELD\nname,String,\"\",YES," +
				"\"\",FIELD\n" +
				"roles,String,\"\",YES,\"\",FIELD\nrpc_addr,String,\"\",YES,\"\",FIELD\nhttp_addr,String,\"\",YES,\"\"," +
				"FIELD\nversion,String,\"\",YES,\"\",FIELD\n" +
				"registered_at,TimestampNanosecond,\"\",YES,\"\",FIELD\n" +
				"zone,String,\"\",YES,\"\",FIELD\n" +
				"state,String,\"\",YES,\"\",FIELD\n" +
				"meta_role,String,\"\",YES,\"\",FIELD\n" +
				"silent_ms,Int64,\"\",YES,\"\",FIELD\n" +
				"replicas,Int64,\"\",YES,\"\",FIELD\n" +
				"leads,Int64,\"\",YES,\"\",FIELD\n" +
				"bytes,Int64,\"\",YES,\"\",FIELD\n" +
				"disk_used,Int64,\"\",YES,\"\",FIELD\n" +
				"disk_capacity,Int64,\"\",YES,\"\",FIELD\n",
		},
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

// Statements see everything that was acknowledged through other routers before they arrived.
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
	// While the metadata group has no leader, statements about rows continue.
	w.meta.fresh = func() error { return errs.New(errs.DeadlineExceeded, "nobody leads") }
	for sql, want := range map[string]errs.Code{
		"SHOW TABLES": errs.ShardNotReady,
		"DESC logs":   errs.ShardNotReady,
		"SELECT 1":    0,
	} {
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
		{
			sql:  "CREATE TABLE information_schema.x (ts TIMESTAMP TIME INDEX)",
			code: errs.Unsupported,
			want: "belongs to the server",
		},
		{sql: "DROP DATABASE svc_private", code: errs.Unsupported, want: "belongs to the server"},
		{sql: "CREATE DATABASE information_schema", code: errs.DatabaseAlreadyExists, want: "exists already"},
		{sql: "CREATE DATABASE d WITH (append_mode='true')", code: errs.InvalidArguments, want: "only has the options"},
		{sql: "CREATE DATABASE d WITH (ttl='instant')", code: errs.InvalidArguments, want: "instant"},
		{sql: "CREATE DATABASE \"a/b\"", code: errs.InvalidArguments, want: "a/b"},
		{sql: "CREATE TABLE t (a INT)", code: errs.InvalidArguments, want: "needs a time index"},
		{sql: "CREATE TABLE t (a INT TIME INDEX)", code: errs.InvalidArguments, want: "must be a TIMESTAMP"},
		{
			sql:  "CREATE TABLE t (a TIMESTAMP TIME INDEX, b TIMESTAMP TIME INDEX)",
			code: errs.InvalidArguments,
			want: "exactly one",
		},
		{sql: "CREATE TABLE t (a TIMESTAMP NULL TIME INDEX)", code: errs.InvalidArguments, want: "cannot be NULL"},
		{sql: "CREATE TABLE t (a TIMESTAMP, TIME INDEX (b))", code: errs.ColumnNotFound, want: `"b"`},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, PRIMARY KEY (a))", code: errs.InvalidArguments, want: "leave it out"},
		{
			sql:  "CREATE TABLE t (a TIMESTAMP TIME INDEX, b INT, PRIMARY KEY (b, b))",
			code: errs.InvalidArguments,
			want: "twice",
		},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, PRIMARY KEY (c))", code: errs.ColumnNotFound, want: `"c"`},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, a INT)", code: errs.ColumnExists, want: "twice"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, b HUGE)", code: errs.InvalidSyntax, want: `column "b"`},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, b INT DEFAULT 'x')", code: errs.InvalidArguments, want: "DEFAULT 'x'"},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX, __sequence INT)", code: errs.InvalidArguments, want: "reserved"},
		{sql: "CREATE TABLE \"1t\" (a TIMESTAMP TIME INDEX)", code: errs.InvalidArguments, want: "1t"},
		{
			sql:  "CREATE TABLE t (a TIMESTAMP TIME INDEX) WITH (ttl='soon')",
			code: errs.InvalidArguments,
			want: "key: ttl, value: soon",
		},
		{sql: "CREATE TABLE t (a TIMESTAMP TIME INDEX) WITH (colour='red')", code: errs.InvalidArguments, want: "colour"},
		{
			sql:  "CREATE TABLE t (a TIMESTAMP TIME INDEX) WITH (append_mode='true', merge_mode='last_non_null')",
			code: errs.InvalidArguments,
			want: "last_row",
		},
		{sql: "ALTER TABLE logs ADD COLUMN n INT", code: errs.ColumnExists, want: `"n"`},
		{sql: "ALTER TABLE logs ADD COLUMN m INT NOT NULL", code: errs.InvalidArguments, want: "without a DEFAULT"},
		{
			sql:  "ALTER TABLE logs ADD COLUMN m STRING PRIMARY KEY NOT NULL DEFAULT 'x'",
			code: errs.InvalidArguments,
			want: "add it without NOT NULL",
		},
		{
			sql:  "ALTER TABLE logs ADD COLUMN m TIMESTAMP NOT NULL DEFAULT now()",
			code: errs.InvalidArguments,
			want: "add it without NOT NULL",
		},
		{
			sql:  "ALTER TABLE logs ADD COLUMN m INT NOT NULL DEFAULT NULL",
			code: errs.InvalidArguments,
			want: "exclude each other",
		},
		{sql: "ALTER TABLE logs RENAME TO \"\"", code: errs.InvalidSyntax, want: "column 28: the new table name is empty"},
		{
			sql:  "INSERT INTO logs (n) VALUES (9223372036854775808)",
			code: errs.InvalidArguments,
			want: "9223372036854775808 is not a value of type Int32, whose range is -2147483648 to 2147483647",
		},
		{sql: "INSERT INTO logs (n) VALUES (1.5)", code: errs.InvalidArguments, want: "Int32; write an integer"},
		{
			sql:  "INSERT INTO logs (ts) VALUES (1767600000000000000)",
			code: errs.InvalidArguments,
			want: "whose range is -9200000000000000 to 9200000000000000 (",
		},
		{
			sql:  "INSERT INTO logs (ts) VALUES (-9200000000000001)",
			code: errs.InvalidArguments,
			want: "whose range is -9200000000000000",
		},
		{
			sql:  "INSERT INTO logs (ts) VALUES ('10000-01-01')",
			code: errs.InvalidArguments,
			want: "whose range is -289567-08-09 12:26:40 to 293506-05-25 11:33:20, and a year in text has four digits",
		},
		{
			sql:  "ALTER TABLE logs ADD COLUMN m TIMESTAMP(9) DEFAULT '-0001-01-01 00:00:00'",
			code: errs.InvalidArguments,
			want: "whose range is 1677-09-21 00:12:44 to 2262-04-11 23:47:16, and a year in text has four digits",
		},
		{sql: "ALTER TABLE logs ADD COLUMN m TIMESTAMP TIME INDEX", code: errs.InvalidArguments, want: `"ts"`},
		{sql: "ALTER TABLE logs DROP COLUMN hosts", code: errs.ColumnNotFound, want: `did you mean "host"`},
		{
			sql: "ALTER TABLE logs SET 'auto_create_table'='true'", code: errs.InvalidArguments,
			want: "not an option of a table",
		},
		{sql: "ALTER TABLE logs UNSET 'colour'", code: errs.InvalidArguments, want: "colour"},
		{sql: "ALTER TABLE logs RENAME TO \"a b\"", code: errs.InvalidArguments, want: "a b"},
		{sql: "ALTER TABLE nope RENAME TO x", code: errs.TableNotFound, want: "nope"},
		{sql: "DROP TABLE nope", code: errs.TableNotFound, want: "nope"},
		{sql: "TRUNCATE TABLE nope", code: errs.TableNotFound, want: "nope"},
		{sql: "INSERT INTO logs (a) VALUES (1)", code: errs.ColumnNotFound, want: `"a"`},
		{sql: "INSERT INTO logs (n, n) VALUES (1, 2)", code: errs.InvalidArguments, want: "listed twice"},
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

// TestSelect checks the request that the engine gets.
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
	id := w.shards.queried.QueryId
	want := &shardpb.QueryRequest{
		Sql: "SELECT n FROM logs", QueryId: id, Database: "public", Charged: "public", Limit: 4, HearsWaits: true,
	}
	want.Tables = []*shardpb.QueryTable{
		{Name: w.shards.reads[0], Table: w.meta.tables[0].ToProto(), ShardId: 2},
		{Name: w.shards.reads[1], Table: w.meta.tables[1].ToProto(), ShardId: 3, ExpiredBefore: &expired},
	}
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
	if got, err = w.run(t.Context(), "SELECT 1; SHOW TABLES", func(r *Request) { r.Limited = true }); err != nil ||
		got != "n\nTables\n" {
		t.Errorf("limit 0: %q, %v", got, err)
	}
	w.shards.reads = []*shardpb.TableName{{Database: "public", Name: "lugs"}}
	if _, err := w.run(t.Context(), "SELECT 1"); errs.CodeOf(err) != errs.TableNotFound ||
		!strings.Contains(err.Error(), `"logs"`) {
		t.Errorf("unknown table: %v", err)
	}
}

// TestSelectShare checks that the shards learn for whom a query runs, if that is known.
func TestSelectShare(t *testing.T) {
	w := newWorld(t)
	w.shards.reads = []*shardpb.TableName{{Database: "public", Name: "logs"}}
	for want, who := range map[string]*access.Caller{
		"user ann": {
			Sender:  access.Sender{User: "ann", Right: access.ReadOnly, Proof: "password"},
			Address: netip.MustParseAddr("192.0.2.7"),
		},
		"address 192.0.2.7": {Sender: access.Everybody(), Address: netip.MustParseAddr("192.0.2.7")},
		"":                  {Sender: access.Everybody()},
	} {
		w.shards.analyzed = nil
		if _, err := w.run(access.With(t.Context(), who), "SELECT n FROM logs"); err != nil {
			t.Fatal(err)
		}
		if w.shards.analyzed.Share != want || w.shards.queried.Share != want {
			t.Errorf("%q and %q, want %q", w.shards.analyzed.Share, w.shards.queried.Share, want)
		}
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
	if _, err := w.run(t.Context(), "SELECT 1", func(r *Request) {
		r.Timeout = 50 * time.Millisecond
	}); errs.CodeOf(err) != errs.QueryTimeout {
		t.Errorf("the other process's time is up: %v", err)
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
	if _, err := w.run(t.Context(), "SELECT 1", func(r *Request) { r.Timeout = 48 * time.Hour }); errs.CodeOf(err) !=
		errs.InvalidArguments {
		t.Errorf("too long: %v", err)
	}
}

// TestGate fills the places for running and for waiting queries.
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
	until("one runs", func() bool { running, _ := w.reader.gate.Counts(); return running == 1 })
	go run()
	until("one waits", func() bool { _, waiting := w.reader.gate.Counts(); return waiting == 1 })
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
	if running, waiting := w.reader.gate.Counts(); running != 0 || waiting != 0 {
		t.Error("places are lost")
	}
	short := newWorld(t, func(c *Config) { c.Running, c.MaxWait = 1, time.Millisecond })
	leave, err := short.reader.gate.Enter(t.Context(), "user ann")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := short.reader.gate.Enter(t.Context(), "user ann"); errs.CodeOf(err) != errs.ShardBusy {
		t.Errorf("waited too long: %v", err)
	}
	leave()
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
	if _, err := New(Config{Running: -1}); err == nil || !strings.Contains(err.Error(), "Config.Meta") ||
		!strings.Contains(err.Error(), "negative") {
		t.Errorf("got %v", err)
	}
	if got := kindName(&statement.CreateTable{}); got != "createtable" {
		t.Error(got)
	}
}

// TestTimeIsUpWhileShardsAreAway checks that the error of a query that exceeds its time limit says what the query
// waited for.
func TestTimeIsUpWhileShardsAreAway(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errs.New(errs.ShardUnreachable, "shard 2 has no leader"), "it waited for a shard: shard 2 has no leader"},
		{context.DeadlineExceeded, "request less"},
		{
			fmt.Errorf("%w: %w", context.DeadlineExceeded, errs.OverQuota(errs.Quota{}, time.Second, "shop runs 1 query")),
			"it waited for its turn: shop runs 1 query",
		},
	} {
		err := explain(ctx, &statement.Query{}, tt.err, time.Second)
		if errs.CodeOf(err) != errs.QueryTimeout || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}
