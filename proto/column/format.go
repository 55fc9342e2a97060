package column

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/klauspost/compress/s2"

	"cordwood/proto/schema"
)

// The constants of the format. All of them are part of the format; FORMAT.md has
// the diagram.
const (
	magic   = "CWCB"
	version = 1

	headerSize = 80
	entrySize  = 48
	// The body ends with tailSize zero bytes, so that a reader may load 16 bytes at the start of
	// any value.
	tailSize = 16

	// flagPacked means that the block contains a packed body.
	flagPacked = 1
	// flagBits means that the body may be packed by methods that flagPacked alone does not allow.
	flagBits = 2
	// flagCuts means that a section may be packed as cuts. It occurs only together with the others.
	flagCuts = 4

	offVersion = 4
	offFlags   = 6
	offCRC     = 8
	offRows    = 12
	offColumns = 16
	offBody    = 20
	offTable   = 24
	offEpoch   = 32
	offSchema  = 36
	offSession = 40
	offSeq     = 48
	offMinTime = 56
	offMaxTime = 64
	offBlock   = 72
	offSpare   = 76

	// envelopeSize is the size of the part that is the same in all versions: magic, version and
	// checksum.
	envelopeSize = 12
)

// Limits of one batch. They are part of the format: Decode refuses more, and Chunks divides a
// larger Builder into pieces within the limits.
const (
	MaxRows     = 1 << 20
	MaxColumns  = 100_000
	MaxInflated = 256 << 20
	maxDictLen  = 1 << 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrCorrupt is the error of Decode, DecodeHeader and InflatedSize for bytes that no Encode wrote.
// It is returned as a *ErrCorrupt.
type ErrCorrupt struct {
	// Part is what was being read, such as "header" or "column 7: codes".
	Part string
	// Offset is the position of Part: in the encoded bytes for the header and the checksum, and in
	// the inflated body for parts of a column.
	Offset int64
	// Want is the content of an intact batch at Offset, and Got the actual content.
	Want, Got string
}

// Error returns the part, the offset, the expected and the actual content.
func (e *ErrCorrupt) Error() string {
	return fmt.Sprintf("column batch is damaged: %s at offset %d: want %s, got %s", e.Part, e.Offset, e.Want, e.Got)
}

// ErrUnsupported is the error for an intact batch of a format that this program does not know. It
// is returned as a *ErrUnsupported.
type ErrUnsupported struct {
	// Version is the batch's format version. Supported is the newest version that this program
	// knows.
	Version, Supported uint16
	// Flags are the unknown header flags, if Version is known.
	Flags uint16
}

// Error returns both versions, and what to do.
func (e *ErrUnsupported) Error() string {
	if e.Flags != 0 {
		return fmt.Sprintf("column batch: written by a newer version of this program: format version %d with unknown "+
			"flags %#04x; upgrade this node to a release that knows them", e.Version, e.Flags)
	}
	return fmt.Sprintf("column batch: written by a newer version of this program: format version %d, this one reads "+
		"versions 1 to %d; upgrade this node to a release that knows it", e.Version, e.Supported)
}

// IsSupportedVersion reports whether Decode reads batches of this format version.
func IsSupportedVersion(v uint16) bool { return v == version }

func corrupt(part string, offset int, want, got any) error {
	return &ErrCorrupt{Part: part, Offset: int64(offset), Want: fmt.Sprint(want), Got: fmt.Sprint(got)}
}

// frame is a decoded header with fields that only the decoder needs.
type frame struct {
	Header
	columns int
	body    int
	packed  int     // size of the packed body; 0 if the block contains the body itself
	newest  packing // the highest method of packing that may occur
	block   []byte
}

// DecodeHeader checks the checksum of all of src and returns the header of an encoded batch. It
// inflates nothing and allocates nothing.
//
// It returns *ErrCorrupt or *ErrUnsupported for bytes that it cannot read reliably.
func DecodeHeader(src []byte) (Header, error) {
	if err := checkEnvelope(src); err != nil {
		return Header{}, err
	}
	f, err := parseHeader(src)
	return f.Header, err
}

// InflatedSize returns the number of bytes that Decode needs for src, a multiple of 8 and at most
// MaxInflated. It does not verify the checksum; Decode does.
func InflatedSize(src []byte) (int, error) {
	f, err := parseHeader(src)
	return f.body, err
}

// checkEnvelope checks the part that batches of every version have in common.
func checkEnvelope(src []byte) error {
	if err := checkMagic(src); err != nil {
		return err
	}
	want := binary.LittleEndian.Uint32(src[offCRC:])
	if got := checksum(src); got != want {
		return corrupt("checksum", offCRC, fmt.Sprintf("%#08x", want), fmt.Sprintf("%#08x over %d bytes", got, len(src)))
	}
	return nil
}

func checkMagic(src []byte) error {
	if len(src) < envelopeSize {
		return corrupt("header", 0, fmt.Sprintf("at least %d bytes", envelopeSize), fmt.Sprintf("%d bytes", len(src)))
	}
	if string(src[:4]) != magic {
		return corrupt("magic", 0, fmt.Sprintf("%q", magic), fmt.Sprintf("%q", src[:4]))
	}
	return nil
}

// checksum returns the CRC-32C of everything except the checksum itself.
func checksum(src []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, src[:offCRC]), castagnoli, src[offCRC+4:])
}

