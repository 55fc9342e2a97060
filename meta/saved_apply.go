package meta

import (
	"bytes"
	"slices"
	"time"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/savedrules"
)

// This file applies commands about values that users save.

// linkUnused is the time that a link is kept after it was last read.
const linkUnused = 90 * 24 * time.Hour

// applyPutSaved stores a value, and replaces the one that its owner sees.
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
		if s.Kind == savedrules.Link && bytes.Equal(tx.Saved.Value(there), cmd.Value) {
			return touchSaved(tx, there, now) // a link's name determines its value
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
	if old != nil && there == nil { // it changed between shared and private
		if err := tx.Saved.Delete(old); err != nil {
			return nil, err
		}
	}
	if s.Version, err = tx.Saved.NextVersion(); err != nil {
		return nil, err
	}
	return &metapb.Result{Saved: s}, tx.Saved.Put(s, cmd.Value)
}

// replacedSaved returns the value that a command replaces, or nil.
func replacedSaved(tx *catalog.Tx, cmd *metapb.PutSaved) (*metapb.Saved, error) {
	if cmd.IfVersion == 0 {
		return nil, nil
	}
	s := cmd.Saved
	return changeableSaved(tx, s.Kind, s.Name, s.Owner, cmd.IfVersion, cmd.Manage)
}

// changeableSaved returns the value that a user sees if it has the given version and the user may
// change it.
func changeableSaved(
	tx *catalog.Tx, kind, name, owner string, version uint64, manage bool,
) (*metapb.Saved, error) {
	s, err := tx.Saved.Visible(kind, name, owner)
	switch {
	case err != nil:
		return nil, err
	case s == nil:
		return nil, errs.New(errs.IllegalState, "The saved %s %s no longer exists", kind, name)
	case s.Version != version:
		return nil, errs.New(errs.IllegalState, "The saved %s %s was changed meanwhile: it has version %d, and not %d; "+
			"read it again", kind, name, s.Version, version)
	case s.Owner != owner && !manage:
		return nil, errs.New(errs.PermissionDenied, "The saved %s %s is shared by %s: use another name, or ask for the "+
			"privilege ACCESS, which changing it needs", kind, name, s.Owner)
	}
	return s, nil
}

// checkSavedRoom refuses a value that would exceed the limits. It returns unused links, which are deleted to make
// room.
func checkSavedRoom(tx *catalog.Tx, s, old *metapb.Saved, now int64) (expired []*metapb.Saved, err error) {
	refuse := func(format string, args ...any) error {
		return errs.New(errs.InvalidArguments, "Save %s %s: "+format+"; delete some",
			append([]any{s.Kind, s.Name}, args...)...)
	}
	grows := s.Size > old.GetSize()
	if old != nil && !grows {
		return nil, nil
	}
	all, owned, expired, err := savedRoom(tx, s.Owner, now)
	if err != nil {
		return nil, err
	}
	more := uint64(s.Size) - uint64(old.GetSize()) // added to what old is a part of
	switch {
	case old == nil && all.Count >= catalog.MaxSaved:
		return nil, refuse("%d values are saved, the maximum", all.Count)
	case old == nil && s.Owner != "" && owned.Count >= catalog.MaxSavedOwner:
		return nil, refuse("user %s has saved %d values, the maximum", s.Owner, owned.Count)
	case grows && s.Owner != "" && owned.Bytes+more > catalog.MaxOwnerSavedBytes:
		return nil, refuse("all values of user %s would have %d bytes, at most %d are allowed", s.Owner, owned.Bytes+more,
			catalog.MaxOwnerSavedBytes)
	case grows && all.Bytes+more > catalog.MaxAllSavedBytes:
		return nil, refuse("all saved values would have %d bytes, at most %d are allowed", all.Bytes+more,
			catalog.MaxAllSavedBytes)
	}
	return slices.DeleteFunc(expired, func(e *metapb.Saved) bool { return e.Version == old.GetVersion() }), nil
}

// savedRoom counts the values of all owners and of one owner. Unused links have expired and are not counted.
func savedRoom(
	tx *catalog.Tx, owner string, now int64,
) (all, owned catalog.SavedTotals, expired []*metapb.Saved, err error) {
	list, err := tx.Saved.From("", nil, catalog.MaxSaved+1)
	for _, s := range list {
		if s.Kind == savedrules.Link && now-s.UsedUnixNano > int64(linkUnused) {
			expired = append(expired, s)
			continue
		}
		all.Count++
		all.Bytes += uint64(s.Size)
		if s.Owner == owner {
			owned.Count++
			owned.Bytes += uint64(s.Size)
		}
	}
	return all, owned, expired, err
}

// applyDropSaved removes the value that a user sees.
func applyDropSaved(tx *catalog.Tx, cmd *metapb.DropSaved) (*metapb.Result, error) {
	s, err := changeableSaved(tx, cmd.Kind, cmd.Name, cmd.Owner, cmd.IfVersion, cmd.Manage)
	if err != nil {
		return nil, err
	}
	return &metapb.Result{Saved: s}, tx.Saved.Delete(s)
}

// applyTouchSaved records that a shared value was read.
func applyTouchSaved(tx *catalog.Tx, cmd *metapb.TouchSaved, now int64) (*metapb.Result, error) {
	s, err := tx.Saved.Get(cmd.Kind, cmd.Name, "", true)
	if err != nil || s == nil {
		return &metapb.Result{}, err
	}
	return touchSaved(tx, s, now)
}

// touchSaved records that s was read, unless a read was recorded lately.
func touchSaved(tx *catalog.Tx, s *metapb.Saved, now int64) (*metapb.Result, error) {
	if now-s.UsedUnixNano < int64(savedrules.UseInterval) {
		return &metapb.Result{Saved: s}, nil
	}
	s.UsedUnixNano = now
	return &metapb.Result{Saved: s}, tx.Saved.Touch(s)
}

// applyRestoreSaved stores a value from a backup, unless a value of the same or a newer version exists.
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
