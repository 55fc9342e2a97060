package shard

import (
	"errors"
	"fmt"
	"time"

	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// The memory of rows that cannot be flushed is limited in three steps, because the disk of the
// segments may be broken while the log can still be written:
//
//	MemoryLimit      a leader refuses writes (checkRoom)
//	3/2 of it        a follower takes no more rows from its leader, which continues with the
//	                 other replicas; the follower gets the rows once there is room (Crowded)
//	7/4 of it        Apply flushes by itself and waits until a flush succeeds (awaitMemory). Only
//	                 the replay of a log reaches this step, because raft passes on all of it at once
const (
	crowdedAt = 6 // in quarters of MemoryLimit
	waitsAt   = 7
)

const (
	minRoomPause = 50 * time.Millisecond
	maxRoomPause = 5 * time.Second
	// roomPoll is how often a waiting goroutine checks whether the shard is being closed.
	roomPoll = 50 * time.Millisecond
)

var _ replica.Bounded = fsm{}

// Crowded returns an error while the replica takes no more rows from its leader.
func (f fsm) Crowded() error {
	s := f.s
	used, crowded, flushErr := s.store.Tables.Fuller(crowdedAt)
	if !crowded && !s.applier.waits.Load() {
		return nil
	}
	s.schedule.wakeFlusher()
	s.store.Flusher.Hurry()
	err := fmt.Errorf("shard %d on node %s takes no rows: %d bytes in memory wait to be flushed, the limit is %d",
		s.cfg.ID, s.cfg.NodeID, used, s.cfg.MemoryLimit)
	if flushErr != nil {
		err = fmt.Errorf("%w; the last flush failed: %w", err, flushErr)
	}
	return err
}

// Stuck reports whether Apply waits for a flush and the last flush failed.
func (f fsm) Stuck() bool { return f.s.applier.waits.Load() }

// awaitMemory waits until there is memory for the next entry. It returns false if the shard is
// closed first. Only the apply goroutine calls it, between two entries.
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

// roomWait is the state of one wait of the apply goroutine for memory.
type roomWait struct {
	a     *applier
	pause time.Duration
}

func (ap *applier) newRoomWait() *roomWait { return &roomWait{a: ap} }

// flush flushes all applied rows. If that fails or if there is nothing to flush, it pauses, longer
// each time. It returns false if the shard is closed meanwhile.
//
// It does not take a snapshot of the replica, because that needs the goroutine that waits here.
// Afterwards the manifest is ahead of the newest snapshot, as after a crash between the two. The
// log is cut with the next snapshot.
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
		err := ap.flusher.FlushNow()
		ap.tables.NoteFlush(err)
		ap.metrics.Flushed(store.FlushMemory, time.Since(start), err)
		if err == nil {
			w.end()
			return true
		}
		ap.cfg.Logger.Error("the applied rows cannot be flushed, and there is no memory for more: the replica "+
			"waits", "error",
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

// applyWithMemory calls applyWrites, and calls it again after a wait if there was no memory; in
// that case nothing of the entry was applied. It returns false if the shard is being closed.
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
		ap.cfg.Logger.Error("the system has no memory for more rows: the replica flushes its rows and waits", "index",
			index, "error", err)
		if !wait.flush() {
			return nil, false, nil
		}
	}
}
