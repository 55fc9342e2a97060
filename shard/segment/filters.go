package segment

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// Filters is the information in a segment file about its row groups, except the pages: numbers of
// rows, bounds of numbers, bloom and token filters, and the offsets of pages. It may be used
// concurrently. Columns are identified by their Column.FieldID.
type Filters struct {
	// Groups are the row groups in the order of the file.
	Groups []GroupFilters
	*Fulltext
	// Units are the parts of the file if it is of ReadColdFilters; otherwise it is nil.
	Units *Units
	size  int

	cache *PageCache
	file  uint64 // the file's number in the cache

	mu    sync.Mutex // guards index
	index map[chunkID]*pageIndex
}

// PageCache caches pages and dictionaries of segments that were read more than once recently.
type PageCache = parquet.Cache

// CacheStats contains the counters of a PageCache, and its size in bytes.
type CacheStats = parquet.CacheStats

// NewPageCache returns a cache of at most limit bytes. For 0 it returns nil, a cache that keeps
// nothing.
func NewPageCache(bytes int) *PageCache { return parquet.NewCache(bytes) }

// Cached makes f read pages through a cache. It must be called before other methods.
func (f *Filters) Cached(c *PageCache) { f.cache, f.file = c, parquet.NewFile() }

// GroupFilters describes a row group.
type GroupFilters struct {
	// First is the number of its first row in the file.
	First, Rows int64
	columns     map[uint32]columnFilter
}

// columnFilter is the position of a column's bloom filter, and the column's bounds.
type columnFilter struct {
	bloomAt    int64
	bloomBytes int64 // 0 means that there is none
	headed     bool  // the bytes begin with the filter's header
	bounded    bool
	min, max   int64
	chunk      chunkPlace
}

// ReadFilters reads the filters of a segment file. Bloom and token filters stay in the file.
func ReadFilters(fsys vfs.FS, path string) (*Filters, error) {
	size, err := fsys.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read filters: %w", err)
	}
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read filters: %w", err)
	}
	defer f.Close()
	out, err := readFilters(f, size, false)
	if err != nil {
		return nil, fmt.Errorf("read the filters of %s: %w", path, err)
	}
	return out, nil
}

// ReadColdFilters reads the filters of a striped file of which only the page indexes and the footer have to be there. r
// is the file, of size bytes. Of other parts only those are read later that a call needs; Units says where they are.
func ReadColdFilters(r io.ReaderAt, size int64) (*Filters, error) {
	units, err := readUnits(r, size)
	if err != nil {
		return nil, fmt.Errorf("read filters: %w", err)
	}
	if units == nil {
		return nil, errors.New("read filters: the file is not striped")
	}
	out, err := readFilters(r, size, true)
	if err != nil {
		return nil, fmt.Errorf("read filters: %w", err)
	}
	out.Units = units
	out.size += 60 * len(units.List)
	return out, nil
}

// readFilters reads the filters of a file. If cold is set, it reads nothing but the footer, and the token filters of
// the footer as a whole.
func readFilters(f io.ReaderAt, size int64, cold bool) (*Filters, error) {
	md, raw, at, err := parquet.ReadRawFooter(f, size)
	if err != nil {
		return nil, err
	}
	var fields []uint32 // by index of the leaf column
	var elements []*format.SchemaElement
	for i := range md.Schema {
		if e := &md.Schema[i]; !e.NumChildren.Valid {
			fields, elements = append(fields, uint32(e.FieldID)), append(elements, e)
		}
	}
	out := &Filters{size: 200, index: make(map[chunkID]*pageIndex)}
	text := ""
	for i := range md.KeyValueMetadata {
		if kv := &md.KeyValueMetadata[i]; kv.Key == KeyFulltext {
			text = kv.Value
		}
	}
	if cold {
		out.Fulltext, err = parseFulltext(text)
	} else {
		out.Fulltext, err = placeFulltext(text, at+int64(bytes.Index(raw, []byte(text))))
	}
	if err != nil {
		return nil, err
	}
	out.size += out.Fulltext.size()
	first := int64(0)
	for i := range md.RowGroups {
		g := &md.RowGroups[i]
		group := GroupFilters{First: first, Rows: g.NumRows, columns: make(map[uint32]columnFilter)}
		if g.NumRows < 0 || g.NumRows > maxGroupRows {
			return nil, fmt.Errorf("row group %d has %d rows; at most %d are allowed", i, g.NumRows, maxGroupRows)
		}
		first += g.NumRows
		for k := range g.Columns {
			if k >= len(fields) {
				return nil, fmt.Errorf("row group %d has %d columns, the schema %d", i, len(g.Columns), len(fields))
			}
			c, err := readColumnFilter(f, size, &g.Columns[k].MetaData, cold)
			if err != nil {
				return nil, fmt.Errorf("row group %d, column %d: %w", i, k, err)
			}
			c.chunk = placeOf(elements[k], &g.Columns[k])
			if err := c.chunk.within(size); err != nil {
				return nil, fmt.Errorf("row group %d, column %d: %w", i, k, err)
			}
			group.columns[fields[k]] = c
			out.size += 200 + c.chunk.indexBytes()
		}
		out.Groups = append(out.Groups, group)
	}
	return out, nil
}

