package shard

import (
	"errors"
	"fmt"
	"time"

	"cordwood/shard/replica"
	"cordwood/shard/rules"
)

// The memory of rows that cannot be flushed is bounded in three steps, for a disk may be broken
// where the log can still be written:
//
//	MemoryLimit      a leader refuses writes (room)
//	three halves     a follower takes no more rows from its leader, which goes on with the
//	                 other replicas; it gets them once there is room (Crowded)
//	seven quarters   Apply flushes by itself and waits until that works (makeRoom). A log that is
//	                 replayed comes to this: raft hands over all of it at once
const (
	crowdedAt = 6 // quarters of MemoryLimit
	waitsAt   = 7
)

const (
	minRoomPause = 50 * time.Millisecond
	maxRoomPause = 5 * time.Second
	// roomPoll is how often a wait looks whether the shard is being closed.
	roomPoll = 50 * time.Millisecond
)

var _ replica.Bounded = fsm{}

// noMemory is the error of a batch for which the system gave no memory.
type noMemory struct{ error }

func (e noMemory) Unwrap() error { return e.error }

// usedLocked is the memory of all memtables, and that of the rows' places in a flush; mu is held.
func (s *Shard) usedLocked() int64 { return max(s.memoryLocked(), s.rowsLocked()*rowBytes) }

// fuller reports whether so many quarters of the memory limit are used, and why the last flush failed.
func (s *Shard) fuller(quarters int64) (used int64, is bool, flushErr error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	used = s.usedLocked()
	return used, used >= s.cfg.MemoryLimit/4*quarters, s.flushErr
}

// Crowded says why the replica takes no more rows from its leader.
func (f fsm) Crowded() error {
	s := f.s
	used, crowded, flushErr := s.fuller(crowdedAt)
	if !crowded && !s.applyWaits.Load() {
		return nil
	}
	s.wakeFlusher()
	err := fmt.Errorf("shard %d on node %s is behind: %d bytes are in memory and wait to be flushed, the limit is %d", s.cfg.ID, s.cfg.NodeID, used, s.cfg.MemoryLimit)
	if flushErr != nil {
		err = fmt.Errorf("%w; the last flush failed: %w", err, flushErr)
	}
	return err
}

// Stuck reports whether Apply waits for a flush, and the last one failed.
func (f fsm) Stuck() bool { return f.s.applyWaits.Load() }

// awaitMemory returns when there is room for the next entry; false if the shard is being
// closed and there is none. Only the apply goroutine calls it, between two entries.
func (s *Shard) awaitMemory() bool {
	for wait := s.newRoomWait(); ; {
		if _, full, _ := s.fuller(waitsAt); !full {
			wait.end()
			return true
		}
		if !wait.flush() {
			return false
		}
	}
}

// roomWait is a wait of the apply goroutine for memory.
type roomWait struct {
	s     *Shard
	pause time.Duration
}

func (s *Shard) newRoomWait() *roomWait { return &roomWait{s: s} }

// flush flushes all that is applied. If that fails, or with nothing to be flushed, it waits for
// a moment, longer each time; false if the shard is being closed meanwhile.
//
// It does not go by a snapshot of the replica, which would need the goroutine that waits here.
// The manifest is ahead of the newest snapshot then, as it is after a crash between the two, and the log is cut
// with the next one.
func (w *roomWait) flush() bool {
	s := w.s
	select {
	case <-s.opened: // before that nobody knows which files are live
	case <-s.stop:
		return false
	}
	s.freeze(s.appliedIndex)
	s.mu.RLock()
	some := len(s.frozen) > 0
	s.mu.RUnlock()
	if some {
		start := time.Now()
		err := s.flushFrozen()
		s.noteFlush(err)
		s.metrics.flushed(flushMemory, time.Since(start), err)
		if err == nil {
			w.end()
			return true
		}
		s.cfg.Logger.Error("what is applied cannot be flushed, and there is no memory for more: the replica waits", "error", err)
	}
	s.applyWaits.Store(true)
	w.pause = min(max(2*w.pause, minRoomPause), maxRoomPause)
	for until := time.Now().Add(w.pause); time.Now().Before(until); {
		select {
		case <-s.stop:
			return false
		case <-time.After(min(roomPoll, w.pause)):
		}
		s.mu.RLock()
		closing := s.closing
		s.mu.RUnlock()
		if closing {
			return false
		}
	}
	return true
}

func (w *roomWait) end() { w.s.applyWaits.Store(false) }

// applyWithMemory is applyWrites, which it calls again when there was no memory: nothing of
// the entry is applied then. false: the shard is being closed.
func (s *Shard) applyWithMemory(index, term uint64, data []byte, e *rules.Entry) (result *applied, ok bool, err error) {
	if !s.awaitMemory() {
		return nil, false, nil
	}
	for wait := s.newRoomWait(); ; {
		result, err = s.applyWrites(index, term, e, s.decodedOf(data))
		if lack := (noMemory{}); !errors.As(err, &lack) {
			wait.end()
			return result, true, err
		}
		s.cfg.Logger.Error("the system gives no memory for rows: the replica flushes what it has, and waits", "index", index, "error", err)
		if !wait.flush() {
			return nil, false, nil
		}
	}
}

// noteFlush remembers how the last flush ended.
func (s *Shard) noteFlush(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.flushFailing = 0
	} else if s.flushErr == nil {
		s.flushFailing = s.cfg.Monotonic()
	}
	s.flushErr = err
}
