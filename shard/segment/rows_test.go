package segment

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// openFilters reads the filters of a file, and opens the file until the end of the test.
func openFilters(t testing.TB, path string) (*Filters, vfs.File) {
	t.Helper()
	filters, err := ReadFilters(vfs.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := vfs.OS.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return filters, f
}

// TestRows compares rows that are read with the page index with rows of a Reader, for columns of
// all types and encodings, and checks that values are found in the right rows.
func TestRows(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 5))
		tab := wide(t)
		dir := t.TempDir()
		m := write(t, dir, tab, fill(t, r, tab, 9000, 14_000, 8192, 1+r.IntN(30_000))...)[0]
		path := filepath.Join(dir, FileName(m.ID))
		want := make([][]string, len(m.Columns)) // value(v, row) by column
		reader, err := Open(vfs.OS, path, &m)
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := reader.Next(5000)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range m.Columns {
				v := b.Column(c.ID)
				for row := range b.Rows {
					want[i] = append(want[i], value(v, row))
				}
			}
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
		filters, err := ReadFilters(vfs.OS, path)
		if err != nil {
			t.Fatal(err)
		}
		if seed > 0 {
			// The cache is smaller than the data.
			filters.Cached(NewPageCache(1 << 20))
		}
		f, err := vfs.OS.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var wait sync.WaitGroup
		for i := range 24 {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			wait.Go(func() { checkRows(t, r, filters, f, &m, want) })
		}
		wait.Wait()
		if s := filters.cache.Stats(); (s.Hits > 0) != (seed > 0) || s.Bytes > 1<<20 {
			t.Errorf("seed %d: %+v", seed, s)
		}
	}
}

// counted counts the reads of a file.
type counted struct {
	io.ReaderAt
	mu    sync.Mutex
	bytes int
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	c.mu.Lock()
	c.bytes += len(b)
	c.mu.Unlock()
	return c.ReaderAt.ReadAt(b, at)
}

// TestFindAgain looks up identifiers of a row group one after the other. After the first lookup,
// Find reads only the page with the value, or no page if the value is absent.
func TestFindAgain(t *testing.T) {
	tab := tableOf(t, "ts:TimestampNanosecond:TIMESTAMP", "id:String")
	r := rand.New(rand.NewPCG(3, 9))
	var ids []string
	var rows []map[string]any
	for i := range 40_000 {
		ids = append(ids, fmt.Sprintf("%016x%016x", r.Uint64(), r.Uint64()))
		row := map[string]any{"ts": i}
		if i%5 > 0 {
			row["id"] = ids[i]
		}
		rows = append(rows, row)
	}
	dir := t.TempDir()
	m := write(t, dir, tab, batchOf(t, tab, rows...))[0]
	path := filepath.Join(dir, FileName(m.ID))
	filters, file := openFilters(t, path)
	filters.Cached(NewPageCache(32 << 20))
	f := &counted{ReaderAt: file}
	at := slices.IndexFunc(m.Columns, func(c Column) bool { return c.Name == "id" })
	look := func(values ...string) (runs []Run, read int) {
		t.Helper()
		before := f.bytes
		var bytes [][]byte
		for _, v := range values {
			bytes = append(bytes, []byte(v))
		}
		runs, more, err := filters.Find(f, 0, m.Columns[at], bytes, 100)
		if err != nil || more {
			t.Fatal(more, err)
		}
		return runs, f.bytes - before
	}
	_, all := look(ids[1])
	for _, i := range []int{9, 12_001, 23_456, 39_999} {
		if runs, read := look(ids[i]); !slices.Equal(runs, []Run{{i, 1}}) || read > all/3 {
			t.Errorf("row %d: found %v, %d bytes of %d read", i, runs, read, all)
		}
	}
	if runs, read := look("none", ids[31], ids[33_333]); !slices.Equal(runs, []Run{{31, 1}, {33_333, 1}}) ||
		read > 2*all/3 {
		t.Errorf("two of three: found %v, %d bytes of %d read", runs, read, all)
	}
	if runs, read := look(ids[1][:31] + "x"); runs != nil || read > 0 {
		t.Errorf("none: found %v, %d bytes read", runs, read)
	}
}

