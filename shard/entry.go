package shard

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/schemapb"
)

// The constants of an entry of the log. All of them are part of the format;
// FORMAT.md has the diagram.
const (
	entryVersion = 1

	kindWrite     = 1
	kindDropTable = 2
	kindDefine    = 3
	kindExpire    = 4
	// kindWriteByUser is kindWrite, and keys are forgotten by users.
	kindWriteByUser = 5

	// entryHead bytes begin an entry: version, kind, checksum, time, lengths.
	entryHead = 24
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// entry is a decoded entry of the log.
type entry struct {
	kind byte
	// time is the leader's clock when it proposed the entry, in nanoseconds since 1970.
	time   int64
	writes []entryWrite
	// byUser has the shares of users count if there are too many keys to be remembered.
	byUser bool
	// tableID is the table of a kindDropTable.
	tableID uint64
	// tables are the encoded definitions of a kindDefine.
	tables [][]byte
	// cutoffs are those of a kindExpire.
	cutoffs []cutoff
}

// cutoff says that the rows of a table that are older have expired.
type cutoff struct {
	tableID uint64
	before  int64
}

// entryWrite is one Write: it is applied as a whole or not at all.
type entryWrite struct {
	// tables are encoded definitions that the batches need.
	tables [][]byte
	// batches are encoded column batches.
	batches [][]byte
}

// size is about what the write takes in an entry, in bytes.
func (w *entryWrite) size() int {
	n := 16
	for _, t := range w.tables {
		n += len(t) + 4
	}
	for _, b := range w.batches {
		n += len(b) + 4
	}
	return n
}

// appendEntry appends e to dst, which should have room for it.
func appendEntry(dst []byte, e *entry) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, entryHead)...)
	switch e.kind {
	case kindDropTable:
		dst = binary.AppendUvarint(dst, e.tableID)
	case kindDefine:
		dst = appendParts(dst, e.tables)
	case kindExpire:
		dst = binary.AppendUvarint(dst, uint64(len(e.cutoffs)))
		for _, c := range e.cutoffs {
			dst = binary.AppendUvarint(dst, c.tableID)
			dst = binary.AppendVarint(dst, c.before)
		}
	case kindWrite:
		dst = binary.AppendUvarint(dst, uint64(len(e.writes)))
		for i := range e.writes {
			w := &e.writes[i]
			dst = appendParts(dst, w.tables)
			dst = binary.AppendUvarint(dst, uint64(len(w.batches)))
			for _, b := range w.batches {
				dst = binary.AppendUvarint(dst, uint64(len(b)))
			}
		}
	}
	meta := len(dst) - at - entryHead
	for i := range e.writes {
		for _, b := range e.writes[i].batches {
			dst = append(dst, b...)
		}
	}
	head := dst[at:]
	head[0], head[1] = entryVersion, e.kind
	if e.kind == kindWrite && e.byUser {
		head[1] = kindWriteByUser
	}
	binary.LittleEndian.PutUint64(head[8:], uint64(e.time))
	binary.LittleEndian.PutUint32(head[16:], uint32(meta))
	binary.LittleEndian.PutUint32(head[20:], uint32(len(head)-entryHead-meta))
	binary.LittleEndian.PutUint32(head[4:], entryCRC(head, meta))
	return dst
}

func appendParts(dst []byte, parts [][]byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(parts)))
	for _, p := range parts {
		dst = binary.AppendUvarint(dst, uint64(len(p)))
		dst = append(dst, p...)
	}
	return dst
}

// entryCRC covers everything but itself and the batches, which have checksums of
// their own.
func entryCRC(b []byte, meta int) uint32 {
	return crc32.Update(crc32.Checksum(b[:4], castagnoli), castagnoli, b[8:entryHead+meta])
}

// decodeEntry reads an entry; what it returns points into b.
func decodeEntry(b []byte) (*entry, error) {
	if len(b) < entryHead {
		return nil, fmt.Errorf("log entry: %d bytes, want at least %d", len(b), entryHead)
	}
	if b[0] != entryVersion {
		return nil, fmt.Errorf("log entry: written by a newer version of this program: format version is %d, this one knows %d; run the version that wrote it or a newer one", b[0], entryVersion)
	}
	meta, body := int64(binary.LittleEndian.Uint32(b[16:])), int64(binary.LittleEndian.Uint32(b[20:]))
	if want := entryHead + meta + body; want != int64(len(b)) {
		return nil, fmt.Errorf("log entry: %d bytes, its head says %d", len(b), want)
	}
	if want, got := entryCRC(b, int(meta)), binary.LittleEndian.Uint32(b[4:]); want != got {
		return nil, fmt.Errorf("log entry: checksum is %08x, want %08x", got, want)
	}
	e := &entry{kind: b[1], byUser: b[1] == kindWriteByUser, time: int64(binary.LittleEndian.Uint64(b[8:]))}
	r := entryReader{meta: b[entryHead : entryHead+meta], body: b[entryHead+meta:]}
	switch e.kind {
	case kindDropTable:
		e.tableID = r.uvarint()
	case kindDefine:
		e.tables = r.parts()
	case kindExpire:
		e.cutoffs = make([]cutoff, r.count())
		for i := range e.cutoffs {
			e.cutoffs[i] = cutoff{r.uvarint(), r.varint()}
		}
	case kindWrite, kindWriteByUser:
		e.kind = kindWrite
		e.writes = make([]entryWrite, r.count())
		for i := range e.writes {
			e.writes[i] = r.write()
		}
	default:
		return nil, fmt.Errorf("log entry: written by a newer version of this program: kind %d is unknown; run the version that wrote it or a newer one", e.kind)
	}
	if r.bad || len(r.meta) > 0 || len(r.body) > 0 {
		return nil, fmt.Errorf("log entry: kind %d: its parts do not add up to its %d bytes", e.kind, len(b))
	}
	return e, nil
}

type entryReader struct {
	meta, body []byte
	bad        bool
}

func (r *entryReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.meta)
	if n <= 0 {
		r.bad = true
		r.meta = nil
		return 0
	}
	r.meta = r.meta[n:]
	return v
}

func (r *entryReader) varint() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// parts reads byte strings that lie in the meta; nil if there are none.
func (r *entryReader) parts() [][]byte {
	n := r.count()
	if n == 0 {
		return nil
	}
	parts := make([][]byte, n)
	for i := range parts {
		parts[i] = r.take(&r.meta, r.uvarint())
	}
	return parts
}

// count reads the number of things that take at least a byte each.
func (r *entryReader) count() int {
	n := r.uvarint()
	if n > uint64(len(r.meta)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *entryReader) take(from *[]byte, n uint64) []byte {
	if n > uint64(len(*from)) {
		r.bad = true
		return nil
	}
	b := (*from)[:n:n]
	*from = (*from)[n:]
	return b
}

func (r *entryReader) write() (w entryWrite) {
	w.tables = r.parts()
	w.batches = make([][]byte, r.count())
	for i := range w.batches {
		w.batches[i] = r.take(&r.body, r.uvarint())
	}
	return w
}

// marshalTables encodes definitions.
func marshalTables(tables []*schemapb.Table) ([][]byte, error) {
	if len(tables) == 0 {
		return nil, nil
	}
	out := make([][]byte, len(tables))
	for i, t := range tables {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("definition of table %d: %w", t.GetId(), err)
		}
		out[i] = b
	}
	return out, nil
}
