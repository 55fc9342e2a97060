package replica

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/raft"

	"cordwood/shard/vfs"
)

func (r *Replica) open() (err error) {
	cfg := r.cfg
	logger := newHCLogger(cfg.Logger.With("group", cfg.Group))
	if err := makeDirs(filepath.Join(cfg.Dir, "log"), filepath.Join(cfg.Dir, "snapshots")); err != nil {
		return err
	}
	if err := checkMark(cfg.Dir); err != nil {
		return err
	}
	g := newGuard(cfg.AppendDeadline, cfg.Logger.With("group", cfg.Group), cfg.DiskFull, func(err error) {
		r.metrics.failed()
		r.fail(err)
	})
	g.synced = r.metrics.synced
	if err := sweepSnapshots(filepath.Join(cfg.Dir, "snapshots")); err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	newest, command, err := verifySnapshots(filepath.Join(cfg.Dir, "snapshots"), nil)
	if err != nil {
		return err
	}
	cfg.needless, cfg.cut = needless(cfg, newest, command), r.metrics.cut.Inc
	backend, marks, err := openBackend(cfg, g, logger)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, backend.Close())
		}
	}()
	snaps, err := openSnapshots(cfg.Dir, logger)
	if err != nil {
		return fmt.Errorf("snapshots: %w", err)
	}
	r.store = newLogStore(backend, g, r.metrics, cfg.Log)
	r.fsm = newFSMAdapter(cfg.FSM, r.fail)
	if err := r.fsm.catchUp(snaps); err != nil {
		return err
	}
	if err := finishInstall(r.store, snaps); err != nil {
		return err
	}
	past := &history{dir: cfg.Dir, held: r.committed}
	if fsm, ok := cfg.FSM.(Termed); ok {
		past.command, past.term = fsm.AppliedIndex(), fsm.AppliedTerm()
	}
	if err := past.check(r.store); err != nil {
		return err
	}
	r.store.history, snaps.history, snaps.outdated = past, past, r.outdated
	r.snaps = snaps
	held := r.fsm.Applied()
	if ahead, ok := cfg.FSM.(Ahead); ok && held <= ahead.AheadIndex() {
		held = 0
	}
	if err := checkContinuity(r.store, snaps, held); err != nil {
		return err
	}

	below := cfg.Transport
	if below == nil {
		below = newLoopback(raft.ServerAddress(cfg.NodeID))
	}
	var transport raft.Transport
	fenced, err := readFence(cfg.Dir)
	if err != nil {
		return err
	}
	stuck := func() bool { return g.busyFor() > stuckAfter }
	bounded, ok := cfg.FSM.(Bounded)
	if ok {
		stuck = func() bool { return g.busyFor() > stuckAfter || bounded.Stuck() }
	}
	r.wire, transport = newWire(below, stuck, r.fence(fenced), r.lastIndex)
	if ok {
		r.wire.crowded = bounded.Crowded
	}
	r.wire.snapshot = r.takeSnapshot
	r.wire.ended, r.wire.leads = r.ended, r.leads
	covered := uint64(0)
	if list, err := snaps.List(); err == nil && len(list) > 0 {
		covered = list[0].Index
		r.fsm.tookSnapshot(snapshotTime(list[0].ID))
	}
	if err := r.store.preload(marks, covered); err != nil {
		return err
	}
	conf := raftConfig(cfg)
	conf.Logger = logger
	if cfg.Bootstrap {
		if err := bootstrap(conf, cfg.Founders, r.store, snaps, transport); err != nil {
			return fmt.Errorf("bootstrap: %w", err)
		}
	}
	r.raft, err = raft.NewRaft(conf, r.fsm, r.store, r.store, snaps, transport)
	if err != nil {
		return err
	}
	r.store.loaded(covered)
	r.ref.Store(r.raft)
	r.metrics.watch(r)
	select {
	case <-r.failed:
		r.raft.Shutdown()
	default:
	}
	r.wire.start()
	members := r.raft.GetConfiguration().Configuration().Servers
	if cfg.Transport == nil && len(members) > 0 && !r.soleVoter() {
		// It would wait for the votes of others for ever.
		return errors.Join(fmt.Errorf("its members are %v by log and snapshots, and node %s should be the only one: the head of the newest snapshot is damaged, or the directory is another node's; restore it from a backup",
			members, cfg.NodeID), r.raft.Shutdown().Error())
	}
	if r.soleVoter() || cfg.Transport == nil {
		r.wire.electNow()
	} else if others, ok := below.(raft.WithPreVote); ok && cfg.Bootstrap {
		r.watching.Go(func() { r.electFirst(others) })
	}
	return nil
}

