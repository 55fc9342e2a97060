package raftlog

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/damage"
	"cordwood/shard/replica/raftlog/guard"
	"cordwood/shard/replica/raftlog/walfile"
)

// Log is the log and the stable store that raft uses. The first error of a write ends it, and so
// does a write that takes too long; a full disk makes it wait (see guard.Guard). It checks what it
// reads, and counts bytes.
//
// Several goroutines may read concurrently. Appends and deletions come from raft's main and
// snapshot goroutines, and the backend orders them.
type Log struct {
	guard    *guard.Guard
	backend  Store
	appended func(took time.Duration, bytes int64)
	// finished holds the files of a WAL that were complete when it was opened.
	finished []walfile.Finished
	// sealed means that every entry has a checksum from damage.SealEntries, because the backend
	// adds none.
	sealed bool
	// history prevents applied entries from being removed; it is nil until Protect.
	history *History
	// keep returns the first entry that somebody wants to read, or 0, and keepBytes limits what stays for it.
	keep      func() uint64
	keepBytes int64

	mu      sync.Mutex // guards the fields below; held for moments only
	sizes   sizes
	recent  recent
	loading bool
	// covered is the index of the newest snapshot when the log was opened: raft reads only the
	// entries after it, and the last one.
	covered uint64
	// others are the entries that are not commands, among the entries that were read or written
	// since the log was opened.
	others map[uint64]struct{}
}

// CountCovered counts the bytes of the log up to covered, the index of the newest snapshot, because
// raft reads only later entries (see Loaded). For a WAL it adds up the finished files in their
// list; for a bolt log, which is small, it reads the entries. It must be called before raft runs.
func (s *Log) CountCovered(covered uint64) error {
	first, err := s.backend.FirstIndex()
	if err != nil || first == 0 {
		return err
	}
	for _, f := range s.finished {
		if f.Last >= first && f.Last <= covered {
			s.sizes.add(f.Last, f.Bytes)
		}
	}
	if !s.sealed {
		return nil
	}
	for index := first; index <= covered; index++ {
		var l raft.Log
		if err := s.backend.GetLog(index, &l); errors.Is(err, raft.ErrLogNotFound) {
			break // the log ends before the snapshot does
		} else if err != nil {
			return err
		}
		s.sizes.add(index, entryBytes(&l))
	}
	return nil
}

// Loaded ends the phase in which raft reads the log once. These reads have counted the bytes of the
// entries. Raft started after the snapshot with the index covered.
func (s *Log) Loaded(covered uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loading, s.covered = false, covered
}

// isLoading reports whether raft has not started to work yet.
func (s *Log) isLoading() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loading
}

// Bytes returns the approximate number of bytes of entries in the log.
func (s *Log) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes.total()
}

// IsMonotonic returns true, so that raft removes all older entries after it restored a snapshot.
// raft-wal needs that. With bolt it prevents a follower from downloading the same snapshot again
// and again because an old entry at the end of its log conflicts (raft issue 697).
func (s *Log) IsMonotonic() bool { return true }

// FirstIndex returns the index of the first entry, or 0 if there is none.
func (s *Log) FirstIndex() (uint64, error) { return s.backend.FirstIndex() }

// LastIndex returns the index of the last entry, or 0 if there is none.
func (s *Log) LastIndex() (uint64, error) { return s.backend.LastIndex() }

// Bounds returns the indexes of the first and the last entry, or 0 if there is none.
func (s *Log) Bounds() (first, last uint64, err error) {
	if first, err = s.backend.FirstIndex(); err != nil {
		return 0, 0, err
	}
	last, err = s.backend.LastIndex()
	return first, last, err
}

// GetLog reads an entry into l, from memory if possible. It returns raft.ErrLogNotFound for an
// entry that is not in the log.
func (s *Log) GetLog(index uint64, l *raft.Log) error {
	s.mu.Lock()
	found := s.recent.get(index, l)
	s.mu.Unlock()
	if found {
		return nil
	}
	err := s.backend.GetLog(index, l)
	if err == nil && s.sealed {
		err = damage.OpenEntry(l)
	}
	if err == nil {
		s.mu.Lock()
		if s.loading {
			s.note(l)
		}
		s.mu.Unlock()
	}
	return err
}

