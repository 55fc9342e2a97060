package query

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
)

func TestLookup(t *testing.T) {
	var stream bytes.Buffer
	s := arrow.NewSchema([]arrow.Field{{Name: "host", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.Append("a1")
	b.AppendNull()
	b.Append("a2")
	out := ipc.NewWriter(&stream, ipc.WithSchema(s))
	if err := out.Write(array.NewRecordBatch(s, []arrow.Array{b.NewArray()}, 3)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	q := Lookup{
		Database: "public", Table: "logs", Column: "host", Low: "a'", High: "b",
		Since: time.Date(2024, 1, 2, 3, 4, 5, 6, time.UTC).UnixNano(), Limit: 9,
	}
	for _, c := range []struct {
		name   string
		change func(w *world, q *Lookup)
		want   []string
		err    string
		sql    string
	}{
		{
			"texts", func(*world, *Lookup) {},
			[]string{"a1", "a2"},
			"",
			`SELECT "host" FROM "public"."logs" WHERE "host" >= 'a''' AND "host" < 'b' ` +
				`AND "ts" >= '2024-01-02 03:04:05.000000006' LIMIT 9`,
		},
		{
			"until", func(_ *world, q *Lookup) { q.Since, q.Until = 0, 1 },
			[]string{"a1", "a2"},
			"",
			`SELECT "host" FROM "public"."logs" WHERE "host" >= 'a''' AND "host" < 'b' ` +
				`AND "ts" <= '1970-01-01 00:00:00.000000001' LIMIT 9`,
		},
		{"no table", func(_ *world, q *Lookup) { q.Table = "none" }, nil, "", ""},
		{"no column", func(_ *world, q *Lookup) { q.Column = "none" }, nil, "", ""},
		{"a column of another type", func(_ *world, q *Lookup) { q.Column = "n" }, nil, "", ""},
		{
			"dropped meanwhile", func(w *world, _ *Lookup) { w.shards.err = errs.New(errs.TableNotFound, "gone") }, nil, "", "",
		},
		{
			"no leader", func(w *world, _ *Lookup) { w.shards.err = errs.New(errs.ShardUnreachable, "away") }, nil, "away", "",
		},
		{
			"a fault of ours", func(w *world, _ *Lookup) { w.shards.err = errs.New(errs.InvalidSyntax, "what") }, nil,
			"search for texts", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.shards.stream = stream.Bytes()
			q := q
			c.change(w, &q)
			got, err := w.Lookup(t.Context(), q)
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if err != nil && errs.From(err).Status() < 500 {
				t.Errorf("status %d", errs.From(err).Status())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
			if c.sql != "" && w.shards.queried.Sql != c.sql {
				t.Errorf("asked %s\nwant  %s", w.shards.queried.Sql, c.sql)
			}
		})
	}
}
