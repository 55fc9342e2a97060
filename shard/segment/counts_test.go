package segment

import (
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// TestCounts compares counts of codes with counts of the rows that a Reader reads.
func TestCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	tab := wide(t)
	dir := t.TempDir()
	m := write(t, dir, tab, fill(t, r, tab, 9000, 14_000)...)[0]
	path := filepath.Join(dir, FileName(m.ID))
	reader, err := Open(vfs.OS, path, &m)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	want := make([]map[string]int64, len(m.Columns))
	for b, err := reader.Next(5000); !errors.Is(err, io.EOF); b, err = reader.Next(5000) {
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range m.Columns {
			if want[i] == nil {
				want[i] = make(map[string]int64)
			}
			for row, v := 0, b.Column(c.ID); row < b.Rows; row++ {
				want[i][value(v, row)]++
			}
		}
	}
	filters, f := openFilters(t, path)
	counted := 0
	for i, c := range m.Columns {
		totals := make(map[string]int64)
		refused := false
		for g := range filters.Groups {
			list, err := filters.Counts(f, g, c, 1<<20)
			if refused = errors.Is(err, parquet.ErrNoDictionary); refused {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range list {
				key := "null"
				if n.Value != nil {
					key = "v" + string(n.Value)
				}
				totals[key] += n.Rows
			}
			if len(list) > 1 {
				if _, err := filters.Counts(f, g, c, 0); err == nil {
					t.Errorf("column %q: %d values, but the limit is 0", c.Name, len(list))
				}
			}
		}
		if refused {
			continue
		}
		counted++
		if a, b := numbers(totals), numbers(want[i]); !slices.Equal(a, b) {
			t.Errorf("column %q: got counts %v, want %v", c.Name, a, b)
		}
	}
	if counted < 3 {
		t.Errorf("%d columns were counted", counted)
	}
}

func numbers(counts map[string]int64) (out []int64) {
	for _, n := range counts {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// TestCountsKept requests the same counts repeatedly. From the third request on, no page is read,
// and the result is the same.
func TestCountsKept(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 10))
	tab := wide(t)
	dir := t.TempDir()
	m := write(t, dir, tab, fill(t, r, tab, 9000)...)[0]
	path := filepath.Join(dir, FileName(m.ID))
	filters, file := openFilters(t, path)
	cache := NewPageCache(16 << 20)
	filters.Cached(cache)
	kept := 0
	for _, c := range m.Columns {
		for g := range filters.Groups {
			first, err := filters.Counts(file, g, c, 1000)
			if err != nil {
				continue // without a dictionary
			}
			if _, err := filters.Counts(file, g, c, 1000); err != nil {
				t.Fatal(err)
			}
			third, err := filters.Counts(nil, g, c, 1000)
			if err != nil || !slices.EqualFunc(first, third, func(a, b Count) bool {
				return string(a.Value) == string(b.Value) && a.Rows == b.Rows
			}) {
				t.Errorf("column %q: %v, %v, want %v", c.Name, third, err, first)
			}
			if kept++; len(first) > 2 {
				if _, err := filters.Counts(file, g, c, 1); err == nil {
					t.Errorf("column %q: more values than asked for", c.Name)
				}
			}
		}
	}
	if kept < 5 {
		t.Errorf("%d columns were counted", kept)
	}
}

// TestCountsOf compares counts of some rows with those of the rows read one by one.
func TestCountsOf(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 9))
	tab := wide(t)
	dir := t.TempDir()
	m := write(t, dir, tab, fill(t, r, tab, 9000, 14_000)...)[0]
	path := filepath.Join(dir, FileName(m.ID))
	filters, f := openFilters(t, path)
	counted := 0
	for _, c := range m.Columns {
		if !c.Type.IsInteger() && c.Type != schema.String {
			continue
		}
		rows := int(filters.Groups[0].Rows)
		first := r.IntN(rows / 2)
		runs := []Run{{first, 1 + r.IntN(rows/4)}, {first + rows/4 + 1, 1 + r.IntN(rows/8)}}
		b, err := filters.Rows(f, 0, []Column{c}, runs)
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]int64)
		for row, v := 0, b.Column(c.ID); row < b.Rows; row++ {
			switch {
			case v == nil || v.IsNull(row):
				want["null"]++
			case c.Type == schema.String:
				want["v"+string(v.Bytes(row))]++
			default:
				want["v"+string(binary.LittleEndian.AppendUint64(nil, uint64(v.Int(row))))]++
			}
		}
		list, err := filters.CountsOf(f, 0, c, runs, len(want))
		if err != nil {
			t.Fatalf("column %q: %v", c.Name, err)
		}
		got := make(map[string]int64)
		for _, n := range list {
			key := "null"
			if n.Value != nil {
				key = "v" + string(n.Value)
			}
			got[key] += n.Rows
		}
		if !maps.Equal(got, want) {
			t.Errorf("column %q: got %d values, want %d", c.Name, len(got), len(want))
		}
		if len(want) > 2 {
			counted++
			if _, err := filters.CountsOf(f, 0, c, runs, 1); err == nil {
				t.Errorf("column %q: %d values, but the limit is 1", c.Name, len(list))
			}
		}
	}
	if counted < 4 {
		t.Errorf("%d columns were counted", counted)
	}
}
