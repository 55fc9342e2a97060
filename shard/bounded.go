package shard

import (
	"errors"
	"fmt"
	"time"

	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// The memory of rows that cannot be flushed is bounded in three steps, for a disk may be broken
// where the log can still be written:
//
//	MemoryLimit      a leader refuses writes (room)
//	three halves     a follower takes no more rows from its leader, which continues with the
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

// Crowded says why the replica takes no more rows from its leader.
func (f fsm) Crowded() error {
	s := f.s
	used, crowded, flushErr := s.store.Tables.Fuller(crowdedAt)
	if !crowded && !s.applier.waits.Load() {
		return nil
	}
	s.schedule.wakeFlusher()
	err := fmt.Errorf("shard %d on node %s is behind: %d bytes are in memory and wait to be flushed, the limit is %d",
		s.cfg.ID, s.cfg.NodeID, used, s.cfg.MemoryLimit)
	if flushErr != nil {
		err = fmt.Errorf("%w; the last flush failed: %w", err, flushErr)
	}
	return err
}

// Stuck reports whether Apply waits for a flush, and the last one failed.
func (f fsm) Stuck() bool { return f.s.applier.waits.Load() }

// awaitMemory returns when there is room for the next entry; false if the shard is being
// closed and there is none. Only the apply goroutine calls it, between two entries.
func (ap *applier) awaitMemory() bool {
	for wait := ap.newRoomWait(); ; {
		if _, full, _ := ap.tables.Fuller(waitsAt); !full {
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
	a     *applier
	pause time.Duration
}

func (ap *applier) newRoomWait() *roomWait { return &roomWait{a: ap} }

// flush flushes all that is applied. If that fails, or with nothing to be flushed, it waits for
// a moment, longer each time; false if the shard is being closed meanwhile.
//
// It does not go by a snapshot of the replica, which would need the goroutine that waits here.
// The manifest is ahead of the newest snapshot then, as it is after a crash between the two, and the log is cut
// with the next one.
func (w *roomWait) flush() bool {
	ap := w.a
	select {
	case <-ap.opened: // before that it is not known which files are live
	case <-ap.stop:
		return false
	}
	ap.tables.Freeze(ap.tables.AppliedIndex)
	if ap.tables.HasFrozen() {
		start := time.Now()
		err := ap.flusher.Flush()
		ap.tables.NoteFlush(err)
		ap.metrics.Flushed(store.FlushMemory, time.Since(start), err)
		if err == nil {
			w.end()
			return true
		}
		ap.cfg.Logger.Error("what is applied cannot be flushed, and there is no memory for more: the replica waits", "error",
			err)
	}
	ap.waits.Store(true)
	w.pause = min(max(2*w.pause, minRoomPause), maxRoomPause)
	for until := time.Now().Add(w.pause); time.Now().Before(until); {
		select {
		case <-ap.stop:
			return false
		case <-time.After(min(roomPoll, w.pause)):
		}
		if _, closing, _ := ap.tables.Filling(); closing {
			return false
		}
	}
	return true
}

func (w *roomWait) end() { w.a.waits.Store(false) }

// applyWithMemory is applyWrites, which it calls again when there was no memory: nothing of
// the entry is applied then. false: the shard is being closed.
func (ap *applier) applyWithMemory(index, term uint64, data []byte,
	e *rules.Entry,
) (result *applied, ok bool, err error) {
	if !ap.awaitMemory() {
		return nil, false, nil
	}
	for wait := ap.newRoomWait(); ; {
		result, err = ap.applyWrites(index, term, e, ap.decodedOf(data))
		if lack := (store.NoMemory{}); !errors.As(err, &lack) {
			wait.end()
			return result, true, err
		}
		ap.cfg.Logger.Error("the system gives no memory for rows: the replica flushes what it has, and waits", "index",
			index, "error", err)
		if !wait.flush() {
			return nil, false, nil
		}
	}
}
