package rules

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/schemapb"
)

// The constants of an entry of the log. All of them are part of the format;
// ../FORMAT.md has the diagram.
const (
	entryVersion = 1

	KindWrite     = 1
	KindDropTable = 2
	KindDefine    = 3
	KindExpire    = 4
	// kindWriteByUser is a KindWrite with ByUser set.
	kindWriteByUser = 5
	KindCut         = 6
	KindOffload     = 7
	KindForget      = 8
	KindJoin        = 9
	// kindCutMerging is a KindCut with Merging set.
	kindCutMerging = 10
	// kindJoinDay is a KindJoin with ByDay set.
	kindJoinDay = 11

	// EntryHead is the size of an entry's header: version, kind, checksum, time, lengths.
	EntryHead = 24
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// Entry is a decoded entry of the log.
type Entry struct {
	Kind byte
	// Time is the leader's clock when it proposed the entry, in nanoseconds since 1970.
	Time   int64
	Writes []Write
	// ByUser means that the user with the most keys loses one if there are too many keys to
	// remember.
	ByUser bool
	// TableID is the table of a kindDropTable.
	TableID uint64
	// Tables are the encoded definitions of a kindDefine.
	Tables [][]byte
	// Cutoffs are the cutoffs of a kindExpire.
	Cutoffs []Cutoff
	// Cut is set for a KindCut, Join for a KindJoin, Offload for a KindOffload.
	Cut     *Cut
	Join    *Join
	Offload *Offload
	// Keys are the objects of a KindForget: dead ones that were deleted.
	Keys []string
}

// Cutoff records that rows of a table with a time before Before have expired.
type Cutoff struct {
	TableID uint64
	Before  int64
}

// Write is one write. It is applied as a whole or not at all.
type Write struct {
	// Tables are encoded definitions that the batches need.
	Tables [][]byte
	// Batches are encoded column batches.
	Batches [][]byte
}

// Size returns the approximate size of the write in an entry.
func (w *Write) Size() int {
	n := 16
	for _, t := range w.Tables {
		n += len(t) + 4
	}
	for _, b := range w.Batches {
		n += len(b) + 4
	}
	return n
}

// AppendEntry appends e to dst, which should have room for it.
func AppendEntry(dst []byte, e *Entry) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, EntryHead)...)
	switch e.Kind {
	case KindDropTable:
		dst = binary.AppendUvarint(dst, e.TableID)
	case KindDefine:
		dst = appendParts(dst, e.Tables)
	case KindExpire:
		dst = binary.AppendUvarint(dst, uint64(len(e.Cutoffs)))
		for _, c := range e.Cutoffs {
			dst = binary.AppendUvarint(dst, c.TableID)
			dst = binary.AppendVarint(dst, c.Before)
		}
	case KindCut:
		dst = e.Cut.append(dst)
	case KindJoin:
		dst = e.Join.append(dst)
	case KindOffload:
		dst = e.Offload.append(dst)
	case KindForget:
		dst = binary.AppendUvarint(dst, uint64(len(e.Keys)))
		for _, key := range e.Keys {
			dst = binary.AppendUvarint(dst, uint64(len(key)))
			dst = append(dst, key...)
		}
	case KindWrite:
		dst = binary.AppendUvarint(dst, uint64(len(e.Writes)))
		for i := range e.Writes {
			w := &e.Writes[i]
			dst = appendParts(dst, w.Tables)
			dst = binary.AppendUvarint(dst, uint64(len(w.Batches)))
			for _, b := range w.Batches {
				dst = binary.AppendUvarint(dst, uint64(len(b)))
			}
		}
	}
	meta := len(dst) - at - EntryHead
	for i := range e.Writes {
		for _, b := range e.Writes[i].Batches {
			dst = append(dst, b...)
		}
	}
	head := dst[at:]
	head[0], head[1] = entryVersion, e.Kind
	switch {
	case e.Kind == KindWrite && e.ByUser:
		head[1] = kindWriteByUser
	case e.Kind == KindCut && e.Cut.Merging:
		head[1] = kindCutMerging
	case e.Kind == KindJoin && e.Join.ByDay:
		head[1] = kindJoinDay
	}
	binary.LittleEndian.PutUint64(head[8:], uint64(e.Time))
	binary.LittleEndian.PutUint32(head[16:], uint32(meta))
	binary.LittleEndian.PutUint32(head[20:], uint32(len(head)-EntryHead-meta))
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

