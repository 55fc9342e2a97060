package meta

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/strict"
	"cordwood/shard/replica"
)

// machine is the state machine: it applies committed commands to the catalog, a batch in one transaction, and
// publishes the changes to the watches.
//
// Only the replica calls its methods, one at a time.
type machine struct {
	catalog *catalog.Catalog
	hub     *hub
	metrics *metrics

	// Copies of catalog values, for concurrent readers.
	applied  atomic.Uint64
	tables   atomic.Uint64
	version  atomic.Uint32 // version of the cluster
	executed atomic.Uint64 // commands applied since the start, without the skipped ones

	// logged is the size of the commands applied since the log was last cut. cut gets a value when
	// that exceeds cutBytes.
	logged   int64
	cutBytes int64
	cut      chan struct{}

	// audited gets a value after commands with audit records were applied; auditing is set if there were any.
	audited  chan struct{}
	auditing bool

	// answered finds the result of an earlier proposal.
	answered answerer

	// whenRoom runs something that needs disk space, with retries until there is space.
	whenRoom func(do func() error) error
}

var (
	_ replica.BatchFSM = (*machine)(nil)
	_ replica.Termed   = (*machine)(nil)
)

// answerer finds the result of an earlier proposal.
type answerer func(*catalog.Tx, *metapb.Command) (*metapb.Result, error)

func newMachine(cat *catalog.Catalog, m *metrics) (*machine, error) {
	s := &machine{
		catalog: cat, metrics: m, answered: answeredBefore, cutBytes: math.MaxInt64, cut: make(chan struct{}, 1),
		whenRoom: func(do func() error) error { return do() }, audited: make(chan struct{}, 1),
	}
	index, err := s.refresh()
	if err != nil {
		return nil, err
	}
	s.hub = newHub(index)
	return s, nil
}

// refresh reads the values that are kept outside the catalog, and returns the applied index.
func (s *machine) refresh() (index uint64, err error) {
	err = s.catalog.View(func(tx *catalog.Tx) error {
		index, _ = tx.Applied()
		s.applied.Store(index)
		s.tables.Store(tx.Tables.Count())
		s.version.Store(tx.ClusterVersion())
		return understood(tx.ClusterVersion())
	})
	return index, err
}

// AppliedIndex returns the index of the last command in the state.
func (s *machine) AppliedIndex() uint64 { return s.applied.Load() }

// AppliedTerm returns the term of that command. It returns 0 if the state cannot be read; the next
// apply then finds the error.
func (s *machine) AppliedTerm() (term uint64) {
	_ = s.catalog.View(func(tx *catalog.Tx) error { _, term = tx.Applied(); return nil })
	return term
}

// Apply applies one command.
func (s *machine) Apply(index, term uint64, data []byte) any {
	return s.ApplyBatch([]replica.Entry{{Index: index, Term: term, Data: data}})[0]
}

// change collects what a command changed, for watches. The apply functions add to it. Its index is
// set already.
type change = metapb.WatchResponse

// ApplyBatch applies commands in one transaction. It returns a *metapb.Result for each, or nil for
// a command that the state has already. It returns a halt for the first unknown command and all
// after it, or for all if the state's file fails.
func (s *machine) ApplyBatch(entries []replica.Entry) []any {
	results := make([]any, len(entries))
	var changes []*change
	var halt error
	executed := uint64(0)
	apply := func(tx *catalog.Tx) error {
		clear(results)
		changes, halt, executed = nil, nil, 0
		applied, term := tx.Applied()
		for i, e := range entries {
			if halt != nil {
				results[i] = replica.Halt(halt)
				continue
			}
			if e.Index <= applied {
				continue
			}
			cmd, err := decodeCommand(e.Data)
			if err != nil { // nothing of this command was applied; earlier ones stay
				halt = err
				results[i] = replica.Halt(err)
				continue
			}
			c := &change{Index: e.Index}
			result, err := s.execute(tx, cmd, c)
			if err != nil {
				return fmt.Errorf("command %d (%s): %w", e.Index, opName(cmd), err)
			}
			results[i], changes = result, append(changes, c)
			applied, term = e.Index, e.Term
			executed++
		}
		if executed == 0 {
			return nil
		}
		s.tables.Store(tx.Tables.Count())
		s.version.Store(tx.ClusterVersion())
		return tx.SetApplied(applied, term)
	}
	if err := s.whenRoom(func() error { return s.catalog.Update(apply) }); err != nil {
		for i := range results {
			results[i] = replica.Halt(err)
		}
		return results
	}
	s.executed.Add(executed)
	s.countLogged(entries)
	if n := len(changes); n > 0 {
		s.applied.Store(changes[n-1].Index)
		s.hub.publish(changes)
	}
	if s.auditing {
		s.auditing = false
		select {
		case s.audited <- struct{}{}:
		default: // the receiver has not taken the last value yet
		}
	}
	return results
}

