package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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

// This file cuts damage off the beginning of a WAL, where it lies in entries that nobody
// needs. Finished files of such entries go; a file that also has later ones is written once
// more with those. The one commit of the list of files is the point from which on it counts:
// a crash before it leaves everything as it was.

// needless is the index up to which entries of the log are not needed: the newest snapshot
// covers them, the state holds what that stands for, and there is no other member that they
// could be sent to, or that this one could be made anew from. 0 if that is not so.
func needless(cfg Config, newest *snapshotMeta, command uint64) uint64 {
	durable, ok := cfg.FSM.(Durable)
	if !ok {
		return 0
	}
	return covered(newest, cfg.NodeID, durable.AppliedIndex(), command)
}

func covered(newest *snapshotMeta, nodeID string, applied, command uint64) uint64 {
	if newest == nil || applied < command {
		return 0
	}
	if servers := newest.Configuration.Servers; len(servers) != 1 || string(servers[0].ID) != nodeID {
		return 0
	}
	return newest.Index
}

// WillCut tells whether Open would cut damage that Verify found in the log of a member off,
// rather than refuse to open. applied is what the state machine holds. It changes
// nothing.
func WillCut(dir, nodeID string, applied uint64, damage error) bool {
	newest, command, err := verifySnapshots(filepath.Join(dir, "snapshots"), nil)
	if err != nil {
		return false
	}
	index := covered(newest, nodeID, applied, command)
	if !cuttable(index, damage) {
		return false
	}
	dir = filepath.Join(dir, "log")
	state, written, err := readWALMeta(dir)
	if err != nil {
		return false
	}
	state.Segments = behind(state.Segments, index)
	if len(state.Segments) > 0 && state.Segments[0].BaseIndex <= index {
		first := state.Segments[0]
		if _, err := checkWALSegment(dir, state, 0); err != nil {
			if _, err := salvage(filepath.Join(dir, segment.FileName(first)), first, index); err != nil {
				return false
			}
			state.Segments = state.Segments[1:]
		}
	}
	_, err = checkWAL(dir, state, written)
	return err == nil
}

// cuttable tells whether damage may be cut off: it is in a file of entries.
func cuttable(index uint64, damage error) bool {
	corrupt := (*ErrCorrupt)(nil)
	return index > 0 && errors.As(damage, &corrupt) && strings.HasSuffix(corrupt.File, walSuffix)
}

// behind are the files of the list that have entries behind an index, or may get some.
func behind(files []types.SegmentInfo, index uint64) []types.SegmentInfo {
	files = slices.Clone(files)
	for len(files) > 0 && !files[0].SealTime.IsZero() && files[0].MaxIndex <= index {
		files = files[1:]
	}
	return files
}

// cutDamage takes damage in entries up to m.needless out of the log. It returns the list of
// files that is left, which is on disk then, or damage itself, and has changed nothing, if
// entries are concerned that are needed.
func (m *walMeta) cutDamage(dir string, state types.PersistentState, written string, damage error) (types.PersistentState, error) {
	if !cuttable(m.needless, damage) {
		return state, damage
	}
	left := behind(state.Segments, m.needless)
	next := types.PersistentState{NextSegmentID: state.NextSegmentID, Segments: left}
	if len(left) > 0 && left[0].BaseIndex <= m.needless {
		if _, err := checkWALSegment(dir, next, 0); err != nil {
			if next, err = m.rewrite(dir, next); err != nil {
				return state, errors.Join(damage, err)
			}
		}
	}
	if _, err := checkWAL(dir, next, written); err != nil {
		return state, damage
	}
	if err := m.CommitState(next); err != nil {
		return state, err
	}
	m.guard.logger.Error("the log was damaged, in entries that the state holds and nobody needs: they were cut off, and nothing is lost; look at the disk, and run 'cordwood doctor' when the server is stopped",
		"index", m.needless, "error", damage)
	if m.cut != nil {
		m.cut()
	}
	return next, nil
}

