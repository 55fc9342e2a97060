package replica

import (
	"context"
	"io"
)

// FSM is the state machine of a group. One goroutine calls its methods, one after another.
// Snapshot.Persist and Snapshot.Release may run concurrently with later calls of Apply.
type FSM interface {
	// Apply applies a committed command and returns its result. It must depend only on the state
	// and the arguments, must not wait for I/O, and must skip an index that the state already has.
	// data stays valid and unchanged, so slices of it may be kept. An entry that cannot be applied
	// must not be skipped: Apply returns Halt(err), and the replica fails.
	//
	// Only commands are passed to Apply. Their indexes have gaps, because raft's own entries
	// (elections, membership) take some.
	Apply(index, term uint64, data []byte) any
	// Snapshot freezes the state after the last Apply, which had the given index, and returns at
	// once. Persist does the work.
	Snapshot(index uint64) (Snapshot, error)
	// Restore durably replaces the state with the state that Persist wrote on another member.
	Restore(r io.Reader) error
}

// BatchFSM is an FSM that applies several entries at once more cheaply.
type BatchFSM interface {
	FSM
	// ApplyBatch is like Apply, for several entries in order. It returns one result for each.
	ApplyBatch(entries []Entry) []any
}

// Durable is an FSM that keeps its own state across restarts.
type Durable interface {
	FSM
	// AppliedIndex returns the index of the last command in the durable state. Open calls it before
	// any command is applied. A state machine that is behind the newest snapshot is restored from
	// the snapshot, because the log does not have the earlier entries.
	AppliedIndex() uint64
}

// Termed is a Durable FSM that knows the term of the last command in its durable state.
type Termed interface {
	Durable
	// AppliedTerm returns the term of the command with AppliedIndex, or 0 if it is not known.
	AppliedTerm() uint64
}

// Ahead is a Durable FSM whose state may be ahead of the log, because it was fetched from another
// member after raft took its snapshot.
type Ahead interface {
	Durable
	// AheadIndex returns the index up to which the state may be ahead of the log.
	AheadIndex() uint64
}

// Stager is an FSM whose snapshots only refer to data that another member has to fetch. Raft gets a
// snapshot only after Stage has fetched the data, because raft neither votes nor appends during the
// installation.
type Stager interface {
	FSM
	// Stage fetches from the leader what Restore needs for a snapshot that Persist wrote there.
	// When it returns nil, Restore does not need the leader any more, even after a restart. One
	// goroutine at a time calls it, concurrently with Apply. It is called again for the same
	// snapshot if it failed or if ctx ended.
	Stage(ctx context.Context, leader string, index uint64, snapshot []byte) error
}

// Entry is a committed command.
type Entry struct {
	Index, Term uint64
	Data        []byte
}

// Snapshot is a frozen state.
type Snapshot interface {
	// Persist makes the state durable in the state machine's own files, and writes to w what
	// another member needs to reach the state. When it returns nil, the log is cut up to the
	// snapshot's index.
	Persist(w io.Writer) error
	// Release is called once, after Persist or if Persist is not called.
	Release()
}

// Bounded is an FSM that keeps applied commands in memory until it is flushed.
type Bounded interface {
	FSM
	// Crowded returns an error while the member takes no more commands from its leader. It is
	// called for each append with commands, concurrently with Apply, and must not block.
	Crowded() error
	// Stuck reports whether Apply waits for memory that will not be free soon. Then a leader sends
	// nothing, so that another member takes over.
	Stuck() bool
}

// haltError is the result of an Apply that ends the replica.
type haltError struct {
	err error
	// ending means that this is not a failure: the state machine is being closed.
	ending bool
}

func (h *haltError) Error() string { return "state machine halted: " + h.err.Error() }
func (h *haltError) Unwrap() error { return h.err }

// Halt returns the result of Apply for an entry that it cannot apply, such as a command of a newer
// version. The replica then stops for good.
func Halt(err error) any { return &haltError{err: err} }

// Abandon returns the result with which Apply refuses an entry because the state machine
// is being closed. The state machine then gets no more entries, and no snapshot is taken.
func Abandon() any { return &haltError{err: ErrClosed, ending: true} }

func asHalt(result any, h **haltError) bool {
	halt, ok := result.(*haltError)
	*h = halt
	return ok
}
