package merge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/query"
	"cordwood/shard/segment"
)

var table = (&schema.Table{ID: 1, Columns: []schema.Column{
	{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp},
	{ID: 2, Name: "k", Type: schema.String, Semantic: schema.Tag},
	{ID: 3, Name: "f", Type: schema.Float64, Semantic: schema.Tag},
	{ID: 4, Name: "a", Type: schema.Int64, Semantic: schema.Field},
	{ID: 5, Name: "b", Type: schema.String, Semantic: schema.Field},
}}).Index()

// rowsOf encodes rows of the form time/key/a/b/mark, where "-" is null.
func rowsOf(t *testing.T, rows ...string) *column.Batch {
	t.Helper()
	var b column.Builder
	cols := make([]*column.Col, 5)
	for i, text := range rows {
		var ts, a, mark int64
		p := strings.Split(text, "/")
		number(t, p[0], &ts)
		get := func(at int, c schema.Column) *column.Col {
			if cols[at] == nil {
				cols[at] = b.Add(c)
			}
			return cols[at]
		}
		get(0, table.Columns[0]).SetInt(i, ts)
		if p[1] != "-" {
			get(1, table.Columns[1]).SetString(i, p[1])
		}
		if p[2] != "-" {
			number(t, p[2], &a)
			get(2, table.Columns[3]).SetInt(i, a)
		}
		if p[3] != "-" {
			get(3, table.Columns[4]).SetString(i, p[3])
		}
		if p[4] != "-" {
			if p[4] == "t" {
				mark = 1
			}
			get(4, schema.DeletedColumn()).SetInt(i, mark)
		}
		b.EndRow()
	}
	got, err := column.Decode(b.Encode(nil, column.Header{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func number(t *testing.T, text string, n *int64) {
	t.Helper()
	if _, err := fmt.Sscan(text, n); err != nil {
		t.Fatal(err)
	}
}

func textOf(b *column.Batch, row int) string {
	cell := func(id uint32) string {
		v := b.Column(id)
		switch {
		case v == nil || v.IsNull(row):
			return "-"
		case id == schema.DeletedColumnID:
			return string("ft"[v.Int(row)])
		case v.Type.IsBytes():
			return string(v.Bytes(row))
		}
		return fmt.Sprint(v.Int(row))
	}
	return strings.Join([]string{cell(1), cell(2), cell(4), cell(5), cell(schema.DeletedColumnID)}, "/")
}

func refs(batches []*column.Batch) (rows []segment.RowRef) {
	for i, b := range batches {
		for row := range b.Rows {
			rows = append(rows, segment.RowRef{Time: b.Column(1).Int(row), Batch: uint32(i), Row: uint32(row)})
		}
	}
	return rows
}

func merged(mode query.Merge, batches ...*column.Batch) (out []string) {
	rows := refs(batches)
	segment.Sort(table, batches, rows)
	batches, rows = Sorted(table, mode, batches, rows)
	for _, r := range rows {
		out = append(out, textOf(batches[r.Batch], int(r.Row)))
	}
	return out
}

func TestSorted(t *testing.T) {
	for _, test := range []struct {
		name    string
		batches []string // rows, separated by spaces
		append  string
		last    string
		nonNull string
	}{
		{"one row", []string{"1/k/1/x/-"}, "1/k/1/x/-", "1/k/1/x/-", "1/k/1/x/-"},
		{
			"other identities",
			[]string{"1/k/1/-/- 1/l/2/-/-", "2/k/3/-/-"},
			"1/k/1/-/- 2/k/3/-/- 1/l/2/-/-",
			"1/k/1/-/- 2/k/3/-/- 1/l/2/-/-", "1/k/1/-/- 2/k/3/-/- 1/l/2/-/-",
		},
		{"replaced", []string{"1/k/1/x/-", "1/k/-/y/-"}, "1/k/1/x/- 1/k/-/y/-", "1/k/-/y/-", "1/k/1/y/-"},
		{
			"within a batch",
			[]string{"1/k/1/x/- 1/k/2/-/- 1/k/-/-/-"},
			"1/k/1/x/- 1/k/2/-/- 1/k/-/-/-", "1/k/-/-/-",
			"1/k/2/x/-",
		},
		{"null tags", []string{"1/-/1/-/-", "1/-/-/x/-"}, "1/-/1/-/- 1/-/-/x/-", "1/-/-/x/-", "1/-/1/x/-"},
		{"deleted", []string{"1/k/1/x/-", "1/k/-/-/t"}, "1/k/1/x/- 1/k/-/-/t", "1/k/-/-/t", "1/k/-/-/t"},
		{
			"deleted and written",
			[]string{"1/k/1/x/-", "1/k/-/-/t", "1/k/2/-/-"},
			"1/k/1/x/- 1/k/-/-/t 1/k/2/-/-",
			"1/k/2/-/-", "1/k/2/-/f",
		},
		{
			"deleted and written twice",
			[]string{"1/k/1/x/-", "1/k/-/-/t", "1/k/2/-/- 1/k/-/z/-"},
			"1/k/1/x/- 1/k/-/-/t 1/k/2/-/- 1/k/-/z/-", "1/k/-/z/-", "1/k/2/z/f",
		},
		{"begun again", []string{"1/k/1/x/f"}, "1/k/1/x/f", "1/k/1/x/f", "1/k/1/x/f"},
		{"begun again, last", []string{"1/k/1/x/-", "1/k/2/-/f"}, "1/k/1/x/- 1/k/2/-/f", "1/k/2/-/f", "1/k/2/-/f"},
		{
			"begun again, then more",
			[]string{"1/k/1/x/-", "1/k/2/-/f", "1/k/-/y/-"},
			"1/k/1/x/- 1/k/2/-/f 1/k/-/y/-",
			"1/k/-/y/-", "1/k/2/y/f",
		},
		{
			"deleted twice",
			[]string{"1/k/-/-/t", "1/k/1/-/-", "1/k/-/-/t"},
			"1/k/-/-/t 1/k/1/-/- 1/k/-/-/t",
			"1/k/-/-/t", "1/k/-/-/t",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for mode, want := range map[query.Merge]string{
				query.Append:      test.append,
				query.LastRow:     test.last,
				query.LastNonNull: test.nonNull,
			} {
				var batches []*column.Batch
				for _, rows := range test.batches {
					batches = append(batches, rowsOf(t, strings.Split(rows, " ")...))
				}
				if diff := cmp.Diff(strings.Split(want, " "), merged(mode, batches...)); diff != "" {
					t.Errorf("mode %d (-want +got): %s", mode, diff)
				}
			}
		})
	}
}

// TestAssociative merges rows that were merged before. Flushes and compactions may divide a history
// anywhere, and readers must see the same result.
func TestAssociative(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	seen := func(mode query.Merge, parts []*column.Batch) []string {
		return slices.DeleteFunc(merged(mode, parts...), func(s string) bool { return strings.HasSuffix(s, "/t") })
	}
	unmarked := func(rows []string) []string {
		for i := range rows {
			rows[i] = strings.TrimSuffix(rows[i], "f") + "-"
			rows[i] = strings.TrimSuffix(strings.TrimSuffix(rows[i], "--"), "-")
		}
		return rows
	}
	for range 500 {
		var all []*column.Batch
		for i := range 8 {
			var rows []string
			for range 1 + rng.IntN(4) {
				r := fmt.Sprintf("%d/%s", rng.IntN(2), []string{"-", "k", "l"}[rng.IntN(3)])
				switch rng.IntN(4) {
				case 0:
					r += "/-/-/t"
				case 1:
					r += fmt.Sprintf("/%d/-/-", i)
				case 2:
					r += fmt.Sprintf("/-/v%d/-", i)
				default:
					r += fmt.Sprintf("/%d/v%d/-", i, i)
				}
				rows = append(rows, r)
			}
			all = append(all, rowsOf(t, rows...))
		}
		for _, mode := range []query.Merge{query.LastRow, query.LastNonNull} {
			want := unmarked(seen(mode, all))
			parts := slices.Clone(all)
			for len(parts) > 1 {
				from := rng.IntN(len(parts) - 1)
				to := from + 2 + rng.IntN(len(parts)-from-1)
				joined := merged(mode, parts[from:to]...)
				parts = slices.Replace(parts, from, to, rowsOf(t, joined...))
				if diff := cmp.Diff(want, unmarked(seen(mode, parts))); diff != "" {
					t.Fatalf("seed %d, mode %d (-want +got): %s", seed, mode, diff)
				}
			}
		}
	}
}

// TestManyJoined creates more joined rows than fit into one batch.
func TestManyJoined(t *testing.T) {
	var first, second []string
	for i := range maxJoined + 10 {
		first = append(first, fmt.Sprintf("%d/k/%d/-/-", i, i))
		second = append(second, fmt.Sprintf("%d/k/-/v%d/-", i, i))
	}
	got := merged(query.LastNonNull, rowsOf(t, first...), rowsOf(t, second...))
	if len(got) != maxJoined+10 {
		t.Fatalf("%d rows", len(got))
	}
	for i, s := range got {
		if want := fmt.Sprintf("%d/k/%d/v%d/-", i, i, i); s != want {
			t.Fatalf("row %d is %s, want %s", i, s, want)
		}
	}
}

func TestWithoutDeleted(t *testing.T) {
	b := []*column.Batch{rowsOf(t, "1/k/1/x/-", "2/k/-/-/t", "3/k/1/-/f"), rowsOf(t, "4/k/1/x/-")}
	rows := WithoutDeleted(b, refs(b))
	if len(rows) != 3 || rows[1].Time != 3 || rows[2].Time != 4 {
		t.Errorf("rows %v", rows)
	}
	if WithDeleted(table, b[1:]) != table || len(WithDeleted(table, b).Columns) != 6 || len(table.Columns) != 5 {
		t.Error("the hidden column is in the wrong place")
	}
}

// TestCompare sorts rows with all kinds of tags in the order of segment.Sort.
func TestCompare(t *testing.T) {
	types := []schema.Type{
		schema.Boolean, schema.Int8, schema.Int64, schema.Uint64, schema.Float32, schema.Float64, schema.String,
		schema.Binary, schema.TimestampSecond,
	}
	tab := &schema.Table{
		ID:      1,
		Columns: []schema.Column{{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp}},
	}
	for i, typ := range types {
		tab.Columns = append(tab.Columns, schema.Column{
			ID: uint32(i + 2), Name: typ.String(), Type: typ, Semantic: schema.Tag,
		})
	}
	tab.Index()
	rng := rand.New(rand.NewPCG(1, 2))
	floats := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 1e300}
	var batches []*column.Batch
	for range 3 {
		var b column.Builder
		cols := make([]*column.Col, len(tab.Columns))
		for i, c := range tab.Columns {
			cols[i] = b.Add(c)
		}
		for row := range 100 {
			cols[0].SetInt(row, rng.Int64N(3))
			for i, typ := range types {
				c := cols[i+1]
				switch {
				case rng.IntN(3) == 0:
				case typ.IsBytes():
					c.SetString(row, []string{"", "a", "ab", "b"}[rng.IntN(4)])
				case typ.IsFloat():
					c.SetFloat(row, float64(float32(floats[rng.IntN(len(floats))])))
				case typ == schema.Int64 || typ == schema.TimestampSecond:
					c.SetInt(row, rng.Int64N(5)-2)
				case typ == schema.Uint64:
					c.SetInt(row, rng.Int64N(4)-2) // two of these are above MaxInt64
				default:
					c.SetInt(row, rng.Int64N(2))
				}
			}
			b.EndRow()
		}
		got, err := column.Decode(b.Encode(nil, column.Header{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		batches = append(batches, got)
	}
	rows := refs(batches)
	segment.Sort(tab, batches, rows)
	id := NewIdentity(tab, batches)
	for i := range rows[1:] {
		if id.Compare(rows[i], rows[i+1]) > 0 || id.Compare(rows[i+1], rows[i]) < 0 {
			t.Fatalf("rows %d and %d are sorted, but compare as %d", i, i+1, id.Compare(rows[i], rows[i+1]))
		}
	}
	id.Reset()
	id.Add(batches[1])
	if id.Compare(segment.RowRef{Row: 1}, segment.RowRef{Row: 1}) != 0 {
		t.Error("a row differs from itself")
	}
}
