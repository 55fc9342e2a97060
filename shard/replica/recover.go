package replica

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/raftlog/snapshot"
	"cordwood/shard/replica/raftlogger"
)

// Copy describes the files of a member that is not running.
type Copy struct {
	// LastIndex and LastTerm are index and term of the last entry of the log, or of the newest
	// snapshot if no entry follows it.
	LastIndex, LastTerm uint64
	// SnapshotIndex is the index that the newest snapshot covers.
	SnapshotIndex uint64
	// Voters and Learners are the node ids of the members, according to the newest stored
	// membership.
	Voters, Learners []string
}

// Peek reads the files in a member's directory, and changes nothing. The member must not be
// running.
func Peek(dir string, kind raftlog.Kind) (Copy, error) {
	var c Copy
	var members raft.Configuration
	newest, err := snapshot.VerifyAll(dir)
	if err != nil {
		return c, fmt.Errorf("look at %s: %w", dir, err)
	}
	if newest != nil {
		c.SnapshotIndex, c.LastIndex, c.LastTerm, members = newest.Index, newest.Index, newest.Term, newest.Configuration
	}
	err = raftlog.EachEntry(dir, kind, func(l *raft.Log) error {
		if l.Index <= c.SnapshotIndex {
			return nil // this includes entries that were cut off
		}
		c.LastIndex, c.LastTerm = l.Index, l.Term
		if l.Type == raft.LogConfiguration {
			members = raft.DecodeConfiguration(l.Data)
		}
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("read the log of %s: %w", dir, err)
	}
	for _, s := range members.Servers {
		if s.Suffrage == raft.Voter {
			c.Voters = append(c.Voters, string(s.ID))
		} else {
			c.Learners = append(c.Learners, string(s.ID))
		}
	}
	return c, nil
}

// RecoverConfig configures Recover. Dir and NodeID are required.
type RecoverConfig struct {
	Dir    string
	Log    raftlog.Kind
	NodeID string
	// StateIndex and StateTerm are the index and term of the last entry in the state machine's
	// durable state, and State writes what FSM.Snapshot would persist of that state. State machines
	// that may be ahead of the log (Ahead) need them.
	StateIndex, StateTerm uint64
	State                 func(w io.Writer) error
	// Commands are appended to the log after the new membership. The group applies them first. They
	// must not be used with state machines that may be ahead of the log.
	Commands [][]byte
}

// Recover makes the member in a directory the only one of its group, without asking the others. It
// is for a group that has lost most of its other voters. From then on everything in this log counts
// as committed, and entries that only other members have are lost. The other members must no longer
// take part in a group with this name. The member must not be running.
//
// It returns the state that it found. When it returns without an error, the change is on disk. If
// it is interrupted, call it again.
func Recover(cfg RecoverConfig) (Copy, error) {
	c, err := recoverMember(cfg)
	if err != nil {
		return c, fmt.Errorf("recover %s: %w", cfg.Dir, err)
	}
	return c, nil
}

// recoverMember recovers the member. A crash may follow each step: the fence and a new term come
// first, and the membership that puts them into effect comes last.
func recoverMember(cfg RecoverConfig) (found Copy, err error) {
	if found, err = Peek(cfg.Dir, cfg.Log); err != nil {
		return found, err
	}
	if found.LastIndex == 0 {
		return found, errors.New("there is neither a log nor a snapshot")
	}
	var broken error
	log, err := raftlog.Open(raftlog.Config{
		Dir: cfg.Dir, Kind: cfg.Log, AppendDeadline: recoverDeadline, Fail: func(err error) { broken = err },
	})
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, broken, log.Close()) }()
	snaps, err := snapshot.Open(cfg.Dir, raftlogger.Discard())
	if err != nil {
		return found, err
	}
	if err := raftlog.FinishInstall(log, snaps); err != nil {
		return found, err
	}
	term, err := log.Term()
	if err != nil {
		return found, err
	}
	term = max(term, found.LastTerm) + 1 // no member has voted in this term
	if err := log.SetTerm(term); err != nil {
		return found, err
	}
	if err := writeFence(cfg.Dir, cfg.NodeID, append(slices.Clone(found.Voters), found.Learners...)); err != nil {
		return found, err
	}
	// The member no longer joins the group of the others: it is the group.
	if err := os.Remove(filepath.Join(cfg.Dir, joiningFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return found, err
	}
	alone := raft.Configuration{Servers: []raft.Server{voter(cfg.NodeID)}}
	if cfg.StateIndex > found.LastIndex {
		return found, recoverAhead(cfg, alone, log, snaps)
	}
	now := time.Now()
	logs := []*raft.Log{
		{
			Index:      found.LastIndex + 1,
			Term:       term,
			Type:       raft.LogConfiguration,
			Data:       raft.EncodeConfiguration(alone),
			AppendedAt: now,
		},
	}
	for i, data := range cfg.Commands {
		logs = append(logs, &raft.Log{
			Index:      found.LastIndex + 2 + uint64(i),
			Term:       term,
			Type:       raft.LogCommand,
			Data:       data,
			AppendedAt: now,
		})
	}
	return found, log.StoreLogs(logs)
}

// recoverDeadline is how long one write of Recover may take.
const recoverDeadline = 10 * time.Second

// recoverAhead takes a snapshot of a state that is ahead of the log, and clears the log. Later
// entries must be appended after the state's last entry.
func recoverAhead(cfg RecoverConfig, alone raft.Configuration, log *raftlog.Log, snaps *snapshot.Store) error {
	if err := storeState(snaps, alone, cfg.NodeID, cfg.StateIndex, cfg.StateTerm, cfg.State); err != nil {
		return err
	}
	return raftlog.FinishInstall(log, snaps)
}
