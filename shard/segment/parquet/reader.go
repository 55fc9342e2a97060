package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// ErrCorrupt is the error for damaged bytes. It is returned as a *ErrCorrupt.
type ErrCorrupt struct {
	// Offset is where the damaged part begins in the file.
	Offset int64
	// Part is the damaged part.
	Part      string
	Want, Got string
}

// Error returns the part, the offset, the expected and the actual content.
func (e *ErrCorrupt) Error() string {
	return fmt.Sprintf("%s at offset %d: want %s, got %s", e.Part, e.Offset, e.Want, e.Got)
}

// ReadFooter reads the footer of a file of the given size.
func ReadFooter(r io.ReaderAt, size int64) (*format.FileMetaData, error) {
	md, _, _, err := ReadRawFooter(r, size)
	return md, err
}

// ReadRawFooter is like ReadFooter, and also returns the encoded footer and its offset.
func ReadRawFooter(r io.ReaderAt, size int64) (md *format.FileMetaData, raw []byte, at int64, err error) {
	tail := make([]byte, 8)
	if size < int64(len(tail)+len(magic)) {
		return nil, nil, 0, &ErrCorrupt{Part: "file", Want: "at least 12 bytes", Got: fmt.Sprint(size)}
	}
	if _, err := r.ReadAt(tail, size-8); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, 0, err
	}
	if string(tail[4:]) != magic {
		return nil, nil, 0, &ErrCorrupt{Offset: size - 4, Part: "magic", Want: magic, Got: fmt.Sprintf("%q", tail[4:])}
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n > size-12 {
		return nil, nil, 0, &ErrCorrupt{
			Offset: size - 8,
			Part:   "length of the footer",
			Want:   fmt.Sprintf("at most %d", size-12),
			Got:    fmt.Sprint(n),
		}
	}
	raw, at = make([]byte, n), size-8-n
	if _, err := r.ReadAt(raw, at); err != nil {
		return nil, nil, 0, err
	}
	md = new(format.FileMetaData)
	if err := unmarshal(raw, md); err != nil {
		return nil, nil, 0, &ErrCorrupt{Offset: at, Part: "footer", Want: "a Parquet footer", Got: err.Error()}
	}
	return md, raw, at, nil
}

// ChunkReader reads a column chunk page by page.
type ChunkReader struct {
	r        io.ReaderAt
	md       *format.ColumnMetaData
	kind     format.Type
	optional bool

	at, end int64
	rows    int64 // remaining rows
	packed  []byte
	plain   []byte // a decompressed page
	page    Values
	// window holds bytes of the file that were read at once, starting at an offset.
	window    []byte
	windowAt  int64
	spans     []Span  // the wanted rows of the page; nil means all
	dict      *Values // dictionary of byte strings; its Codes are not used
	dictPlain []byte  // the dictionary's page, decompressed
	levels    []uint64
	// mem is the memory of decoded pages, dictMem of the dictionary.
	mem, dictMem memory
	// cache, which may be nil, holds pages of the file with the number file.
	cache  *Cache
	file   uint64
	loaded loadedPage // the last page that was not in the cache
}

// memory is reused for one page after another.
type memory struct {
	numbers           []uint64
	codes, ends       []uint32
	lengths, prefixes []int32
	data, current     []byte
}

func (m *memory) size() int {
	return 8*cap(m.numbers) + 4*(cap(m.codes)+cap(m.ends)+cap(m.lengths)+cap(m.prefixes)) + cap(m.data) + cap(m.current)
}

// NewChunkReader reads a chunk of a column with the element e in the schema.
func NewChunkReader(r io.ReaderAt, e *format.SchemaElement, md *format.ColumnMetaData) (*ChunkReader, error) {
	c := &ChunkReader{r: r, md: md, kind: e.Type.V, optional: e.RepetitionType.V == format.Optional, rows: md.NumValues}
	if md.Codec != format.Zstd {
		return nil, fmt.Errorf("column %q: compressed by %s, this version reads %s", e.Name, md.Codec, format.Zstd)
	}
	c.at = md.DataPageOffset
	if o := md.DictionaryPageOffset; o > 0 && o < c.at {
		c.at = o
	}
	if md.Type != c.kind || md.TotalCompressedSize < 0 || md.TotalUncompressedSize < 0 || c.at < 0 || md.NumValues < 0 {
		return nil, &ErrCorrupt{
			Offset: c.at,
			Part:   fmt.Sprintf("column %q", e.Name),
			Want:   "a chunk of the schema's type, with an offset and sizes",
			Got:    fmt.Sprintf("%v, %d, %d bytes", md.Type, c.at, md.TotalCompressedSize),
		}
	}
	c.end = c.at + md.TotalCompressedSize
	return c, nil
}

