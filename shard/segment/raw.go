package segment

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"path/filepath"

	"cordwood/proto/column"
	"cordwood/shard/vfs"
)

// This file handles raw segments: batches of a table as they are in memory, for rows that cannot be
// written as a Parquet file. Nothing is sorted, merged or encoded, so only the disk can fail.
// FORMAT.md describes the format.

// RawSuffix is the extension of raw segment files.
const RawSuffix = ".rows"

const (
	rawMagic   = "CWRW"
	rawVersion = 1
	rawHead    = 16
	// rawRecord is the size of a record's header.
	rawRecord = 64

	rawBatch  = 1
	rawCut    = 2
	rawReason = 3
	rawEnd    = 4
)

// Raw is the content of a raw segment.
type Raw struct {
	TableID uint64
	Batches []*column.Batch
	// Cuts lists the changes of the merge mode.
	Cuts []RawCut
	// Reason is the error that prevented a Parquet file.
	Reason string
	// Since is when the segment was written, in Unix nanoseconds, or 0 if that is not known.
	Since int64
}

// RawCut is a change of the merge mode: At is the number of batches before it, Merge the number of
// the old mode. If Number is not 0, the rows before it are in the cut of this number for object storage instead.
type RawCut struct {
	At     int
	Merge  uint8
	Number uint64
}

// WriteRaw writes a raw segment. When it returns nil, the file is on disk under its final name. The
// caller must call SyncDir for the directory to make the name durable. After an error no file is
// left.
func WriteRaw(cfg Config, raw *Raw) (m Meta, err error) {
	m = Meta{ID: cfg.NextID(), TableID: raw.TableID, Raw: true}
	m.Order = m.ID
	if len(raw.Batches) == 0 {
		m.MinTime, m.MaxTime = math.MaxInt64, math.MaxInt64 // rows with these bounds never expire
	}
	for i, b := range raw.Batches {
		if i == 0 {
			m.MinTime, m.MaxTime = b.MinTime, b.MaxTime
		}
		m.Rows += int64(b.Rows)
		m.MinTime, m.MaxTime = min(m.MinTime, b.MinTime), max(m.MaxTime, b.MaxTime)
		m.SchemaVersion = max(m.SchemaVersion, b.SchemaVersion)
	}
	temp := filepath.Join(cfg.Dir, TempName(m.FileName()))
	fail := func(err error) (Meta, error) {
		return m, fmt.Errorf("write raw segment %s: %w", m.FileName(), err)
	}
	f, err := cfg.FS.Create(temp)
	if err != nil {
		return fail(err)
	}
	out := &checksummer{f: f}
	if err = writeRaw(out, raw); err == nil {
		m.Bytes, m.FileCRC = out.n, out.crc
		m.FooterCRC, err = footerCRC(f, m.Bytes)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = cfg.FS.Rename(temp, filepath.Join(cfg.Dir, m.FileName()))
	}
	if err != nil {
		return fail(errors.Join(err, cfg.FS.Remove(temp)))
	}
	return m, nil
}

func writeRaw(w io.Writer, raw *Raw) error {
	head := binary.LittleEndian.AppendUint16([]byte(rawMagic), rawVersion)
	head = binary.LittleEndian.AppendUint16(head, 0)
	head = binary.LittleEndian.AppendUint64(head, raw.TableID)
	if _, err := w.Write(head); err != nil {
		return err
	}
	record := func(kind, a uint32, numbers [6]uint64, body []byte) error {
		b := binary.LittleEndian.AppendUint32(nil, kind)
		b = binary.LittleEndian.AppendUint32(b, a)
		for _, n := range numbers {
			b = binary.LittleEndian.AppendUint64(b, n)
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(len(body)))
		if _, err := w.Write(b); err != nil {
			return err
		}
		if _, err := w.Write(body); err != nil {
			return err
		}
		_, err := w.Write(make([]byte, -len(body)&7))
		return err
	}
	if err := record(rawReason, 0, [6]uint64{uint64(raw.Since)}, []byte(raw.Reason)); err != nil {
		return err
	}
	for _, b := range raw.Batches {
		versions := uint64(b.Epoch)<<32 | uint64(b.SchemaVersion)
		numbers := [6]uint64{uint64(b.Rows), versions, b.Session, b.Seq, uint64(b.MinTime), uint64(b.MaxTime)}
		if err := record(rawBatch, uint32(len(b.Cols)), numbers, b.Mem); err != nil {
			return err
		}
	}
	for _, c := range raw.Cuts {
		if err := record(rawCut, uint32(c.Merge), [6]uint64{uint64(c.At), c.Number}, nil); err != nil {
			return err
		}
	}
	return record(rawEnd, uint32(len(raw.Batches)), [6]uint64{}, nil)
}

