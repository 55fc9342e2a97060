package meta

import (
	"bytes"
	"time"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// After the log: what users save.

const (
	// linkUnused is how long links are kept that are not read.
	linkUnused = 90 * 24 * time.Hour
	// linkTouched is how much later a reading must be to be noted.
	linkTouched = 24 * time.Hour
)

// applyPutSaved stores something new, or in the place of what its owner sees.
func applyPutSaved(tx *catalog.Tx, cmd *metapb.PutSaved, now int64) (*metapb.Result, error) {
	s := &metapb.Saved{
		Kind: cmd.Saved.Kind, Name: cmd.Saved.Name, Owner: cmd.Saved.Owner, Shared: cmd.Saved.Shared,
		UpdatedUnixNano: now, UsedUnixNano: now, Size: uint32(len(cmd.Value)),
	}
	old, err := replacedSaved(tx, cmd)
	if err != nil {
		return nil, err
	}
	if old != nil {
		s.Owner = old.Owner
	}
	there, err := tx.Saved.Get(s.Kind, s.Name, s.Owner, s.Shared)
	if err != nil {
		return nil, err
	}
	if there != nil && there.Version != old.GetVersion() {
		if s.Kind == SavedLink && bytes.Equal(tx.Saved.Value(there), cmd.Value) {
			return touchSaved(tx, there, now) // its name says what it is
		}
		return nil, errs.New(errs.IllegalState, "A saved %s %s exists already, as version %d", s.Kind, s.Name, there.Version)
	}
	expired, err := checkSavedRoom(tx, s, old, now)
	if err != nil {
		return nil, err
	}
	for _, e := range expired {
		if err := tx.Saved.Delete(e); err != nil {
			return nil, err
		}
	}
	if old != nil && there == nil { // it is shared now, or not any more
		if err := tx.Saved.Delete(old); err != nil {
			return nil, err
		}
	}
	if s.Version, err = tx.Saved.NextVersion(); err != nil {
		return nil, err
	}
	return &metapb.Result{Saved: s}, tx.Saved.Put(s, cmd.Value)
}

// replacedSaved returns what a command replaces; nil if that is nothing.
func replacedSaved(tx *catalog.Tx, cmd *metapb.PutSaved) (*metapb.Saved, error) {
	if cmd.IfVersion == 0 {
		return nil, nil
	}
	s := cmd.Saved
	return changeableSaved(tx, s.Kind, s.Name, s.Owner, cmd.IfVersion, cmd.Manage)
}

// changeableSaved returns what a user sees, if it has the version, and if they may change it.
func changeableSaved(
	tx *catalog.Tx, kind, name, owner string, version uint64, manage bool,
) (*metapb.Saved, error) {
	s, err := tx.Saved.Visible(kind, name, owner)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return nil, errs.New(errs.IllegalState, "There is no saved %s %s any more", kind, name)
	case s.Version != version:
		return nil, errs.New(errs.IllegalState, "The saved %s %s was changed meanwhile: it has version %d, and not %d; "+
			"read it again", kind, name, s.Version, version)
	case s.Owner != owner && !manage:
		return nil, errs.New(errs.PermissionDenied, "The saved %s %s is shared by another user: to change it needs the "+
			"right to store pipelines", kind, name)
	}
	return s, nil
}

// checkSavedRoom refuses what would go beyond the caps. It returns links that are not read, which make room.
func checkSavedRoom(tx *catalog.Tx, s, old *metapb.Saved, now int64) (expired []*metapb.Saved, err error) {
	refuse := func(format string, args ...any) error {
		return errs.New(errs.InvalidArguments, format+"; delete some", args...)
	}
	totals, owned := tx.Saved.Totals(), 0
	if old == nil {
		all, err := tx.Saved.From("", nil, catalog.MaxSaved+1)
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			switch {
			case other.Kind == SavedLink && now-other.UsedUnixNano > int64(linkUnused):
				expired = append(expired, other)
				totals.Count--
				totals.Bytes -= uint64(other.Size)
			case other.Owner == s.Owner && s.Owner != "":
				owned++
			}
		}
	}
	after := totals.Bytes + uint64(s.Size) - uint64(old.GetSize())
	switch {
	case old == nil && totals.Count >= catalog.MaxSaved:
		return nil, refuse("Save %s %s: %d things are saved, the most that are allowed", s.Kind, s.Name, totals.Count)
	case old == nil && owned >= catalog.MaxSavedOwner:
		return nil, refuse("Save %s %s: user %s has saved %d things, the most that are allowed", s.Kind, s.Name, s.Owner,
			owned)
	case after > catalog.MaxAllSavedBytes && s.Size > old.GetSize():
		return nil, refuse("Save %s %s: all saved values would have %d bytes, at most %d are allowed", s.Kind, s.Name, after,
			catalog.MaxAllSavedBytes)
	}
	return expired, nil
}

// applyDropSaved removes what a user sees.
func applyDropSaved(tx *catalog.Tx, cmd *metapb.DropSaved) (*metapb.Result, error) {
	s, err := changeableSaved(tx, cmd.Kind, cmd.Name, cmd.Owner, cmd.IfVersion, cmd.Manage)
	if err != nil {
		return nil, err
	}
	return &metapb.Result{Saved: s}, tx.Saved.Delete(s)
}

// applyTouchSaved notes that a shared thing was read.
func applyTouchSaved(tx *catalog.Tx, cmd *metapb.TouchSaved, now int64) (*metapb.Result, error) {
	s, err := tx.Saved.Get(cmd.Kind, cmd.Name, "", true)
	if err != nil || s == nil {
		return &metapb.Result{}, err
	}
	return touchSaved(tx, s, now)
}

// touchSaved notes that s was read, unless that was noted lately.
func touchSaved(tx *catalog.Tx, s *metapb.Saved, now int64) (*metapb.Result, error) {
	if now-s.UsedUnixNano < int64(linkTouched) {
		return &metapb.Result{Saved: s}, nil
	}
	s.UsedUnixNano = now
	return &metapb.Result{Saved: s}, tx.Saved.Touch(s)
}

// applyRestoreSaved stores something of a backup, unless something as new is there.
func applyRestoreSaved(tx *catalog.Tx, cmd *metapb.RestoreSaved, now int64) (*metapb.Result, error) {
	s := cmd.Saved
	there, err := tx.Saved.Get(s.Kind, s.Name, s.Owner, s.Shared)
	if err != nil {
		return nil, err
	}
	if there != nil && there.Version >= s.Version {
		return &metapb.Result{Saved: there}, nil
	}
	expired, err := checkSavedRoom(tx, s, there, now)
	if err != nil {
		return nil, err
	}
	for _, e := range expired {
		if err := tx.Saved.Delete(e); err != nil {
			return nil, err
		}
	}
	if err := tx.Saved.ReserveVersion(s.Version); err != nil {
		return nil, err
	}
	s.UsedUnixNano = now
	return &metapb.Result{Saved: s}, tx.Saved.Put(s, cmd.Value)
}
