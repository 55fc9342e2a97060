package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// textFile returns a file with one column of texts, its chunk and its pages.
func textFile(t *testing.T, v *Values) (file []byte, e format.SchemaElement, md *format.ColumnMetaData, pages []Page) {
	t.Helper()
	e = format.SchemaElement{Name: "c", Type: thrift.New(format.ByteArray), RepetitionType: thrift.New(format.Required)}
	var out bytes.Buffer
	w := NewWriter(&out, []Column{{Element: e}}, nil, 1)
	w.BeginGroup(v.Rows)
	if err := w.WriteColumn(v); err != nil {
		t.Fatal(err)
	}
	if err := w.Close("test", nil); err != nil {
		t.Fatal(err)
	}
	w.Release()
	footer, err := ReadFooter(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	c := &footer.RowGroups[0].Columns[0]
	pages, err = ReadPages(bytes.NewReader(out.Bytes()), c.OffsetIndexOffset, c.OffsetIndexOffset+
		int64(c.OffsetIndexLength), c.MetaData.NumValues)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), e, &c.MetaData, pages
}

// counter counts the reads of a file.
type counter struct {
	*bytes.Reader
	mu    sync.Mutex
	reads int
}

func (c *counter) ReadAt(b []byte, at int64) (int, error) {
	c.mu.Lock()
	c.reads++
	c.mu.Unlock()
	return c.Reader.ReadAt(b, at)
}

// texts returns the texts of a page.
func texts(v *Values) (out []string) {
	for i := range v.Rows {
		if v.Dict {
			out = append(out, string(v.Entry(int(v.Codes[i]))))
		} else {
			out = append(out, string(v.Entry(i)))
		}
	}
	return out
}

