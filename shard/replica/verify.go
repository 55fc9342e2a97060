package replica

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/types"
	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Verified is what VerifyLog read.
type Verified struct {
	Kind LogKind
	// First and Last are the indexes of the log; 0 if it is empty.
	First, Last uint64
	// Torn is the length in bytes of an append that was not finished; it is cut off when
	// the log is opened.
	Torn int64
	// Snapshot is the index that the newest snapshot covers, and SnapshotCommand that of
	// the last command in it: raft's own entries take indexes too.
	Snapshot, SnapshotCommand uint64
}

// Verify reads log and snapshots of the replica in dir from the first byte to the
// last, without changing anything, and checks that they continue each other. command
// gets the data of each command in the log, snapshot the content of the newest
// snapshot. It must not run beside a process that has the replica open.
func Verify(dir string, command func(index uint64, data []byte) error, snapshot func(io.Reader) error) (v Verified, err error) {
	newest, lastCommand, err := verifySnapshots(filepath.Join(dir, "snapshots"), snapshot)
	if newest != nil {
		v.Snapshot, v.SnapshotCommand = newest.Index, lastCommand
	}
	if err != nil {
		return v, err
	}
	logDir := filepath.Join(dir, "log")
	if _, serr := os.Stat(filepath.Join(logDir, boltFile)); serr == nil {
		v.Kind = Bolt
		if err = checkBuckets(filepath.Join(logDir, boltFile), "conf", "logs"); err == nil {
			err = verifyBoltLog(filepath.Join(logDir, boltFile), &v, command)
		}
	} else {
		err = verifyWAL(logDir, &v, command)
	}
	if err == nil && v.Last > 0 && v.First > v.Snapshot+1 {
		err = fmt.Errorf("log %s begins with entry %d, and the newest snapshot ends with %d: those between are lost", logDir, v.First, v.Snapshot)
	}
	return v, err
}

func verifyWAL(dir string, v *Verified, command func(uint64, []byte) error) error {
	if err := checkWALMeta(dir); err != nil {
		return err
	}
	state, written, err := readWALMeta(dir)
	if err != nil {
		return err
	}
	tail, err := checkWAL(dir, state, written)
	if err != nil {
		return err
	}
	if tail != nil {
		v.Torn = tail.tornBytes()
	}
	codec := &wal.BinaryCodec{}
	for _, si := range state.Segments {
		path := filepath.Join(dir, fmt.Sprintf("%020d-%016x%s", si.BaseIndex, si.ID, walSuffix))
		_, err := scanWAL(path, func(index uint64, _ int64, b []byte) error {
			var l raft.Log
			if err := decodeWALEntry(codec, b, &l); err != nil || l.Index != index {
				return fmt.Errorf("log %s: entry %d cannot be decoded: it says that it is %d: %w", path, index, l.Index, err)
			}
			if index < si.MinIndex || !si.SealTime.IsZero() && index > si.MaxIndex {
				return nil // cut off, or taken back
			}
			if v.First == 0 {
				v.First = index
			}
			v.Last = index
			if l.Type != raft.LogCommand || command == nil {
				return nil
			}
			return command(index, l.Data)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// decodeWALEntry decodes an entry whose checksum is right; the codec panics on what it
// did not write.
func decodeWALEntry(codec *wal.BinaryCodec, b []byte, l *raft.Log) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return codec.Decode(b, l)
}

// readWALMeta reads the list of segments, and which of them was last written, without
// opening the file for writing.
func readWALMeta(dir string) (state types.PersistentState, written string, err error) {
	path := filepath.Join(dir, metadb.FileName)
	err = WalkBolt(path, func(bucket string, key, value []byte) error {
		switch {
		case key == nil:
		case bucket == metadb.MetaBucket:
			// A name that is not known is one that was damaged: without it the library would
			// take the list for empty, and begin a new log.
			dec := json.NewDecoder(bytes.NewReader(value))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&state); err != nil || string(key) != metadb.MetaKey {
				return &ErrCorruptBolt{File: path, What: fmt.Sprintf("the list of log files, under %q, cannot be read: %v", key, err)}
			}
		case bucket == metadb.StableBucket:
			val, err := cutValueSum(key, value)
			if string(key) == keyWritten {
				written = string(val)
			}
			return err
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return state, written, err
}

// verifyBoltLog reads the values and entries of a log whose pages are sound.
func verifyBoltLog(path string, v *Verified, command func(uint64, []byte) error) (err error) {
	begun := false
	err = WalkBolt(path, func(bucket string, key, value []byte) error {
		begun = true
		if key == nil || bucket != "conf" {
			return nil
		}
		_, err := cutValueSum(key, value)
		return err
	})
	if err != nil {
		return fmt.Errorf("log %s: %w", path, err)
	}
	if !begun {
		return nil // made by a process that ended before it made the buckets
	}
	store, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{ReadOnly: true, Timeout: 2 * time.Second}})
	if errors.Is(err, bolterrors.ErrTimeout) {
		err = fmt.Errorf("%w: another process has it open", err)
	}
	if err != nil {
		return fmt.Errorf("log %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if v.First, err = store.FirstIndex(); err != nil {
		return err
	}
	if v.Last, err = store.LastIndex(); err != nil || v.Last == 0 {
		return err
	}
	for i := v.First; i <= v.Last; i++ {
		var l raft.Log
		if err := store.GetLog(i, &l); err != nil {
			return damagedf("log %s: entry %d is damaged: %w; restore the directory from a replica or a backup", path, i, err)
		}
		if err := checkSum(&l); err != nil {
			return fmt.Errorf("log %s: %w", path, err)
		}
		if l.Type == raft.LogCommand && command != nil {
			if err := command(i, l.Data); err != nil {
				return err
			}
		}
	}
	return nil
}
