package replica

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/snapshot"
)

// fsmAdapter adapts the state machine to raft's interface.
type fsmAdapter struct {
	fsm     FSM
	fail    func(error)
	applied atomic.Uint64 // index of the last command
	term    uint64        // its term; only raft's FSM goroutine uses it
	halted  *haltError    // set by the entry that could not be applied

	mu          sync.Mutex // guards the next two
	snapshotErr error      // the error of the last Persist; raft passes on only its text
	taken       time.Time  // when the last snapshot was taken or installed; zero if there is none

	// For the metrics. oldest is the append time of the oldest applied command that no snapshot
	// covers. next is the same for commands after the snapshot that is being taken. Both are in
	// Unix nanoseconds; 0 means that there is no such command.
	oldest, next atomic.Int64

	waiters  atomic.Int32 // the number of calls that wait for progress
	notify   sync.Mutex   // guards progress
	progress chan struct{}
}

var _ raft.BatchingFSM = (*fsmAdapter)(nil)

func newFSMAdapter(fsm FSM, fail func(error)) *fsmAdapter {
	return &fsmAdapter{fsm: fsm, fail: fail, progress: make(chan struct{})}
}

// signal wakes the calls that wait for progress.
func (a *fsmAdapter) signal() {
	if a.waiters.Load() == 0 {
		return
	}
	a.notify.Lock()
	defer a.notify.Unlock()
	close(a.progress)
	a.progress = make(chan struct{})
}

// progressed returns a channel that is closed when more entries have been applied. The caller must
// have added itself to waiters before.
func (a *fsmAdapter) progressed() <-chan struct{} {
	a.notify.Lock()
	defer a.notify.Unlock()
	return a.progress
}

// Applied returns the index of the last command given to the state machine.
func (a *fsmAdapter) Applied() uint64 { return a.applied.Load() }

// catchUp restores a durable state machine that is behind the newest snapshot. It is called before
// raft runs.
func (a *fsmAdapter) catchUp(snaps *snapshot.Store) (err error) {
	durable, ok := a.fsm.(Durable)
	if !ok {
		return nil
	}
	a.applied.Store(durable.AppliedIndex())
	newest, err := snaps.Newest()
	if err != nil || newest == nil {
		return err
	}
	_, source, err := snaps.Open(newest.ID)
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", newest.ID, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	header, err := snapshot.ReadHeader(source)
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", newest.ID, err)
	}
	if header.Index <= durable.AppliedIndex() {
		return nil
	}
	had := durable.AppliedIndex()
	if err := a.fsm.Restore(source); err != nil {
		return fmt.Errorf("the state has entries up to %d, the log begins after %d, and snapshot %s cannot be restored: %w",
			had, header.Index, newest.ID, err)
	}
	if got := durable.AppliedIndex(); got < header.Index {
		return fmt.Errorf("the state has entries only up to %d after snapshot %s of index %d was restored", got,
			newest.ID, header.Index)
	}
	a.applied.Store(durable.AppliedIndex())
	return nil
}