// Cached makes the reader use a cache. file is the file's number in it.
func (c *ChunkReader) Cached(cache *Cache, file uint64) { c.cache, c.file = cache, file }

// Next returns the values of the next page, which are valid until the next call. After the last
// page it returns io.EOF. For byte strings with a dictionary, Data and Ends are the same for all
// pages of the chunk, and some entries may be unused. Numbers with a dictionary are returned as
// numbers. The caller must not change the values, because they may be cached.
func (c *ChunkReader) Next() (*Values, error) {
	for c.rows > 0 {
		p, err := c.load(0)
		if err != nil {
			return nil, err
		}
		switch {
		case p.dict != nil, p.header.Type == format.IndexPage:
			continue
		case p.header.Type == format.DataPage && p.header.DataPageHeader.Valid:
			if err = c.data(&p.header.DataPageHeader.V, p.body); err == nil {
				return &c.page, nil
			}
		default:
			err = fmt.Errorf("a page of type %v", p.header.Type)
		}
		return nil, badPage(p.key.offset, err)
	}
	return nil, io.EOF
}

// badPage returns the error for a page with malformed contents.
func badPage(offset int64, err error) error {
	return &ErrCorrupt{Offset: offset, Part: "page", Want: "what a writer of segments writes", Got: err.Error()}
}

// load reads the page at c.at and moves after it. size is the approximate size of the page
// including the header, or 0. If the page is a dictionary, load decodes it and makes it the
// dictionary of the chunk.
func (c *ChunkReader) load(size int64) (*loadedPage, error) {
	key := pageKey{file: c.file, offset: c.at}
	cached, keep := c.cache.get(key)
	if cached != nil {
		c.at = cached.end
		if cached.dict != nil {
			c.dict = cached.dict
		}
		return cached, nil
	}
	if size > 0 {
		if err := c.ahead(key.offset, size); err != nil {
			return nil, err
		}
	}
	h, err := c.header()
	if err != nil {
		return nil, err
	}
	p := &c.loaded
	*p = loadedPage{key: key, header: *h}
	isDict := h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid
	into := &c.plain
	if isDict {
		into = &c.dictPlain
	}
	if p.body, err = c.body(key.offset, h, *into); err != nil {
		return nil, err
	}
	*into = p.body
	p.end = c.at
	if isDict {
		if err := c.dictionary(h.DictionaryPageHeader.V, p.body); err != nil {
			return nil, badPage(key.offset, err)
		}
		p.body, p.dict = nil, c.dict
	}
	if keep {
		c.cache.put(p)
	}
	return p, nil
}

