package query

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

// batchWriter keeps the sizes of what was written. From the batch numbered fails on it returns err.
type batchWriter struct {
	batches []int
	values  []string
	fails   int
	err     error
	each    func()
}

func (w *batchWriter) WriteKeyed(ctx context.Context, out *pipeline.Output, _ write.Key) (write.Result, error) {
	return w.Write(ctx, out)
}

func (w *batchWriter) Write(_ context.Context, out *pipeline.Output) (write.Result, error) {
	if w.each != nil {
		w.each()
	}
	if w.err != nil && len(w.batches)+1 >= w.fails {
		err := w.err
		if w.fails < 0 {
			w.err = nil
		}
		return write.Result{}, err
	}
	rows := out.Tables[0].Rows
	w.batches = append(w.batches, rows.Rows())
	for _, c := range rows.Cols() {
		if c.Type.IsBytes() {
			continue
		}
		w.values = append(w.values, fmt.Sprintf("%s:%d..", c.Name, c.Int(0)))
	}
	return write.Result{Rows: rows.Rows(), Warnings: []string{"a warning"}}, nil
}

// TestInsertQuery checks that the rows of a query are stored in batches, and that all of them are counted.
func TestInsertQuery(t *testing.T) {
	w, out := batchWorld(t)
	w.shards.stream = columnsStream(t, true, 2, 9_990, 15_020, 0, 1)
	var res Result
	err := w.execute(t.Context(), "INSERT INTO logs (n, ts) SELECT n, last FROM shop.orders", nil, &res)
	if err != nil || res.AffectedRows != 25_011 || fmt.Sprint(out.batches) != "[10000 10000 5011]" {
		t.Errorf("%v, %+v, %v", err, res, out.batches)
	}
	if fmt.Sprint(res.Warnings) != "[a warning]" {
		t.Errorf("warnings %q", res.Warnings)
	}
	if got := strings.Join(out.values, " "); got != "ts:0.. n:0.. ts:10000.. n:10000.. ts:20000.. n:20000.." {
		t.Error(got)
	}
	q := w.shards.queried
	if q.Sql != "SELECT n, last FROM shop.orders" || q.Limit != 0 || q.AllowPartial || q.AnyReplica {
		t.Errorf("asked %+v", q)
	}
}

// TestInsertQueryLargeValues checks that a batch is limited in bytes, too.
func TestInsertQueryLargeValues(t *testing.T) {
	w, out := batchWorld(t)
	texts := array.NewStringBuilder(memory.DefaultAllocator)
	for range 10 {
		texts.Append(strings.Repeat("x", 3<<20))
	}
	w.shards.stream = arrayStream(t, texts.NewArray())
	if err := w.execute(t.Context(), "INSERT INTO logs (host) SELECT x", nil, nil); err != nil ||
		fmt.Sprint(out.batches) != "[2 2 2 2 2]" {
		t.Errorf("%v, %v", err, out.batches)
	}
}

