package query

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

// identities returns an answer stream with n rows of host and ts. Some hosts are null.
func identities(t *testing.T, n int) []byte {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
		{Name: "host", Type: arrow.BinaryTypes.String},
	}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	for from := 0; from < n; from += 10_000 {
		ts := array.NewTimestampBuilder(memory.DefaultAllocator, s.Field(0).Type.(*arrow.TimestampType))
		host := array.NewStringBuilder(memory.DefaultAllocator)
		rows := min(10_000, n-from)
		for i := range rows {
			ts.Append(arrow.Timestamp(from + i))
			if i%7 == 0 {
				host.AppendNull()
			} else {
				host.Append("h")
			}
		}
		if err := w.Write(array.NewRecordBatch(s, []arrow.Array{ts.NewArray(), host.NewArray()}, int64(rows))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// mergingWorld returns a world with the table public.m, whose rows merge.
func mergingWorld(t *testing.T, rows int) *world {
	w := newWorld(t)
	m := *w.meta.tables[0]
	m.ID, m.Name, m.Options = 9, "m", map[string]string{"ttl": "7days"}
	w.meta.tables = append(w.meta.tables, m.Index())
	w.shards.stream = identities(t, rows)
	return w
}

func TestDelete(t *testing.T) {
	w := mergingWorld(t, 3)
	out, err := w.run(t.Context(), "DELETE FROM m WHERE host = 'h' -- all of them")
	if err != nil || out != "affected 3\n" {
		t.Fatalf("%q, %v", out, err)
	}
	q := w.shards.queried
	if q.Sql != `SELECT "ts", "host" FROM "public"."m" WHERE (host = 'h'`+"\n)" || len(q.Tables) != 1 {
		t.Errorf("the engine got %s with %d tables", q.Sql, len(q.Tables))
	}
	if cols := q.Tables[0].Table.Columns; len(cols) != 2 || q.Tables[0].ExpiredBefore == nil {
		t.Errorf("the engine sees columns %v, expired before %v; want the key, and the ttl", cols, q.Tables[0].ExpiredBefore)
	}
	tr := w.writer.out.Tables[0]
	cols := tr.Rows.Cols()
	if len(cols) != 3 || cols[0].Name != "ts" || cols[1].Name != "host" || cols[2].ID != schema.DeletedColumnID {
		t.Fatalf("columns written: %v", cols)
	}
	tr.Rows.Finish()
	if !cols[1].IsNull(0) || string(cols[1].Bytes(1)) != "h" || cols[0].Int(2) != 2 || cols[2].Int(0) != 1 ||
		!tr.NoCreate || tr.Existing.ID != 9 {
		t.Error("the rows written are not the identities")
	}
	if !w.shards.closed {
		t.Error("the query is left open")
	}
}

// pieces counts the rows of each write. If fail is not 0, it fails after that many writes.
type pieces struct {
	fakeWriter
	rows []int
	fail int
}

func (p *pieces) Write(_ context.Context, out *pipeline.Output) (write.Result, error) {
	if p.fail > 0 && len(p.rows) == p.fail {
		return write.Result{}, errs.New(errs.ShardBusy, "full")
	}
	p.rows = append(p.rows, out.Tables[0].Rows.Rows())
	return write.Result{}, nil
}

func TestDeleteInPieces(t *testing.T) {
	w := mergingWorld(t, 100_000)
	p := &pieces{}
	w.cfg.Writer = p
	ctx := by("ann", access.ReadWrite)
	d, err := w.delete(ctx, parseDelete(t, "DELETE FROM m WHERE true"), &Request{Database: "public"})
	if err != nil || d.AffectedRows != 100_000 || len(p.rows) != 4 {
		t.Fatalf("%d rows in pieces %v, %v", d.AffectedRows, p.rows, err)
	}
	w.shards.stream, p = identities(t, 100_000), &pieces{fail: 2}
	w.cfg.Writer = p
	_, err = w.run(t.Context(), "DELETE FROM m WHERE true")
	if errs.CodeOf(err) != errs.ShardBusy || !strings.Contains(err.Error(), "65536 rows were deleted before") {
		t.Errorf("a failure in the middle says %v", err)
	}
}

func TestDeleteRefused(t *testing.T) {
	for _, tt := range []struct {
		sql  string
		err  error // the error of the engine
		code errs.Code
		says string
	}{
		{"DELETE FROM logs WHERE host = 'a'", nil, errs.Unsupported, "append_mode='true'"},
		{"DELETE FROM nope WHERE host = 'a'", nil, errs.TableNotFound, "nope"},
		{"DELETE FROM svc_private.rejects WHERE true", nil, errs.Unsupported, "svc_private"},
		{"DELETE FROM m WHERE host IN (SELECT host FROM logs)", nil, errs.Unsupported, "cannot contain a query"},
		{
			"DELETE FROM m WHERE upper(N) = 'A'", errs.New(errs.ColumnNotFound, "no N"), errs.Unsupported,
			`column "n" is not a key column; the condition may use the tags "host" and the time index "ts"`,
		},
		{"DELETE FROM m WHERE x = 1", errs.New(errs.ColumnNotFound, "no x"), errs.ColumnNotFound, "no x"},
		{"DELETE FROM m", nil, errs.Unsupported, "TRUNCATE TABLE"},
		{"DELETE FROM m USING logs WHERE true", nil, errs.Unsupported, "USING"},
		{"DELETE FROM m WHERE", nil, errs.InvalidSyntax, "empty"},
		{"DELETE FROM m WHERE a) OR (b", nil, errs.InvalidSyntax, "too many"},
		{"DELETE m WHERE true", nil, errs.InvalidSyntax, "FROM"},
	} {
		w := mergingWorld(t, 1)
		w.shards.err = tt.err
		_, err := w.run(t.Context(), tt.sql)
		if errs.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error is %v, want code %d with %q", tt.sql, err, tt.code, tt.says)
		}
		if w.writer.out != nil {
			t.Errorf("%s: something was written", tt.sql)
		}
	}
}

// TestDeleteChecksCondition checks that a condition that the engine does not parse as a single condition, or that reads
// a table, is not run.
func TestDeleteChecksCondition(t *testing.T) {
	for _, tt := range []struct {
		err   error
		reads []*shardpb.TableName
		says  string
	}{
		{err: errs.New(errs.InvalidSyntax, "syntax error (position 13)"), says: "(position 5 of the condition)"},
		{reads: []*shardpb.TableName{{Database: "public", Name: "logs"}}, says: "cannot contain a query"},
	} {
		w := mergingWorld(t, 1)
		w.shards.err, w.shards.reads = tt.err, tt.reads
		_, err := w.run(t.Context(), "DELETE FROM m WHERE host = /* any */ 'x'")
		if err == nil || !strings.Contains(err.Error(), tt.says) || w.shards.queried != nil || w.writer.out != nil {
			t.Errorf("error is %v, want %q and nothing run", err, tt.says)
		}
		if want := statement.Alone("host = /* any */ 'x'"); w.shards.analyzed.Sql != want {
			t.Errorf("the engine was asked to analyze %q, want %q", w.shards.analyzed.Sql, want)
		}
	}
}

func parseDelete(t *testing.T, sql string) *statement.Delete {
	t.Helper()
	list, err := statement.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	return list[0].(*statement.Delete)
}
