package snapshot

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
	"unicode/utf8"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/damage"
)

// The files of a snapshot of raft.
const (
	notesFile = "meta.json"
	stateFile = "state.bin"
)

// Notes is the metadata that raft's file snapshot store keeps for a snapshot.
type Notes struct {
	raft.SnapshotMeta
	CRC []byte
}

// Verified is the newest snapshot that was read completely and is intact.
type Verified struct {
	Notes
	// Command is the index of the last command in the state.
	Command uint64
	path    string
}

// VerifyAll reads every snapshot of the member in dir completely, and returns the newest one, or
// nil if there is none. If a snapshot is damaged, it returns an error that matches
// damage.ErrDamaged.
func VerifyAll(dir string) (newest *Verified, err error) {
	entries, err := os.ReadDir(Dir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasSuffix(e.Name(), unfinished) {
			continue
		}
		path := filepath.Join(Dir(dir), e.Name())
		s, err := verify(path)
		switch {
		case errors.Is(err, damage.ErrUnsupported):
			return nil, fmt.Errorf("snapshot %s: %w", path, err)
		case err != nil:
			return nil, damage.Errorf("snapshot %s: %w; restore the directory from a replica or a backup", path, err)
		}
		if newest == nil || s.Index >= newest.Index {
			newest = s
		}
	}
	return newest, nil
}

// Content calls read with the content of the snapshot after its header.
func (v *Verified) Content(read func(io.Reader) error) error {
	f, err := os.Open(filepath.Join(v.path, stateFile))
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = ReadHeader(f); err == nil {
		err = read(f)
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", v.path, err)
	}
	return nil
}

// verify reads the snapshot in a directory. It compares the content with raft's metadata, and the
// metadata with the checksum in the header.
func verify(path string) (*Verified, error) {
	notes, err := readNotes(path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(path, stateFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	n, err := io.Copy(sum, f)
	if err != nil {
		return nil, err
	}
	if n != notes.Size || !bytes.Equal(sum.Sum(nil), notes.CRC) {
		return nil, damage.Errorf("%s is damaged: it has %d bytes with checksum %x, want %d with %x", stateFile, n,
			sum.Sum(nil), notes.Size, notes.CRC)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	h, err := ReadHeader(f)
	if err != nil {
		return nil, err
	}
	if sum := notesSum(&notes.SnapshotMeta); h.Sum != 0 && h.Sum != sum {
		return nil, damage.Errorf("%s is damaged: the checksum of its metadata is %06x, want %06x", notesFile, sum, h.Sum)
	}
	return &Verified{notes, h.Index, path}, nil
}

// readNotes reads raft's metadata of a snapshot. It checks that they are consistent and that they
// match the name of the directory, which repeats some of them. Snapshots of versions without the
// checksum in the header have no other protection.
func readNotes(path string) (m Notes, err error) {
	b, err := os.ReadFile(filepath.Join(path, notesFile))
	if err != nil {
		return m, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields() // with a damaged name, a field would be missing
	if err := dec.Decode(&m); err != nil {
		return m, fmt.Errorf("%s: %w", notesFile, err)
	}
	name := filepath.Base(path)
	var term, index uint64
	if n, err := fmt.Sscanf(name, "%d-%d-", &term, &index); n != 2 || err != nil || term != m.Term || index != m.Index ||
		m.ID != name {
		return m, fmt.Errorf("%s: its metadata have term %d, index %d, id %q", notesFile, m.Term, m.Index, m.ID)
	}
	if !utf8.Valid(b) {
		return m, damage.Errorf("%s is damaged: it is not valid text", notesFile)
	}
	for _, s := range m.Configuration.Servers {
		if string(s.ID) != string(s.Address) {
			return m, damage.Errorf("%s is damaged: it has a member %q with the address %q, and both are the id of a node",
				notesFile, s.ID, s.Address)
		}
	}
	if m.Version > raft.SnapshotVersionMax {
		return m, fmt.Errorf("raft's version is %d: %w", m.Version, damage.ErrUnsupported)
	}
	return m, nil
}

// Inspect prints the snapshot in a directory as text: raft's metadata, the header, and the content
// if it is JSON. It fails if the snapshot is damaged.
func Inspect(w io.Writer, path string) error {
	v, err := verify(filepath.Clean(path))
	if err != nil {
		return fmt.Errorf("inspect snapshot %s: %w", path, err)
	}
	return v.print(w)
}

func (v *Verified) print(w io.Writer) error {
	f, err := os.Open(filepath.Join(v.path, stateFile))
	if err != nil {
		return fmt.Errorf("inspect snapshot: %w", err)
	}
	defer f.Close()
	h, err := ReadHeader(f)
	if err != nil {
		return fmt.Errorf("inspect snapshot %s: %w", v.path, err)
	}
	_, err = fmt.Fprintf(w, "snapshot %s: index %d, term %d, %d bytes, checksum %x is correct\n"+
		"last command %d of term %d\n",
		v.ID, v.Index, v.Term, v.Size, v.CRC, h.Index, h.Term)
	for _, s := range v.Configuration.Servers {
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
