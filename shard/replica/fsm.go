package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// FSM is the state machine of a group. Its methods are called by one goroutine,
// one after another, except Snapshot.Persist and Snapshot.Release, which run
// beside later calls of Apply.
type FSM interface {
	// Apply applies a committed command and returns its result. It must be a
	// function of the state and the arguments alone, do no I/O that can wait, and
	// skip an index that the state already holds. data stays valid and unchanged;
	// views of it may be kept. An entry that cannot be applied must not be skipped:
	// Apply returns Halt(err), and the replica fails.
	//
	// Only commands come here. Indexes have gaps, because raft's own entries
	// (elections, membership) take some.
	Apply(index, term uint64, data []byte) any
	// Snapshot freezes the state after the last Apply, whose index is given, and
	// returns at once; the work is done in Persist.
	Snapshot(index uint64) (Snapshot, error)
	// Restore replaces the state by what Persist wrote elsewhere, durably.
	Restore(r io.Reader) error
}

// BatchFSM is an FSM that applies several entries at once more cheaply.
type BatchFSM interface {
	FSM
	// ApplyBatch is Apply for each entry in order; it returns one result for each.
	ApplyBatch(entries []Entry) []any
}

// Durable is an FSM that keeps state of its own across restarts.
type Durable interface {
	FSM
	// AppliedIndex is the index of the last command in the durable state. It is
	// asked by Open, before anything is applied: a state machine that holds less
	// than the newest snapshot, which the log does not reach back before, is
	// restored from that snapshot instead of being left with a hole.
	AppliedIndex() uint64
}

// Ahead is a Durable FSM whose state may hold more than the log: it was fetched from
// another member, as it was after the snapshot that raft took.
type Ahead interface {
	Durable
	// AheadIndex is the index up to which that is so.
	AheadIndex() uint64
}

// Entry is a committed command.
type Entry struct {
	Index, Term uint64
	Data        []byte
}

// Snapshot is a frozen state.
type Snapshot interface {
	// Persist makes the state durable where the state machine keeps it, and writes
	// to w what another member would need to reach it. When it returns nil, the log
	// up to the snapshot's index is cut off.
	Persist(w io.Writer) error
	// Release is called once, after Persist or instead of it.
	Release()
}

// Bounded is an FSM that keeps what it applied in memory until it is flushed.
type Bounded interface {
	FSM
	// Crowded says why the member takes no more commands from its leader; nil: it does. It is
	// asked for each append that brings some, beside Apply, and must not block.
	Crowded() error
	// Stuck tells whether Apply waits for memory and there is none to be had soon. A leader
	// is silent then, so that another member takes over.
	Stuck() bool
}

// haltError is the result of an Apply that ends the replica.
type haltError struct {
	err error
	// ending tells that this is no failure: the state machine is being closed.
	ending bool
}

func (h *haltError) Error() string { return "state machine halted: " + h.err.Error() }
func (h *haltError) Unwrap() error { return h.err }

// Halt is what Apply returns for an entry that it cannot apply, such as a command
// of a newer version: the replica stops there, for good.
func Halt(err error) any { return &haltError{err: err} }

// Abandon is what Apply returns for an entry that it does not apply because the state machine
// is being closed: it gets no more, and no snapshot is taken.
func Abandon() any { return &haltError{err: ErrClosed, ending: true} }

func asHalt(result any, h **haltError) bool {
	halt, ok := result.(*haltError)
	*h = halt
	return ok
}

// fsmAdapter is the state machine as raft wants it.
type fsmAdapter struct {
	fsm     FSM
	fail    func(error)
	applied atomic.Uint64 // index of the last command
	term    uint64        // its term; only raft's FSM goroutine uses it
	halted  *haltError    // set by the entry that could not be applied

	mu          sync.Mutex
	snapshotErr error     // of the last Persist, which raft turns to text
	taken       time.Time // when the last snapshot was taken or installed; zero: there is none

	// For the metrics: since is when the oldest command was appended that is applied and
	// in no snapshot, next the oldest one behind the snapshot that is being taken; in Unix
	// nanoseconds, 0: there is none.
	since, next atomic.Int64

	waits   atomic.Int32 // how many wait for more to be applied
	waiting sync.Mutex   // guards moved
	moved   chan struct{}
}

var _ raft.BatchingFSM = (*fsmAdapter)(nil)

func newFSMAdapter(fsm FSM, fail func(error)) *fsmAdapter {
	return &fsmAdapter{fsm: fsm, fail: fail, moved: make(chan struct{})}
}

// tell wakes those who wait for more to be applied.
func (a *fsmAdapter) tell() {
	if a.waits.Load() == 0 {
		return
	}
	a.waiting.Lock()
	defer a.waiting.Unlock()
	close(a.moved)
	a.moved = make(chan struct{})
}

// move returns a channel that is closed when more was applied. The caller must have
// added itself to waits before.
func (a *fsmAdapter) move() <-chan struct{} {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	return a.moved
}

// Applied is the index of the last command given to the state machine.
func (a *fsmAdapter) Applied() uint64 { return a.applied.Load() }

