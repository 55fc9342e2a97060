package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/parquet-go/parquet-go/format"
)

// decoder decodes the values of a page. It does not trust its input.
type decoder struct {
	kind format.Type
	dict *Values
	*memory
	// spans are the wanted values; nil means all.
	spans []Span
}

// wanted returns the range of n values from the first wanted one to the end of the last wanted one.
// few reports that most values in the range are not wanted.
func (d *decoder) wanted(n int) (from, to int, few bool) {
	if len(d.spans) == 0 {
		return 0, n, false
	}
	from, to = d.spans[0].From, d.spans[len(d.spans)-1].To
	count := 0
	for _, s := range d.spans {
		count += s.To - s.From
	}
	return from, to, 4*count < to-from
}

// values decodes n values into v.
func (d *decoder) values(v *Values, encoding format.Encoding, src []byte, n int) error {
	src = padded(src)
	bytes := d.kind == format.ByteArray
	wide := d.kind == format.Int64 || d.kind == format.Double
	var err error
	switch {
	case n == 0:
	case encoding == format.Plain:
		err = d.plain(v, src, n)
	case encoding == format.RLEDictionary:
		err = d.coded(v, src, n)
	case encoding == format.DeltaBinaryPacked && d.kind == format.Int64:
		v.Numbers = d.room(n)
		_, err = decodeDelta(signed(v.Numbers), src)
	case encoding == format.DeltaBinaryPacked && d.kind == format.Int32:
		narrow := room(&d.lengths, n)
		if _, err = decodeDelta(narrow, src); err == nil {
			v.Numbers = d.room(n)
			for i, x := range narrow {
				v.Numbers[i] = uint64(int64(x))
			}
		}
	case encoding == format.ByteStreamSplit && !bytes && d.kind != format.Boolean:
		v.Numbers = d.room(n)
		err = unsplit(v.Numbers, src, wide)
	case encoding == format.DeltaLengthByteArray && bytes:
		err = d.deltaLength(v, src, n)
	case encoding == format.DeltaByteArray && bytes:
		err = d.deltaBytes(v, src, n)
	default:
		return fmt.Errorf("values of type %v in the encoding %v", d.kind, encoding)
	}
	if err != nil {
		return fmt.Errorf("%v: %w", encoding, err)
	}
	return nil
}

func (d *decoder) room(n int) []uint64 { return room(&d.numbers, n) }

// room returns a slice of n elements with arbitrary contents. It reuses memory.
func room[T any](mem *[]T, n int) []T {
	*mem = slices.Grow((*mem)[:0], n)[:n]
	return *mem
}

