package shard

import (
	"context"
	"fmt"
	"io"
)

// This file puts the state of another replica, which package install has fetched, in the place of
// this one's.

// Stage fetches the state that a snapshot of the leader describes, unless this replica has it. The
// work continues when ctx ends before.
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

// Restore takes over the state that a snapshot of another replica describes. Stage has
// fetched it, perhaps before a restart. It runs between two Applies, or before them all.
func (f fsm) Restore(r io.Reader) error {
	s := f.s
	p, err := readSnapshot(r)
	if err != nil {
		return err
	}
	in := s.installer
	if s.store.Tables.Flushed.Load() >= p.AppliedIndex {
		// The state is ahead of the log, and of the snapshot: the log comes once more.
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
		return fmt.Errorf("shard %d: its manifest holds entries up to %d, a snapshot says %d with %d segments, "+
			"which are not here: %w; "+
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
