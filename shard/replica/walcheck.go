package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// What this file checks, and why the library does not: raft-wal reads a sealed file
// by its index without looking at a checksum, and takes any damage in the newest
// file for the end of it, so that a flipped bit there would silently take back
// entries that were acknowledged. See DESIGN.md.

// The layout of raft-wal's segment files, version 0.
const (
	walMagic      = 0x58eb6b0d
	walVersion    = 0
	walHeader     = 32
	walFrame      = 8
	walEntry      = 1
	walIndex      = 2
	walCommit     = 3
	walSector     = 512
	walSuffix     = ".wal"
	walCandidates = 256
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrCorrupt is the error for a file of the log that no append and no crash leaves.
// It comes as a *ErrCorrupt.
type ErrCorrupt struct {
	File   string
	Offset int64
	// What is wrong there.
	What string
}

// Error names the file, the offset and what to do.
func (e *ErrCorrupt) Error() string {
	return fmt.Sprintf("log %s is damaged at offset %d: %s; entries that were acknowledged may lie behind it, so nothing is cut off: restore the directory from a replica or a backup",
		e.File, e.Offset, e.What)
}

// scanBuffers hold files that are checked: there may be hundreds, and a new buffer for each
// takes longer than the check.
var scanBuffers = sync.Pool{New: func() any { return new([]byte) }}

// readInto reads a file into buf, or a larger one, and returns that.
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

// walScan is what a segment file of the log holds.
type walScan struct {
	path       string
	base, id   uint64
	codec      uint64
	entries    int
	offsets    []uint32
	sealed     bool
	indexStart uint64
	size       int64
	end        int64 // behind the last commit
	dataEnd    int64 // behind the last byte that is not zero
}

// scanWAL reads a segment file from front to back and checks every byte of it that
// was committed. entry, if not nil, gets each committed entry; b is not valid after.
//
// An append that a crash interrupted leaves sectors that were never written, which
// are zero, or nothing at all. Anything else at the end is damage, as is anything
// unsound that has a sound commit behind it.
func scanWAL(path string, entry func(index uint64, offset int64, b []byte) error) (*walScan, error) {
	buf := scanBuffers.Get().(*[]byte) //nolint:forcetypeassert // nothing else is put there
	defer scanBuffers.Put(buf)
	b, err := readInto((*buf)[:0], path)
	*buf = b
	if err != nil {
		return nil, err
	}
	s := &walScan{path: path, size: int64(len(b)), dataEnd: dataEnd(b)}
	if n, err := fmt.Sscanf(filepath.Base(path), "%d-%x"+walSuffix, &s.base, &s.id); err != nil || n != 2 {
		return nil, s.corrupt(0, "its name is not that of a log file")
	}
	if len(b) < walHeader || s.dataEnd == 0 {
		return s, nil // made, and never written
	}
	if binary.LittleEndian.Uint32(b) == walMagic && b[7] > walVersion {
		return nil, fmt.Errorf("log %s: format version is %d, this program reads version %d: %w", path, b[7], walVersion, ErrUnsupported)
	}
	var pending []int64
	start, at := 0, walHeader
	for {
		typ, size, why := walFrameAt(b, at)
		if why == "" && typ == 0 {
			break
		}
		if why == "" && typ == walCommit {
			if want, got := binary.LittleEndian.Uint32(b[at+4:]), crc32.Checksum(b[start:at], castagnoli); want != got {
				why = fmt.Sprintf("the checksum of the entries from offset %d is %08x, want %08x", start, got, want)
			}
		}
		if why == "" && s.sealed && typ != walCommit {
			why = "there is something behind the index that ends the file"
		}
		if why != "" {
			if s.torn(b, start) {
				break
			}
			return s, s.corrupt(int64(at), why)
		}
		switch typ {
		case walEntry:
			pending = append(pending, int64(at))
		case walIndex:
			s.indexStart = uint64(at + walFrame)
		case walCommit:
			if start == 0 {
				if err := s.header(b); err != nil {
					return s, err
				}
			}
			for _, off := range pending {
				n := int64(binary.LittleEndian.Uint32(b[off+4:]))
				if entry != nil {
					if err := entry(s.base+uint64(s.entries), off, b[off+walFrame:off+walFrame+n]); err != nil {
						return s, err
					}
				}
				s.offsets = append(s.offsets, uint32(off))
				s.entries++
			}
			pending = pending[:0]
			if s.indexStart > 0 {
				s.sealed = true
				if !s.indexIs(b) {
					return s, s.corrupt(int64(s.indexStart), "the index is not that of the entries before it")
				}
			}
			start = at + walFrame
			s.end = int64(start)
		}
		at += size
	}
	if s.end < s.dataEnd && !s.torn(b, start) {
		return s, s.corrupt(int64(start), "the entries of the last append are not as they were written")
	}
	if !s.sealed {
		s.indexStart = 0 // of an append that was not finished
	}
	return s, nil
}

// walFrameAt reads a frame header: its type, the size of the frame, and what is
// wrong with it. Type 0 is the end of what was written.
func walFrameAt(b []byte, at int) (typ byte, size int, why string) {
	if at+walFrame > len(b) {
		return 0, 0, ""
	}
	h := b[at : at+walFrame]
	if binary.LittleEndian.Uint64(h) == 0 {
		return 0, 0, ""
	}
	if h[1]|h[2]|h[3] != 0 || h[0] == 0 || h[0] > walCommit {
		return 0, 0, fmt.Sprintf("a frame begins with % x", h)
	}
	if h[0] == walCommit {
		return walCommit, walFrame, ""
	}
	n := int64(binary.LittleEndian.Uint32(h[4:]))
	size = walFrame + int((n+walFrame-1)&^(walFrame-1))
	if int64(at)+int64(size) > int64(len(b)) {
		return 0, 0, fmt.Sprintf("a frame of %d bytes, and %d bytes are left", n, len(b)-at)
	}
	return h[0], size, ""
}

// header checks the file's header, which the first commit covers.
func (s *walScan) header(b []byte) error {
	if magic := binary.LittleEndian.Uint32(b); magic != walMagic {
		return s.corrupt(0, fmt.Sprintf("magic is %08x, want %08x", magic, uint32(walMagic)))
	}
	s.codec = binary.LittleEndian.Uint64(b[24:])
	if base, id := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]); base != s.base || id != s.id {
		return s.corrupt(8, fmt.Sprintf("it says that it is file %x of entries from %d on", id, base))
	}
	return nil
}