// catchUp restores a durable state machine that is behind the newest snapshot. It
// runs before raft does.
func (a *fsmAdapter) catchUp(snaps raft.SnapshotStore) (err error) {
	durable, ok := a.fsm.(Durable)
	if !ok {
		return nil
	}
	a.applied.Store(durable.AppliedIndex())
	list, err := snaps.List()
	if err != nil || len(list) == 0 {
		return err
	}
	_, source, err := snaps.Open(list[0].ID)
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", list[0].ID, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	header, err := readHeader(source)
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", list[0].ID, err)
	}
	if header.index <= durable.AppliedIndex() {
		return nil
	}
	had := durable.AppliedIndex()
	if err := a.fsm.Restore(source); err != nil {
		return fmt.Errorf("state holds entries up to %d, the log begins after %d, and snapshot %s cannot be restored: %w",
			had, header.index, list[0].ID, err)
	}
	if got := durable.AppliedIndex(); got < header.index {
		return fmt.Errorf("state holds entries up to %d after snapshot %s of index %d was restored", got, list[0].ID, header.index)
	}
	a.applied.Store(durable.AppliedIndex())
	return nil
}

func (a *fsmAdapter) Apply(l *raft.Log) any { return a.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch gives the commands among logs to the state machine.
func (a *fsmAdapter) ApplyBatch(logs []*raft.Log) []any {
	defer a.tell()
	results := make([]any, len(logs))
	entries := make([]Entry, 0, len(logs))
	at := make([]int, 0, len(logs))
	for i, l := range logs {
		if l.Type == raft.LogCommand {
			entries = append(entries, Entry{Index: l.Index, Term: l.Term, Data: l.Data})
			at = append(at, i)
		}
	}
	if len(at) > 0 && (a.since.Load() == 0 || a.next.Load() == 0) {
		appended := logs[at[0]].AppendedAt
		if appended.IsZero() {
			appended = time.Now()
		}
		a.since.CompareAndSwap(0, appended.UnixNano())
		a.next.CompareAndSwap(0, appended.UnixNano())
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
	return &snapshotAdapter{adapter: a, header: header{index: index, term: a.term}, snap: snap}, nil
}

// Restore takes over the state of another member.
func (a *fsmAdapter) Restore(source io.ReadCloser) error {
	h, err := readHeader(source)
	if err != nil {
		return err
	}
	if err := a.fsm.Restore(source); err != nil {
		return err
	}
	a.applied.Store(h.index)
	if durable, ok := a.fsm.(Durable); ok {
		// What was fetched may be newer than the snapshot; the log brings it once more.
		a.applied.Store(max(h.index, durable.AppliedIndex()))
	}
	a.term = h.term
	a.since.Store(0)
	a.tookSnapshot(time.Now())
	a.tell()
	return nil
}

// tookSnapshot notes when the newest snapshot was taken, for the metrics.
func (a *fsmAdapter) tookSnapshot(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.taken = at
}

// lastSnapshot is when the newest snapshot was taken.
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

// takeSnapshotErr returns the last snapshot's error and forgets it.
func (a *fsmAdapter) takeSnapshotErr() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.snapshotErr
	a.snapshotErr = nil
	return err
}

// snapshotAdapter is a snapshot as raft wants it.
type snapshotAdapter struct {
	adapter *fsmAdapter
	header  header
	snap    Snapshot
}

func (s *snapshotAdapter) Persist(sink raft.SnapshotSink) error {
	if summed, ok := sink.(*snapshotSink); ok {
		s.header.meta = summed.sum
	}
	if _, err := sink.Write(s.header.encode()); err != nil {
		s.adapter.setSnapshotErr(err)
		return err
	}
	if err := s.snap.Persist(sink); err != nil {
		s.adapter.setSnapshotErr(err)
		return err
	}
	s.adapter.since.Store(s.adapter.next.Load())
	s.adapter.tookSnapshot(time.Now())
	return nil
}

func (s *snapshotAdapter) Release() { s.snap.Release() }

// The snapshot header; see FORMAT.md. These constants are part of the format.
const (
	snapshotMagic   = "CWSN"
	snapshotVersion = 1
	headerBytes     = 24
)

// ErrUnsupported is returned for a snapshot that a newer version wrote.
var ErrUnsupported = errors.New("written by a newer version of this program")

type header struct {
	index, term uint64
	meta        uint32 // noteSum of what raft notes beside the snapshot; 0: not known
}

func (h header) encode() []byte {
	b := make([]byte, headerBytes)
	copy(b, snapshotMagic)
	binary.LittleEndian.PutUint32(b[4:], h.meta<<8)
	b[4] = snapshotVersion
	binary.LittleEndian.PutUint64(b[8:], h.index)
	binary.LittleEndian.PutUint64(b[16:], h.term)
	return b
}

func readHeader(r io.Reader) (header, error) {
	var b [headerBytes]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return header{}, fmt.Errorf("snapshot header: %w", err)
	}
	if string(b[:4]) != snapshotMagic {
		return header{}, fmt.Errorf("snapshot header: magic is %q, want %q", b[:4], snapshotMagic)
	}
	if b[4] != snapshotVersion {
		return header{}, fmt.Errorf("snapshot header: version is %d, want %d: %w", b[4], snapshotVersion, ErrUnsupported)
	}
	return header{index: binary.LittleEndian.Uint64(b[8:]), term: binary.LittleEndian.Uint64(b[16:]), meta: binary.LittleEndian.Uint32(b[4:]) >> 8}, nil
}