// ahead reads n bytes of the chunk, the expected size of a page, so that its header and body need
// not be read separately. A wrong n is not an error.
func (c *ChunkReader) ahead(at, n int64) error {
	c.window = nil
	if n <= 0 || n > c.end-at || n > maxPageScratch {
		return nil
	}
	c.packed = slices.Grow(c.packed[:0], int(n))[:n]
	got, err := c.r.ReadAt(c.packed, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	c.window, c.windowAt = c.packed[:got], at
	return nil
}

// seen returns the bytes from offset at on that ahead has read, or nil if ahead has not read that
// offset.
func (c *ChunkReader) seen(at int64) []byte {
	if at < c.windowAt || at >= c.windowAt+int64(len(c.window)) {
		return nil
	}
	return c.window[at-c.windowAt:]
}

// header reads the header of the page at c.at, and moves after it.
func (c *ChunkReader) header() (*format.PageHeader, error) {
	start := c.at
	var last error
	for size := int64(256); ; size *= 16 {
		b := c.seen(start)
		if b == nil || size > 256 {
			b = make([]byte, min(size, max(c.end-start, 0)))
			n, err := c.r.ReadAt(b, start)
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			b = b[:n]
		}
		h := new(format.PageHeader)
		r := new(thrift.CompactProtocol).NewReaderFromBytes(b)
		if last = thrift.NewDecoder(r).Decode(h); last == nil {
			c.at = start + int64(r.BytesRead())
			if h.CompressedPageSize < 0 || h.UncompressedPageSize < 0 || int64(h.CompressedPageSize) > c.end-c.at ||
				int64(h.UncompressedPageSize) > c.md.TotalUncompressedSize {
				return nil, &ErrCorrupt{
					Offset: start,
					Part:   "page header",
					Want:   fmt.Sprintf("at most %d bytes, %d uncompressed", c.end-c.at, c.md.TotalUncompressedSize),
					Got:    fmt.Sprintf("%d, %d", h.CompressedPageSize, h.UncompressedPageSize),
				}
			}
			return h, nil
		}
		if size >= c.end-start || size > 1<<20 {
			return nil, &ErrCorrupt{Offset: start, Part: "page header", Want: "a header", Got: last.Error()}
		}
	}
}

// body reads the page after its header, checks it and decompresses it into dst.
func (c *ChunkReader) body(start int64, h *format.PageHeader, dst []byte) ([]byte, error) {
	n := int(h.CompressedPageSize)
	packed := c.seen(c.at)
	if len(packed) < n {
		c.window = nil
		c.packed = slices.Grow(c.packed[:0], n)[:n]
		packed = c.packed
		if got, err := c.r.ReadAt(packed, c.at); got < n {
			if errors.Is(err, io.EOF) {
				return nil, &ErrCorrupt{Offset: start, Part: "page", Want: fmt.Sprintf("%d bytes", n), Got: fmt.Sprint(got)}
			}
			return nil, err
		}
	}
	packed = packed[:n]
	c.at += int64(n)
	if got := crc32.ChecksumIEEE(packed); uint32(h.CRC) != got {
		return nil, &ErrCorrupt{
			Offset: start,
			Part:   "page checksum",
			Want:   fmt.Sprintf("%08x", uint32(h.CRC)),
			Got:    fmt.Sprintf("%08x", got),
		}
	}
	body, err := decompress(dst[:0], packed, int(h.UncompressedPageSize))
	if err != nil {
		return nil, &ErrCorrupt{Offset: start, Part: "page", Want: "a zstd frame", Got: err.Error()}
	}
	return body, nil
}

// Reuse takes the memory of a reader that is no longer used, unless it is large.
func (c *ChunkReader) Reuse(old *ChunkReader) {
	if cap(old.packed)+cap(old.plain)+cap(old.dictPlain)+old.mem.size()+old.dictMem.size() > maxPageScratch {
		return
	}
	c.packed, c.plain, c.dictPlain, c.levels, c.mem, c.dictMem = old.packed, old.plain, old.dictPlain, old.levels,
		old.mem, old.dictMem
}

func (c *ChunkReader) dictionary(h format.DictionaryPageHeader, body []byte) error {
	if h.Encoding != format.Plain {
		return fmt.Errorf("a dictionary in %v", h.Encoding)
	}
	n := int(h.NumValues)
	if n < 0 || n > len(body) {
		return fmt.Errorf("a dictionary of %d entries in %d bytes", n, len(body))
	}
	d := &decoder{kind: c.kind, memory: &c.dictMem}
	var v Values
	if err := d.plain(&v, body, n); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	c.dict = &v
	return nil
}

// maxPageRows is the maximum number of rows of a page that is read. Every writer of segments so far
// has used less than half of it.
const maxPageRows = 1 << 20

// pageLevels reads into c.levels which rows of a page have a value. It returns the number of these
// rows, and the rest of the page.
func (c *ChunkReader) pageLevels(h *format.DataPageHeader, body []byte) (values int, rest []byte, err error) {
	rows := int64(h.NumValues)
	if rows <= 0 || rows > c.rows || rows > maxPageRows {
		return 0, nil, fmt.Errorf("a page has %d rows, but %d rows remain and the limit is %d", rows, c.rows, maxPageRows)
	}
	if !c.optional {
		return int(rows), body, nil
	}
	if h.DefinitionLevelEncoding != format.RLE || len(body) < 4 {
		return 0, nil, fmt.Errorf("levels in %v, %d bytes", h.DefinitionLevelEncoding, len(body))
	}
	size := int64(binary.LittleEndian.Uint32(body))
	if size > int64(len(body)-4) {
		return 0, nil, fmt.Errorf("levels of %d bytes in %d", size, len(body)-4)
	}
	if c.levels, values, err = decodeLevels(c.levels[:0], body[4:4+size], int(rows)); err != nil {
		return 0, nil, fmt.Errorf("levels: %w", err)
	}
	return values, body[4+size:], nil
}

// data decodes a page.
func (c *ChunkReader) data(h *format.DataPageHeader, body []byte) error {
	values, body, err := c.pageLevels(h, body)
	if err != nil {
		return err
	}
	rows := int64(h.NumValues)
	v := &c.page
	*v = Values{Rows: int(rows)}
	if values < int(rows) {
		v.Valid = c.levels
	}
	d := &decoder{kind: c.kind, dict: c.dict, memory: &c.mem}
	if v.Valid == nil && len(c.spans) > 0 && c.spans[len(c.spans)-1].To <= values {
		d.spans = c.spans
	}
	if err := d.values(v, h.Encoding, body, values); err != nil {
		return err
	}
	c.rows -= rows
	return nil
}
