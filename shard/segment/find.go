package segment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"cordwood/shard/segment/parquet"
)

// This file looks up the rows of a row group that have one of some values.

// Find returns the rows of a row group whose value in a column is one of some values, as
// runs of one row, ascending. Values are the bytes of a text, or the little-endian bytes
// of a number as it lies in the file. more tells that there are more than limit; then the first ones are returned. r is the
// file, of which several parts may be read at a time.
func (f *Filters) Find(r io.ReaderAt, group int, c Column, values [][]byte, limit int) (runs []Run, more bool, err error) {
	p := &pageCursor{cursor: cursor{Column: &c}}
	if err := p.find(f, r, group); err != nil {
		return nil, false, fmt.Errorf("row group %d, column %q: %w", group, c.Name, err)
	}
	if p.absent {
		return nil, false, nil
	}
	pages := p.index.pages
	found := make([][]Run, len(pages))
	failed := make([]error, min(len(pages), maxReaders, runtime.GOMAXPROCS(0)))
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range failed {
		read := func() {
			failed[i] = f.findIn(r, group, &c, values, func() (parquet.Page, *[]Run) {
				if n := int(next.Add(1)) - 1; n < len(pages) {
					return pages[n], &found[n]
				}
				return parquet.Page{}, nil
			})
		}
		if i == len(failed)-1 {
			read()
			break
		}
		wg.Go(read)
	}
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, false, fmt.Errorf("row group %d, column %q: %w", group, c.Name, err)
	}
	for _, list := range found {
		runs = append(runs, list...)
	}
	if len(runs) > limit {
		return runs[:limit], true, nil
	}
	return runs, false, nil
}

// findIn looks through the pages that next returns, until there is none.
func (f *Filters) findIn(r io.ReaderAt, group int, c *Column, values [][]byte, next func() (parquet.Page, *[]Run)) error {
	p := &pageCursor{cursor: cursor{Column: c}}
	if err := p.find(f, r, group); err != nil {
		return err
	}
	b := readers.Get().(*builder)
	defer b.release()
	if b.chunk != nil {
		p.chunk.Reuse(b.chunk)
	}
	defer func() { b.keep(p.chunk) }()
	for page, out := next(); out != nil; page, out = next() {
		v, err := p.chunk.Page(page, 0, page.Rows)
		if err != nil {
			return err
		}
		for _, n := range matching(v, values) {
			*out = append(*out, Run{page.First + rowOf(v, n), 1})
		}
	}
	return nil
}

// matching are the numbers of the values of a page that are one of some.
func matching(v *parquet.Values, values [][]byte) (out []int) {
	among := func(b []byte) bool {
		for _, value := range values {
			if len(value) == len(b) && bytes.Equal(value, b) {
				return true
			}
		}
		return false
	}
	switch {
	case v.Dict:
		entries := make([]bool, len(v.Ends))
		met := false
		for i := range v.Ends {
			entries[i] = among(v.Entry(i))
			met = met || entries[i]
		}
		if !met {
			return nil
		}
		for i, code := range v.Codes {
			if entries[code] {
				out = append(out, i)
			}
		}
	case v.Numbers != nil:
		for _, value := range values {
			for i, n := range v.Numbers {
				if len(value) == 8 && n == binary.LittleEndian.Uint64(value) || len(value) == 4 && uint32(n) == binary.LittleEndian.Uint32(value) {
					out = append(out, i)
				}
			}
		}
		slices.Sort(out)
		out = slices.Compact(out)
	default:
		from := uint32(0)
		for i, end := range v.Ends {
			if among(v.Data[from:end]) {
				out = append(out, i)
			}
			from = end
		}
	}
	return out
}

// rowOf is the row of a page that has value n.
func rowOf(v *parquet.Values, n int) int {
	if v.Valid == nil {
		return n
	}
	for i, w := range v.Valid {
		k := bits.OnesCount64(w)
		if n >= k {
			n -= k
			continue
		}
		for ; n > 0; n-- {
			w &= w - 1
		}
		return 64*i + bits.TrailingZeros64(w)
	}
	return v.Rows
}
