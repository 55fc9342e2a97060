package replica

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/vfs"
)

// Copy is what lies in the directory of a member that does not run.
type Copy struct {
	// LastIndex and LastTerm are those of the last entry of the log, or of the newest
	// snapshot if there is nothing behind it.
	LastIndex, LastTerm uint64
	// SnapshotIndex is the index up to which the newest snapshot holds everything.
	SnapshotIndex uint64
	// Voters and Learners are the node ids of the members, by the newest membership that
	// is stored.
	Voters, Learners []string
}

// Peek reads what lies in a member's directory, and changes nothing. The member must not
// run.
func Peek(dir string, kind LogKind) (Copy, error) {
	var c Copy
	var members raft.Configuration
	entries, err := os.ReadDir(filepath.Join(dir, "snapshots"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return c, fmt.Errorf("look at %s: %w", dir, err)
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		m, err := verifySnapshot(filepath.Join(dir, "snapshots", e.Name()))
		if err != nil {
			return c, fmt.Errorf("look at snapshot %s of %s: %w", e.Name(), dir, err)
		}
		if m.Index >= c.SnapshotIndex {
			c.SnapshotIndex, c.LastIndex, c.LastTerm, members = m.Index, m.Index, m.Term, m.Configuration
		}
	}
	show := func(l *raft.Log) error {
		if l.Index <= c.SnapshotIndex {
			return nil // also what was cut off
		}
		c.LastIndex, c.LastTerm = l.Index, l.Term
		if l.Type == raft.LogConfiguration {
			members = raft.DecodeConfiguration(l.Data)
		}
		return nil
	}
	log := filepath.Join(dir, "log")
	if kind == Bolt {
		err = inspectBolt(filepath.Join(log, boltFile), show)
	} else {
		err = inspectWAL(log, show)
	}
	if err != nil {
		return c, fmt.Errorf("look at the log in %s: %w", log, err)
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

// RecoverConfig says whose membership Recover replaces. Dir and NodeID are required.
type RecoverConfig struct {
	Dir    string
	Log    LogKind
	NodeID string
	// StateIndex and StateTerm are those of the last entry in the state machine's durable
	// state, and State writes what FSM.Snapshot would persist of it. They are needed by
	// state machines that may be ahead of the log (Ahead).
	StateIndex, StateTerm uint64
	State                 func(w io.Writer) error
	// Commands are appended to the log behind the new membership: the first ones that the group
	// applies. They are not for state machines that are ahead of the log.
	Commands [][]byte
}

// Recover makes the member in a directory the only one of its group, without asking the
// others: for a group that has lost most of its voters for good. Everything that is in
// this log counts as committed from then on, and what only others have is lost. The other
// members must not take part in a group of this name any more. The member must not run.
//
// It returns what it found. When it returns without error the change is on disk; if it
// is cut short it may be begun anew.
func Recover(cfg RecoverConfig) (Copy, error) {
	c, err := recoverMember(cfg)
	if err != nil {
		return c, fmt.Errorf("recover %s: %w", cfg.Dir, err)
	}
	return c, nil
}

func recoverMember(cfg RecoverConfig) (found Copy, err error) {
	if found, err = Peek(cfg.Dir, cfg.Log); err != nil {
		return found, err
	}
	if found.LastIndex == 0 {
		return found, errors.New("there is neither a log nor a snapshot")
	}
	group := raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: raft.ServerID(cfg.NodeID), Address: raft.ServerAddress(cfg.NodeID)}}}
	logger := newHCLogger(slog.New(slog.DiscardHandler))
	var broken error
	g := newGuard(10*time.Second, nil, nil, func(err error) { broken = err })
	defer g.close()
	full := Config{Dir: cfg.Dir, Log: cfg.Log}.withDefaults()
	b, _, err := openBackend(full, g, logger)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, broken, b.Close()) }()
	snaps, err := openSnapshots(cfg.Dir, logger)
	if err != nil {
		return found, err
	}
	store := newLogStore(b, g, newMetrics(nil, ""), cfg.Log)
	if err := finishInstall(store, snaps); err != nil {
		return found, err
	}
	term, err := store.GetUint64([]byte("CurrentTerm"))
	if err != nil && !errors.Is(err, errNotFound) {
		return found, err
	}
	// A term of its own: nobody has voted in it.
	term = max(term, found.LastTerm) + 1
	if err := store.SetUint64([]byte("CurrentTerm"), term); err != nil {
		return found, err
	}
	if err := writeFence(cfg.Dir, cfg.NodeID, append(slices.Clone(found.Voters), found.Learners...)); err != nil {
		return found, err
	}
	if cfg.StateIndex > found.LastIndex {
		return found, recoverAhead(cfg, group, store, snaps)
	}
	now := time.Now()
	logs := []*raft.Log{{Index: found.LastIndex + 1, Term: term, Type: raft.LogConfiguration, Data: raft.EncodeConfiguration(group), AppendedAt: now}}
	for i, data := range cfg.Commands {
		logs = append(logs, &raft.Log{Index: found.LastIndex + 2 + uint64(i), Term: term, Type: raft.LogCommand, Data: data, AppendedAt: now})
	}
	return found, store.StoreLogs(logs)
}

// recoverAhead makes a snapshot of a state that has more than the log, which goes: what
// is appended next must come behind the state.
func recoverAhead(cfg RecoverConfig, group raft.Configuration, store *logStore, snaps *snapshotStore) error {
	sink, err := snaps.create(raft.SnapshotVersionMax, cfg.StateIndex, cfg.StateTerm, group, cfg.StateIndex, newLoopback(raft.ServerAddress(cfg.NodeID)))
	if err != nil {
		return err
	}
	_, err = sink.Write(header{index: cfg.StateIndex, term: cfg.StateTerm, meta: sink.sum}.encode())
	if err == nil {
		err = cfg.State(sink)
	}
	if err != nil {
		return errors.Join(err, sink.Cancel())
	}
	if err := sink.Close(); err != nil {
		return err
	}
	return finishInstall(store, snaps)
}

// fenceFile lists the nodes that were members before Recover, one a line. What they send
// is refused until they are members again: they may still think that they lead.
const fenceFile = "FENCED"

// writeFence adds nodes to the list.
func writeFence(dir, self string, nodes []string) error {
	have, err := readFence(dir)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if n != self && !slices.Contains(have, n) {
			have = append(have, n)
		}
	}
	var lines []byte
	for _, n := range have {
		lines = append(append(lines, n...), '\n')
	}
	return vfs.Publish(vfs.OS, filepath.Join(dir, fenceFile), lines)
}

func readFence(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, fenceFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return strings.Fields(string(b)), err
}

// Fenced tells whether Recover has been at work in a member's directory.
func Fenced(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, fenceFile))
	return err == nil
}

// fence is what refuses requests of the nodes on the list.
func (r *Replica) fence(nodes []string) func(string) string {
	return func(node string) string {
		if !slices.Contains(nodes, node) {
			return ""
		}
		if running := r.ref.Load(); running != nil {
			for _, s := range running.GetConfiguration().Configuration().Servers {
				if string(s.ID) == node {
					return ""
				}
			}
		}
		return fmt.Sprintf("group %s went on without node %s: it was recovered with 'cordwood recover', and what that node has of the group is of no use any more", r.cfg.Group, node)
	}
}