// ReadRaw reads a raw segment that m describes, and checks all of it. alloc returns memory for a
// batch, aligned to 8 bytes. If the file is damaged, it returns an *ErrCorrupt; for a missing file
// the error matches fs.ErrNotExist.
func ReadRaw(fsys vfs.FS, dir string, m *Meta, alloc func(n int) ([]byte, error)) (*Raw, error) {
	if err := Check(fsys, dir, m, false); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, m.FileName())
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read raw segment: %w", err)
	}
	defer f.Close()
	r := &rawReader{f: f, size: m.Bytes}
	raw, err := r.read(m.TableID, alloc)
	switch {
	case errors.Is(err, errRawDamaged):
		return nil, &ErrCorrupt{File: path, Part: "content", Offset: r.at, Want: "batches of rows", Got: err.Error()}
	case err != nil:
		return nil, fmt.Errorf("read raw segment %s: %w", path, err)
	case r.crc != m.FileCRC || r.at != m.Bytes:
		return nil, &ErrCorrupt{
			File: path,
			Part: "checksum",
			Want: fmt.Sprintf("%08x", m.FileCRC),
			Got:  fmt.Sprintf("%08x", r.crc),
		}
	}
	return raw, nil
}

// errRawDamaged is wrapped by the errors of a rawReader about damaged files.
var errRawDamaged = errors.New("the file is damaged")

// rawReader reads a file sequentially, and does not allocate memory for bytes that do not exist.
type rawReader struct {
	f        io.ReaderAt
	at, size int64
	crc      uint32
}

func (r *rawReader) full(b []byte) error {
	if int64(len(b)) > r.size-r.at {
		return fmt.Errorf("%w: %d bytes expected, %d are left", errRawDamaged, len(b), r.size-r.at)
	}
	if n, err := r.f.ReadAt(b, r.at); n < len(b) {
		return fmt.Errorf("read %d bytes at %d: %w", len(b), r.at, err)
	}
	r.at += int64(len(b))
	r.crc = crc32.Update(r.crc, castagnoli, b)
	return nil
}

func (r *rawReader) read(table uint64, alloc func(int) ([]byte, error)) (*Raw, error) {
	var head [rawHead]byte
	if err := r.full(head[:]); err != nil {
		return nil, err
	}
	if string(head[:4]) != rawMagic || binary.LittleEndian.Uint16(head[4:]) != rawVersion ||
		binary.LittleEndian.Uint64(head[8:]) != table {
		return nil, fmt.Errorf("%w: its header is %x", errRawDamaged, head)
	}
	raw := &Raw{TableID: table}
	for {
		var b [rawRecord]byte
		if err := r.full(b[:]); err != nil {
			return nil, err
		}
		kind, a, n := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint64(b[56:])
		if n > uint64(r.size-r.at) || kind != rawBatch && n > 64<<10 {
			return nil, fmt.Errorf("%w: a record of %d bytes, %d are left", errRawDamaged, n, r.size-r.at)
		}
		number := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8+8*i:]) }
		var body []byte
		if kind == rawBatch {
			var err error
			if body, err = alloc(int(n)); err != nil {
				return nil, err
			}
		} else {
			body = make([]byte, n)
		}
		var pad [8]byte
		if err := errors.Join(r.full(body), r.full(pad[:-n&7])); err != nil {
			return nil, err
		}
		switch kind {
		case rawReason:
			raw.Reason, raw.Since = string(body), int64(number(0))
		case rawCut:
			raw.Cuts = append(raw.Cuts, RawCut{At: int(number(0)), Merge: uint8(a), Number: number(1)})
		case rawBatch:
			h := column.Header{
				TableID: table, Rows: int(number(0)), Epoch: uint32(number(1) >> 32), SchemaVersion: uint32(number(1)),
				Session: number(2), Seq: number(3), MinTime: int64(number(4)), MaxTime: int64(number(5)),
			}
			batch, err := column.Reopen(h, int(a), body)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", errRawDamaged, err)
			}
			raw.Batches = append(raw.Batches, batch)
		case rawEnd:
			if int(a) != len(raw.Batches) {
				return nil, fmt.Errorf("%w: it ends after %d batches of %d", errRawDamaged, len(raw.Batches), a)
			}
			return raw, nil
		default:
			return nil, fmt.Errorf("%w: a record of kind %d", errRawDamaged, kind)
		}
	}
}