// countLogged requests that the log be cut when it has grown enough.
func (s *machine) countLogged(entries []replica.Entry) {
	for _, e := range entries {
		s.logged += int64(len(e.Data))
	}
	if s.logged < s.cutBytes {
		return
	}
	s.logged = 0
	select {
	case s.cut <- struct{}{}:
	default: // it is being cut, or is about to be
	}
}

// decodeCommand decodes an entry. A command with anything unknown to this version is an error,
// because skipping it would make this member differ from the others.
func decodeCommand(data []byte) (*metapb.Command, error) {
	cmd := &metapb.Command{}
	if err := proto.Unmarshal(data, cmd); err != nil {
		return nil, fmt.Errorf("decode a metadata command of %d bytes: %w", len(data), err)
	}
	if err := checkKnown(cmd); err != nil {
		return nil, fmt.Errorf("%w; this program is older than the one that proposed it", err)
	}
	return cmd, nil
}

// checkKnown reports whether this version knows all of the command.
func checkKnown(cmd *metapb.Command) error {
	if cmd.GetOp() == nil {
		return errors.New("the command is of no known kind")
	}
	if kind := strict.Unknown(cmd.ProtoReflect()); kind != nil {
		return fmt.Errorf("the command has an unknown field in %s", kind.FullName())
	}
	return nil
}

// execute applies one command. A refusal is a result. An error means that the state's file failed.
func (s *machine) execute(tx *catalog.Tx, cmd *metapb.Command, c *change) (*metapb.Result, error) {
	before := tx.Writes()
	result, err := s.answered(tx, cmd)
	if result != nil {
		return result, nil
	}
	if err == nil {
		result, err = dispatch(tx, cmd, c)
	}
	if err == nil {
		if err := audit(tx, cmd, c.Index, result); err != nil {
			return nil, err
		}
		s.auditing = s.auditing || result.Audited
		return result, remember(tx, cmd, c.Index, result)
	}
	refusal := (*errs.Error)(nil)
	if !errors.As(err, &refusal) {
		return nil, err
	}
	if tx.Writes() != before {
		return nil, fmt.Errorf("bug in this program: the command was refused after it had changed the state: %w", err)
	}
	*c = change{Index: c.Index}
	result = refused(refusal)
	if conflict := (*conflictError)(nil); errors.As(err, &conflict) {
		result.Conflicts = conflict.conflicts
	}
	return result, nil
}

// dispatch applies a command by its rule.
func dispatch(tx *catalog.Tx, cmd *metapb.Command, c *change) (*metapb.Result, error) {
	if _, first := cmd.Op.(*metapb.Command_Bootstrap); !first && tx.ClusterID() == "" {
		return nil, errs.New(errs.IllegalState, "%s: the cluster is not bootstrapped yet", opName(cmd))
	}
	op, ok := commandRules[opName(cmd)]
	if !ok {
		return nil, fmt.Errorf("no rule for a command of kind %T", cmd.Op)
	}
	if err := checkIssuer(tx, cmd); err != nil {
		return nil, err
	}
	return op.apply(&applying{tx, cmd, c})
}

// opName returns the command's kind in messages and metrics.
func opName(cmd *metapb.Command) string {
	m := cmd.ProtoReflect()
	if fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("op")); fd != nil {
		return string(fd.Name())
	}
	return "unknown"
}

// Snapshot freezes the state after the last command.
func (s *machine) Snapshot(uint64) (replica.Snapshot, error) { return s.catalog.Freeze() }

// Restore replaces the state. Watches end and have to be restarted.
func (s *machine) Restore(r io.Reader) error {
	if err := s.catalog.Restore(r); err != nil {
		return err
	}
	index, err := s.refresh()
	if err != nil {
		return err
	}
	s.hub.reset(index)
	return nil
}
