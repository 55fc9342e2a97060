package column

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/schema"
)

// TestAppendRows compares combined builders with one builder that got all rows.
func TestAppendRows(t *testing.T) {
	columns := []schema.Column{
		{ID: 1, Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp},
		{ID: 2, Name: "s", Type: schema.String},
		{ID: 3, Name: "f", Type: schema.Float64},
		{ID: 4, Name: "b", Type: schema.Boolean},
		{ID: 5, Name: "j", Type: schema.JSON},
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for round := range 200 {
		joined, whole := &Builder{}, &Builder{}
		for range 1 + rng.IntN(6) {
			part := &Builder{}
			order := rng.Perm(len(columns))
			if rng.IntN(3) == 0 {
				order = order[:1+rng.IntN(len(order))]
			}
			for range rng.IntN(150) {
				for _, i := range order {
					if i > 0 && rng.IntN(3) == 0 {
						continue
					}
					v := rng.Int64N(1000)
					for _, b := range []*Builder{part, whole} {
						write(b, columns[i], v)
					}
				}
				part.EndRow()
				whole.EndRow()
			}
			joined.AppendRows(part)
		}
		for _, b := range []*Builder{joined, whole} {
			b.Finish()
		}
		if joined.Rows() != whole.Rows() {
			t.Fatalf("round %d: %d rows, want %d", round, joined.Rows(), whole.Rows())
		}
		got, want := rows(t, joined), rows(t, whole)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
	}
}

// write sets a value in the column with this id, and adds the column if it is missing.
func write(b *Builder, c schema.Column, v int64) {
	var col *Col
	for _, have := range b.Cols() {
		if have.ID == c.ID {
			col = have
		}
	}
	if col == nil {
		col = b.Add(c)
	}
	switch {
	case c.Type.IsBytes():
		col.SetString(b.Rows(), fmt.Sprint(v))
	case c.Type.IsFloat():
		col.SetFloat(b.Rows(), float64(v))
	case c.Type == schema.Boolean:
		col.SetInt(b.Rows(), v&1)
	default:
		col.SetInt(b.Rows(), v)
	}
}

// rows encodes b, decodes the batch, and returns the values as text by row and column.
func rows(t *testing.T, b *Builder) map[string]string {
	t.Helper()
	batch, err := Decode(b.Encode(nil, Header{TableID: 1}), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{"time": fmt.Sprint(batch.MinTime, batch.MaxTime)}
	for i := range batch.Cols {
		v := &batch.Cols[i]
		for row := range batch.Rows {
			key := fmt.Sprintf("%d/%d", row, v.ID)
			switch {
			case v.IsNull(row):
			case v.Type.IsBytes():
				out[key] = string(v.Bytes(row))
			case v.Type.IsFloat():
				out[key] = fmt.Sprint(v.Float(row))
			default:
				out[key] = fmt.Sprint(v.Int(row))
			}
		}
	}
	return out
}
