package query

import (
	"context"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
)

var readsLogs = []*shardpb.TableName{{Database: "public", Name: "logs"}}

// TestReturning checks that the engine evaluates RETURNING over the rows of the statement, before they are stored.
func TestReturning(t *testing.T) {
	w := newWorld(t)
	w.shards.reads, w.shards.stream = readsLogs, twoColumns(t, 2)
	got, err := w.run(t.Context(), "INSERT INTO logs AS l (ts, host) VALUES (1, 'a'), (2, 'b') RETURNING l.n -- default")
	if err != nil || got != "n\n0\n1\n" {
		t.Fatalf("%q, %v", got, err)
	}
	if w.writer.out == nil || w.writer.out.Records != 2 {
		t.Errorf("stored %+v", w.writer.out)
	}
	q := w.shards.queried
	if want := `SELECT l.n` + "\n" + `, "l"."ts" FROM "public"."logs" AS "l"`; q.Sql != want {
		t.Errorf("asked %q, want %q", q.Sql, want)
	}
	table := q.Tables[0]
	if !table.Inline || len(table.InlineBatches) != 1 || table.Table.Id < systemTableID || len(table.Table.Columns) != 4 {
		t.Errorf("asked for %v", table)
	}
	if !w.shards.closed {
		t.Error("the query is still open")
	}
	got, err = w.run(t.Context(), "INSERT INTO logs (ts, host) VALUES (1, 'a'), (2, 'b') RETURNING n",
		func(r *Request) { r.Limited, r.Limit = true, 1 })
	if err != nil || got != "n\n0\n" || w.writer.rounds != 2 {
		t.Errorf("with a limit: %q, %v", got, err)
	}
}

// TestReturningRefused checks that nothing is stored if RETURNING fails, or could return values that are not stored.
func TestReturningRefused(t *testing.T) {
	lastNonNull := func(w *world) { w.meta.tables[0].Options = map[string]string{"merge_mode": "last_non_null"} }
	tests := []struct {
		name, sql string
		ctx       context.Context
		change    func(w *world)
		request   func(r *Request)
		code      errs.Code
		want      string
	}{
		{name: "a key", sql: "n", request: keyed, code: errs.Unsupported, want: "Idempotency-Key"},
		{name: "a query", sql: "(SELECT 1)", code: errs.Unsupported, want: "cannot contain a query"},
		{name: "no right", sql: "n", ctx: by("ship", access.WriteOnly), code: errs.PermissionDenied, want: ""},
		{name: "no right to see names", sql: "", ctx: by("ship", access.WriteOnly), code: errs.PermissionDenied, want: ""},
		{
			name: "older values", sql: "n", change: lastNonNull, code: errs.Unsupported,
			want: "merge_mode='last_non_null' and may keep older values",
		},
		{
			name: "another table", sql: "n", change: func(w *world) { w.shards.reads = append(readsLogs, readsLogs...) },
			code: errs.Unsupported, want: "cannot read other tables",
		},
		{
			name: "other rows", sql: "unnest([1, 2])", change: func(w *world) { w.shards.stream = twoColumns(t, 3) },
			code: errs.Unsupported, want: "RETURNING makes 3 rows of 1 row",
		},
		{
			name: "an error", sql: "x", change: func(w *world) {
				w.shards.err = errs.New(errs.ColumnNotFound, `column "x" not found (position 7)`)
			}, code: errs.ColumnNotFound, want: `column "x" not found (position 43)`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.shards.reads, w.shards.stream = readsLogs, twoColumns(t, 1)
			if tt.change != nil {
				tt.change(w)
			}
			if tt.ctx == nil {
				tt.ctx = t.Context()
			}
			if tt.request == nil {
				tt.request = func(*Request) {}
			}
			sql := "INSERT INTO logs (ts) VALUES (1) RETURNING " + tt.sql
			if tt.sql == "" {
				sql = "INSERT INTO logs (ts) VALUES (1) ON CONFLICT DO NOTHING"
			}
			_, err := w.run(tt.ctx, sql, tt.request)
			if errs.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %v %q", err, tt.code, tt.want)
			}
			if w.writer.out != nil {
				t.Error("rows were stored")
			}
		})
	}
}

// TestOnConflict checks that ON CONFLICT is accepted only if the table stores rows as it demands.
func TestOnConflict(t *testing.T) {
	merging := func(mode string) func(*schema.Table) {
		return func(t *schema.Table) { t.Options = map[string]string{"merge_mode": mode} }
	}
	last, nonNull := merging(schema.MergeLastRow), merging(schema.MergeLastNonNull)
	const all = " DO UPDATE SET n = EXCLUDED.n, ok = EXCLUDED.ok"
	tests := []struct {
		name, values, clause string
		table                func(*schema.Table)
		code                 errs.Code
		want                 string
	}{
		{name: "a table that keeps every row", clause: "DO NOTHING"},
		{name: "it has no key", clause: "(host, ts) DO NOTHING", code: errs.InvalidArguments, want: "keeps every row"},
		{
			name: "nor a constraint", clause: "ON CONSTRAINT logs_pkey" + all, code: errs.InvalidArguments,
			want: "no unique key",
		},
		{name: "nothing", table: last, clause: "DO NOTHING", code: errs.Unsupported, want: "DO NOTHING is not available"},
		{name: "all columns", table: last, clause: "(host, ts)" + all},
		{name: "in another order", table: last, clause: "(ts, host)" + all + ", host = EXCLUDED.host"},
		{name: "the constraint", table: last, clause: "ON CONSTRAINT logs_pkey" + all},
		{
			name: "another key", table: last, clause: "(host)" + all, code: errs.InvalidArguments,
			want: "the key of the table is (host, ts)",
		},
		{
			name: "some columns", table: last, clause: "(host, ts) DO UPDATE SET ok = EXCLUDED.ok", code: errs.Unsupported,
			want: "add n = EXCLUDED.n",
		},
		{
			name: "an unknown column", table: last, clause: "(host, ts) DO UPDATE SET x = EXCLUDED.x", code: errs.ColumnNotFound,
		},
		{
			name: "the same key twice", table: last, values: "(1, 'a', 1), (2, 'a', 1), (1, 'a', 2)", clause: "(host, ts)" + all,
			code: errs.InvalidArguments, want: "rows 1 and 3",
		},
		{name: "different keys", table: last, values: "(1, 'a', 1), (1, 'b', 1), (1, NULL, 1)", clause: "(host, ts)" + all},
		{name: "a column that stays", table: nonNull, clause: "(host, ts) DO UPDATE SET n = EXCLUDED.n"},
		{
			name: "a value that stays", table: nonNull, clause: "(host, ts) DO UPDATE SET host = EXCLUDED.host",
			code: errs.Unsupported, want: "add n = EXCLUDED.n",
		},
		{
			name: "a null", table: nonNull, clause: "(host, ts)" + all, code: errs.Unsupported,
			want: `cannot set column "ok" to null`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if tt.table != nil {
				tt.table(w.meta.tables[0])
			}
			if tt.values == "" {
				tt.values = "(1, 'a', 1)"
			}
			_, err := w.run(t.Context(), "INSERT INTO logs (ts, host, n) VALUES "+tt.values+" ON CONFLICT "+tt.clause)
			if tt.code == 0 {
				if err != nil || w.writer.out == nil {
					t.Fatal(err)
				}
				return
			}
			if errs.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %v %q", err, tt.code, tt.want)
			}
			if w.writer.out != nil {
				t.Error("rows were stored")
			}
		})
	}
}
