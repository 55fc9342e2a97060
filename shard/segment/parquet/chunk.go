package parquet

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/parquet-go/parquet-go/bloom"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// chunk is a column of a row group being written.
type chunk struct {
	w             *Writer
	c             *Column
	v             *Values
	group, column int

	encoding format.Encoding
	width    uint // width of codes
	dict     int  // number of entries of the dictionary
	codes    []uint32

	md    format.ColumnMetaData
	index pageIndex
	stats bounds // of the chunk
}

// write writes all pages of the chunk.
func (k *chunk) write() (format.ColumnMetaData, error) {
	k.plan()
	k.md = format.ColumnMetaData{
		Type: k.c.kind(), PathInSchema: []string{k.c.Element.Name}, Codec: format.Zstd, NumValues: int64(k.v.Rows),
	}
	k.stats = newBounds(k.c)
	k.index = pageIndex{group: k.group, column: k.column, bounds: &format.ColumnIndex{}}
	if k.encoding == format.RLEDictionary {
		if err := k.dictionaryPage(); err != nil {
			return k.md, err
		}
	}
	k.md.DataPageOffset = k.w.offset
	used := 0
	for from := 0; from < k.v.Rows; {
		to, n := k.pageEnd(from, used)
		if err := k.dataPage(from, to, used, used+n); err != nil {
			return k.md, err
		}
		from, used = to, used+n
	}
	if k.encoding == format.RLEDictionary {
		k.md.Encoding = append(k.md.Encoding, format.Plain)
		k.md.EncodingStats = append(k.md.EncodingStats, format.PageEncodingStats{
			PageType: format.DictionaryPage,
			Encoding: format.Plain,
			Count:    1,
		})
	}
	k.md.Encoding = append(k.md.Encoding, format.RLE, k.encoding)
	k.md.EncodingStats = append(k.md.EncodingStats, format.PageEncodingStats{
		PageType: format.DataPage,
		Encoding: k.encoding,
		Count:    int32(len(k.index.pages.PageLocations)),
	})
	k.md.Statistics.NullCount = int64(k.v.Rows - used)
	k.md.Statistics.MinValue, k.md.Statistics.MaxValue = k.stats.encoded()
	if k.stats.none && used > 0 || k.encoding == format.RLEDictionary && len(k.index.pages.PageLocations) > 1 {
		// Either the values have no bounds, or the bounds of the chunk cover all values.
		k.index.bounds = nil
	} else {
		k.index.bounds.BoundaryOrder = k.stats.order()
	}
	k.w.indexes = append(k.w.indexes, k.index)
	k.filter(used)
	return k.md, nil
}

// pageEnd returns the end of the page that begins with row from: the row after its last one, and
// its number of values. used is the number of values before the page.
func (k *chunk) pageEnd(from, used int) (to, values int) {
	v := k.v
	rows := pageRows
	if k.encoding == format.RLEDictionary || k.encoding == format.DeltaByteArray {
		rows = widePageRows
	}
	to = min((from/rows+1)*rows, v.Rows)
	if k.encoding != format.RLEDictionary && !k.numbers() {
		size := func(values int) int { return start(v.Ends, used+values) - start(v.Ends, used) }
		values = k.valid(from, to)
		if size(values) <= pageBytes {
			return to, values
		}
		values = 0
		for at := from; at < to; {
			end := min(at+64, to)
			n := k.valid(at, end)
			if size(values+n)-size(values) > pageBytes {
				end = at + 1 // huge values: one row at a time
				n = k.valid(at, end)
			}
			values += n
			if at = end; size(values) >= pageBytes {
				return at, values
			}
		}
		return to, values
	}
	return to, k.valid(from, to)
}

// valid counts the values of the rows [from, to).
func (k *chunk) valid(from, to int) int {
	if k.v.Valid == nil {
		return to - from
	}
	return bitmapOnes(k.v.Valid, from, to)
}

func (k *chunk) numbers() bool { return k.c.kind() != format.ByteArray }

func (k *chunk) sizes(size, uncompressed int) {
	k.md.TotalCompressedSize += int64(size)
	k.md.TotalUncompressedSize += int64(uncompressed)
}

func (k *chunk) dictionaryPage() error {
	k.md.DictionaryPageOffset = k.w.offset
	body := k.w.body[:0]
	if k.numbers() {
		body = k.appendPlain(body, k.w.numbers.values)
	} else {
		body = appendPlainBytes(body, k.v.Data, k.v.Ends, 0, len(k.v.Ends))
	}
	k.w.body = body
	size, uncompressed, err := k.w.page(&format.PageHeader{
		Type:                 format.DictionaryPage,
		DictionaryPageHeader: thrift.New(format.DictionaryPageHeader{NumValues: int32(k.dict), Encoding: format.Plain}),
	}, body)
	k.sizes(size, uncompressed)
	return err
}

// dataPage writes the rows [from, to), which have the values first to last-1.
func (k *chunk) dataPage(from, to, first, last int) error {
	body := k.appendValidity(k.w.body[:0], from, to, last-first)
	put := func(body []byte) error { return k.putPage(body, from, to, first, last) }
	if k.encoding != format.DeltaLengthByteArray {
		k.w.body = k.appendValues(body, first, last)
		return put(k.w.body)
	}
	k.w.body = appendLengths(body, k.v.Ends, first, last)
	return k.inPlace(start(k.v.Ends, first), start(k.v.Ends, last), put)
}

