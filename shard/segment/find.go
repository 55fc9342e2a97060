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

	"github.com/cespare/xxhash/v2"

	"cordwood/shard/segment/parquet"
)

// This file finds the rows of a row group whose value is one of a list of values.

// Find returns the rows of a row group whose value in a column is one of values, as ascending runs
// of one row. Values are the bytes of a text, or the little-endian bytes of a number as stored in
// the file. If there are more than limit such rows, it returns the first ones and sets more. r is
// the file; several goroutines may read it concurrently.
func (f *Filters) Find(r io.ReaderAt, group int, c Column, values [][]byte,
	limit int,
) (runs []Run, more bool, err error) {
	p := &pageCursor{cursor: cursor{Column: &c}}
	if err := p.find(f, r, group); err != nil {
		return nil, false, fmt.Errorf("row group %d, column %q: %w", group, c.Name, err)
	}
	if p.absent {
		return nil, false, nil
	}
	s := &search{Filters: f, r: r, group: group, column: &c, values: values}
	pages := p.index.pages
	chunk := f.Groups[group].columns[c.FieldID].chunk
	if hashes := f.cache.Hashes(f.file, chunk.data); len(hashes) == int(chunk.rows) {
		pages = candidates(pages, hashes, values)
	} else if f.cache != nil && c.Type.IsBytes() && !chunk.hasDict() {
		s.hashes = make([]uint32, chunk.rows)
	}
	if len(pages) == 0 {
		return nil, false, nil
	}
	found := make([][]Run, len(pages))
	failed := make([]error, min(len(pages), maxReaders, runtime.GOMAXPROCS(0)))
	var next atomic.Int64
	var wg sync.WaitGroup
	for i := range failed {
		read := func() {
			failed[i] = s.pages(func() (parquet.Page, *[]Run) {
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
	if s.hashes != nil {
		f.cache.KeepHashes(f.file, chunk.data, s.hashes)
	}
	for _, list := range found {
		runs = append(runs, list...)
	}
	if len(runs) > limit {
		return runs[:limit], true, nil
	}
	return runs, false, nil
}

// search is a search for values in a column of a row group.
type search struct {
	*Filters
	r      io.ReaderAt
	group  int
	column *Column
	values [][]byte
	// hashes, if they are computed, hold hashOf of the value of each row. The elements of null rows
	// are undefined.
	hashes []uint32
}

// hashOf returns a hash of a value. Different values rarely have the same hash.
func hashOf(value []byte) uint32 { return uint32(xxhash.Sum64(value)) }

// candidates returns the pages with a row whose hash is the hash of one of the values.
func candidates(pages []parquet.Page, hashes []uint32, values [][]byte) (out []parquet.Page) {
	wanted := make([]uint32, len(values))
	var low [256]bool // by the lowest byte of the hash
	for i, value := range values {
		wanted[i] = hashOf(value)
		low[byte(wanted[i])] = true
	}
	for _, p := range pages {
		part := hashes[p.First : p.First+p.Rows]
		if len(wanted) == 1 && slices.Contains(part, wanted[0]) ||
			len(wanted) > 1 && slices.ContainsFunc(part, func(h uint32) bool {
				return low[byte(h)] && slices.Contains(wanted, h)
			}) {
			out = append(out, p)
		}
	}
	return out
}

// pages searches the pages that next returns, until next returns none.
func (s *search) pages(next func() (parquet.Page, *[]Run)) error {
	p := &pageCursor{cursor: cursor{Column: s.column}}
	if err := p.find(s.Filters, s.r, s.group); err != nil {
		return err
	}
	if s.hashes != nil {
		// This search reads all pages. In the next one the hashes show which pages are needed.
		p.chunk.Cached(nil, 0)
	}
	b := readers.Get().(*builder)
	defer b.release()
	if b.chunk != nil {
		p.chunk.Reuse(b.chunk)
	}
	defer func() { b.keep(p.chunk) }()
	for page, out := next(); out != nil; page, out = next() {
		v, err := p.chunk.Page(page, nil)
		if err != nil {
			return err
		}
		for _, n := range matching(v, s.values) {
			*out = append(*out, Run{page.First + rowOf(v, n), 1})
		}
		if s.hashes != nil {
			hashPage(s.hashes[page.First:page.First+page.Rows], v)
		}
	}
	return nil
}

// hashPage computes the hashes of the rows of a page of byte strings.
func hashPage(hashes []uint32, v *parquet.Values) {
	if v.Valid == nil {
		for i := range hashes {
			hashes[i] = hashOf(v.Entry(i))
		}
		return
	}
	n := 0
	for i, w := range v.Valid {
		for ; w != 0; w &= w - 1 {
			hashes[64*i+bits.TrailingZeros64(w)] = hashOf(v.Entry(n))
			n++
		}
	}
}

// matching returns the positions of the values of a page that are among the wanted values.
func matching(v *parquet.Values, values [][]byte) []int {
	switch {
	case v.Dict:
		return matchingCodes(v, values)
	case v.Numbers != nil:
		return matchingNumbers(v.Numbers, values)
	case len(values) == 1 && len(values[0]) >= 8:
		return matchingText(v, values[0])
	}
	var out []int
	from := uint32(0)
	for i, end := range v.Ends {
		if contains(v.Data[from:end], values) {
			out = append(out, i)
		}
		from = end
	}
	return out
}

// contains reports whether b is one of values.
func contains(b []byte, values [][]byte) bool {
	for _, value := range values {
		if len(value) == len(b) && bytes.Equal(value, b) {
			return true
		}
	}
	return false
}

// matchingCodes is like matching, for a page with a dictionary. Each entry is compared once.
func matchingCodes(v *parquet.Values, values [][]byte) (out []int) {
	entries := make([]bool, len(v.Ends))
	met := false
	for i := range v.Ends {
		entries[i] = contains(v.Entry(i), values)
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
	return out
}

// matchingNumbers is like matching, for numbers of 4 or 8 bytes.
func matchingNumbers(numbers []uint64, values [][]byte) (out []int) {
	for _, value := range values {
		for i, n := range numbers {
			if len(value) == 8 && n == binary.LittleEndian.Uint64(value) ||
				len(value) == 4 && uint32(n) == binary.LittleEndian.Uint32(value) {
				out = append(out, i)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// matchingText does what matching does in the usual case: one identifier, whose first bytes usually
// differ from other values.
func matchingText(v *parquet.Values, value []byte) (out []int) {
	head := binary.LittleEndian.Uint64(value)
	from := uint32(0)
	for i, end := range v.Ends {
		if int(end-from) == len(value) && binary.LittleEndian.Uint64(v.Data[from:]) == head &&
			bytes.Equal(v.Data[from:end], value) {
			out = append(out, i)
		}
		from = end
	}
	return out
}

// rowOf returns the row of a page that has the n-th value.
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