func parseHeader(src []byte) (frame, error) {
	if err := checkMagic(src); err != nil {
		return frame{}, err
	}
	le := binary.LittleEndian
	if v := le.Uint16(src[offVersion:]); !IsSupportedVersion(v) {
		return frame{}, &ErrUnsupported{Version: v, Supported: version}
	}
	if len(src) < headerSize {
		return frame{}, corrupt("header", 0, fmt.Sprintf("%d bytes", headerSize), fmt.Sprintf("%d bytes", len(src)))
	}
	flags := le.Uint16(src[offFlags:])
	if unknown := flags &^ (flagPacked | flagBits | flagCuts); unknown != 0 {
		return frame{}, &ErrUnsupported{Version: version, Supported: version, Flags: unknown}
	}
	rows, columns, body := le.Uint32(src[offRows:]), le.Uint32(src[offColumns:]), le.Uint32(src[offBody:])
	block := le.Uint32(src[offBlock:])
	switch {
	case rows > MaxRows:
		return frame{}, corrupt("row count", offRows, fmt.Sprintf("at most %d", MaxRows), rows)
	case columns > MaxColumns:
		return frame{}, corrupt("column count", offColumns, fmt.Sprintf("at most %d", MaxColumns), columns)
	case body > MaxInflated || body%8 != 0:
		return frame{}, corrupt("inflated size", offBody, fmt.Sprintf("a multiple of 8, at most %d", MaxInflated), body)
	case uint64(body) < uint64(columns)*entrySize+tailSize:
		return frame{},
			corrupt("inflated size", offBody,
				fmt.Sprintf("at least %d bytes for %d columns", columns*entrySize+tailSize, columns), body)
	case uint64(block) != uint64(len(src)-headerSize):
		return frame{}, corrupt("block size", offBlock, len(src)-headerSize, block)
	case flags != 0 && flags != flagPacked && flags != flagPacked|flagBits && flags != flagPacked|flagBits|flagCuts:
		return frame{}, corrupt("flags", offFlags, "each flag with those below it", fmt.Sprintf("%#x", flags))
	case le.Uint32(src[offSpare:]) != 0:
		return frame{}, corrupt("header spare", offSpare, 0, le.Uint32(src[offSpare:]))
	}
	f := frame{columns: int(columns), body: int(body), block: src[headerSize:], newest: packDecimal}
	switch {
	case flags&flagCuts != 0:
		f.newest = packCuts
	case flags&flagBits != 0:
		f.newest = packLengthBits
	}
	n, err := s2.DecodedLen(f.block)
	if flags&flagPacked != 0 {
		f.packed = n
		// Packing reduces the size, apart from the list of packed sections, and from texts of clients.
		most := f.body + 4 + 3*f.columns*packSize
		if f.newest == packCuts {
			most += f.body
		}
		if err != nil || n > most {
			return frame{}, corrupt("block", headerSize, fmt.Sprintf("at most %d packed bytes", most),
				fmt.Sprintf("%d (%v)", n, err))
		}
	} else if err != nil || n != f.body {
		return frame{}, corrupt("block", headerSize, fmt.Sprintf("%d inflated bytes", f.body), fmt.Sprintf("%d (%v)", n, err))
	}
	f.Header = Header{
		TableID: le.Uint64(src[offTable:]), Epoch: le.Uint32(src[offEpoch:]), SchemaVersion: le.Uint32(src[offSchema:]),
		Session: le.Uint64(src[offSession:]), Seq: le.Uint64(src[offSeq:]), Rows: int(rows),
		MinTime: int64(le.Uint64(src[offMinTime:])), MaxTime: int64(le.Uint64(src[offMaxTime:])),
	}
	return f, nil
}