func readColumnFilter(f io.ReaderAt, size int64, md *format.ColumnMetaData, cold bool) (c columnFilter, err error) {
	if lo, hi := md.Statistics.MinValue, md.Statistics.MaxValue; md.Type == format.Int64 && len(lo) == 8 && len(hi) == 8 {
		c.bounded = true
		c.min, c.max = int64(binary.LittleEndian.Uint64(lo)), int64(binary.LittleEndian.Uint64(hi))
	}
	at := md.BloomFilterOffset
	switch {
	case at <= 0:
		return c, nil
	case cold:
		c.bloomAt, c.bloomBytes, c.headed = at, int64(md.BloomFilterLength), true
		return c, nil
	}
	c.bloomAt, c.bloomBytes, err = readBloomHeader(f, size, at)
	return c, err
}

// readBloomHeader returns where the bits of a bloom filter are. Its header begins at an offset. Both end before end.
func readBloomHeader(f io.ReaderAt, end, at int64) (bits, length int64, err error) {
	var header format.BloomFilterHeader
	section := io.NewSectionReader(f, at, end-at)
	buffer := bufio.NewReaderSize(section, 64)
	var protocol thrift.CompactProtocol
	if err := thrift.NewDecoder(protocol.NewReader(buffer)).Decode(&header); err != nil {
		return 0, 0, fmt.Errorf("read the header of the bloom filter: %w", err)
	}
	read, _ := section.Seek(0, io.SeekCurrent)
	bits = at + read - int64(buffer.Buffered())
	length = int64(header.NumBytes)
	if length < bloom.BlockSize || length%bloom.BlockSize != 0 || bits+length > end {
		return 0, 0, fmt.Errorf("a bloom filter of %d bytes at offset %d exceeds the file of %d "+
			"bytes", header.NumBytes, bits, end)
	}
	return bits, length, nil
}

// Size estimates the memory of f in bytes.
func (f *Filters) Size() int { return f.size }

// Bounds returns the smallest and the largest value of a row group in a column of 64-bit numbers,
// in the file's unit. ok is false if they are unknown.
func (f *Filters) Bounds(field uint32, group int) (lo, hi int64, ok bool) {
	c := f.Groups[group].columns[field]
	return c.min, c.max, c.bounded
}

// HasBloom reports whether a column has a bloom filter in a row group.
func (f *Filters) HasBloom(field uint32, group int) bool {
	return f.Groups[group].columns[field].bloomBytes > 0
}

// MayHave reports whether a row group may contain a value of a column. The value is the bytes of a
// text, or the little-endian bytes of a number as stored in the file. Without a filter it returns
// true. r is the file.
func (f *Filters) MayHave(r io.ReaderAt, field uint32, group int, value []byte) (bool, error) {
	c := f.Groups[group].columns[field]
	if c.bloomBytes == 0 {
		return true, nil
	}
	at, length := c.bloomAt, c.bloomBytes
	if c.headed {
		var err error
		if at, length, err = readBloomHeader(r, at+length, at); err != nil {
			return true, err
		}
	}
	return bloom.CheckSplitBlock(io.NewSectionReader(r, at, length), length, tokenHash.Sum64(value))
}