func checkRows(t *testing.T, r *rand.Rand, filters *Filters, f vfs.File, m *Meta, want [][]string) {
	group := r.IntN(len(filters.Groups))
	g := filters.Groups[group]
	var runs []Run
	step := []int{1, 300, 9000}[r.IntN(3)]
	for row := r.IntN(step); row < int(g.Rows) && len(runs) < 500; {
		n := min(1+r.IntN(step), int(g.Rows)-row)
		runs = append(runs, Run{row, n})
		row += n + r.IntN(2*step)
	}
	var columns []Column
	var at []int
	for i, c := range m.Columns {
		if r.IntN(3) > 0 {
			columns, at = append(columns, c), append(at, i)
		}
	}
	b, err := filters.Rows(f, group, columns, runs)
	if err != nil {
		t.Error(err)
		return
	}
	for i, c := range columns {
		v := b.Column(c.ID)
		n := 0
		for _, run := range runs {
			for row := run.First; row < run.First+run.Rows; row++ {
				if got, want := value(v, n), want[at[i]][int(g.First)+row]; got != want {
					t.Errorf("group %d, column %q, row %d of %v: got %s, want %s", group, c.Name, row, runs, got, want)
					return
				}
				n++
			}
		}
		if b.Rows != n {
			t.Errorf("%d rows, want %d", b.Rows, n)
			return
		}
		if v == nil || !c.Type.IsBytes() || v.IsNull(n-1) {
			continue
		}
		last := runs[len(runs)-1]
		wanted := want[at[i]][int(g.First)+last.First+last.Rows-1]
		found, more, err := filters.Find(f, group, c, [][]byte{v.Bytes(n - 1), []byte("no such")}, 1<<20)
		if err != nil || more {
			t.Error(more, err)
			return
		}
		var rows []Run
		for row := range int(g.Rows) {
			if want[at[i]][int(g.First)+row] == wanted {
				rows = append(rows, Run{row, 1})
			}
		}
		if !slices.Equal(found, rows) {
			t.Errorf("group %d, column %q, value %s: found in %d rows, want %d", group, c.Name, wanted, len(found), len(rows))
		}
		if found, more, err = filters.Find(f, group, c, [][]byte{v.Bytes(n - 1)}, 1<<20); !slices.Equal(found, rows) ||
			more || err != nil {
			t.Errorf("group %d, column %q, value %s by itself: found in %d rows, want %d, %v, %v", group, c.Name, wanted,
				len(found), len(rows), more, err)
		}
		if len(rows) > 1 {
			if found, more, err = filters.Find(f, group, c, [][]byte{v.Bytes(n - 1)}, 1); len(found) != 1 ||
				!more || err != nil {
				t.Errorf("with a limit of 1: %d rows, %v, %v", len(found), more, err)
			}
		}
	}
}

// TestPages checks that pages are small, that they end at the same rows in all columns, and that
// the pages of the time index have bounds.
func TestPages(t *testing.T) {
	tab, batches := accessLog(t, DefaultRowGroupRows+1000)
	dir := t.TempDir()
	m := write(t, dir, tab, batches...)[0]
	path := filepath.Join(dir, FileName(m.ID))
	filters, f := openFilters(t, path)
	for _, c := range m.Columns {
		x, err := filters.pages(f, chunkID{0, c.FieldID}, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range x.pages {
			if most := 20_480; p.Rows > most || p.First%8192 != 0 && p.First%most != 0 {
				t.Errorf("column %q: a page of %d rows from %d", c.Name, p.Rows, p.First)
			}
		}
	}
	times := m.Columns[slices.IndexFunc(m.Columns, func(c Column) bool { return c.ID == tab.TimeIndex().ID })]
	bounds, err := filters.PageBounds(f, times.FieldID, 0)
	if err != nil || len(bounds) != 5 {
		t.Fatalf("%d pages, %v", len(bounds), err)
	}
	for _, p := range bounds {
		b, err := filters.Rows(f, 0, []Column{times}, []Run{p.Run})
		if err != nil {
			t.Fatal(err)
		}
		if b.MinTime != p.Min || b.MaxTime != p.Max {
			t.Errorf("rows from %d: times %d to %d, bounds %d to %d", p.First, b.MinTime, b.MaxTime, p.Min, p.Max)
		}
	}
	// Damage is found in a page that is read, but not in others.
	x := filters.index[chunkID{0, times.FieldID}]
	raw, err := vfs.ReadFile(vfs.OS, path)
	if err != nil {
		t.Fatal(err)
	}
	raw[x.pages[2].Offset+40] ^= 1
	mem := memFile(raw)
	if _, err := filters.Rows(mem, 0, []Column{times}, []Run{{8192, 8192}}); err != nil {
		t.Error(err)
	}
	var damage *parquet.ErrCorrupt
	if _, err := filters.Rows(mem, 0, []Column{times}, []Run{{8192, 8193}}); !errors.As(err, &damage) {
		t.Errorf("a damaged page: %v", err)
	}
	if _, err := filters.Rows(f, 0, []Column{times}, []Run{{5, 2}, {6, 1}}); err == nil {
		t.Error("runs that overlap were read")
	}
}

type memFile []byte

func (m memFile) ReadAt(b []byte, off int64) (int, error) {
	if n := copy(b, m[min(off, int64(len(m))):]); n < len(b) {
		return n, io.EOF
	}
	return len(b), nil
}
