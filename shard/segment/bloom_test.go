package segment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

func TestBloomBits(t *testing.T) {
	index := func(k schema.IndexKind, rate string) *schema.Index {
		return &schema.Index{Kind: k, Options: map[string]string{schema.IndexOptionFalsePositiveRate: rate}}
	}
	for _, c := range []struct {
		name string
		col  schema.Column
		want uint
	}{
		{"no index", schema.Column{Type: schema.String}, 0},
		{"fulltext", schema.Column{Type: schema.String, Index: index(schema.FulltextIndex, "0.01")}, 0},
		{"one in a hundred", schema.Column{Type: schema.String, Index: index(schema.SkippingIndex, "0.01")}, 10},
		{"no rate", schema.Column{Type: schema.Int64, Index: index(schema.InvertedIndex, "")}, 10},
		{"one in ten", schema.Column{Type: schema.Int64, Index: index(schema.SkippingIndex, "0.1")}, 6},
		{"a tiny rate", schema.Column{Type: schema.Int64, Index: index(schema.SkippingIndex, "1e-30")}, 41},
		{"every second", schema.Column{Type: schema.Int64, Index: index(schema.SkippingIndex, "1")}, 0},
		{"booleans", schema.Column{Type: schema.Boolean, Index: index(schema.InvertedIndex, "")}, 0},
	} {
		if got := bloomBits(&c.col); got != c.want {
			t.Errorf("%s: %d bits a value, want %d", c.name, got, c.want)
		}
	}
}

// TestBloomFilters makes DuckDB search for values that exist, which it must find, and for values
// that do not exist, but are within the column's bounds.
func TestBloomFilters(t *testing.T) {
	tab := tableOf(t, "ts:TimestampNanosecond:TIMESTAMP", "id:String", "few:String", "n:Int64", "i:Int32", "plain:String")
	skipping := &schema.Index{Kind: schema.SkippingIndex, Options: schema.DefaultIndexOptions(schema.SkippingIndex)}
	for i := range tab.Columns {
		switch tab.Columns[i].Name {
		case "id", "n", "i":
			tab.Columns[i].Index = skipping
		case "few":
			tab.Columns[i].Index = &schema.Index{Kind: schema.InvertedIndex}
		}
	}
	const rows = 3000
	var data []row
	for i := range rows {
		r := row{
			"ts": int64(i), "id": fmt.Sprintf("id-%d", i*2), "few": fmt.Sprintf("v%d", i%7*2), "n": int64(i) * 2,
			"i": int64(i) * 2, "plain": "x",
		}
		if i%10 == 0 {
			delete(r, "id")
		}
		data = append(data, r)
	}
	dir := t.TempDir()
	next := uint64(0)
	metas, err := Write(Config{FS: vfs.OS, Dir: dir, RowGroupRows: 1000, NextID: func() uint64 { next++; return next }},
		tab, []*column.Batch{batchOf(t, tab, data...)})
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d segments, %v", len(metas), err)
	}
	file := filepath.Join(dir, FileName(metas[0].ID))
	for _, i := range []int{1, 999, 1001, 2999} {
		for _, where := range []string{
			fmt.Sprintf("id = 'id-%d'", i*2), fmt.Sprintf("n = %d", i*2), fmt.Sprintf("i = %d", i*2),
		} {
			if got := query(t, "SELECT count(*) AS c FROM read_parquet('"+file+"') WHERE "+where); got != "c\n1\n" {
				t.Errorf("%s: got %q, want one row", where, got)
			}
		}
	}
	if got := query(t, "SELECT count(*) AS c FROM read_parquet('"+file+"') WHERE few = 'v4'"); got != "c\n429\n" {
		t.Errorf("few = 'v4': got %q, want 429 rows", got)
	}
	excluded := func(column, value string) int {
		out := query(t, fmt.Sprintf("SELECT bloom_filter_excludes FROM parquet_bloom_probe('%s', '%s', %s)", file,
			column, value))
		return strings.Count(out, "true")
	}
	absent := 0
	for i := range 100 {
		absent += excluded("id", fmt.Sprintf("'id-%d'", 2*i+1)) + excluded("n", fmt.Sprint(2*i+1))
	}
	if groups := 3 * 200; absent < groups*95/100 {
		t.Errorf("%d of %d probes for absent values are excluded, want nearly all", absent, groups)
	}
	filters, err := ReadFilters(vfs.OS, file)
	if err != nil || len(filters.Groups) != 3 || filters.Groups[1].First != 1000 || filters.Groups[2].Rows != 1000 {
		t.Fatalf("filters: %+v, %v", filters, err)
	}
	if lo, hi, ok := filters.Bounds(1, 1); !ok || lo != 1000 || hi != 1999 {
		t.Errorf("bounds of the time index in row group 1: %d to %d, %v", lo, hi, ok)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	passed := 0
	for i := range rows {
		has, err := filters.MayHave(f, 2, i/1000, fmt.Appendf(nil, "id-%d", i*2))
		if err != nil || !has && i%10 != 0 {
			t.Fatalf("id-%d: %v, %v", i*2, has, err)
		}
		if may, _ := filters.MayHave(f, 2, i/1000, fmt.Appendf(nil, "id-%d", i*2+1)); may {
			passed++
		}
	}
	if passed > rows/20 {
		t.Errorf("%d of %d absent values pass", passed, rows)
	}
	if may, err := filters.MayHave(f, 6, 0, []byte("y")); !may || err != nil {
		t.Errorf("a column without a filter: %v, %v", may, err)
	}
	if got := excluded("few", "'v3'"); got != 3 {
		t.Errorf("an absent value of a column with a dictionary is excluded from %d row groups, want 3", got)
	}
	if got := excluded("plain", "'y'"); got != 0 {
		t.Errorf("the filters of a column without an index exclude %d row groups", got)
	}
}