// TestCache reads pages of all encodings of texts repeatedly. From the third time on, nothing is
// read from the file, and the result is the same.
func TestCache(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	repeating := &Values{Rows: 50_000, Dict: true, Data: []byte("onetwothree"), Ends: []uint32{3, 6, 11}}
	for range repeating.Rows {
		repeating.Codes = append(repeating.Codes, r.Uint32N(3))
	}
	for name, v := range map[string]*Values{
		"codes": repeating,
		"plain": textsOf(20_000, func(int) string { return fmt.Sprintf("%016x", r.Uint64()) }),
		"alike": textsOf(50_000, func(i int) string { return fmt.Sprintf("2026-01-01T00:00:%09d", i) }),
	} {
		file, e, md, pages := textFile(t, v)
		if len(pages) < 2 {
			t.Fatalf("%s: %d pages", name, len(pages))
		}
		f := &counter{Reader: bytes.NewReader(file)}
		c := NewCache(1 << 24)
		number := NewFile()
		var first [][]string
		for round := range 4 {
			before := f.reads
			for i, p := range pages {
				chunk, err := NewChunkReader(f, &e, md)
				if err != nil {
					t.Fatal(err)
				}
				chunk.Cached(c, number)
				v, err := chunk.Page(p, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got := texts(v); round == 0 {
					first = append(first, got)
				} else if !slices.Equal(got, first[i]) {
					t.Fatalf("%s, round %d, page %d: the texts differ from the first round", name, round, i)
				}
			}
			if read := f.reads - before; (read == 0) != (round >= 2) {
				t.Errorf("%s, round %d: %d reads of the file", name, round, read)
			}
		}
		s := c.Stats()
		if s.Hits == 0 || s.Misses == 0 || s.Evictions != 0 || s.Bytes <= 0 || s.Bytes > 1<<24 {
			t.Errorf("%s: %+v", name, s)
		}
		// Pages of another file at the same offsets are different pages.
		if p, _ := c.get(pageKey{file: NewFile(), offset: pages[0].Offset}); p != nil {
			t.Errorf("%s: got a page of a file that was not read", name)
		}
	}
}

// TestCacheBound puts more into a cache than fits. The cache must stay within its limit and keep
// the pages in use. Pages that are too large, or were read only once, must not be cached.
func TestCacheBound(t *testing.T) {
	const limit = 1 << 20
	c := NewCache(limit)
	page := func(i int) *loadedPage {
		return &loadedPage{key: pageKey{file: 1, offset: int64(i)}, body: bytes.Repeat([]byte{byte(i)}, 10_000)}
	}
	c.put(page(0))
	for i := 1; i < 1000; i++ {
		c.put(page(i))
		if p, _ := c.get(pageKey{file: 1, offset: 0}); p == nil || p.body[0] != 0 {
			t.Fatalf("after %d pages the one in use is gone", i)
		}
		if s := c.Stats(); s.Bytes > limit {
			t.Fatalf("after %d pages: %d bytes of %d", i, s.Bytes, limit)
		}
	}
	s := c.Stats()
	if want := int64(limit / page(0).size()); s.Evictions != 1000-want || int64(c.pages.Len()) != want {
		t.Errorf("%+v, %d pages: want %d", s, c.pages.Len(), want)
	}
	if p, _ := c.get(pageKey{file: 1, offset: 1}); p != nil {
		t.Error("the oldest page is still there")
	}
	c.put(&loadedPage{key: pageKey{file: 2, offset: 0}, body: make([]byte, limit/pageShare)})
	if p, _ := c.get(pageKey{file: 2, offset: 0}); p != nil {
		t.Error("a page of an eighth of the limit was kept")
	}
	if _, keep := c.get(pageKey{file: 3, offset: 0}); keep {
		t.Error("a page is cached when it is read for the first time")
	}
	if _, keep := c.get(pageKey{file: 3, offset: 0}); !keep {
		t.Error("a page is not cached when it is read for the second time")
	}
}

// TestCacheDamage damages a page. Every read must return an error, and the page must not be cached.
func TestCacheDamage(t *testing.T) {
	file, e, md, pages := textFile(t, textsOf(20_000, func(i int) string { return strings.Repeat(fmt.Sprint(i*7919), 2) }))
	file[pages[1].Offset+pages[1].Bytes/2] ^= 1
	c := NewCache(1 << 24)
	for range 4 {
		chunk, err := NewChunkReader(bytes.NewReader(file), &e, md)
		if err != nil {
			t.Fatal(err)
		}
		chunk.Cached(c, 1)
		var corrupt *ErrCorrupt
		if _, err := chunk.Page(pages[1], nil); !errors.As(err, &corrupt) {
			t.Fatalf("error %v, want damage", err)
		}
	}
	if s := c.Stats(); s.Hits != 0 || s.Bytes != 0 {
		t.Errorf("%+v, want nothing kept", s)
	}
}

// TestCacheTogether uses a small cache from several goroutines.
func TestCacheTogether(t *testing.T) {
	v := textsOf(60_000, func(i int) string { return fmt.Sprintf("%d %x", i, i*104729) })
	file, e, md, pages := textFile(t, v)
	c := NewCache(2 << 20)
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(g)))
			for range 60 {
				chunk, err := NewChunkReader(bytes.NewReader(file), &e, md)
				if err != nil {
					t.Error(err)
					return
				}
				chunk.Cached(c, 1)
				p := pages[r.IntN(len(pages))]
				at := r.IntN(p.Rows)
				got, err := chunk.Page(p, []Span{{at, at + 1}})
				if err != nil {
					t.Error(err)
					return
				}
				if want := v.Entry(p.First + at); !bytes.Equal(got.Entry(at), want) {
					t.Errorf("row %d: got %q, want %q", p.First+at, got.Entry(at), want)
				}
			}
		})
	}
	wait.Wait()
}

// TestTextsInPlace checks that pages of texts, which are written from the memory of the texts, have the right contents,
// and that the texts are unchanged afterwards, because filters read them.
func TestTextsInPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	v := &Values{}
	for range 3 * pageRows {
		v.Data = append(v.Data, strings.Repeat(fmt.Sprint(r.IntN(1000)), r.IntN(60))...)
		v.Ends = append(v.Ends, uint32(len(v.Data)))
		v.Rows++
	}
	want := slices.Clone(v.Data)
	file, e, md, pages := textFile(t, v)
	if !bytes.Equal(v.Data, want) {
		t.Error("the texts changed")
	}
	if len(pages) < 3 || md.Encoding[1] != format.DeltaLengthByteArray {
		t.Fatalf("%d pages of encoding %v", len(pages), md.Encoding)
	}
	c, err := NewChunkReader(bytes.NewReader(file), &e, md)
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for _, p := range pages {
		page, err := c.Page(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, page.Data...)
	}
	if !bytes.Equal(got, want) {
		t.Error("the file has other texts")
	}
}
