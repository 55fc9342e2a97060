package manifest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The constants of the format. All of them are part of the format; FORMAT.md has
// the diagram.
const (
	magic   = "CWMF"
	version = 2
	// headerSize bytes begin the file; their layout is the same in every version.
	headerSize = 16

	recordMark = "CWRE"
	// recordHead is the number of bytes before a record's payload: mark, length, checksum.
	recordHead = 12
	maxRecord  = 1 << 30
)

// An edit continues in another record when a record has maxPart bytes. A field of more than
// maxField bytes is refused, so that no record exceeds maxRecord. Tests lower these limits.
var (
	maxPart  = 64 << 20
	maxField = maxRecord / 4
)

// The field numbers of an edit, a segment, a column and a session.
const (
	fieldApplied  = 1
	fieldTerm     = 2
	fieldNext     = 3
	fieldClock    = 4
	fieldAdd      = 5
	fieldRemove   = 6
	fieldTable    = 7
	fieldDrop     = 8
	fieldSessions = 9

	// Since version 2.
	fieldTombstone = 10
	fieldExpire    = 11
	fieldReserved  = 12
	fieldSwept     = 13
	fieldGarbage   = 14
	fieldMerging   = 15
	fieldKeys      = 16
	fieldMore      = 17

	// Object storage.
	fieldCold        = 18
	fieldColdSet     = 19
	fieldColdDead    = 20
	fieldColdCounted = 21
	fieldCutOrder    = 22

	segID        = 1
	segTable     = 2
	segVersion   = 3
	segRows      = 4
	segBytes     = 5
	segMin       = 6
	segMax       = 7
	segFooterCRC = 8
	segFileCRC   = 9
	segColumn    = 10
	// Since version 2.
	segOrder = 11
	segSpans = 12
	segRaw   = 13

	colID       = 1
	colName     = 2
	colType     = 3
	colSemantic = 4
	// Since version 2.
	colFieldID = 5
	colLogical = 6

	sesID   = 1
	sesHigh = 2
	sesSeen = 3
	sesLast = 4
	// Since version 2.
	sesUnlogged = 5

	stoneTable = 1
	stoneAt    = 2

	expTable  = 1
	expBefore = 2
	expOrder  = 3
	expIndex  = 4

	mergingTable = 1
	mergingEra   = 2

	eraBefore = 1
	eraMerge  = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func appendHeader(dst []byte, shardID uint32) []byte {
	at := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint16(dst, version)
	dst = binary.LittleEndian.AppendUint16(dst, 0)
	dst = binary.LittleEndian.AppendUint32(dst, shardID)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

// records encodes an edit as one or more records and passes them to put in order. The first record
// comes after head. put must not keep its argument.
func records(head []byte, e *Edit, put func(b []byte) error) error {
	at := len(head)
	var err error
	w := writer{b: beginRecord(head), most: maxPart}
	w.full = func(b []byte) []byte {
		if err == nil {
			more := writer{b: b}
			more.uint(fieldMore, 1)
			err = put(endRecord(more.b, at))
		}
		at = 0
		return beginRecord(b[:0])
	}
	e.write(&w)
	if err != nil {
		return err
	}
	return put(endRecord(w.b, at))
}

// beginRecord appends a record's header. endRecord completes the record that starts at an offset.
func beginRecord(dst []byte) []byte {
	dst = append(dst, recordMark...)
	return append(dst, make([]byte, recordHead-len(recordMark))...)
}

func endRecord(b []byte, at int) []byte {
	binary.LittleEndian.PutUint32(b[at+4:], uint32(len(b)-at-recordHead))
	binary.LittleEndian.PutUint32(b[at+8:], recordCRC(b[at:]))
	return b
}

// recordCRC returns the checksum of a whole record: of its length and its payload.
func recordCRC(rec []byte) uint32 {
	return crc32.Update(crc32.Checksum(rec[4:8], castagnoli), castagnoli, rec[recordHead:])
}

// file is a parsed manifest.
type file struct {
	shardID uint32
	edits   []placed
	torn    int64 // bytes of an unfinished record at the end
}

// placed is an edit and its offset.
type placed struct {
	offset, size int64
	records      int
	edit         Edit
}

// parse reads a manifest file.
func parse(name string, b []byte) (*file, error) {
	corrupt := func(offset int, want, got string) error {
		return &ErrCorrupt{File: name, Offset: int64(offset), Want: want, Got: got}
	}
	if err := checkHeader(name, b); err != nil {
		return nil, err
	}
	f := &file{shardID: binary.LittleEndian.Uint32(b[8:])}
	more := false // whether the last edit continues in the next record
	for at := headerSize; at < len(b); {
		n, want, got := checkRecord(b[at:])
		if n == 0 {
			// Only an append that a crash interrupted can be unfinished, and it is the last record
			// of the file. The first record is never unfinished: it was complete before the file
			// got its name.
			next := nextRecord(b, at+1)
			if next >= 0 {
				return nil, corrupt(at, want, fmt.Sprintf("%s, and an intact record at offset %d", got, next))
			}
			if len(f.edits) == 0 || more && len(f.edits) == 1 {
				return nil, corrupt(at, want, got)
			}
			f.torn = int64(len(b) - at)
			break
		}
		if !more {
			f.edits = append(f.edits, placed{offset: int64(at)})
		}
		p := &f.edits[len(f.edits)-1]
		p.size, p.records = p.size+int64(n), p.records+1
		r := reader{name: name, at: int64(at + recordHead)}
		more = r.edit(b[at+recordHead:at+n], &p.edit)
		if r.err != nil {
			return nil, r.err
		}
		at += n
	}
	if more && len(f.edits) > 1 {
		f.torn += f.edits[len(f.edits)-1].size
		f.edits = f.edits[:len(f.edits)-1]
		more = false
	}
	if len(f.edits) == 0 || more {
		return nil, corrupt(len(b), "a record", "the end of the file")
	}
	return f, nil
}

// checkHeader checks the header of a manifest file.
func checkHeader(name string, b []byte) error {
	if len(b) < headerSize {
		return &ErrCorrupt{
			File: name, Want: fmt.Sprintf("a header of %d bytes", headerSize), Got: fmt.Sprintf("a file of %d bytes", len(b)),
		}
	}
	if string(b[:4]) != magic {
		return &ErrCorrupt{File: name, Want: fmt.Sprintf("magic %q", magic), Got: fmt.Sprintf("%q", b[:4])}
	}
	if want, got := crc32.Checksum(b[:12], castagnoli), binary.LittleEndian.Uint32(b[12:]); want != got {
		return &ErrCorrupt{
			File: name, Offset: 12, Want: fmt.Sprintf("header checksum %08x", want), Got: fmt.Sprintf("%08x", got),
		}
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v == 0 || v > version {
		return &ErrUnsupported{File: name, Version: v, Supported: version}
	}
	return nil
}

// checkRecord returns the size of the intact record at the start of b, or 0 with the expected and
// the actual content.
func checkRecord(b []byte) (n int, want, got string) {
	if len(b) < recordHead {
		return 0, fmt.Sprintf("a record header of %d bytes", recordHead), fmt.Sprintf("%d bytes", len(b))
	}
	if string(b[:4]) != recordMark {
		return 0, fmt.Sprintf("record mark %q", recordMark), fmt.Sprintf("%q", b[:4])
	}
	size := int64(binary.LittleEndian.Uint32(b[4:]))
	if size > maxRecord || size > int64(len(b)-recordHead) {
		return 0, fmt.Sprintf("a record of %d bytes", size), fmt.Sprintf("%d bytes", len(b)-recordHead)
	}
	n = recordHead + int(size)
	if want, got := recordCRC(b[:n]), binary.LittleEndian.Uint32(b[8:]); want != got {
		return 0, fmt.Sprintf("record checksum %08x", want), fmt.Sprintf("%08x", got)
	}
	return n, "", ""
}

// nextRecord returns the offset of the first intact record at or after from, or -1.
func nextRecord(b []byte, from int) int {
	for from < len(b) {
		i := bytes.Index(b[from:], []byte(recordMark))
		if i < 0 {
			return -1
		}
		if n, _, _ := checkRecord(b[from+i:]); n > 0 {
			return from + i
		}
		from += i + 1
	}
	return -1
}