// putHeader writes the header of the batch dst, whose block must be in place, and sets the
// checksum.
func putHeader(dst []byte, h Header, flags uint16, columns, body int) {
	le := binary.LittleEndian
	copy(dst, magic)
	le.PutUint16(dst[offVersion:], version)
	le.PutUint16(dst[offFlags:], flags)
	le.PutUint32(dst[offRows:], uint32(h.Rows))
	le.PutUint32(dst[offColumns:], uint32(columns))
	le.PutUint32(dst[offBody:], uint32(body))
	le.PutUint64(dst[offTable:], h.TableID)
	le.PutUint32(dst[offEpoch:], h.Epoch)
	le.PutUint32(dst[offSchema:], h.SchemaVersion)
	le.PutUint64(dst[offSession:], h.Session)
	le.PutUint64(dst[offSeq:], h.Seq)
	le.PutUint64(dst[offMinTime:], uint64(h.MinTime))
	le.PutUint64(dst[offMaxTime:], uint64(h.MaxTime))
	le.PutUint32(dst[offBlock:], uint32(len(dst)-headerSize))
	le.PutUint32(dst[offSpare:], 0)
	le.PutUint32(dst[offCRC:], checksum(dst))
}

// entry is one column's entry in the directory at the start of the body.
type entry struct {
	id                             uint32
	typ                            schema.Type
	encoding                       Encoding
	width                          uint8
	base                           int64
	nulls, dictLen                 int
	validity, offsets, codes, data int
	dataLen                        int
}

func (e *entry) put(b []byte) {
	le := binary.LittleEndian
	le.PutUint32(b, e.id)
	b[4], b[5], b[6], b[7] = byte(e.typ), byte(e.encoding), e.width, 0
	le.PutUint64(b[8:], uint64(e.base))
	le.PutUint32(b[16:], uint32(e.nulls))
	le.PutUint32(b[20:], uint32(e.dictLen))
	le.PutUint32(b[24:], uint32(e.validity))
	le.PutUint32(b[28:], uint32(e.offsets))
	le.PutUint32(b[32:], uint32(e.codes))
	le.PutUint32(b[36:], uint32(e.data))
	le.PutUint32(b[40:], uint32(e.dataLen))
	le.PutUint32(b[44:], 0)
}

func getEntry(b []byte) entry {
	le := binary.LittleEndian
	return entry{
		id: le.Uint32(b), typ: schema.Type(b[4]), encoding: Encoding(b[5]), width: b[6], base: int64(le.Uint64(b[8:])),
		nulls: int(le.Uint32(b[16:])), dictLen: int(le.Uint32(b[20:])), validity: int(le.Uint32(b[24:])),
		offsets: int(le.Uint32(b[28:])), codes: int(le.Uint32(b[32:])), data: int(le.Uint32(b[36:])),
		dataLen: int(le.Uint32(b[40:])),
	}
}

// align rounds n up to a multiple of 8.
func align(n int) int { return (n + 7) &^ 7 }

// validitySize returns the size of a validity bitmap in whole 64-bit words.
func validitySize(rows int) int { return (rows + 63) / 64 * 8 }
