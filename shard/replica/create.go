package replica

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/snapshot"
	"cordwood/shard/replica/raftlogger"
	"cordwood/shard/replica/wire"
)

// CreateConfig configures Create. All fields but Commands are required.
type CreateConfig struct {
	Dir    string
	Log    raftlog.Kind
	NodeID string
	// Index and Term are those of the last entry in the state. State writes what FSM.Snapshot would persist of it.
	Index, Term uint64
	State       func(w io.Writer) error
	// Commands, if set, calls f with the commands that are in the log behind the state, in order. f keeps them until
	// Commands returns.
	Commands func(f func(command []byte) error) error
}

// Create makes a member, the only one of a new group that continues from a state. Dir must not exist, or be empty. No
// member of an earlier group with this name may run. If Create is interrupted, remove Dir.
func Create(cfg CreateConfig) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("create %s: %w", cfg.Dir, err)
		}
	}()
	if cfg.Index == 0 || cfg.Term == 0 {
		return fmt.Errorf("the state has index %d and term %d; it needs both", cfg.Index, cfg.Term)
	}
	if err := raftlog.MakeDirs(cfg.Dir); err != nil {
		return err
	}
	var broken error
	log, err := raftlog.Open(raftlog.Config{
		Dir: cfg.Dir, Kind: cfg.Log, AppendDeadline: recoverDeadline, Fail: func(err error) { broken = err },
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broken, log.Close()) }()
	if last, err := log.LastIndex(); err != nil || last > 0 {
		return errors.Join(err, fmt.Errorf("there is a log with entries up to %d", last))
	}
	snaps, err := snapshot.Open(cfg.Dir, raftlogger.Discard())
	if err != nil {
		return err
	}
	if err := log.SetTerm(cfg.Term); err != nil {
		return err
	}
	alone := raft.Configuration{Servers: []raft.Server{voter(cfg.NodeID)}}
	if err := storeState(snaps, alone, cfg.NodeID, cfg.Index, cfg.Term, cfg.State); err != nil || cfg.Commands == nil {
		return err
	}
	a := appender{log: log, index: cfg.Index, term: cfg.Term}
	if err := cfg.Commands(a.add); err != nil {
		return err
	}
	return a.flush()
}

// appender appends commands to a log, some at a time.
type appender struct {
	log         *raftlog.Log
	index, term uint64
	bytes       int
	waiting     []*raft.Log
}

const (
	// appendEntries and appendBytes limit what is appended by one write.
	appendEntries = 1024
	appendBytes   = 4 << 20
)

func (a *appender) add(command []byte) error {
	a.index++
	a.waiting = append(a.waiting, &raft.Log{
		Index: a.index, Term: a.term, Type: raft.LogCommand, Data: command, AppendedAt: time.Now(),
	})
	if a.bytes += len(command); a.bytes < appendBytes && len(a.waiting) < appendEntries {
		return nil
	}
	return a.flush()
}

func (a *appender) flush() error {
	if len(a.waiting) == 0 {
		return nil
	}
	err := a.log.StoreLogs(a.waiting)
	a.waiting, a.bytes = nil, 0
	return err
}

// storeState stores a snapshot of a state, with the members of the group.
func storeState(snaps *snapshot.Store, members raft.Configuration, node string, index, term uint64,
	state func(io.Writer) error,
) error {
	below := wire.Loopback(raft.ServerAddress(node))
	sink, err := snaps.Create(raft.SnapshotVersionMax, index, term, members, index, below)
	if err != nil {
		return err
	}
	head := snapshot.Header{Index: index, Term: term}
	if summed, ok := sink.(*snapshot.Sink); ok {
		head.Sum = summed.Sum
	}
	_, err = sink.Write(head.Encode())
	if err == nil {
		err = state(sink)
	}
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	return sink.Close()
}