// appendValidity appends which of the rows [from, to) have a value. values is the number of these rows.
func (k *chunk) appendValidity(body []byte, from, to, values int) []byte {
	if k.c.required() {
		return body
	}
	body = append(body, 0, 0, 0, 0)
	valid := k.v.Valid
	if values == to-from {
		valid = nil
	}
	if values == 0 {
		body = appendRun(body, to-from, 0, 1)
	} else {
		body = appendLevels(body, valid, from, to)
	}
	binary.LittleEndian.PutUint32(body, uint32(len(body)-4))
	return body
}

// inPlace calls put with the page that consists of k.w.body and the texts Data[start:end]. It does not copy the texts
// if the body fits before them, where the texts of earlier pages are, which it restores afterwards.
func (k *chunk) inPlace(start, end int, put func(page []byte) error) error {
	at := start - len(k.w.body)
	if at < 0 {
		k.w.body = append(k.w.body, k.v.Data[start:end]...)
		return put(k.w.body)
	}
	before := k.v.Data[at:start]
	k.w.saved = append(k.w.saved[:0], before...)
	copy(before, k.w.body)
	err := put(k.v.Data[at:end])
	copy(before, k.w.saved)
	return err
}

// putPage writes a page with the given body.
func (k *chunk) putPage(body []byte, from, to, first, last int) error {
	k.page(from, to, first, last)
	at := k.w.offset
	size, uncompressed, err := k.w.page(&format.PageHeader{
		Type: format.DataPage,
		DataPageHeader: thrift.New(format.DataPageHeader{
			NumValues: int32(to - from), Encoding: k.encoding, DefinitionLevelEncoding: format.RLE,
			RepetitionLevelEncoding: format.RLE,
		}),
	}, body)
	k.index.pages.PageLocations = append(k.index.pages.PageLocations, format.PageLocation{
		Offset:             at,
		CompressedPageSize: int32(size),
		FirstRowIndex:      int64(from),
	})
	k.sizes(size, uncompressed)
	return err
}

// page records the bounds of a page.
func (k *chunk) page(from, to, first, last int) {
	if k.encoding == format.RLEDictionary && from > 0 {
		return // the values of this page are among those of the first page
	}
	x := k.index.bounds
	x.NullCounts = append(x.NullCounts, int64(to-from-(last-first)))
	x.NullPages = append(x.NullPages, first == last)
	p := newBounds(k.c)
	switch {
	case k.encoding == format.RLEDictionary && k.numbers():
		p.numbers(k.w.numbers.values)
	case k.numbers():
		p.numbers(k.v.Numbers[first:last])
	case k.encoding == format.RLEDictionary:
		p.bytes(k.v.Data, k.v.Ends, 0, len(k.v.Ends))
	default:
		p.bytes(k.v.Data, k.v.Ends, first, last)
	}
	lo, hi := p.encoded()
	x.MinValues, x.MaxValues = append(x.MinValues, lo), append(x.MaxValues, hi)
	k.stats.add(&p)
}

// Limits of the average length of an identifier in bytes.
const (
	minIdentifier = 6
	maxIdentifier = 64
	// identifierSample is the number of neighbouring values that are compared to find out whether
	// values ascend.
	identifierSample = 256
)

// identifying reports whether the values look like identifiers: short texts that rarely repeat and
// are in no order. For values in order, bounds are sufficient.
func (k *chunk) identifying(values int) bool {
	if k.numbers() || k.encoding == format.RLEDictionary || values < identifierSample {
		return false
	}
	if size := int(k.v.Ends[values-1]) / values; size < minIdentifier || size > maxIdentifier {
		return false
	}
	step := (values - 1) / (identifierSample - 1)
	falls := 0
	for i := 0; i+1 < values; i += step {
		if bytes.Compare(k.v.Entry(i), k.v.Entry(i+1)) > 0 {
			falls++
		}
	}
	return falls > identifierSample/16
}

// filter records the chunk's bloom filter, if its column has one.
func (k *chunk) filter(values int) {
	perValue := k.c.BloomBits
	if perValue == 0 && k.identifying(values) {
		perValue = k.c.AutoBloomBits
	}
	if perValue == 0 || values == 0 {
		return
	}
	n := values
	if k.encoding == format.RLEDictionary {
		n = k.dict
	}
	bits := make(bloom.SplitBlockFilter, max(1, bloom.NumSplitBlocksOf(int64(n), perValue)))
	var hash bloom.XXH64
	if k.numbers() {
		numbers := k.v.Numbers
		if k.encoding == format.RLEDictionary {
			numbers = k.w.numbers.values
		}
		for _, v := range numbers {
			if k.c.kind() == format.Int32 || k.c.kind() == format.Float {
				bits.Insert(hash.Sum64Uint32(uint32(v)))
			} else {
				bits.Insert(hash.Sum64Uint64(v))
			}
		}
	} else {
		for i := range n {
			bits.Insert(hash.Sum64(k.v.Entry(i)))
		}
	}
	k.w.filters = append(k.w.filters, filter{group: k.group, column: k.column, bits: bits})
}

// codeWidth returns the minimum number of bits for the codes of a dictionary. With whole bytes the
// entropy coder would save half a percent of a file, but reading would need an entropy decoder
// where it now copies.
func codeWidth(entries int) uint { return uint(bits.Len(uint(max(entries-1, 0)))) }