// entryCRC returns the checksum of the entry, without the checksum itself and the batches, which
// have their own checksums.
func entryCRC(b []byte, meta int) uint32 {
	return crc32.Update(crc32.Checksum(b[:4], crcTable), crcTable, b[8:EntryHead+meta])
}

// DecodeEntry decodes an entry. The result refers to slices of b.
func DecodeEntry(b []byte) (*Entry, error) {
	if len(b) < EntryHead {
		return nil, fmt.Errorf("log entry: %d bytes, want at least %d", len(b), EntryHead)
	}
	if b[0] != entryVersion {
		return nil, fmt.Errorf("log entry: written by a newer version of this program: format version is %d, this one "+
			"knows %d; "+
			"run the version that wrote it or a newer one", b[0], entryVersion)
	}
	meta, body := int64(binary.LittleEndian.Uint32(b[16:])), int64(binary.LittleEndian.Uint32(b[20:]))
	if want := EntryHead + meta + body; want != int64(len(b)) {
		return nil, fmt.Errorf("log entry: it has %d bytes, but its header says %d", len(b), want)
	}
	if want, got := entryCRC(b, int(meta)), binary.LittleEndian.Uint32(b[4:]); want != got {
		return nil, fmt.Errorf("log entry: the checksum is %08x, want %08x; restore the log from a replica or a "+
			"backup", got, want)
	}
	e := &Entry{Kind: b[1], ByUser: b[1] == kindWriteByUser, Time: int64(binary.LittleEndian.Uint64(b[8:]))}
	r := entryReader{meta: b[EntryHead : EntryHead+meta], body: b[EntryHead+meta:]}
	switch e.Kind {
	case KindDropTable:
		e.TableID = r.uvarint()
	case KindDefine:
		e.Tables = r.parts()
	case KindExpire:
		e.Cutoffs = make([]Cutoff, r.count())
		for i := range e.Cutoffs {
			e.Cutoffs[i] = Cutoff{r.uvarint(), r.varint()}
		}
	case KindCut, kindCutMerging:
		e.Kind = KindCut
		e.Cut = r.cut()
		e.Cut.Merging = b[1] == kindCutMerging
	case KindJoin, kindJoinDay:
		e.Kind = KindJoin
		e.Join = r.join(b[1] == kindJoinDay)
	case KindOffload:
		var err error
		if e.Offload, err = r.offload(); err != nil {
			return nil, fmt.Errorf("log entry: %w", err)
		}
	case KindForget:
		for _, key := range r.parts() {
			e.Keys = append(e.Keys, string(key))
		}
	case KindWrite, kindWriteByUser:
		e.Kind = KindWrite
		e.Writes = make([]Write, r.count())
		for i := range e.Writes {
			e.Writes[i] = r.write()
		}
	default:
		return nil, fmt.Errorf("log entry: written by a newer version of this program: kind %d is unknown; "+
			"run the version that wrote it or a newer one", e.Kind)
	}
	if r.bad || len(r.meta) > 0 || len(r.body) > 0 {
		return nil, fmt.Errorf("log entry: kind %d: the sizes of its parts do not add up to %d bytes", e.Kind, len(b))
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

// parts reads the byte strings in the metadata, or returns nil if there are none.
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

// count reads the number of items, each of which has at least one byte.
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

func (r *entryReader) write() (w Write) {
	w.Tables = r.parts()
	w.Batches = make([][]byte, r.count())
	for i := range w.Batches {
		w.Batches[i] = r.take(&r.body, r.uvarint())
	}
	return w
}

// MarshalTables encodes definitions.
func MarshalTables(tables []*schemapb.Table) ([][]byte, error) {
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