// TestInsertQueryFails checks what an error says after some rows were stored.
func TestInsertQueryFails(t *testing.T) {
	const sql = "INSERT INTO logs (n, ts) SELECT n, last FROM x"
	tests := []struct {
		name   string
		sql    string
		change func(w *world, out *batchWriter)
		req    func(*Request)
		code   errs.Code
		reason errs.Reason
		want   string
		stored string
	}{
		{
			name: "a later batch is refused", code: errs.InvalidArguments, stored: "[10000]",
			change: func(_ *world, out *batchWriter) { out.fails, out.err = 2, errs.New(errs.InvalidArguments, "bad") },
			want:   "10000 rows were stored and will remain, then the statement failed: INSERT INTO public.logs: bad",
		},
		{
			name: "a shard is away", code: errs.ShardNotReady, reason: errs.OutcomeUnknown, stored: "[10000]",
			change: func(_ *world, out *batchWriter) { out.fails, out.err = 2, errs.New(errs.ShardNotReady, "no leader") },
			want:   "the outcome is unknown: 10000 rows were stored",
		},
		{
			name: "nothing was stored", code: errs.ShardNotReady, stored: "[]",
			change: func(_ *world, out *batchWriter) { out.fails, out.err = 1, errs.New(errs.ShardNotReady, "no leader") },
			want:   "INSERT INTO public.logs: no leader",
		},
		{
			name: "the query fails", code: errs.InvalidArguments, stored: "[10000]",
			change: func(w *world, _ *batchWriter) {
				w.shards.stream = columnsStream(t, false, 2, 10_000)
				w.shards.tail = errs.New(errs.InvalidArguments, "division by zero")
			},
			want: "10000 rows were stored and will remain, then the statement failed: division by zero",
		},
		{
			name: "a place in the query", code: errs.ColumnNotFound, stored: "[]",
			change: func(w *world, _ *batchWriter) {
				w.shards.err = errs.New(errs.ColumnNotFound, `column "n" not found (position 7)`)
			},
			want: "(position 32)",
		},
		{
			name: "a value", sql: "INSERT INTO logs (ok) SELECT n FROM x", code: errs.InvalidArguments, stored: "[]",
			change: func(w *world, _ *batchWriter) { w.shards.stream = ipcStream(t, true, 3) },
			want:   `row 3 of the query, column "ok": 2 is not a value of type Boolean`,
		},
		{
			name: "columns", sql: "INSERT INTO logs SELECT * FROM x", code: errs.InvalidArguments, stored: "[]",
			want: "the query of INSERT has 2 columns for 4 columns",
		},
		{
			name: "a table", sql: "INSERT INTO nosuch SELECT 1", code: errs.TableNotFound, stored: "[]", want: "nosuch",
		},
		{
			name: "a column", sql: "INSERT INTO logs (x) SELECT 1", code: errs.ColumnNotFound, stored: "[]", want: `"x"`,
		},
		{
			name: "the server's table", sql: "INSERT INTO svc_private.queries SELECT 1", code: errs.Unsupported, stored: "[]",
			want: "belongs to the server",
		},
		{name: "a key", req: keyed, code: errs.Unsupported, stored: "[]", want: "Idempotency-Key"},
		{name: "RETURNING", sql: sql + " RETURNING n", code: errs.Unsupported, stored: "[]", want: "RETURNING"},
		{
			name: "ON CONFLICT", sql: "INSERT INTO shop.orders SELECT 1 ON CONFLICT (at) DO UPDATE SET at = EXCLUDED.at",
			code: errs.Unsupported, stored: "[]", want: "rows replace older rows",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, out := batchWorld(t)
			w.shards.stream = columnsStream(t, true, 2, 25_000)
			if tt.change != nil {
				tt.change(w, out)
			}
			if tt.sql == "" {
				tt.sql = sql
			}
			err := w.execute(t.Context(), tt.sql, tt.req, nil)
			if errs.CodeOf(err) != tt.code || errs.ReasonOf(err) != tt.reason || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, %q, %v", errs.CodeOf(err), errs.ReasonOf(err), err)
			}
			if got := fmt.Sprint(out.batches); got != tt.stored {
				t.Errorf("stored %s, want %s", got, tt.stored)
			}
		})
	}
}

