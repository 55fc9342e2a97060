package segment

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	parquetgo "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/bloom"

	"cordwood/proto/column"
	"cordwood/proto/schema"
	"cordwood/shard/vfs"
)

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		name     string
		analyzer analyzer
		text     string
		want     []string
	}{
		{"words", analyzer{}, "GET /cart?id=17 HTTP/1.1", []string{"get", "cart", "id", "17", "http", "1", "1"}},
		{"case", analyzer{caseSensitive: true}, "Disk FULL", []string{"Disk", "FULL"}},
		{"other letters", analyzer{}, "Größe ÄNDERN", []string{"größe", "ändern"}},
		{"Han", analyzer{chinese: true}, "磁盘 full满", []string{"磁", "盘", "full", "满"}},
		{"Han as words", analyzer{}, "磁盘 x", []string{"磁盘", "x"}},
		{"nothing", analyzer{}, " -- ", nil},
	} {
		var got []string
		c.analyzer.each([]byte(c.text), nil, func(token []byte) { got = append(got, string(token)) })
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// checkPlaces checks that the token filters of a file that stay in the file are those that were written.
func checkPlaces(t *testing.T, path string, whole *Fulltext) {
	t.Helper()
	placed, err := ReadFilters(vfs.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if len(placed.columns) != len(whole.columns) {
		t.Errorf("%d columns have filters, want %d", len(placed.columns), len(whole.columns))
	}
	for field, want := range whole.columns {
		got := placed.columns[field]
		if got == nil || len(got.Filters) > 0 || len(got.places) != len(want.Filters) {
			t.Fatalf("column %d: %+v, want the places of %d filters", field, got, len(want.Filters))
		}
		for g, filter := range want.Filters {
			if got.places[g].size != len(filter) {
				t.Errorf("column %d, row group %d: %d bytes, want %d", field, g, got.places[g].size, len(filter))
			}
			for at := 0; at < len(filter); at += bloom.BlockSize {
				block := make([]byte, bloom.BlockSize)
				_, err := filterAt{file, got.places[g]}.ReadAt(block, int64(at))
				if diff := cmp.Diff(filter[at:at+bloom.BlockSize], block); err != nil || diff != "" {
					t.Fatalf("column %d, row group %d, byte %d: %v (-want +got):\n%s", field, g, at, err, diff)
				}
			}
		}
	}
}

// TestFulltext writes messages in several row groups. The filters must find every word in its row
// group, and find almost no absent words.
func TestFulltext(t *testing.T) {
	tab := tableOf(t, "ts:TimestampNanosecond:TIMESTAMP", "msg:String", "few:String", "plain:String")
	options := schema.DefaultIndexOptions(schema.FulltextIndex)
	tab.Columns[1].Index = &schema.Index{Kind: schema.FulltextIndex, Options: options}
	tab.Columns[2].Index = &schema.Index{Kind: schema.FulltextIndex, Options: options}
	var data []row
	for i := range 900 {
		r := row{
			"ts": int64(i), "msg": fmt.Sprintf("Request w%d from host-%d took %dms", i, i%5, i),
			"few": []string{"cache HIT", "cache miss"}[i/600], "plain": "x",
		}
		if i%10 == 9 {
			delete(r, "msg")
		}
		data = append(data, r)
	}
	dir := t.TempDir()
	next := uint64(0)
	metas, err := Write(Config{FS: vfs.OS, Dir: dir, RowGroupRows: 300, NextID: func() uint64 { next++; return next }},
		tab, []*column.Batch{batchOf(t, tab, data...)})
	if err != nil || len(metas) != 1 {
		t.Fatalf("%d segments, %v", len(metas), err)
	}
	path := filepath.Join(dir, FileName(metas[0].ID))
	f, err := readFulltext(vfs.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	msg, few, plain := tab.Columns[1].ID, tab.Columns[2].ID, tab.Columns[3].ID
	checkPlaces(t, path, f)
	for i, r := range data {
		if text, ok := r["msg"].(string); ok && !f.MayContain(nil, msg, i/300, text) {
			t.Fatalf("row %d: %q is not found in its row group", i, text)
		}
	}
	wrong := 0
	for i := range 1000 {
		for g := range 3 {
			if f.MayContain(nil, msg, g, fmt.Sprintf("absent%d", i)) {
				wrong++
			}
		}
	}
	if wrong > 90 {
		t.Errorf("%d of 3000 absent words may be there, want about 30", wrong)
	}
	for g, want := range []bool{true, true, false} {
		if got := f.MayContain(nil, few, g, "hit"); got != want {
			t.Errorf("row group %d may contain the word hit: %v, want %v", g, got, want)
		}
	}
	if !f.MayContain(nil, plain, 0, "nowhere") || !f.MayContain(nil, msg, 99, "nowhere") {
		t.Error("a missing filter excludes a word")
	}
	var out strings.Builder
	if err := Inspect(&out, vfs.OS, path); err != nil || !strings.Contains(out.String(), "bytes of token filters") {
		t.Errorf("inspect: %v, %s", err, out.String())
	}
	if got := query(t, "SELECT count(msg) AS c FROM read_parquet('"+path+"')"); got != "c\n810\n" {
		t.Errorf("another engine reads %q, want 810 messages", got)
	}
}

// TestFulltextOfManyTokens overflows the largest filter. The filter then has more false positives,
// but still finds every token.
func TestFulltextOfManyTokens(t *testing.T) {
	tab := tableOf(t, "ts:TimestampNanosecond:TIMESTAMP", "msg:String")
	tab.Columns[1].Index = &schema.Index{
		Kind:    schema.FulltextIndex,
		Options: schema.DefaultIndexOptions(schema.FulltextIndex),
	}
	const rows, words = 1500, 100
	var data []row
	for i := range rows {
		var b strings.Builder
		for j := range words {
			fmt.Fprintf(&b, "t%d ", i*words+j)
		}
		data = append(data, row{"ts": int64(i), "msg": b.String()})
	}
	dir := t.TempDir()
	if _, err := Write(Config{FS: vfs.OS, Dir: dir, NextID: func() uint64 { return 1 }}, tab,
		[]*column.Batch{batchOf(t, tab, data...)}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, FileName(1))
	f, err := readFulltext(vfs.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	checkPlaces(t, path, f)
	if got := len(f.columns[tab.Columns[1].ID].Filters[0]); got != maxFilterBytes {
		t.Errorf("the filter has %d bytes, want %d", got, maxFilterBytes)
	}
	wrong := 0
	for i := range rows * words {
		if !f.MayContain(nil, tab.Columns[1].ID, 0, fmt.Sprintf("t%d", i)) {
			t.Fatalf("t%d is not found", i)
		}
		if i < 1000 && f.MayContain(nil, tab.Columns[1].ID, 0, fmt.Sprintf("absent%d", i)) {
			wrong++
		}
	}
	if wrong > 150 {
		t.Errorf("%d of 1000 absent words may be there", wrong)
	}
}

func TestParseFulltextRefuses(t *testing.T) {
	for _, text := range []string{
		`{`, `[{"column":1,"filters":["AAAA"]}]`, `[{"column":1,"filters":[""]}]`,
		`[{"column":1,"filters":["` + strings.Repeat("A", 48) + `"]}]`,
	} {
		if _, err := parseFulltext(text); err == nil {
			t.Errorf("%s: no error", text)
		}
		if _, err := placeFulltext(text, 0); err == nil {
			t.Errorf("%s: no error for places", text)
		}
	}
}

// readFulltext reads the token filters of a segment file; there may be none.
func readFulltext(fsys vfs.FS, path string) (*Fulltext, error) {
	size, err := fsys.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read token filters: %w", err)
	}
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read token filters: %w", err)
	}
	defer f.Close()
	pf, err := parquetgo.OpenFile(f, size, parquetgo.SkipPageIndex(true), parquetgo.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("read token filters of %s: %w", path, err)
	}
	text, _ := pf.Lookup(KeyFulltext)
	t, err := parseFulltext(text)
	if err != nil {
		return nil, fmt.Errorf("read token filters of %s: %w", path, err)
	}
	return t, nil
}

// TestAbsentWords checks filters of as many row groups as ten million rows have, each with as many
// tokens as a row group of log paths has. For almost all absent words, no row group has to be read.
// The filters stay small, however many tokens there are.
func TestAbsentWords(t *testing.T) {
	c := &schema.Column{
		Type:  schema.String,
		Index: &schema.Index{Kind: schema.FulltextIndex, Options: schema.DefaultIndexOptions(schema.FulltextIndex)},
	}
	const groups, tokens, words = 254, 2400, 1000
	ft := newFulltext(c)
	for g := range groups {
		for i := range tokens {
			ft.token(fmt.Appendf(nil, "token%d of %d", i, g))
		}
		ft.end()
	}
	read := 0
	for w := range words {
		h := tokenHash.Sum64(fmt.Appendf(nil, "absent%d", w))
		if slices.ContainsFunc(ft.groups, func(b []byte) bool { f := bloom.MakeSplitBlockFilter(b); return f.Check(h) }) {
			read++
		}
	}
	if read > words/10 {
		t.Errorf("%d of %d absent words have row groups read", read, words)
	}
	t.Logf("%d of %d words have row groups read; a filter of %d tokens has %d bytes", read, words, tokens,
		len(ft.groups[0]))
	for _, n := range []int{0, 1, 8191, 8192, 10_000, 20_000, 40_000, 80_000, 200_000} {
		ft := newFulltext(c)
		for i := range n {
			ft.token(fmt.Append(nil, i))
		}
		ft.end()
		// A folded filter has up to twice the requested bytes.
		asked := min(max(bloom.NumSplitBlocksOf(int64(n), ft.bits), 1)*bloom.BlockSize, maxFilterBytes)
		got := len(ft.groups[0])
		if got > max(2*asked, smallFilterBytes) || got < asked*98/100 {
			t.Errorf("%d tokens: a filter of %d bytes, want %d to %d", n, got, asked, max(2*asked, smallFilterBytes))
		}
		f := bloom.MakeSplitBlockFilter(ft.groups[0])
		for i := range n {
			if !f.Check(tokenHash.Sum64(fmt.Append(nil, i))) {
				t.Fatalf("%d tokens: token %d is not found", n, i)
			}
		}
	}
}

// TestFoldedFilters checks that a folded filter equals a filter of that size with the same tokens.
func TestFoldedFilters(t *testing.T) {
	for _, n := range []int{1, 1000, 10_000, 100_000} {
		large := make(bloom.SplitBlockFilter, maxFilterBlocks)
		for i := range n {
			large.Insert(tokenHash.Sum64(fmt.Append(nil, i)))
		}
		if got := filterTokens(large); got < n*98/100 || got > n*102/100+1 {
			t.Errorf("%d tokens are estimated as %d", n, got)
		}
		for blocks := 1; blocks <= maxFilterBlocks; blocks *= 2 {
			want := make(bloom.SplitBlockFilter, blocks)
			for i := range n {
				want.Insert(tokenHash.Sum64(fmt.Append(nil, i)))
			}
			if got := folded(slices.Clone(large), blocks-blocks/3); !slices.Equal(got, want) {
				t.Errorf("%d tokens in %d blocks: the folded filter has %d blocks and other bits", n, blocks, len(got))
			}
		}
	}
}