// StoreLog appends an entry; it is durable when StoreLog returns nil.
func (s *Log) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends entries; they are durable when it returns nil. Raft passes entries without
// gaps.
func (s *Log) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	first, last := logs[0].Index, logs[len(logs)-1].Index
	var bytes int64
	for _, l := range logs {
		bytes += entryBytes(l)
	}
	if err := s.history.mayStore(logs); err != nil {
		s.guard.Latch(err)
		return err
	}
	stored := logs
	if s.sealed {
		stored = damage.SealEntries(logs)
	}
	start := time.Now()
	err := s.change(fmt.Sprintf("append entries %d to %d", first, last), func() error {
		return s.backend.StoreLogs(stored)
	})
	if err != nil {
		return err
	}
	s.appended(time.Since(start), bytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range logs {
		s.note(l)
	}
	s.recent.add(logs)
	return nil
}

// note records an entry in the counts; mu must be held.
func (s *Log) note(l *raft.Log) {
	s.sizes.add(l.Index, entryBytes(l))
	if l.Type == raft.LogCommand {
		delete(s.others, l.Index)
	} else {
		s.others[l.Index] = struct{}{}
	}
}

// LastCommand returns the index of the last command up to index. known is false if that command is
// older than everything that this process has read or written, or older than the log. A snapshot
// covers such a command, so it is applied. Entries that stay in the log before a snapshot, for
// other members, are not read, so it is not known which of them are commands.
func (s *Log) LastCommand(index uint64) (last uint64, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if _, other := s.others[index]; !other {
			break
		}
		index--
	}
	if index <= s.covered {
		return 0, false
	}
	if first, err := s.backend.FirstIndex(); err == nil && (first == 0 || index < first) {
		return 0, false
	}
	return index, true
}

// BytesAfter returns the approximate number of bytes of entries after index.
func (s *Log) BytesAfter(index uint64) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sizes.after(index)
}

// EntriesWithin returns the number of entries, counted back from last, that have at most the given
// number of bytes together.
func (s *Log) EntriesWithin(bytes int64, last uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return last - min(last, s.sizes.from(bytes))
}

// Keep makes DeleteRange keep entries at the beginning of the log from an index on, unless the log has more than some
// bytes from there on. It must be called before raft runs. first returns the index, or 0; it must not block.
func (s *Log) Keep(first func() uint64, bytes int64) { s.keep, s.keepBytes = first, bytes }

// kept returns the last entry that may be deleted of those up to an index, if the log ends at last.
func (s *Log) kept(to, last uint64) uint64 {
	if s.keep == nil || to >= last { // the whole log is deleted if a snapshot takes its place
		return to
	}
	if first := s.keep(); first > 0 {
		return min(to, max(first-1, last-s.EntriesWithin(s.keepBytes, last)))
	}
	return to
}

// DeleteRange deletes entries at one end of the log. It refuses to delete applied entries (see
// History) unless a snapshot covers them. At the beginning of the log it may delete fewer; see Keep.
func (s *Log) DeleteRange(from, to uint64) error {
	first, last, err := s.Bounds()
	if err != nil {
		return err
	}
	if from <= first {
		if to = s.kept(to, last); to < from {
			return nil
		}
	}
	if err := s.history.mayDelete(from, to, last); err != nil {
		s.guard.Latch(err)
		return err
	}
	err = s.change(fmt.Sprintf("delete entries %d to %d", from, to), func() error {
		return s.backend.DeleteRange(from, to)
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent.cut(from, to)
	if from <= first {
		s.sizes.cutHead(to)
	} else {
		s.sizes.cutTail(from)
	}
	for index := range s.others {
		if index >= from && index <= to {
			delete(s.others, index)
		}
	}
	return nil
}

// change runs one write of the backend under the guard. A WAL also waits for disk space by itself,
// when it writes its buffers.
func (s *Log) change(what string, do func() error) error {
	return s.guard.Write(what, func() error { return s.guard.WhileFull(what, guard.WriteFull, do) })
}

// Latch ends the log because of err.
func (s *Log) Latch(err error) { s.guard.Latch(err) }

// Waiting reports whether a write waits for disk space.
func (s *Log) Waiting() bool { return s.guard.Waiting() }

// BusyFor returns how long the running write has taken so far, or 0 if none is running.
func (s *Log) BusyFor() time.Duration { return s.guard.BusyFor() }
