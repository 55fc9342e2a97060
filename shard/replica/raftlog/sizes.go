package raftlog

import (
	"cmp"
	"slices"

	"github.com/hashicorp/raft"
)

// entryBytes returns the approximate size of an entry on disk.
func entryBytes(l *raft.Log) int64 { return int64(len(l.Data)+len(l.Extensions)) + 32 }

// sizes counts the bytes of the log in little memory: it keeps a mark for every markBytes. Its
// results are accurate to one mark and one entry.
type sizes struct {
	base, end int64 // bytes added before the first kept entry, and in total
	marks     []mark
}

type mark struct {
	index uint64 // last entry of the mark
	end   int64  // bytes of all entries up to this one
}

const markBytes = 64 << 10

func (s *sizes) total() int64 { return s.end - s.base }

// after returns the bytes of the marks that end after index.
func (s *sizes) after(index uint64) int64 {
	at, _ := slices.BinarySearchFunc(s.marks, index, func(m mark, index uint64) int {
		return cmp.Compare(m.index, index+1)
	})
	if at == len(s.marks) {
		return 0
	}
	return s.end - s.before(at)
}

// from returns the last entry that must be removed so that at most the given number of bytes is
// left.
func (s *sizes) from(bytes int64) uint64 {
	last := uint64(0)
	for i := range s.marks {
		if s.end-s.before(i) <= bytes {
			break
		}
		last = s.marks[i].index
	}
	return last
}

// add counts an entry. It removes entries at or after its index, which this entry overwrites.
func (s *sizes) add(index uint64, bytes int64) {
	s.cutTail(index)
	s.end += bytes
	if n := len(s.marks); n == 0 || s.marks[n-1].end-s.before(n-1) >= markBytes {
		s.marks = append(s.marks, mark{})
	}
	s.marks[len(s.marks)-1] = mark{index: index, end: s.end}
}

// before returns the bytes added before mark i.
func (s *sizes) before(i int) int64 {
	if i == 0 {
		return s.base
	}
	return s.marks[i-1].end
}

// cutHead removes the entries up to and including index.
func (s *sizes) cutHead(index uint64) {
	n := 0
	for n < len(s.marks) && s.marks[n].index <= index {
		s.base = s.marks[n].end
		n++
	}
	s.marks = append(s.marks[:0], s.marks[n:]...)
}

// cutTail removes the entries from index on.
func (s *sizes) cutTail(index uint64) {
	for n := len(s.marks); n > 0 && s.marks[n-1].index >= index; n = len(s.marks) {
		s.end = s.before(n - 1)
		s.marks = s.marks[:n-1]
	}
}