// Apply passes one command to the state machine.
func (a *fsmAdapter) Apply(l *raft.Log) any { return a.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch passes the commands among logs to the state machine.
func (a *fsmAdapter) ApplyBatch(logs []*raft.Log) []any {
	defer a.signal()
	results := make([]any, len(logs))
	entries := make([]Entry, 0, len(logs))
	at := make([]int, 0, len(logs))
	for i, l := range logs {
		if l.Type == raft.LogCommand {
			entries = append(entries, Entry{Index: l.Index, Term: l.Term, Data: l.Data})
			at = append(at, i)
		}
	}
	if len(at) > 0 {
		a.noteOldest(logs[at[0]])
	}
	if batch, ok := a.fsm.(BatchFSM); ok && a.halted == nil && len(entries) > 0 {
		for i, result := range batch.ApplyBatch(entries) {
			results[at[i]] = a.note(entries[i], result)
		}
		return results
	}
	for i, e := range entries {
		if a.halted != nil {
			results[at[i]] = a.halted
			continue
		}
		results[at[i]] = a.note(e, a.fsm.Apply(e.Index, e.Term, e.Data))
	}
	return results
}

// noteOldest records, for the metrics, the append time of a command that is about to be applied.
func (a *fsmAdapter) noteOldest(l *raft.Log) {
	if a.oldest.Load() != 0 && a.next.Load() != 0 {
		return
	}
	appended := l.AppendedAt
	if appended.IsZero() {
		appended = time.Now()
	}
	a.oldest.CompareAndSwap(0, appended.UnixNano())
	a.next.CompareAndSwap(0, appended.UnixNano())
}

// note records that e was applied with the given result.
func (a *fsmAdapter) note(e Entry, result any) any {
	if a.halted != nil {
		return a.halted
	}
	if halt := (*haltError)(nil); asHalt(result, &halt) {
		a.halted = halt
		if halt.ending {
			return halt
		}
		a.fail(fmt.Errorf("apply entry %d of term %d: %w", e.Index, e.Term, halt))
		return halt
	}
	if e.Index > a.applied.Load() {
		a.applied.Store(e.Index)
		a.term = e.Term
	}
	return result
}

// Snapshot freezes the state.
func (a *fsmAdapter) Snapshot() (raft.FSMSnapshot, error) {
	if a.halted != nil {
		return nil, a.halted
	}
	index := a.applied.Load()
	snap, err := a.fsm.Snapshot(index)
	if err != nil {
		a.setSnapshotErr(err)
		return nil, err
	}
	a.next.Store(0)
	return &snapshotAdapter{adapter: a, header: snapshot.Header{Index: index, Term: a.term}, snap: snap}, nil
}

// Restore adopts the state of another member.
func (a *fsmAdapter) Restore(source io.ReadCloser) error {
	h, err := snapshot.ReadHeader(source)
	if err != nil {
		return err
	}
	if err := a.fsm.Restore(source); err != nil {
		return err
	}
	a.applied.Store(h.Index)
	if durable, ok := a.fsm.(Durable); ok {
		// The fetched state may be newer than the snapshot. The log then delivers some entries
		// again.
		a.applied.Store(max(h.Index, durable.AppliedIndex()))
	}
	a.term = h.Term
	a.oldest.Store(0)
	a.tookSnapshot(time.Now())
	a.signal()
	return nil
}

// tookSnapshot records, for the metrics, when the newest snapshot was taken.
func (a *fsmAdapter) tookSnapshot(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken = at
}

// lastSnapshot returns when the newest snapshot was taken, or zero if there is none.
func (a *fsmAdapter) lastSnapshot() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.taken
}

func (a *fsmAdapter) setSnapshotErr(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.snapshotErr = err
}

// takeSnapshotErr returns the error of the last snapshot, and clears it.
func (a *fsmAdapter) takeSnapshotErr() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.snapshotErr
	a.snapshotErr = nil
	return err
}

// snapshotAdapter adapts a snapshot to raft's interface.
type snapshotAdapter struct {
	adapter *fsmAdapter
	header  snapshot.Header
	snap    Snapshot
}

// Persist writes the header and the state. It keeps its error, because raft passes on only the
// text.
func (s *snapshotAdapter) Persist(sink raft.SnapshotSink) error {
	if summed, ok := sink.(*snapshot.Sink); ok {
		s.header.Sum = summed.Sum
	}
	if _, err := sink.Write(s.header.Encode()); err != nil {
		s.adapter.setSnapshotErr(err)
		return err
	}
	if err := s.snap.Persist(sink); err != nil {
		s.adapter.setSnapshotErr(err)
		return err
	}
	s.adapter.oldest.Store(s.adapter.next.Load())
	s.adapter.tookSnapshot(time.Now())
	return nil
}

// Release releases the state.
func (s *snapshotAdapter) Release() { s.snap.Release() }