// rewrite replaces the first file of the list by one without the entries that are not
// needed. If that leaves none, the file is left out, and the log is empty.
func (m *walMeta) rewrite(dir string, state types.PersistentState) (types.PersistentState, error) {
	old := state.Segments[0]
	sealed := !old.SealTime.IsZero()
	entries, err := salvage(filepath.Join(dir, segment.FileName(old)), old, m.needless)
	if err != nil {
		return state, err
	}
	if len(entries) == 0 {
		state.Segments = state.Segments[1:]
		return state, nil
	}
	info := types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: m.needless + 1, MinIndex: m.needless + 1,
		Codec: old.Codec, CreateTime: time.Now(), SizeLimit: old.SizeLimit,
	}
	// An attempt that a crash cut short.
	if err := ignoreMissing(os.Remove(filepath.Join(dir, segment.FileName(info)))); err != nil {
		return state, err
	}
	w, err := m.filer.Create(info)
	if err != nil {
		return state, err
	}
	if err = w.Append(entries); err == nil && sealed {
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

// salvage reads the entries behind index from a damaged file. It is an error if not all of
// them are there, or if that is not known.
func salvage(path string, si types.SegmentInfo, index uint64) ([]types.LogEntry, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("log %s: it is missing, and entries behind %d are in it", path, index)
	}
	if err != nil {
		return nil, err
	}
	if si.SealTime.IsZero() && int64(len(b)) < int64(si.SizeLimit) {
		return nil, fmt.Errorf("log %s: it was cut, and nobody knows what was behind", path)
	}
	var entries []types.LogEntry
	codec := &wal.BinaryCodec{}
	end, last := int(dataEnd(b)), si.BaseIndex-1 // the last entry that was come by
	take := func(data []byte) error {
		var l raft.Log
		if err := decodeWALEntry(codec, data, &l); err != nil {
			return fmt.Errorf("log %s: the entry after %d cannot be decoded: %w", path, last, err)
		}
		last = l.Index
		if l.Index <= index || !si.SealTime.IsZero() && l.Index > si.MaxIndex {
			return nil
		}
		if want := index + 1 + uint64(len(entries)); l.Index != want {
			return fmt.Errorf("log %s: entry %d is damaged, and it is needed", path, want)
		}
		entries = append(entries, types.LogEntry{Index: l.Index, Data: slices.Clone(data)})
		return nil
	}
	for start := 0; start < end; {
		found, next, sound := commitAt(b, start)
		if sound {
			for _, data := range found {
				if err := take(data); err != nil {
					return nil, err
				}
			}
			start = next
			continue
		}
		if start, sound = nextCommit(b, start, end); sound {
			continue
		}
		// There is nothing sound behind it. An append that was not finished does no harm, and
		// neither do entries that are not needed, if it is known how many there are.
		if !(&walScan{dataEnd: int64(end)}).torn(b, start) && (next != end || last+uint64(len(found)) > index) {
			return nil, fmt.Errorf("log %s: the entries behind %d are damaged", path, last)
		}
		break
	}
	if want := index + uint64(len(entries)); !si.SealTime.IsZero() && want != si.MaxIndex {
		return nil, fmt.Errorf("log %s: the entries behind %d are damaged, and %d are needed", path, want, si.MaxIndex-want)
	}
	return entries, nil
}

// commitAt reads the commit that begins at an offset: its entries, and the offset behind
// it. Those are told also if the checksum is wrong; next is 0 if the frames make no sense.
func commitAt(b []byte, start int) (entries [][]byte, next int, sound bool) {
	at := start
	if start == 0 {
		at = walHeader
	}
	for {
		typ, size, why := walFrameAt(b, at)
		if typ == 0 || why != "" {
			return entries, 0, false
		}
		if typ == walCommit {
			want := binary.LittleEndian.Uint32(b[at+4:])
			return entries, at + walFrame, crc32.Checksum(b[start:at], castagnoli) == want
		}
		if typ == walEntry {
			n := int(binary.LittleEndian.Uint32(b[at+4:]))
			entries = append(entries, b[at+walFrame:at+walFrame+n])
		}
		at += size
	}
}
