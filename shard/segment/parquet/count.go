package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"
)

// ErrNoDictionary is the error for a chunk with values that are not codes of a dictionary.
var ErrNoDictionary = errors.New("not all values are codes of a sufficiently small dictionary")

// Entries returns the number of entries of a chunk's dictionary. It fails with ErrNoDictionary if
// there is none. c must not be used for anything else.
func (c *ChunkReader) Entries() (int, error) {
	if o := c.md.DictionaryPageOffset; o <= 0 || o >= c.md.DataPageOffset {
		return 0, ErrNoDictionary
	}
	p, err := c.load(0)
	if err != nil {
		return 0, err
	}
	if p.dict == nil {
		return 0, ErrNoDictionary
	}
	return int(p.header.DictionaryPageHeader.V.NumValues), nil
}

// Counts counts the values of a chunk without decoding them: the number of rows with each entry of
// its dictionary, and the number of nulls. c must not be used for anything else. It fails with
// ErrNoDictionary if the chunk has no dictionary, or one with more than most entries.
func (c *ChunkReader) Counts(most int) (dict *Values, counts []int64, nulls int64, err error) {
	if o := c.md.DictionaryPageOffset; o <= 0 || o >= c.md.DataPageOffset {
		return nil, nil, 0, ErrNoDictionary
	}
	for c.rows > 0 {
		first := c.dict == nil
		p, err := c.load(0)
		if err != nil {
			return nil, nil, 0, err
		}
		switch h := &p.header; {
		case p.dict != nil && first:
			n := h.DictionaryPageHeader.V.NumValues
			if int(n) > most {
				return nil, nil, 0, ErrNoDictionary
			}
			counts = make([]int64, n)
		case h.Type == format.DataPage && h.DataPageHeader.Valid:
			if c.dict == nil || h.DataPageHeader.V.Encoding != format.RLEDictionary {
				return nil, nil, 0, ErrNoDictionary
			}
			null, err := c.count(&h.DataPageHeader.V, p.body, counts)
			if err != nil {
				return nil, nil, 0, badPage(p.key.offset, err)
			}
			nulls += null
		default:
			return nil, nil, 0, badPage(p.key.offset, fmt.Errorf("a page of type %v", h.Type))
		}
	}
	if c.dict == nil {
		return nil, nil, 0, ErrNoDictionary
	}
	return c.dict, counts, nulls, nil
}

// count adds the codes of a page.
func (c *ChunkReader) count(h *format.DataPageHeader, body []byte, counts []int64) (nulls int64, err error) {
	values, body, err := c.pageLevels(h, body)
	if err != nil {
		return 0, err
	}
	nulls = int64(h.NumValues) - int64(values)
	c.rows -= int64(h.NumValues)
	if values == 0 {
		return nulls, nil
	}
	if len(body) == 0 {
		return 0, fmt.Errorf("codes of %d values: got no bytes", values)
	}
	return nulls, countHybrid(counts, body[1:], values, uint(body[0]), &c.mem)
}

// countHybrid counts n codes of width bits.
func countHybrid(counts []int64, src []byte, n int, width uint, mem *memory) error {
	if width > 32 {
		return fmt.Errorf("values of %d bits, at most 32 are possible", width)
	}
	for n > 0 {
		head, size := binary.Uvarint(src)
		if size <= 0 || head>>1 == 0 {
			return fmt.Errorf("the header of a run, with %d values to come: %w", n, io.ErrUnexpectedEOF)
		}
		src = src[size:]
		if head&1 == 0 {
			bytes := int(width+7) / 8
			if len(src) < bytes {
				return fmt.Errorf("a value of %d bytes: got %d", bytes, len(src))
			}
			v := uint64(0)
			for i := range bytes {
				v |= uint64(src[i]) << (8 * i)
			}
			if v >= uint64(len(counts)) {
				return fmt.Errorf("a code below %d: got %d", len(counts), v)
			}
			take := int(min(head>>1, uint64(n)))
			counts[v] += int64(take)
			src, n = src[bytes:], n-take
			continue
		}
		take := n
		if groups := head >> 1; groups < uint64(n)/8+1 {
			take = min(8*int(groups), n)
		}
		need := (take*int(width) + 7) / 8
		if len(src) < need {
			return fmt.Errorf("%d packed values of %d bits: got %d bytes", take, width, len(src))
		}
		if err := countPacked(counts, src, take, width, mem); err != nil {
			return err
		}
		n -= take
		src = src[min(head>>1*uint64(width), uint64(len(src))):]
	}
	return nil
}

// countPacked counts packed codes. src has padding bytes of capacity after its end.
func countPacked(counts []int64, src []byte, n int, width uint, mem *memory) error {
	add := func(code uint64, times int64) error {
		if code >= uint64(len(counts)) {
			return fmt.Errorf("a code below %d: got %d", len(counts), code)
		}
		counts[code] += times
		return nil
	}
	src = padded(src)
	if width <= 8 && n >= 256 {
		// Count eight codes at a time in several tables, so that a code need not wait for an equal
		// previous one.
		var a, b [256]uint32
		mask := uint64(1)<<width - 1
		words := src[:cap(src)]
		for ; n >= 8; n -= 8 {
			w := binary.LittleEndian.Uint64(words)
			words = words[width:]
			a[w&mask&255]++
			b[w>>width&mask&255]++
			a[w>>(2*width)&mask&255]++
			b[w>>(3*width)&mask&255]++
			a[w>>(4*width)&mask&255]++
			b[w>>(5*width)&mask&255]++
			a[w>>(6*width)&mask&255]++
			b[w>>(7*width)&mask&255]++
		}
		for code := range a {
			if times := int64(a[code]) + int64(b[code]); times > 0 {
				if err := add(uint64(code), times); err != nil {
					return err
				}
			}
		}
		src = words
	}
	codes := room(&mem.codes, n)
	unpack(codes, src, width)
	for _, code := range codes {
		if err := add(uint64(code), 1); err != nil {
			return err
		}
	}
	return nil
}
