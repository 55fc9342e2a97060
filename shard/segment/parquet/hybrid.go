package parquet

import (
	"encoding/binary"
	"fmt"
)

// This file implements the hybrid of run-length encoding and bit packing that Parquet uses for
// levels and dictionary codes: runs of one value, and groups of eight packed values.

// minRun is the minimum number of equal values for a run.
const minRun = 16

// appendHybrid appends codes of width bits.
func appendHybrid(dst []byte, codes []uint32, width uint) []byte {
	literal := 0 // the start of the values that are not written yet
	// A long enough run covers a multiple of eight and the next value.
	for i := 0; i+8 < len(codes); {
		v := codes[i]
		if v != codes[i+8] {
			i += 8
			continue
		}
		start, end := i, i+1
		for start > literal && codes[start-1] == v {
			start--
		}
		for end < len(codes) && codes[end] == v {
			end++
		}
		// Packed values are written in groups of eight; take the missing ones from the run.
		start += -(start - literal) & 7
		if end-start < minRun {
			i += 8
			continue
		}
		dst = appendGroups(dst, codes[literal:start], width)
		dst = appendRun(dst, end-start, v, width)
		literal = end
		i = (end + 7) &^ 7
	}
	return appendGroups(dst, codes[literal:], width)
}

// appendRun appends n times the value v.
func appendRun(dst []byte, n int, v uint32, width uint) []byte {
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	for ; width > 0; width -= min(width, 8) {
		dst = append(dst, byte(v))
		v >>= 8
	}
	return dst
}

// appendGroups appends packed values, padded with zeros to a multiple of eight.
func appendGroups(dst []byte, codes []uint32, width uint) []byte {
	if len(codes) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(len(codes)+7)/8<<1|1)
	whole := len(codes) &^ 7
	dst = appendPacked(dst, codes[:whole], width)
	if whole < len(codes) {
		var last [8]uint32
		copy(last[:], codes[whole:])
		dst = appendPacked(dst, last[:], width)
	}
	return dst
}

// minLevelRun is the minimum number of rows for a run of levels.
const minLevelRun = 128

// appendLevels appends the definition levels of the rows [from, to): 1 for rows with a value. A nil
// bitmap means that all rows have one. The levels are the bits of the bitmap, so nothing has to be
// packed.
func appendLevels(dst []byte, bitmap []uint64, from, to int) []byte {
	if bitmap == nil {
		return appendRun(dst, to-from, 1, 1)
	}
	literal := from
	for at := from; at < to; {
		n := bitmapRun(bitmap, at, to)
		if n < minLevelRun {
			at += n
			continue
		}
		start := at
		if literal < at {
			start += -(at - literal) & 7
			dst = appendLevelGroups(dst, bitmap, literal, start)
		}
		dst = appendRun(dst, at+n-start, uint32(bitmap[at>>6]>>(at&63)&1), 1)
		at += n
		literal = at
	}
	return appendLevelGroups(dst, bitmap, literal, to)
}

// appendLevelGroups appends bits of a bitmap, padded with zeros to a multiple of eight.
func appendLevelGroups(dst []byte, bitmap []uint64, from, to int) []byte {
	if from == to {
		return dst
	}
	dst = binary.AppendUvarint(dst, uint64(to-from+7)/8<<1|1)
	for at := from; at < to; at += 8 {
		b := bitmap[at>>6] >> (at & 63)
		if at&63 > 56 && at>>6+1 < len(bitmap) {
			b |= bitmap[at>>6+1] << (64 - at&63)
		}
		if to-at < 8 {
			b &= 1<<(to-at) - 1
		}
		dst = append(dst, byte(b))
	}
	return dst
}

