package raftlog

import (
	"fmt"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/damage"
	"cordwood/shard/replica/raftlog/snapshot"
)

// FinishInstall clears the log if a crash came after a snapshot of another member was stored and
// before raft cleared the log. Otherwise old entries up to the snapshot's index, which may differ
// from the snapshot's history, would keep raft from appending the entries after it.
func FinishInstall(log *Log, snaps *snapshot.Store) error {
	newest, err := snaps.Newest()
	if err != nil || newest == nil {
		return err
	}
	first, last, err := log.Bounds()
	if err != nil || last == 0 || first > newest.Index {
		return err
	}
	if last >= newest.Index {
		var l raft.Log
		if err := log.GetLog(newest.Index, &l); err != nil {
			return err
		}
		if l.Term == newest.Term {
			return nil
		}
	}
	if err := log.DeleteRange(first, last); err != nil {
		return fmt.Errorf("clear the log before an installed snapshot: %w", err)
	}
	return nil
}

// CheckContinuity returns an error that matches damage.ErrDamaged if some entries are in neither
// the log nor the state, which has entries up to applied. Entries appended after such a gap would
// be skipped as entries that the state already has.
func CheckContinuity(log *Log, snaps *snapshot.Store, applied uint64) error {
	first, last, err := log.Bounds()
	if err != nil {
		return err
	}
	newest, err := snaps.Newest()
	if err != nil {
		return err
	}
	covered := uint64(0) // by the newest snapshot
	if newest != nil {
		covered = newest.Index
	}
	switch {
	case last > 0 && first > covered+1:
		return damage.Errorf("the log begins with entry %d and the newest snapshot ends with entry %d: "+
			"the entries between are lost; restore the directory from a replica or a backup", first, covered)
	case max(last, covered) < applied:
		return damage.Errorf("the state has entries up to %d, but the log ends with entry %d: its end is lost; "+
			"restore the directory from a replica or a backup", applied, max(last, covered))
	}
	if last == 0 {
		return nil
	}
	term, err := log.GetUint64(currentTerm)
	if err == nil && term == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return damage.Errorf("the log has entries up to %d but no current term: its stable values are lost or damaged "+
			"(%w); restore the directory from a replica or a backup", last, err)
	}
	return nil
}
