package walfile

import (
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/types"

	"cordwood/shard/replica/raftlog/damage"
	"cordwood/shard/replica/raftlog/guard"
)

// meta is the file in which the library keeps the list of segment files and raft's values.
type meta struct {
	metadb.BoltMetaDB
	cfg *Config
	// filer creates segment files.
	filer types.SegmentFiler
	// finished holds the files that were finished when the list was read.
	finished []Finished
}

var _ types.MetaStore = (*meta)(nil)

// Load checks the log, and then reads the list of segment files. Afterwards the library cuts and
// removes files according to the list. Load works in this order:
//
//  1. It checks the pages and values of the file with the list (boltfile).
//  2. It compares the list with the segment files, and checks every byte that was committed to
//     them.
//  3. If that fails, and only entries that are not needed are damaged, it cuts them off and checks
//     once more.
//  4. It overwrites an unfinished append at the end with zeros.
//  5. If a file was finished without a successor in the list, it adds the successor.
//
// Steps 1 and 2 change nothing.
func (m *meta) Load(dir string) (types.PersistentState, error) {
	state, err := m.load(dir)
	if err != nil {
		return state, err
	}
	for _, si := range state.Segments {
		if !si.SealTime.IsZero() {
			//nolint:gosec // an offset in a file
			m.finished = append(m.finished, Finished{Last: si.MaxIndex, Bytes: int64(si.IndexStart)})
		}
	}
	return state, nil
}

func (m *meta) load(dir string) (types.PersistentState, error) {
	_, written, err := readList(dir)
	if err != nil {
		return types.PersistentState{}, err
	}
	state, err := m.BoltMetaDB.Load(dir)
	if err != nil {
		return state, err
	}
	tail, err := checkFiles(dir, state, written)
	if err != nil {
		if state, err = m.cutDamage(dir, state, written, err); err != nil {
			return state, err
		}
		if tail, err = checkFiles(dir, state, written); err != nil {
			return state, err
		}
	}
	if tail == nil {
		return state, nil
	}
	if err := tail.clearTorn(); err != nil {
		return state, err
	}
	if tail.sealed {
		return m.addTail(state, tail)
	}
	return state, nil
}

// noteWritten records that entries were written to a segment file.
func (m *meta) noteWritten(name string) error {
	return m.SetStable([]byte(keyWritten), damage.SealValue([]byte(keyWritten), []byte(name)))
}

// addTail completes a change of the tail that a crash interrupted. The file was finished, but the
// list does not record it, and the library would refuse every append to it.
func (m *meta) addTail(state types.PersistentState, tail *scan) (types.PersistentState, error) {
	last := &state.Segments[len(state.Segments)-1]
	last.SealTime = last.CreateTime
	last.MaxIndex = last.BaseIndex + uint64(tail.entries) - 1
	last.IndexStart = tail.indexStart
	state.Segments = append(state.Segments, types.SegmentInfo{
		ID: state.NextSegmentID, BaseIndex: last.MaxIndex + 1, MinIndex: last.MaxIndex + 1,
		Codec: last.Codec, CreateTime: last.CreateTime, SizeLimit: last.SizeLimit,
	})
	state.NextSegmentID++
	return state, m.CommitState(state)
}

// CommitState replaces the list of segment files. The library also calls it in the background.
func (m *meta) CommitState(state types.PersistentState) error {
	const what = "write the list of log files"
	return m.cfg.Guard.Write(what, func() error {
		return m.cfg.Guard.WhileFull(what, guard.WriteFull, func() error { return m.BoltMetaDB.CommitState(state) })
	})
}

// SetStable stores one of raft's values.
func (m *meta) SetStable(key, value []byte) error {
	return m.cfg.Guard.WhileFull("write "+string(key), guard.WriteFull, func() error {
		return m.BoltMetaDB.SetStable(key, value)
	})
}