// TestInsertQueryRights checks the rights to insert and to read, also while the query runs.
func TestInsertQueryRights(t *testing.T) {
	const sql = "INSERT INTO logs (n, ts) SELECT n, last FROM shop.orders"
	insert, read := on(rights.Insert, "public", "logs"), on(rights.Select, "shop", "orders")
	run := func(ctx context.Context, change func(w *world, out *batchWriter)) (string, error) {
		w, out := batchWorld(t)
		w.shards.reads = []*shardpb.TableName{{Database: "shop", Name: "orders"}}
		w.shards.stream = columnsStream(t, true, 2, 15_000)
		if change != nil {
			change(w, out)
		}
		return fmt.Sprint(out.batches), w.execute(ctx, sql, nil, nil)
	}
	if _, err := run(with(insert, read), nil); err != nil {
		t.Error("with both rights:", err)
	}
	for name, ctx := range map[string]context.Context{
		"insert only":     with(insert, on(rights.Insert, "shop", "orders")),
		"read only":       with(read, on(rights.Select, "*", "*")),
		"write-only user": by("ship", access.WriteOnly), "read-only user": by("ann", access.ReadOnly),
	} {
		stored := []int(nil)
		_, err := run(ctx, func(_ *world, out *batchWriter) { out.each = func() { stored = append(stored, 1) } })
		if errs.CodeOf(err) != errs.PermissionDenied && errs.CodeOf(err) != errs.AccessDenied || stored != nil {
			t.Errorf("%s: %v, stored %v", name, err, stored)
		}
	}
	// The user loses the right to insert after the first batch.
	caller := &access.Caller{Sender: access.Sender{
		User: "ann", Grants: rights.NewIndex([]rights.Grant{insert, read}, nil), Proof: "password",
	}}
	batches := 0
	_, err := run(access.With(t.Context(), caller), func(_ *world, out *batchWriter) {
		out.each = func() {
			batches++
			caller.Grants = rights.NewIndex([]rights.Grant{read, on(rights.Select, "public", "logs")}, nil)
		}
	})
	if errs.CodeOf(err) != errs.PermissionDenied || batches != 1 || !strings.HasPrefix(err.Error(), "10000 rows were") {
		t.Errorf("after a revocation: %v, %d batches", err, batches)
	}
}

// TestInsertQueryFollows checks that a batch is made again for the table as it is now.
func TestInsertQueryFollows(t *testing.T) {
	w, out := batchWorld(t)
	w.shards.stream = columnsStream(t, true, 2, 4_000, 3_000)
	out.fails, out.err = -1, write.ErrSchemaChanged
	out.each = func() {
		changed := *w.meta.tables[0]
		changed.Version++
		changed.Columns = append([]schema.Column(nil), changed.Columns...)
		changed.Columns[2].Type = schema.Int64
		w.meta.tables[0] = changed.Index()
	}
	var res Result
	err := w.execute(t.Context(), "INSERT INTO logs (n, ts) SELECT n, last FROM x", nil, &res)
	if err != nil || res.AffectedRows != 7_000 || fmt.Sprint(out.batches) != "[7000]" {
		t.Errorf("%v, %+v, %v", err, res, out.batches)
	}
}

