package shard

import (
	"context"
	"fmt"
	"io"
)

// This file replaces the state of this replica with the state of another replica, which package
// install has fetched.

// Stage fetches the state that a snapshot of the leader describes, unless this replica already has
// it. If ctx ends, the work continues in the background.
func (f fsm) Stage(ctx context.Context, leader string, _ uint64, content []byte) error {
	p, err := parseSnapshot(content)
	if err != nil {
		return err
	}
	if f.s.store.Tables.Flushed.Load() >= p.AppliedIndex {
		return nil
	}
	return f.s.installer.Stage(ctx, leader, p.AppliedIndex)
}

// Restore adopts the state that a snapshot of another replica describes. Stage has fetched the
// state, perhaps before a restart. Restore runs between two calls of Apply, or before all of them.
func (f fsm) Restore(r io.Reader) error {
	s := f.s
	p, err := readSnapshot(r)
	if err != nil {
		return err
	}
	in := s.installer
	if s.store.Tables.Flushed.Load() >= p.AppliedIndex {
		// The state is ahead of the log and of the snapshot, so some log entries will be applied
		// again.
		if err := in.SetAhead(s.store.Tables.AppliedIndex); err != nil {
			return err
		}
		s.store.Tables.SkipTo()
		return nil
	}
	st, err := in.Arrived()
	if err != nil {
		return err
	}
	if st == nil || st.AppliedIndex < p.AppliedIndex {
		return fmt.Errorf("shard %d: take over a snapshot: the manifest holds entries up to %d, but the snapshot needs %d "+
			"with %d segments, "+
			"which are missing: %w; "+
			"restore the directory %s from a replica or a backup", s.cfg.ID, s.store.Tables.Flushed.Load(), p.AppliedIndex,
			len(p.Segments), errOldManifest, s.cfg.Dir)
	}
	if err := s.store.Ledger.TakeOver(st); err != nil {
		return fmt.Errorf("shard %d: take over the state of index %d: %w", s.cfg.ID, st.AppliedIndex, err)
	}
	s.cfg.Logger.Info("took over the state of another replica", "index", st.AppliedIndex, "segments", len(st.Segments),
		"tables", len(st.Tables))
	return nil
}
