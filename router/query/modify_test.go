package query

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// boundsStream returns an answer with the bounds of a column.
func boundsStream(t *testing.T, least, most int64) []byte {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	columns := make([]arrow.Array, 2)
	for i, v := range []int64{least, most} {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.Append(v)
		columns[i] = b.NewArray()
	}
	if err := w.Write(array.NewRecordBatch(s, columns, 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestModifyChecksRows checks that, if the metadata does not know that the integers of a column fit, the change has two
// steps. Between them, first all shards are informed, and then all rows are checked, including expired ones.
func TestModifyChecksRows(t *testing.T) {
	begin, finish := metapb.ModifyColumn_STEP_BEGIN, metapb.ModifyColumn_STEP_FINISH
	for _, tt := range []struct {
		name        string
		least, most int64
		steps       []metapb.ModifyColumn_Step
		want        string // the error
	}{
		{"all fit", -1 << 53, 1 << 53, []metapb.ModifyColumn_Step{begin, finish}, ""},
		{"a large one", 0, 1<<53 + 1, []metapb.ModifyColumn_Step{begin}, "it has the integer 9007199254740993"},
		{"a small one", -1<<53 - 1, 0, []metapb.ModifyColumn_Step{begin}, "it has the integer -9007199254740993"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			logs := w.meta.tables[0]
			logs.Columns[2].Type = schema.Int64
			logs.Options["ttl"] = "1day"
			logs.Placement = append(logs.Placement, schema.Placement{Epoch: 2, ShardID: 3})
			w.shards.stream = boundsStream(t, tt.least, tt.most)
			_, err := w.run(t.Context(), "ALTER TABLE logs MODIFY COLUMN n DOUBLE")
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) ||
				errs.CodeOf(err) != errs.InvalidArguments):
				t.Errorf("error %v, want %s", err, tt.want)
			}
			var steps []metapb.ModifyColumn_Step
			for _, cmd := range w.meta.proposed {
				steps = append(steps, cmd.GetAlterTable().GetModifyColumn().GetStep())
			}
			if !slices.Equal(steps, tt.steps) {
				t.Errorf("the steps are %v, want %v", steps, tt.steps)
			}
			if slices.Sort(w.shards.defined); !slices.Equal(w.shards.defined, []uint32{2, 3}) {
				t.Errorf("before the rows are checked, shards %v know of the change", w.shards.defined)
			}
			if q := w.shards.queried; q == nil || q.Tables[0].ExpiredBefore != nil ||
				q.Sql != `SELECT min("n"), max("n") FROM "public"."logs"` {
				t.Errorf("asked %v", q)
			}
		})
	}
	w := newWorld(t)
	logs := w.meta.tables[0]
	logs.Columns[2].Type = schema.Int64
	logs.Handoff = &schema.Handoff{ID: 9, Shards: []uint32{3}}
	if _, err := w.run(t.Context(), "ALTER TABLE logs MODIFY COLUMN n DOUBLE"); errs.CodeOf(err) !=
		errs.TableUnavailable || len(w.meta.proposed) > 0 {
		t.Errorf("while the rows are handed over: %v", err)
	}
	// With the mark, no shard is asked.
	logs.Handoff, logs.Columns[2].WithinDouble = nil, true
	if _, err := w.run(t.Context(), "ALTER TABLE logs MODIFY COLUMN n DOUBLE"); err != nil || len(w.meta.proposed) != 1 ||
		w.shards.queried != nil {
		t.Errorf("with the mark: %v, %d steps", err, len(w.meta.proposed))
	}
}