// decodeHybridPart is like decodeHybrid, for the values after the first skip, a multiple of
// eight. Earlier values stay unchanged, unless they belong to a run that reaches beyond them.
func decodeHybridPart(dst []uint32, skip int, src []byte, width uint) error {
	if width > 32 {
		return fmt.Errorf("values of %d bits, at most 32 are possible", width)
	}
	for skip > 0 {
		head, size := binary.Uvarint(src)
		if size <= 0 || head>>1 == 0 {
			return fmt.Errorf("the header of a run, with %d values to come: got %d bytes", len(dst), len(src))
		}
		if head&1 == 0 {
			run := head >> 1
			if run > uint64(skip) || run%8 != 0 {
				break
			}
			if bytes := size + int(width+7)/8; len(src) >= bytes {
				src, dst, skip = src[bytes:], dst[run:], skip-int(run)
				continue
			}
			break
		}
		groups := min(head>>1, uint64(skip/8))
		bytes := int(groups) * int(width)
		if groups < head>>1 {
			// The run continues after the skipped values. Its remainder is decoded as a run by
			// itself.
			if uint64(len(src)-size) < uint64(bytes) {
				return fmt.Errorf("%d packed groups of %d bits: got %d bytes", groups, width, len(src)-size)
			}
			rest := head>>1 - groups
			dst = dst[8*groups:]
			src = src[size+bytes:]
			n := min(uint64(len(dst)), 8*min(rest, uint64(len(dst))/8+1))
			if need := (n*uint64(width) + 7) / 8; uint64(len(src)) < need {
				return fmt.Errorf("%d packed values of %d bits: got %d bytes", n, width, len(src))
			}
			unpack(dst[:n], src, width)
			dst = dst[n:]
			whole := rest * uint64(width)
			_, err := decodeHybrid(dst, src[min(whole, uint64(len(src))):], width)
			return err
		}
		if len(src)-size < bytes {
			return fmt.Errorf("%d packed groups of %d bits: got %d bytes", groups, width, len(src)-size)
		}
		src, dst, skip = src[size+bytes:], dst[8*groups:], skip-8*int(groups)
	}
	_, err := decodeHybrid(dst, src, width)
	return err
}

// decodeHybridSpans is like decodeHybrid, for the values in spans, which must ascend and end
// within dst. All others stay unchanged.
func decodeHybridSpans(dst []uint32, spans []Span, src []byte, width uint) error {
	if width > 32 {
		return fmt.Errorf("values of %d bits, at most 32 are possible", width)
	}
	mask := uint64(1)<<width - 1
	for at := 0; len(spans) > 0; {
		head, size := binary.Uvarint(src)
		if size <= 0 || head>>1 == 0 {
			return fmt.Errorf("the header of a run, with %d values to come: got %d bytes", len(dst)-at, len(src))
		}
		src = src[size:]
		left := uint64(len(dst) - at)
		packed := head&1 == 1
		n, bytes := min(head>>1, left), uint64(width+7)/8
		if packed {
			// The last group may end after the last value.
			n = min(8*min(head>>1, left/8+1), left)
			bytes = (n*uint64(width) + 7) / 8
		}
		if uint64(len(src)) < bytes {
			return fmt.Errorf("a run of %d values of %d bits: got %d bytes", n, width, len(src))
		}
		words, end := src[:cap(src)], at+int(n)
		for len(spans) > 0 && spans[0].From < end {
			from, to := max(spans[0].From, at), min(spans[0].To, end)
			bit := uint(0)
			if packed {
				bit = uint(from-at) * width
			}
			for i := from; i < to; i++ {
				dst[i] = uint32(binary.LittleEndian.Uint64(words[bit>>3:]) >> (bit & 7) & mask)
				if packed {
					bit += width
				}
			}
			if spans[0].To > end {
				break
			}
			spans = spans[1:]
		}
		if packed {
			bytes = min(head>>1*uint64(width), uint64(len(src)))
		}
		at, src = end, src[bytes:]
	}
	return nil
}

// decodeHybrid reads len(dst) values of width bits, at most 32, and returns the rest of src. src
// must have padding bytes of capacity after its end.
func decodeHybrid(dst []uint32, src []byte, width uint) ([]byte, error) {
	if width > 32 {
		return nil, fmt.Errorf("values of %d bits, at most 32 are possible", width)
	}
	for len(dst) > 0 {
		head, size := binary.Uvarint(src)
		if size <= 0 {
			return nil, fmt.Errorf("the header of a run, with %d values to come: got %d bytes", len(dst), len(src))
		}
		src = src[size:]
		if head>>1 == 0 {
			return nil, fmt.Errorf("a run of no values, with %d to come", len(dst))
		}
		if head&1 == 0 {
			bytes := int(width+7) / 8
			if len(src) < bytes {
				return nil, fmt.Errorf("a value of %d bytes: got %d", bytes, len(src))
			}
			v := uint32(0)
			for i := range bytes {
				v |= uint32(src[i]) << (8 * i)
			}
			src = src[bytes:]
			n := min(head>>1, uint64(len(dst)))
			for i := range dst[:n] {
				dst[i] = v
			}
			dst = dst[n:]
			continue
		}
		n := uint64(len(dst))
		if groups := head >> 1; groups < n/8+1 {
			n = min(8*groups, n)
		}
		// The last group may end after the last value.
		need := (n*uint64(width) + 7) / 8
		if uint64(len(src)) < need {
			return nil, fmt.Errorf("%d packed values of %d bits: got %d bytes", n, width, len(src))
		}
		unpack(dst[:n], src, width)
		dst = dst[n:]
		whole := head >> 1 * uint64(width)
		src = src[min(whole, uint64(len(src))):]
	}
	return src, nil
}
