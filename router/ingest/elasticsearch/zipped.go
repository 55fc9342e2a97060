package elasticsearch

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/bits"
	"strings"
)

// zipped writes a gzip stream (RFC 1952). The caller knows where the text repeats, because the items of an answer
// differ only in their ids. A general compressor would have to search for repetitions, which took a twelfth of the
// request's time.
type zipped struct {
	w    io.Writer
	out  []byte
	bits uint64 // bits that are not in out yet; the first one is the lowest
	n    uint   // the number of bits in bits
	text []byte // text that is not in sum yet
	sum  uint32
	size uint32
	// to is the code of the last distance.
	distance int
	to       code
}

// code is the code of a symbol with its extra bits. The first bit is the lowest.
type code struct {
	bits uint32
	n    uint8
}

const (
	endOfBlock   = 256
	firstLength  = 257 // the symbol of the shortest match
	minMatch     = 3
	maxMatch     = 258
	maxDistance  = 32 << 10
	gzipHeader   = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"
	fixedHuffman = 0b011 // the last block, with the fixed codes of RFC 1951, 3.2.6
)

// symbols has the fixed codes of literals and lengths. lengths has the codes of matches by their length.
var (
	symbols = func() (codes [288]code) {
		for s := range codes {
			var v, n uint16
			switch {
			case s < 144:
				v, n = uint16(0x30+s), 8
			case s < 256:
				v, n = uint16(0x190+s-144), 9
			case s < 280:
				v, n = uint16(s-256), 7
			default:
				v, n = uint16(0xc0+s-280), 8
			}
			codes[s] = code{uint32(bits.Reverse16(v) >> (16 - n)), uint8(n)}
		}
		return codes
	}()
	lengths = func() (codes [maxMatch + 1]code) {
		for length := minMatch; length < maxMatch; length++ {
			// From the ninth symbol on, groups of four symbols have the same number of extra bits.
			at := uint32(length - minMatch)
			extra := uint32(max(bits.Len32(at)-3, 0))
			symbol := symbols[firstLength+4*extra+at>>extra]
			codes[length] = code{symbol.bits | at&(1<<extra-1)<<symbol.n, symbol.n + uint8(extra)}
		}
		codes[maxMatch] = symbols[285]
		return codes
	}()
)

func newZipped(w io.Writer) *zipped {
	z := &zipped{
		w: w, out: append(make([]byte, 0, pieceBytes+pieceBytes/8), gzipHeader...),
		text: make([]byte, 0, pieceBytes+pieceBytes/8),
	}
	z.put(fixedHuffman, 3)
	return z
}

// put appends n bits, at most 32.
func (z *zipped) put(bits uint32, n uint8) {
	z.bits |= uint64(bits) << z.n
	if z.n += uint(n); z.n >= 32 {
		z.out = binary.LittleEndian.AppendUint32(z.out, uint32(z.bits))
		z.bits >>= 32
		z.n -= 32
	}
}

// literal appends text as literals.
func (z *zipped) literal(text []byte) {
	z.text = append(z.text, text...)
	for _, b := range text {
		z.put(symbols[b].bits, symbols[b].n)
	}
	z.flush()
}

// repeat appends text, which equals the bytes at the given distance before it.
func (z *zipped) repeat(text []byte, distance int) {
	if len(text) < minMatch || distance > maxDistance {
		z.literal(text)
		return
	}
	z.text = append(z.text, text...)
	if distance != z.distance {
		z.distance, z.to = distance, distanceCode(distance)
	}
	left := len(text)
	for ; left > maxMatch; left -= maxMatch {
		if left < maxMatch+minMatch {
			z.match(minMatch)
			left -= minMatch
			break
		}
		z.match(maxMatch)
	}
	z.match(left)
	z.flush()
}

// match appends the codes for a repetition of earlier text at the last distance.
func (z *zipped) match(length int) {
	c := lengths[length]
	z.put(c.bits|z.to.bits<<c.n, c.n+z.to.n)
}

// distanceCode returns the code of a distance. After the first four symbols, pairs of symbols have the same number
// of extra bits.
func distanceCode(distance int) code {
	at := uint32(distance - 1)
	extra := uint32(max(bits.Len32(at)-2, 0))
	symbol := 2*extra + at>>extra
	return code{uint32(bits.Reverse8(uint8(symbol))>>3) | at&(1<<extra-1)<<5, uint8(5 + extra)}
}

// flush writes the buffer if it is large.
func (z *zipped) flush() {
	if len(z.text) >= pieceBytes {
		z.count()
	}
	z.out = writePiece(z.w, z.out)
}

// count adds the text to the checksum.
func (z *zipped) count() {
	z.sum, z.size = crc32.Update(z.sum, crc32.IEEETable, z.text), z.size+uint32(len(z.text))
	z.text = z.text[:0]
}

// end writes the end of the stream.
func (z *zipped) end() {
	z.count()
	z.put(symbols[endOfBlock].bits, symbols[endOfBlock].n)
	for z.n > 0 {
		z.out = append(z.out, byte(z.bits))
		z.bits >>= 8
		z.n -= min(z.n, 8)
	}
	z.out = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(z.out, z.sum), z.size)
	_, _ = z.w.Write(z.out) // the client may be gone
}

// acceptsGzip reports whether a client accepts gzip.
func acceptsGzip(accepted string) bool {
	for one := range strings.SplitSeq(accepted, ",") {
		name, parameter, _ := strings.Cut(one, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		weight, has := strings.CutPrefix(strings.ToLower(strings.TrimSpace(parameter)), "q=")
		return !has || strings.Trim(weight, "0.") != ""
	}
	return false
}
