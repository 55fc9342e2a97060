package replica

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/crc64"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"cordwood/shard/vfs"
)

// snapshotStore keeps raft's snapshots, each with a checksum of what raft notes beside it:
// raft's own covers the content only. It lies in the header of the content, which goes to other
// members as it is; what they note of it is the same.
type snapshotStore struct {
	raft.SnapshotStore
	// installing is the index of the snapshot of another member that raft is to install, and
	// outdated tells whether this member has come further meanwhile.
	installing atomic.Uint64
	outdated   func(index, term uint64) (bool, error)
	history    *history

	dir    string
	remove func(dir string) error // os.RemoveAll
}

// keptSnapshots is how many snapshots there are: the one before is there while the newest is sent.
const keptSnapshots = 2

// snapshotSink is a snapshot that is written.
type snapshotSink struct {
	raft.SnapshotSink
	store *snapshotStore
	sum   uint32 // of what raft notes
}

// Close makes the snapshot one of the store, and removes those that are no longer kept.
func (s *snapshotSink) Close() error {
	if err := s.SnapshotSink.Close(); err != nil {
		return err
	}
	return s.store.reap()
}

func openSnapshots(dir string, logger hclog.Logger) (*snapshotStore, error) {
	// Raft would remove old ones file by file, where they are: see reap.
	files, err := raft.NewFileSnapshotStoreWithLogger(dir, math.MaxInt, logger)
	return &snapshotStore{SnapshotStore: files, dir: filepath.Join(dir, "snapshots"), remove: os.RemoveAll}, err
}

// reap removes the snapshots that are no longer kept. Each gets the name of an unfinished one first: a
// crash while its files are removed would else leave a snapshot without some of them, which is damage
// that no replica opens with.
func (s *snapshotStore) reap() error {
	list, err := s.List()
	if err != nil || len(list) <= keptSnapshots {
		return err
	}
	for _, old := range list[keptSnapshots:] {
		from := filepath.Join(s.dir, old.ID)
		to := from + ".tmp"
		if err := os.Rename(from, to); err != nil {
			return err
		}
		if err := vfs.OS.SyncDir(s.dir); err != nil {
			return err
		}
		if err := s.remove(to); err != nil {
			return err
		}
	}
	return nil
}

// Create begins a snapshot. Raft's main goroutine calls it for one that it installs: nothing is
// appended or committed meanwhile.
func (s *snapshotStore) Create(version raft.SnapshotVersion, index, term uint64, members raft.Configuration, membersIndex uint64, trans raft.Transport) (raft.SnapshotSink, error) {
	if s.installing.Load() > 0 {
		old, err := s.outdated(index, term)
		if err == nil && old {
			err = errOutdated
		}
		if err != nil {
			return nil, err
		}
		s.history.replaced.Store(true)
	}
	return s.create(version, index, term, members, membersIndex, trans)
}

func (s *snapshotStore) create(version raft.SnapshotVersion, index, term uint64, members raft.Configuration, membersIndex uint64, trans raft.Transport) (*snapshotSink, error) {
	sink, err := s.SnapshotStore.Create(version, index, term, members, membersIndex, trans)
	if err != nil {
		return nil, err
	}
	return &snapshotSink{sink, s, noteSum(&raft.SnapshotMeta{Version: version, Index: index, Term: term, Configuration: members, ConfigurationIndex: membersIndex})}, nil
}

// noteSum is the checksum of what raft notes of a snapshot and uses: 24 bits of a CRC-32C, for
// which there was room in the header, never 0. See FORMAT.md.
func noteSum(m *raft.SnapshotMeta) uint32 {
	var b []byte
	for _, v := range []uint64{uint64(m.Version), m.Index, m.Term, m.ConfigurationIndex, uint64(len(m.Configuration.Servers))} { //nolint:gosec // a small number
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	for _, s := range m.Configuration.Servers {
		b = binary.LittleEndian.AppendUint64(b, uint64(s.Suffrage)) //nolint:gosec // a small number
		for _, text := range []string{string(s.ID), string(s.Address)} {
			b = append(binary.LittleEndian.AppendUint64(b, uint64(len(text))), text...)
		}
	}
	return max(crc32.Checksum(b, castagnoli)&0xffffff, 1)
}

// verifySnapshots checks every snapshot and returns what is noted of the newest one, nil if
// there is none, and the index of the last command in it.
func verifySnapshots(dir string, content func(io.Reader) error) (newest *snapshotMeta, command uint64, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	path := ""
	for _, e := range entries {
		if !e.IsDir() || strings.HasSuffix(e.Name(), ".tmp") {
			continue
		}
		meta, err := verifySnapshot(filepath.Join(dir, e.Name()))
		switch {
		case errors.Is(err, ErrUnsupported):
			return nil, 0, fmt.Errorf("snapshot %s: %w", filepath.Join(dir, e.Name()), err)
		case err != nil:
			return nil, 0, damagedf("snapshot %s: %w; restore the directory from a replica or a backup", filepath.Join(dir, e.Name()), err)
		}
		if newest == nil || meta.Index >= newest.Index {
			newest, path = &meta, filepath.Join(dir, e.Name())
		}
	}
	if newest == nil {
		return nil, 0, nil
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
	// Snapshots of before the checksum of what is noted, see noteSum: each name is there twice.
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
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return m, err
	}
	head, err := readHeader(f)
	if err != nil {
		return m, err
	}
	if sum := noteSum(&m.SnapshotMeta); head.meta != 0 && head.meta != sum {
		return m, damagedf("meta.json is damaged: the checksum of what it notes is %06x, want %06x", sum, head.meta)
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