// plain decodes values that are stored without an encoding.
func (d *decoder) plain(v *Values, src []byte, n int) error {
	size := 0
	switch d.kind {
	case format.ByteArray:
		return d.plainBytes(v, src, n)
	case format.Boolean:
		size = (n + 7) / 8
	case format.Int32, format.Float:
		size = 4 * n
	case format.Int64, format.Double:
		size = 8 * n
	default:
		return fmt.Errorf("values of type %v", d.kind)
	}
	if len(src) < size {
		return fmt.Errorf("%d values: got %d bytes", n, len(src))
	}
	v.Numbers = d.room(n)
	out := v.Numbers
	switch d.kind {
	case format.Boolean:
		for i := range out {
			out[i] = uint64(src[i>>3] >> (i & 7) & 1)
		}
	case format.Int32:
		for i := range out {
			out[i] = uint64(int64(int32(binary.LittleEndian.Uint32(src[4*i:]))))
		}
	case format.Float:
		for i := range out {
			out[i] = uint64(binary.LittleEndian.Uint32(src[4*i:]))
		}
	default:
		for i := range out {
			out[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
	}
	return nil
}

// plainBytes decodes byte strings, each after its length.
func (d *decoder) plainBytes(v *Values, src []byte, n int) error {
	if n > len(src)/4 {
		return fmt.Errorf("%d byte strings in %d bytes", n, len(src))
	}
	data, ends := room(&d.data, len(src)), room(&d.ends, n)
	at := 0
	for i := range ends {
		if len(src) < 4 {
			return fmt.Errorf("the length of byte string %d of %d, but only %d bytes are left", i, n, len(src))
		}
		size := binary.LittleEndian.Uint32(src)
		if src = src[4:]; uint64(size) > uint64(len(src)) {
			return fmt.Errorf("byte string %d of %d, of %d bytes: got %d", i, n, size, len(src))
		}
		at += copy(data[at:], src[:size])
		ends[i] = uint32(at)
		src = src[size:]
	}
	v.Data, v.Ends = data[:at], ends
	return nil
}

// coded decodes codes of a dictionary.
func (d *decoder) coded(v *Values, src []byte, n int) error {
	if d.dict == nil {
		return errors.New("there is no dictionary")
	}
	if len(src) == 0 {
		return fmt.Errorf("codes of %d values: got no bytes", n)
	}
	room(&d.codes, n)
	spans := d.spans
	from, to, few := d.wanted(n)
	if few {
		if err := decodeHybridSpans(d.codes, spans, src[1:], uint(src[0])); err != nil {
			return err
		}
	} else {
		from &^= 7
		if err := decodeHybridPart(d.codes[:to], from, src[1:], uint(src[0])); err != nil {
			return err
		}
		spans = []Span{{from, to}}
	}
	entries := uint32(len(d.dict.Ends))
	if d.kind != format.ByteArray {
		entries = uint32(len(d.dict.Numbers))
	}
	most := uint32(0)
	for _, s := range spans {
		for _, c := range d.codes[s.From:s.To] {
			most = max(most, c)
		}
	}
	if most >= entries {
		return fmt.Errorf("a code below %d: got %d", entries, most)
	}
	if d.kind == format.ByteArray {
		v.Dict, v.Codes, v.Data, v.Ends = true, d.codes, d.dict.Data, d.dict.Ends
		return nil
	}
	v.Numbers = d.room(n)
	for _, s := range spans {
		part := v.Numbers[s.From:s.To]
		for i, c := range d.codes[s.From:s.To] {
			part[i] = d.dict.Numbers[c]
		}
	}
	return nil
}

// unsplit decodes BYTE_STREAM_SPLIT.
func unsplit(out []uint64, src []byte, wide bool) error {
	bytes, n := 4, len(out)
	if wide {
		bytes = 8
	}
	if len(src) < bytes*n {
		return fmt.Errorf("%d numbers of %d bytes: got %d", n, bytes, len(src))
	}
	clear(out)
	for b := range bytes {
		for i, x := range src[b*n : (b+1)*n] {
			out[i] |= uint64(x) << (8 * b)
		}
	}
	return nil
}

// deltaLength decodes DELTA_LENGTH_BYTE_ARRAY.
func (d *decoder) deltaLength(v *Values, src []byte, n int) error {
	lengths := room(&d.lengths, n)
	src, err := decodeDelta(lengths, src)
	if err != nil {
		return err
	}
	v.Ends = room(&d.ends, n)
	at := int64(0)
	for i, size := range lengths {
		if at += int64(size); size < 0 || at > int64(len(src)) {
			return fmt.Errorf("byte string %d of %d: its length is %d, its end %d, and the page has %d bytes",
				i, n, size, at, len(src))
		}
		v.Ends[i] = uint32(at)
	}
	v.Data = src[:at]
	return nil
}

// maxShared limits the bytes that prefixes add to a page. A writer limits the byte strings of a
// page, except the last, to about pageBytes.
const maxShared = 8 * pageBytes

// deltaBytes decodes DELTA_BYTE_ARRAY.
func (d *decoder) deltaBytes(v *Values, src []byte, n int) error {
	prefixes, lengths := room(&d.prefixes, n), room(&d.lengths, n)
	_, n, _ = d.wanted(n)
	src, err := decodeDeltaPart(prefixes, n, src)
	if err != nil {
		return fmt.Errorf("prefixes: %w", err)
	}
	if src, err = decodeDeltaPart(lengths, n, src); err != nil {
		return fmt.Errorf("suffixes: %w", err)
	}
	shared := int64(0)
	for _, p := range prefixes[:n] {
		shared += int64(max(p, 0))
	}
	if shared > maxShared {
		return fmt.Errorf("prefixes of at most %d bytes together: got %d", maxShared, shared)
	}
	spans := d.spans
	if len(spans) == 0 {
		spans = []Span{{0, n}}
	}
	data, ends := room(&d.data, int(shared)+len(src))[:0], room(&d.ends, n)
	// Each string is built from the previous one, but only wanted ones are kept.
	current := d.current[:0]
	for i := range ends {
		p, s := int(prefixes[i]), int(lengths[i])
		if p < 0 || s < 0 || p > len(current) || s > len(src) {
			return fmt.Errorf("byte string %d of %d: a prefix of %d of %d bytes, a suffix of %d of %d", i, n, p,
				len(current), s, len(src))
		}
		current = append(current[:p], src[:s]...)
		src = src[s:]
		if i >= spans[0].To {
			spans = spans[1:]
		}
		if i >= spans[0].From {
			data = append(data, current...)
		}
		ends[i] = uint32(len(data))
	}
	d.current = current
	v.Data, v.Ends = data, ends
	return nil
}

// decodeLevels reads the levels of rows into a bitmap, and counts the set bits.
func decodeLevels(bitmap []uint64, src []byte, rows int) ([]uint64, int, error) {
	bitmap = slices.Grow(bitmap, (rows+63)/64)[:(rows+63)/64]
	clear(bitmap)
	for at := 0; at < rows; {
		head, size := binary.Uvarint(src)
		if size <= 0 || head>>1 == 0 {
			return nil, 0, fmt.Errorf("the header of a run, with %d rows to come: got %d bytes", rows-at, len(src))
		}
		src = src[size:]
		n := uint64(rows - at)
		if head&1 == 0 {
			if len(src) == 0 || src[0] > 1 {
				return nil, 0, fmt.Errorf("a level of 0 or 1: got %d bytes", len(src))
			}
			n = min(n, head>>1)
			if src[0] == 1 {
				setBits(bitmap, at, at+int(n))
			}
			src = src[1:]
			at += int(n)
			continue
		}
		if groups := head >> 1; groups < n/8+1 {
			n = min(n, 8*groups)
		}
		bytes := int(n+7) / 8
		if len(src) < bytes {
			return nil, 0, fmt.Errorf("%d packed levels: got %d bytes", n, len(src))
		}
		for i, b := range src[:bytes] {
			if rest := int(n) - 8*i; rest < 8 {
				b &= 1<<rest - 1
			}
			to := at + 8*i
			bitmap[to>>6] |= uint64(b) << (to & 63)
			if over := uint64(b) >> 1 >> (63 - to&63); over != 0 {
				bitmap[to>>6+1] |= over
			}
		}
		src = src[bytes:]
		at += int(n)
	}
	ones := 0
	for _, w := range bitmap {
		ones += bits.OnesCount64(w)
	}
	return bitmap, ones, nil
}

// setBits sets the bits [from, to).
func setBits(bitmap []uint64, from, to int) {
	for from < to {
		n := min(64-from&63, to-from)
		bitmap[from>>6] |= ^uint64(0) >> (64 - n) << (from & 63)
		from += n
	}
}
