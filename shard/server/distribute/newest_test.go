package distribute

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/shard/query"
)

// timesSchema has a value that depends on the time, and a column for sorting that is not part of
// the answer.
var timesSchema = arrow.NewSchema([]arrow.Field{
	{Name: "double", Type: arrow.PrimitiveTypes.Int64}, {Name: "__s0", Type: arrow.FixedWidthTypes.Timestamp_ms},
}, nil)

// timesStream returns the rows of a node, in batches of up to four rows.
func timesStream(t *testing.T, times []int64) []byte {
	t.Helper()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(timesSchema))
	for part := range slices.Chunk(times, 4) {
		doubles := array.NewInt64Builder(memory.DefaultAllocator)
		at := array.NewTimestampBuilder(memory.DefaultAllocator, arrow.FixedWidthTypes.Timestamp_ms.(*arrow.TimestampType))
		for _, v := range part {
			doubles.Append(2 * v)
			at.Append(arrow.Timestamp(v))
		}
		rec := array.NewRecordBatch(timesSchema, []arrow.Array{doubles.NewArray(), at.NewArray()}, int64(len(part)))
		if err := w.Write(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestMergedRows compares the merged rows of random nodes with all rows sorted, and the computed
// bound with the rows that the answer needs.
func TestMergedRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		n := &query.Newest{
			Column: 1, Columns: 1, Limit: 1 + r.Uint64N(12), Offset: r.Uint64N(5), Descending: seed%2 == 0,
			Before: "before ", After: " after",
		}
		order := func(a, b int64) int { return n.Compare(arrow.Timestamp(a), arrow.Timestamp(b)) }
		f := newFrontier(&query.Split{Newest: n})
		var all []int64
		var rows []*sorted
		for range 1 + r.IntN(4) {
			times := make([]int64, r.IntN(15))
			for i := range times {
				times[i] = r.Int64N(40) - 10
			}
			slices.SortFunc(times, order)
			all = append(all, times...)
			known := f.bound
			rows = append(rows, f.add(timesStream(t, times)))
			enough := len(all) >= int(n.Limit+n.Offset)
			if (f.bound != "") != enough || known != "" && f.bound != known {
				t.Fatalf("seed %d: %d rows make the bound %q, before %q", seed, len(all), f.bound, known)
			}
		}
		slices.SortFunc(all, order)
		from := min(len(all), int(n.Offset))
		want := all[from:min(len(all), from+int(n.Limit))]
		out, err := merge(rows, n)
		if err != nil {
			t.Fatal(err)
		}
		in, err := ipc.NewReader(bytes.NewReader(out))
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for in.Next() {
			for _, v := range in.RecordBatch().Column(0).(*array.Int64).Int64Values() {
				got = append(got, v/2)
			}
		}
		if in.Schema().NumFields() != 1 || !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d columns, rows %v, want %v", seed, in.Schema().NumFields(), got, want)
		}
	}
}

// TestRowsThatAreNotMerged checks that rows which are not sorted as expected are left to the
// engine, and yield no bound.
func TestRowsThatAreNotMerged(t *testing.T) {
	t.Parallel()
	n := &query.Newest{Column: 1, Columns: 1, Limit: 2, Descending: true}
	f := newFrontier(&query.Split{Newest: n})
	rising := timesStream(t, []int64{1, 2, 3})
	merged := func(streams ...[]byte) error {
		var rows []*sorted
		for _, stream := range streams {
			rows = append(rows, f.add(stream))
		}
		_, err := merge(rows, n)
		return err
	}
	if err := merged(rising); !errors.Is(err, errNotSorted) || f.bound != "" {
		t.Errorf("rows in another order: %v, bound %q", err, f.bound)
	}
	n.Column = 0
	if err := merged(timesStream(t, nil), timesStream(t, []int64{1})); !errors.Is(err, errNotSorted) {
		t.Errorf("rows sorted by no time: %v", err)
	}
	if err := merged([]byte("nothing")); err == nil {
		t.Error("a stream that cannot be read was merged")
	}
}