func (s *walScan) indexIs(b []byte) bool {
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

// torn tells whether what lies behind start can be an append that a crash
// interrupted.
func (s *walScan) torn(b []byte, start int) bool {
	end := int(s.dataEnd)
	if start >= end {
		return true
	}
	if commitBehind(b, start, end) {
		return false
	}
	// A sector that was never written?
	for from := start; from < end; {
		to := min((from/walSector+1)*walSector, end)
		if allZero(b[from:to]) {
			return true
		}
		from = to
	}
	// Nothing is missing in the middle. If what is there ends in a commit, or in what
	// would be one but for its first bytes, the append was written whole and is damaged.
	if end-walFrame <= start {
		return false
	}
	last := b[end-walFrame : end]
	whole := crc32.Checksum(b[start:end-walFrame], castagnoli) == binary.LittleEndian.Uint32(last[4:])
	return !whole && (last[0] != walCommit || last[1]|last[2]|last[3] != 0)
}

// commitBehind tells whether a sound commit begins and ends between from and end.
func commitBehind(b []byte, from, end int) bool {
	_, found := nextCommit(b, from, end)
	return found
}

// nextCommit finds where the first sound commit between from and end begins, which is
// behind another one, whatever state that is in.
func nextCommit(b []byte, from, end int) (start int, found bool) {
	var commits []int
	for at := (from + walFrame - 1) &^ (walFrame - 1); at+walFrame <= end; at += walFrame {
		if b[at] == walCommit && b[at+1]|b[at+2]|b[at+3] == 0 {
			commits = append(commits, at)
		}
	}
	for i, c := range commits {
		crc, prev := uint32(0), c+walFrame
		for _, next := range commits[i+1 : min(i+1+walCandidates, len(commits))] {
			crc = crc32.Update(crc, castagnoli, b[prev:next])
			if next > c+walFrame && binary.LittleEndian.Uint32(b[next+4:]) == crc {
				return c + walFrame, true
			}
			prev = next
		}
	}
	return 0, false
}

// dataEnd is the offset behind the last frame-sized piece of b that is not zero.
func dataEnd(b []byte) int64 {
	end := len(b)
	for end >= 4096 && allZero(b[end-4096:end]) {
		end -= 4096
	}
	end = len(bytes.TrimRight(b[:end], "\x00"))
	return int64(min((end+walFrame-1)&^(walFrame-1), len(b)))
}

func allZero(b []byte) bool {
	for len(b) >= 8 {
		if binary.LittleEndian.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

func (s *walScan) corrupt(offset int64, what string) error {
	return &ErrCorrupt{File: s.path, Offset: offset, What: what}
}

// tornBytes is the length of an append that was not finished.
func (s *walScan) tornBytes() int64 { return max(0, s.dataEnd-s.end) }

// clearTorn overwrites what an unfinished append left, so that the next one, which
// may be shorter, does not leave pieces of it behind its end.
func (s *walScan) clearTorn() error {
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

// checkWALMeta checks the file with the list of segments before it is opened for
// writing.
func checkWALMeta(dir string) error {
	path := filepath.Join(dir, metadb.FileName)
	err := checkBuckets(path, metadb.StableBucket, metadb.MetaBucket)
	if info, serr := os.Stat(path); serr == nil && info.Size() == 0 {
		return &ErrCorruptBolt{File: path, What: "it is empty"}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+walSuffix))
	if err != nil || len(files) == 0 {
		return err
	}
	return fmt.Errorf("log %s: the list of its files, %s, is missing: restore the directory from a replica or a backup", dir, metadb.FileName)
}

// checkWAL compares the list of segments with the files; written is the newest one
// that entries were written to. It returns the scan of the tail, or nil if that has
// no file yet.
func checkWAL(dir string, state types.PersistentState, written string) (tail *walScan, err error) {
	for i := range state.Segments {
		if tail, err = checkWALSegment(dir, state, i); err != nil {
			return nil, err
		}
	}
	if n := len(state.Segments); n > 0 && written == segment.FileName(state.Segments[n-1]) && (tail == nil || tail.dataEnd == 0) {
		return nil, &ErrCorrupt{File: filepath.Join(dir, written), What: "entries were written to it, and it is empty or gone"}
	}
	return tail, nil
}

func checkWALSegment(dir string, state types.PersistentState, i int) (*walScan, error) {
	si := &state.Segments[i]
	path := filepath.Join(dir, segment.FileName(*si))
	list := func(format string, args ...any) error {
		return &ErrCorrupt{File: filepath.Join(dir, metadb.FileName), What: fmt.Sprintf("the entry of %s: ", filepath.Base(path)) + fmt.Sprintf(format, args...)}
	}
	last := i == len(state.Segments)-1
	switch {
	case si.Codec > wal.CodecBinaryV1:
		return nil, fmt.Errorf("log %s: entries are of codec %d, this program reads %d: %w", path, si.Codec, wal.CodecBinaryV1, ErrUnsupported)
	case si.ID >= state.NextSegmentID:
		return nil, list("its number is %d, and the next one to be given is %d", si.ID, state.NextSegmentID)
	case si.SealTime.IsZero() != last:
		return nil, list("only the last file takes appends")
	case i > 0 && si.BaseIndex != state.Segments[i-1].MaxIndex+1:
		return nil, list("it begins with entry %d, and the one before ends with %d", si.BaseIndex, state.Segments[i-1].MaxIndex)
	}
	s, err := scanWAL(path, nil)
	if last && errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it is listed before it is made
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ErrCorrupt{File: path, What: "it is missing"}
	}
	if err != nil {
		return nil, err
	}
	if s.end > 0 && s.codec != si.Codec {
		return nil, list("its codec is %d, and %d by the list", s.codec, si.Codec)
	}
	if s.dataEnd > 0 && s.size < int64(si.SizeLimit) {
		return nil, &ErrCorrupt{File: path, Offset: s.size, What: fmt.Sprintf("it was made %d bytes long and ends here", si.SizeLimit)}
	}
	end := si.BaseIndex + uint64(s.entries) // behind the last entry
	if si.MinIndex < si.BaseIndex || si.MinIndex > end {
		return nil, list("its entries %d to %d begin with %d by the list", si.BaseIndex, end-1, si.MinIndex)
	}
	// A file may hold more entries than are listed: those were taken back, because another
	// leader had not got them, and the file after it goes on where they began.
	if !last && (!s.sealed || si.MaxIndex < si.MinIndex || si.MaxIndex >= end || si.IndexStart != s.indexStart || s.tornBytes() > 0) {
		return nil, list("it is a finished file of entries up to %d with an index at %d, and has %d and %d", si.MaxIndex, si.IndexStart, end-1, s.indexStart)
	}
	return s, nil
}
