package walfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"cordwood/shard/replica/raftlog/damage"
)

// The layout of raft-wal's segment files, version 0. Sizes are in bytes.
//
// A file consists of a header and then appends, one after the other; the rest of it is zero,
// because it was created with its full length. An append is a sequence of frames. The last frame is
// a commit with the CRC-32C of everything since the end of the previous commit. The first append
// begins with the header. The last append of a file that is full also has an index: the offset of
// each entry.
const (
	headerBytes = 32
	fileMagic   = 0x58eb6b0d
	fileVersion = 0

	frameHead   = 8 // kind, three zeros, and a length or the checksum of a commit
	entryFrame  = 1
	indexFrame  = 2
	commitFrame = 3

	fileSuffix  = ".wal"
	sectorBytes = 512 // the unit that a disk writes completely or not at all
)

// maxCandidates limits the number of frames after a commit that nextCommit tries as the end of an
// append, because data may contain any number of words that look like a commit.
const maxCandidates = 256

// frame is a decoded frame header. Kind 0 marks the end of the written data.
type frame struct {
	kind byte
	size int // including header and padding
	data int // bytes of data
}

// frameAt reads the header of a frame. fault describes the damage of the header, or is empty.
func frameAt(b []byte, at int) (f frame, fault string) {
	if at+frameHead > len(b) {
		return frame{}, ""
	}
	h := b[at : at+frameHead]
	if binary.LittleEndian.Uint64(h) == 0 {
		return frame{}, ""
	}
	if h[1]|h[2]|h[3] != 0 || h[0] == 0 || h[0] > commitFrame {
		return frame{}, fmt.Sprintf("a frame begins with % x", h)
	}
	if h[0] == commitFrame {
		return frame{kind: commitFrame, size: frameHead}, ""
	}
	n := int64(binary.LittleEndian.Uint32(h[4:]))
	size := frameHead + int((n+frameHead-1)&^(frameHead-1))
	if int64(at)+int64(size) > int64(len(b)) {
		return frame{}, fmt.Sprintf("a frame has %d bytes, but only %d bytes are left", n, len(b)-at)
	}
	return frame{kind: h[0], size: size, data: int(n)}, ""
}

// commitSum returns the checksum in the commit frame at an offset.
func commitSum(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at+4:]) }

// isCommit reports whether the frame-sized piece at an offset looks like a commit.
func isCommit(b []byte, at int) bool {
	return b[at] == commitFrame && b[at+1]|b[at+2]|b[at+3] == 0
}

// appendAt reads the append that begins at an offset. It returns its entries, even if the append is
// damaged, and the offset after it, which is 0 if its frames are malformed.
func appendAt(b []byte, start int) (entries [][]byte, next int, sound bool) {
	at := start
	if start == 0 {
		at = headerBytes
	}
	for {
		f, fault := frameAt(b, at)
		switch {
		case f.kind == 0 || fault != "":
			return entries, 0, false
		case f.kind == commitFrame:
			return entries, at + frameHead, crc32.Checksum(b[start:at], damage.Castagnoli) == commitSum(b, at)
		case f.kind == entryFrame:
			entries = append(entries, b[at+frameHead:at+frameHead+f.data])
		}
		at += f.size
	}
}

// nextCommit finds the first intact append between from and end that begins after a commit, intact
// or not, and returns its start.
func nextCommit(b []byte, from, end int) (start int, found bool) {
	var commits []int
	for at := (from + frameHead - 1) &^ (frameHead - 1); at+frameHead <= end; at += frameHead {
		if isCommit(b, at) {
			commits = append(commits, at)
		}
	}
	for i, c := range commits {
		crc, prev := uint32(0), c+frameHead
		for _, next := range commits[i+1 : min(i+1+maxCandidates, len(commits))] {
			crc = crc32.Update(crc, damage.Castagnoli, b[prev:next])
			if next > c+frameHead && commitSum(b, next) == crc {
				return c + frameHead, true
			}
			prev = next
		}
	}
	return 0, false
}

// isTorn reports whether the bytes from start to end, the end of the data, can be an append that a
// crash interrupted. A power loss leaves sectors that were never written, which are zero, or cuts
// off the end. Any other fault is damage, and so is any fault that is followed by an intact commit.
func isTorn(b []byte, start, end int) bool {
	if start >= end {
		return true
	}
	if _, found := nextCommit(b, start, end); found {
		return false
	}
	for from := start; from < end; {
		to := min((from/sectorBytes+1)*sectorBytes, end)
		if allZero(b[from:to]) {
			return true // a sector that was never written
		}
		from = to
	}
	// No sector is missing in the middle. If the data ends in a commit, or in a commit with wrong
	// first bytes, the append was written completely and was damaged later.
	last := end - frameHead
	if last <= start {
		return false
	}
	matches := crc32.Checksum(b[start:last], damage.Castagnoli) == commitSum(b, last)
	return !matches && !isCommit(b, last)
}

// dataEnd returns the offset after the last frame-sized piece of b that is not zero.
func dataEnd(b []byte) int64 {
	end := len(b)
	for end >= 4096 && allZero(b[end-4096:end]) {
		end -= 4096
	}
	end = len(bytes.TrimRight(b[:end], "\x00"))
	return int64(min((end+frameHead-1)&^(frameHead-1), len(b)))
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
