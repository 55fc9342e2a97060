package walfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// This file cuts off damage at the start of a log if it is in entries that are no longer needed
// (Config.Unneeded). Finished files with only such entries are removed from the list. A file that
// also has later entries is rewritten with only these. The cut takes effect when the list is
// committed: a crash before that leaves everything unchanged.

// CanCut reports whether Open, with index as Config.Unneeded, would cut off the damage and open the
// log. damage is the error of Verify. It changes nothing.
func CanCut(dir string, index uint64, damage error) bool {
	if !isCuttable(index, damage) {
		return false
	}
	state, written, err := readList(dir)
	if err != nil {
		return false
	}
	state.Segments = needed(state.Segments, index)
	if len(state.Segments) > 0 && state.Segments[0].BaseIndex <= index {
		first := state.Segments[0]
		if _, err := checkFile(dir, state, 0); err != nil {
			if _, err := salvage(filepath.Join(dir, segment.FileName(first)), first, index); err != nil {
				return false
			}
			state.Segments = state.Segments[1:]
		}
	}
	_, err = checkFiles(dir, state, written)
	return err == nil
}

// isCuttable reports whether damage is in a file of entries, and some entries are not needed.
func isCuttable(index uint64, damage error) bool {
	corrupt := (*ErrCorrupt)(nil)
	return index > 0 && errors.As(damage, &corrupt) && strings.HasSuffix(corrupt.File, fileSuffix)
}

// needed returns the files of the list that have entries after an index, or may get some.
func needed(files []types.SegmentInfo, index uint64) []types.SegmentInfo {
	files = slices.Clone(files)
	for len(files) > 0 && !files[0].SealTime.IsZero() && files[0].MaxIndex <= index {
		files = files[1:]
	}
	return files
}

// cutDamage cuts off damage in entries up to Config.Unneeded. It returns the remaining list of
// files, which is then on disk. If needed entries are damaged, it returns damage and changes
// nothing.
func (m *meta) cutDamage(dir string, state types.PersistentState, written string,
	damage error,
) (types.PersistentState, error) {
	unneeded := m.cfg.Unneeded
	if !isCuttable(unneeded, damage) {
		return state, damage
	}
	left := needed(state.Segments, unneeded)
	next := types.PersistentState{NextSegmentID: state.NextSegmentID, Segments: left}
	if len(left) > 0 && left[0].BaseIndex <= unneeded {
		if _, err := checkFile(dir, next, 0); err != nil {
			if next, err = m.rewriteFirst(dir, next); err != nil {
				return state, errors.Join(damage, err)
			}
		}
	}
	if _, err := checkFiles(dir, next, written); err != nil {
		return state, damage
	}
	if err := m.CommitState(next); err != nil {
		return state, err
	}
	m.cfg.Logger.Error("the log was damaged in entries that the state already has: these entries were cut off, and no "+
		"data was lost; replace the disk, and run 'cordwood doctor' while the server is stopped",
		"index", unneeded, "error", damage)
	m.cfg.Cut()
	return next, nil
}

// rewriteFirst replaces the first file of the list with one without the entries that are not
// needed. If no entry is left, it removes the file from the list, and the log is empty.
func (m *meta) rewriteFirst(dir string, state types.PersistentState) (types.PersistentState, error) {
	old := state.Segments[0]
	entries, err := salvage(filepath.Join(dir, segment.FileName(old)), old, m.cfg.Unneeded)
	if err != nil {
		return state, err
	}
	if len(entries) == 0 {
		state.Segments = state.Segments[1:]
		return state, nil
	}
	info := types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: m.cfg.Unneeded + 1, MinIndex: m.cfg.Unneeded + 1,
		Codec: old.Codec, CreateTime: time.Now(), SizeLimit: old.SizeLimit,
	}
	// An interrupted earlier attempt may have left the file.
	if err := ignoreMissing(os.Remove(filepath.Join(dir, segment.FileName(info)))); err != nil {
		return state, err
	}
	w, err := m.filer.Create(info)
	if err != nil {
		return state, err
	}
	if err = w.Append(entries); err == nil && !old.SealTime.IsZero() {
		info.SealTime, info.MaxIndex = info.CreateTime, old.MaxIndex
		info.IndexStart, err = w.ForceSeal()
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return state, err
	}
	state.NextSegmentID++
	state.Segments = append([]types.SegmentInfo{info}, state.Segments[1:]...)
	return state, nil
}

// salvage reads the entries after index from a damaged file. It fails unless it is certain that all
// of them were read.
func salvage(path string, si types.SegmentInfo, index uint64) ([]types.LogEntry, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("log %s: the file is missing, and it has the entries after %d", path, index)
	}
	if err != nil {
		return nil, err
	}
	if si.SealTime.IsZero() && int64(len(b)) < int64(si.SizeLimit) {
		return nil, fmt.Errorf("log %s: the file is truncated, and it is unknown what followed", path)
	}
	r := rescue{path: path, file: si, index: index, last: si.BaseIndex - 1}
	if err := r.read(b); err != nil {
		return nil, err
	}
	if want := index + uint64(len(r.entries)); !si.SealTime.IsZero() && want != si.MaxIndex {
		return nil, fmt.Errorf("log %s: the entries after %d are damaged, and %d of them are "+
			"needed", path, want, si.MaxIndex-want)
	}
	return r.entries, nil
}

// rescue is the state of one call of salvage.
type rescue struct {
	path    string
	file    types.SegmentInfo
	index   uint64 // the entries after it are needed
	last    uint64 // the last entry that was read
	entries []types.LogEntry
}

// read takes the entries of every intact append. It finds appends after a damaged one by their
// checksums, and their entries contain their indexes.
func (r *rescue) read(b []byte) error {
	end := int(dataEnd(b))
	for start := 0; start < end; {
		found, next, sound := appendAt(b, start)
		if sound {
			for _, data := range found {
				if err := r.take(data); err != nil {
					return err
				}
			}
			start = next
			continue
		}
		if behind, ok := nextCommit(b, start, end); ok {
			start = behind
			continue
		}
		// No intact append follows. An unfinished append is harmless, and so are entries that are
		// not needed, if their number is known.
		if !isTorn(b, start, end) && (next != end || r.last+uint64(len(found)) > r.index) {
			return fmt.Errorf("log %s: the entries after %d are damaged", r.path, r.last)
		}
		break
	}
	return nil
}

// take keeps an entry if it is needed.
func (r *rescue) take(data []byte) error {
	var l raft.Log
	if err := decodeEntry(&wal.BinaryCodec{}, data, &l); err != nil {
		return fmt.Errorf("log %s: the entry after %d cannot be decoded: %w", r.path, r.last, err)
	}
	r.last = l.Index
	if l.Index <= r.index || !r.file.SealTime.IsZero() && l.Index > r.file.MaxIndex {
		return nil
	}
	if want := r.index + 1 + uint64(len(r.entries)); l.Index != want {
		return fmt.Errorf("log %s: entry %d is damaged, and it is needed", r.path, want)
	}
	r.entries = append(r.entries, types.LogEntry{Index: l.Index, Data: slices.Clone(data)})
	return nil
}