// leads tells whether this member leads another one, in a term.
func (r *Replica) leads(id raft.ServerID, term uint64) bool {
	running := r.ref.Load()
	if running == nil || running.State() != raft.Leader || running.CurrentTerm() != term {
		return false
	}
	return slices.ContainsFunc(running.GetConfiguration().Configuration().Servers, func(s raft.Server) bool { return s.ID == id })
}

// committed is the last entry that this member knows to be committed.
func (r *Replica) committed() uint64 {
	held := r.fsm.Applied()
	if running := r.ref.Load(); running != nil {
		held = max(held, running.CommitIndex())
	}
	return held
}

// lastIndex is the last index of the log, once raft runs.
func (r *Replica) lastIndex() uint64 {
	if running := r.ref.Load(); running != nil {
		return running.LastIndex()
	}
	return 0
}

// finishInstall clears the log if a snapshot of another member was stored and a crash
// came before raft did it. Entries up to the snapshot's that are not those that it was
// made of would else keep raft from appending what follows it.
func finishInstall(store *logStore, snaps raft.SnapshotStore) error {
	list, err := snaps.List()
	if err != nil || len(list) == 0 {
		return err
	}
	newest := list[0]
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	last, err := store.LastIndex()
	if err != nil || last == 0 || first > newest.Index {
		return err
	}
	if last >= newest.Index {
		var l raft.Log
		if err := store.GetLog(newest.Index, &l); err != nil {
			return err
		}
		if l.Term == newest.Term {
			return nil
		}
	}
	if err := store.DeleteRange(first, last); err != nil {
		return fmt.Errorf("clear the log behind an installed snapshot: %w", err)
	}
	return nil
}

// checkContinuity finds holes: entries that neither the log nor the state has. What
// is appended behind a hole would be taken for what the state already holds.
func checkContinuity(store *logStore, snaps raft.SnapshotStore, applied uint64) error {
	first, err := store.FirstIndex()
	if err != nil {
		return err
	}
	last, err := store.LastIndex()
	if err != nil {
		return err
	}
	list, err := snaps.List()
	if err != nil {
		return err
	}
	covered := uint64(0) // by the newest snapshot
	if len(list) > 0 {
		covered = list[0].Index
	}
	switch {
	case last > 0 && first > covered+1:
		return damagedf("the log begins with entry %d and the newest snapshot ends with entry %d: those between are lost; restore the directory from a replica or a backup", first, covered)
	case max(last, covered) < applied:
		return damagedf("the state holds entries up to %d and the log ends with entry %d: its end is lost; restore the directory from a replica or a backup", applied, max(last, covered))
	}
	if last > 0 {
		if term, err := store.GetUint64([]byte("CurrentTerm")); err != nil || term == 0 {
			return damagedf("the log has entries up to %d and no current term: its stable values are lost or damaged (%w); restore the directory from a replica or a backup", last, err)
		}
	}
	return nil
}

// bootstrap makes an empty store a group of the given voters.
func bootstrap(conf *raft.Config, founders []string, store *logStore, snaps raft.SnapshotStore, transport raft.Transport) error {
	last, err := store.LastIndex()
	if err != nil {
		return err
	}
	list, err := snaps.List()
	if err != nil {
		return err
	}
	if last > 0 || len(list) > 0 {
		return nil
	}
	// A crash in the middle of an earlier bootstrap leaves the term behind, but no
	// log: nothing was ever stored here, so the term means nothing.
	if err := store.SetUint64([]byte("CurrentTerm"), 0); err != nil {
		return err
	}
	var group raft.Configuration
	for _, id := range founders {
		group.Servers = append(group.Servers, raft.Server{Suffrage: raft.Voter, ID: raft.ServerID(id), Address: raft.ServerAddress(id)})
	}
	return raft.BootstrapCluster(conf, store, store, snaps, transport, group)
}

// makeDirs makes the directories and every missing one above them durable.
func makeDirs(dirs ...string) error {
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		parent := filepath.Dir(dir)
		for _, d := range []string{dir, parent, filepath.Dir(parent)} {
			if err := vfs.OS.SyncDir(d); err != nil {
				return fmt.Errorf("sync directory: %w", err)
			}
		}
	}
	return nil
}
