package replica

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

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
	if v.Snapshot, v.SnapshotCommand, err = verifySnapshots(filepath.Join(dir, "snapshots"), snapshot); err != nil {
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

// verifySnapshots checks every snapshot and returns what the newest one covers, and
// the last command in it.
func verifySnapshots(dir string, content func(io.Reader) error) (newest, command uint64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	path := ""
	for _, e := range entries {
		if !e.IsDir() || strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		meta, err := verifySnapshot(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(err, ErrUnsupported):
			return 0, 0, fmt.Errorf("snapshot %s: %w", filepath.Join(dir, e.Name()), err)
		case err != nil:
			return 0, 0, damagedf("snapshot %s: %w; restore the directory from a replica or a backup", filepath.Join(dir, e.Name()), err)
		}
		if meta.Index >= newest {
			newest, path = meta.Index, filepath.Join(dir, e.Name())
		}
	}
	if path == "" {
		return newest, 0, nil
	}
	f, err := os.Open(filepath.Join(path, "state.bin"))
	if err != nil {
		return newest, 0, err
	}
	defer f.Close()
	h, err := readHeader(f)
	if err == nil && content != nil {
		err = content(f)
	}
	if err != nil {
		return newest, h.index, fmt.Errorf("snapshot %s: %w", path, err)
	}
	return newest, h.index, nil
}

// sweepSnapshots removes what crashes left of snapshots that were not finished; raft
// leaves them where they are.
func sweepSnapshots(dir string) error {
	unfinished, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	for _, path := range unfinished {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// snapshotMeta is what raft's file snapshot store keeps beside a snapshot.
type snapshotMeta struct {
	raft.SnapshotMeta
	CRC []byte
}

// verifySnapshot compares a snapshot with what raft noted of it, and that with the
// name of its directory, which says some of it again.
func verifySnapshot(dir string) (m snapshotMeta, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return m, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields() // a name that was changed would leave its field out
	if err := dec.Decode(&m); err != nil {
		return m, fmt.Errorf("meta.json: %w", err)
	}
	var term, index uint64
	if n, err := fmt.Sscanf(filepath.Base(dir), "%d-%d-", &term, &index); n != 2 || err != nil || term != m.Term || index != m.Index || m.ID != filepath.Base(dir) {
		return m, fmt.Errorf("meta.json: it is of term %d, index %d, id %q", m.Term, m.Index, m.ID)
	}
	// Nothing sums up what raft notes of the members. Another name of a member would have it
	// wait for votes of a node that there is not; but each name is there twice.
	if !utf8.Valid(b) {
		return m, damagedf("meta.json is damaged: it is no text")
	}
	for _, s := range m.Configuration.Servers {
		if string(s.ID) != string(s.Address) {
			return m, damagedf("meta.json is damaged: it has a member %q with the address %q, and both are the id of a node", s.ID, s.Address)
		}
	}
	if m.Version > raft.SnapshotVersionMax {
		return m, fmt.Errorf("raft's version is %d: %w", m.Version, ErrUnsupported)
	}
	f, err := os.Open(filepath.Join(dir, "state.bin"))
	if err != nil {
		return m, err
	}
	defer f.Close()
	h := crc64.New(crc64.MakeTable(crc64.ECMA))
	n, err := io.Copy(h, f)
	if err != nil {
		return m, err
	}
	if n != m.Size || string(h.Sum(nil)) != string(m.CRC) {
		return m, damagedf("state.bin is damaged: it has %d bytes with checksum %x, want %d with %x", n, h.Sum(nil), m.Size, m.CRC)
	}
	return m, nil
}

// InspectSnapshot prints a snapshot's directory as text: what raft notes of it, whether
// its checksum is right, the header, and the content if it is text.
func InspectSnapshot(w io.Writer, dir string) error {
	m, err := verifySnapshot(dir)
	if err != nil {
		return fmt.Errorf("inspect snapshot %s: %w", dir, err)
	}
	f, err := os.Open(filepath.Join(dir, "state.bin"))
	if err != nil {
		return fmt.Errorf("inspect snapshot: %w", err)
	}
	defer f.Close()
	h, err := readHeader(f)
	if err != nil {
		return fmt.Errorf("inspect snapshot %s: %w", dir, err)
	}
	_, err = fmt.Fprintf(w, "snapshot %s: index %d, term %d, %d bytes, checksum %x is right\nlast command %d of term %d\n", m.ID, m.Index, m.Term, m.Size, m.CRC, h.index, h.term)
	for _, s := range m.Configuration.Servers {
		if err == nil {
			_, err = fmt.Fprintf(w, "  %s %s at %s\n", s.Suffrage, s.ID, s.Address)
		}
	}
	first := make([]byte, 1)
	if n, _ := f.Read(first); err != nil || n == 0 || first[0] != '{' {
		return err
	}
	if _, err := w.Write(first); err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return err
}