// TestInsertQueryValues checks conversions of values, above all those that must not change a value silently.
func TestInsertQueryValues(t *testing.T) {
	alloc := memory.DefaultAllocator
	floats := array.NewFloat64Builder(alloc)
	floats.AppendValues([]float64{2, 1.5}, nil)
	unsigned := array.NewUint64Builder(alloc)
	unsigned.AppendValues([]uint64{7, math.MaxUint64}, nil)
	micros := array.NewTimestampBuilder(alloc, &arrow.TimestampType{Unit: arrow.Microsecond})
	micros.AppendValues([]arrow.Timestamp{1_999, -1, math.MaxInt64}, nil)
	seconds := array.NewTimestampBuilder(alloc, &arrow.TimestampType{Unit: arrow.Second})
	seconds.AppendValues([]arrow.Timestamp{3, math.MaxInt64 / 2}, nil)
	days := array.NewDate32Builder(alloc)
	days.AppendValues([]arrow.Date32{1, math.MaxInt32}, nil)
	bytesOf := array.NewBinaryBuilder(alloc, arrow.BinaryTypes.Binary)
	bytesOf.Append([]byte{0, 255})
	lists := array.NewListBuilder(alloc, arrow.PrimitiveTypes.Int64)
	lists.Append(true)
	lists.ValueBuilder().(*array.Int64Builder).Append(1)
	bools := array.NewBooleanBuilder(alloc)
	bools.Append(true)
	texts := array.NewStringBuilder(alloc)
	texts.AppendValues([]string{"5", "x"}, nil)
	decimals := array.NewDecimal128Builder(alloc, &arrow.Decimal128Type{Precision: 38, Scale: 0})
	if err := decimals.AppendValueFromString("12"); err != nil {
		t.Fatal(err)
	}
	nulls := array.NewNullBuilder(alloc)
	nulls.AppendNull()
	type row struct {
		values arrow.Array
		to     schema.Type
		want   []string
	}
	in := func(a arrow.Array, to schema.Type, want ...string) row { return row{a, to, want} }
	for _, tt := range []row{
		in(floats.NewArray(), schema.Int64, "2", "is not a value"),
		in(unsigned.NewArray(), schema.Int64, "7", "whose range is"),
		in(micros.NewArray(), schema.TimestampMillisecond, "1 cut", "-1 cut", "infinity"),
		in(seconds.NewArray(), schema.TimestampNanosecond, "3000000000", "whose range is"),
		in(days.NewArray(), schema.TimestampSecond, "86400", "infinity"),
		in(bytesOf.NewArray(), schema.String, "refused"),
		in(lists.NewArray(), schema.String, "refused"),
		in(bools.NewArray(), schema.Int64, "is not a value"),
		in(bools.NewArray(), schema.Binary, "refused"),
		in(texts.NewArray(), schema.Int16, "5", "is not a value"),
		in(decimals.NewArray(), schema.Int8, "12"),
		in(decimals.NewArray(), schema.TimestampSecond, "refused"),
		in(nulls.NewArray(), schema.Binary, "null"),
	} {
		c := &schema.Column{Name: "c", Type: tt.to}
		f := arrow.Field{Name: "c", Type: tt.values.DataType()}
		convert, err := converterOf(tt.values, f, c, now)
		for i, want := range tt.want {
			if i >= tt.values.Len() {
				continue
			}
			if want == "refused" {
				if err == nil || !strings.Contains(err.Error(), "its value in the query is of type") {
					t.Errorf("%s to %s: %v", f.Type, tt.to, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s to %s: %v", f.Type, tt.to, err)
				continue
			}
			v, err := convert(i)
			got := fmt.Sprint(v.i)
			switch {
			case err != nil:
				got = err.Error()
			case v.null:
				got = "null"
			case v.changed.Cut > 0:
				got += " cut"
			}
			if got != want && (err == nil || !strings.Contains(got, want)) {
				t.Errorf("%s to %s, row %d: %s, want %s", f.Type, tt.to, i, got, want)
			}
		}
	}
}

// batchWorld returns a world whose writer keeps the sizes of batches.
func batchWorld(t *testing.T) (*world, *batchWriter) {
	out := &batchWriter{}
	return newWorld(t, func(c *Config) { c.Writer = out }), out
}

// execute runs a statement, and keeps its result.
func (w *world) execute(ctx context.Context, sql string, change func(*Request), res *Result) error {
	statements, err := statement.Parse(sql)
	if err != nil {
		return err
	}
	req := Request{Statements: statements, Limited: true, AllowPartial: true}
	if change != nil {
		change(&req)
	}
	if ctx.Value(access.CallerKey{}) == nil {
		ctx = access.With(ctx, &access.Caller{Sender: access.Everybody()})
	}
	return w.Execute(ctx, req, func(_ context.Context, r Result) error {
		if res != nil {
			*res = r
		}
		return nil
	})
}

// arrayStream returns a stream with one column.
func arrayStream(t *testing.T, values arrow.Array) []byte {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{{Name: "x", Type: values.DataType(), Nullable: true}}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	if err := w.Write(array.NewRecordBatch(s, []arrow.Array{values}, int64(values.Len()))); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
