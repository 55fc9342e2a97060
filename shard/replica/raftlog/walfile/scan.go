package walfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"cordwood/shard/replica/raftlog/damage"
)

// ErrCorrupt is the error for a log file that neither an append nor a crash can have left. It is
// returned as a *ErrCorrupt and matches damage.ErrDamaged.
type ErrCorrupt struct {
	File   string
	Offset int64
	// What describes the damage.
	What string
}

// Error returns the file, the offset, the damage, and what to do.
func (e *ErrCorrupt) Error() string {
	return fmt.Sprintf("log %s is damaged at offset %d: %s; acknowledged entries may follow, "+
		"so nothing is cut off: restore the directory from a replica or a backup",
		e.File, e.Offset, e.What)
}

// Is reports whether target is damage.ErrDamaged.
func (e *ErrCorrupt) Is(target error) bool { return target == damage.ErrDamaged }

// scanBuffers holds reused buffers for files that are checked: there may be hundreds of files, and
// allocating a buffer for each takes longer than the check.
var scanBuffers = sync.Pool{New: func() any { return new([]byte) }}

// readInto reads a file into buf, or into a larger buffer, and returns the buffer.
func readInto(buf []byte, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return buf, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return buf, err
	}
	b := slices.Grow(buf, int(info.Size()))[:info.Size()]
	if _, err = io.ReadFull(f, b); err != nil {
		return buf, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

// scan is the content of a segment file of the log.
type scan struct {
	path       string
	base, id   uint64 // from its name: the index of its first entry, and its number
	codec      uint64
	entries    int
	offsets    []uint32 // of the entries
	sealed     bool     // whether it ends with an index and takes no more appends
	indexStart uint64
	size       int64
	end        int64 // offset after the last commit
	dataEnd    int64 // offset after the last byte that is not zero
}

// scanFile reads a segment file sequentially and checks every committed byte of it. It calls entry,
// if not nil, with each committed entry; b is valid during the call. An append that a crash
// interrupted (see isTorn) is ignored. For every other damage it returns an *ErrCorrupt.
func scanFile(path string, entry func(index uint64, offset int64, b []byte) error) (*scan, error) {
	buf := scanBuffers.Get().(*[]byte) //nolint:forcetypeassert // nothing else is put there
	defer scanBuffers.Put(buf)
	b, err := readInto((*buf)[:0], path)
	*buf = b
	if err != nil {
		return nil, err
	}
	s := &scan{path: path, size: int64(len(b)), dataEnd: dataEnd(b)}
	if n, err := fmt.Sscanf(filepath.Base(path), "%d-%x"+fileSuffix, &s.base, &s.id); err != nil || n != 2 {
		return nil, s.corrupt(0, "its name is not the name of a log file")
	}
	if len(b) < headerBytes || s.dataEnd == 0 {
		return s, nil // the file was created and never written
	}
	if binary.LittleEndian.Uint32(b) == fileMagic && b[7] > fileVersion {
		return nil, fmt.Errorf("log %s: format version is %d, this program reads version %d: %w", path, b[7], fileVersion,
			damage.ErrUnsupported)
	}
	return s, s.read(b, entry)
}

// read scans the frames of a file.
func (s *scan) read(b []byte, entry func(index uint64, offset int64, b []byte) error) error {
	var pending []int64 // entries of the current append
	start, at := 0, headerBytes
	for {
		f, fault := frameAt(b, at)
		if fault == "" && f.kind == 0 {
			break
		}
		if fault == "" {
			fault = s.fault(b, f, start, at)
		}
		if fault != "" {
			if s.torn(b, start) {
				break
			}
			return s.corrupt(int64(at), fault)
		}
		switch f.kind {
		case entryFrame:
			pending = append(pending, int64(at))
		case indexFrame:
			s.indexStart = uint64(at + frameHead)
		case commitFrame:
			if err := s.commit(b, start, pending, entry); err != nil {
				return err
			}
			pending, start = pending[:0], at+frameHead
			s.end = int64(start)
		}
		at += f.size
	}
	if s.end < s.dataEnd && !s.torn(b, start) {
		return s.corrupt(int64(start), "the entries of the last append are damaged")
	}
	if !s.sealed {
		s.indexStart = 0 // of an unfinished append
	}
	return nil
}

// fault describes the damage of a frame, at an offset of the append that begins at start. It
// returns "" if the frame is intact.
func (s *scan) fault(b []byte, f frame, start, at int) string {
	if f.kind == commitFrame {
		if want, got := commitSum(b, at), crc32.Checksum(b[start:at], damage.Castagnoli); want != got {
			return fmt.Sprintf("the checksum of the entries from offset %d is %08x, want %08x", start, got, want)
		}
	} else if s.sealed {
		return "there is data after the index that ends the file"
	}
	return ""
}

// commit records the entries of an intact append, which begins at start.
func (s *scan) commit(b []byte, start int, pending []int64, entry func(uint64, int64, []byte) error) error {
	if start == 0 {
		if err := s.header(b); err != nil {
			return err
		}
	}
	for _, off := range pending {
		n := int64(binary.LittleEndian.Uint32(b[off+4:]))
		if entry != nil {
			if err := entry(s.base+uint64(s.entries), off, b[off+frameHead:off+frameHead+n]); err != nil {
				return err
			}
		}
		s.offsets = append(s.offsets, uint32(off))
		s.entries++
	}
	if s.indexStart > 0 {
		s.sealed = true
		if !s.indexMatches(b) {
			return s.corrupt(int64(s.indexStart), "the index does not match the entries before it")
		}
	}
	return nil
}

// header checks the file's header, which the checksum of the first append covers.
func (s *scan) header(b []byte) error {
	if magic := binary.LittleEndian.Uint32(b); magic != fileMagic {
		return s.corrupt(0, fmt.Sprintf("magic is %08x, want %08x", magic, uint32(fileMagic)))
	}
	s.codec = binary.LittleEndian.Uint64(b[24:])
	if base, id := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]); base != s.base || id != s.id {
		return s.corrupt(8, fmt.Sprintf("its header is for file %x with entries from %d on", id, base))
	}
	return nil
}

// indexMatches reports whether the index contains the offsets of the entries.
func (s *scan) indexMatches(b []byte) bool {
	at := int(s.indexStart)
	if n := binary.LittleEndian.Uint32(b[at-4:]); int(n) != 4*len(s.offsets) {
		return false
	}
	for i, off := range s.offsets {
		if binary.LittleEndian.Uint32(b[at+4*i:]) != off {
			return false
		}
	}
	return true
}

func (s *scan) torn(b []byte, start int) bool { return isTorn(b, start, int(s.dataEnd)) }

func (s *scan) corrupt(offset int64, what string) error {
	return &ErrCorrupt{File: s.path, Offset: offset, What: what}
}

// tornBytes returns the length of an unfinished append.
func (s *scan) tornBytes() int64 { return max(0, s.dataEnd-s.end) }

// clearTorn overwrites an unfinished append with zeros, so that the next append, which may be
// shorter, is not followed by pieces of it.
func (s *scan) clearTorn() error {
	if s.tornBytes() == 0 {
		return nil
	}
	f, err := os.OpenFile(s.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(make([]byte, s.tornBytes()), s.end)
	return errors.Join(err, f.Sync(), f.Close())
}
