// Package manifest is the commit point of a shard's durable state: which segments are live, up to
// which index of the log they contain everything, and the state that must survive with them: table
// definitions, dropped tables, the sessions of writers. A segment file that is not in the manifest
// does not count.
//
// It is a file of edits, each with a checksum, that is rewritten when it has grown; FORMAT.md
// describes the bytes. The package uses only the Meta of segment files, and never accesses the
// files.
//
// Life cycle: Open reads the state. The first Commit after that writes a new file and replaces the
// old one, and so does a Commit that finds that the file has grown; the others append. Close
// closes. After a failed Commit the Manifest refuses further commits. Opening it again shows
// whether the edit is on disk.
//
// One goroutine at a time uses a Manifest. State is immutable and may be read by any goroutine.
package manifest

import (
	"errors"
	"fmt"
	"path/filepath"

	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// FileName is the name of the manifest in the shard's directory.
const FileName = "MANIFEST"

// The file is rewritten when it has at least rewriteBytes, and rewriteFactor times its size after
// the last rewrite.
const (
	rewriteBytes  = 1 << 20
	rewriteFactor = 4
)

var (
	// ErrIndexRegress is the error for an edit whose applied index, if it has one, is below the
	// state's.
	ErrIndexRegress = errors.New("the applied index would decrease")
	// ErrTooLarge is the error for an edit whose definition is too large to be read again. Nothing
	// is written.
	ErrTooLarge = errors.New("a part of the manifest is too large")
	// ErrBroken is the error of every Commit after one whose outcome is unknown.
	ErrBroken = errors.New("an earlier commit failed; the manifest must be opened again")
)

// ErrCorrupt is the error for a file that neither a Commit nor a crash can have left. It is
// returned as a *ErrCorrupt.
type ErrCorrupt struct {
	File   string
	Offset int64
	// Want is the content of an intact file at Offset, and Got the actual content.
	Want, Got string
}

// Error returns the file, the offset, the expected and the actual content.
func (e *ErrCorrupt) Error() string {
	return fmt.Sprintf("manifest %s is damaged at offset %d: want %s, got %s; restore the shard's directory from a "+
		"replica or a backup",
		e.File, e.Offset, e.Want, e.Got)
}

// ErrUnsupported is the error for an intact file of an unknown format. It is returned as a
// *ErrUnsupported.
type ErrUnsupported struct {
	File               string
	Version, Supported uint16
	// Field is an unknown field of an edit, if Version is known.
	Field int
}

// Error returns both versions, and what to do.
func (e *ErrUnsupported) Error() string {
	if e.Field != 0 {
		return fmt.Sprintf("manifest %s was written by a newer version of this program: "+
			"it has the field %d, which this version does not know; run the version that wrote it or a newer one",
			e.File, e.Field)
	}
	return fmt.Sprintf("manifest %s was written by a newer version of this program: its format version is %d, "+
		"this one reads versions 1 to %d; run the version that wrote it or a newer one",
		e.File, e.Version, e.Supported)
}

// Config identifies the shard and the directory of a manifest. All fields are required.
type Config struct {
	FS      vfs.FS
	Dir     string
	ShardID uint32
}

// Manifest is an open manifest.
type Manifest struct {
	cfg    Config
	state  *State
	torn   int64
	file   vfs.File // edits are appended to it; nil until the first Commit
	size   int64
	base   int64 // size of the file after the last rewrite
	broken bool
}

// Open reads the manifest of a shard. For a directory without one it returns the zero State. It
// changes nothing, except that it removes an unfinished new file left by a crash.
//
// It returns *ErrCorrupt or *ErrUnsupported for a file that it cannot read reliably.
func Open(cfg Config) (*Manifest, error) {
	m := &Manifest{cfg: cfg, state: &State{}}
	names, err := cfg.FS.ReadDir(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("manifest: list %s: %w", cfg.Dir, err)
	}
	for _, name := range names {
		switch name {
		case segment.TempName(FileName):
			if err := cfg.FS.Remove(filepath.Join(cfg.Dir, name)); err != nil {
				return nil, fmt.Errorf("manifest: remove an unfinished file: %w", err)
			}
		case FileName:
			b, err := vfs.ReadFile(cfg.FS, m.path())
			if err != nil {
				return nil, fmt.Errorf("manifest: read %s: %w", m.path(), err)
			}
			f, err := parse(m.path(), b)
			if err != nil {
				return nil, err
			}
			if f.shardID != cfg.ShardID {
				return nil, fmt.Errorf("manifest %s belongs to shard %d, not to shard %d: the directory is misplaced", m.path(),
					f.shardID, cfg.ShardID)
			}
			m.torn = f.torn
			for i := range f.edits {
				m.state = m.state.apply(&f.edits[i].edit)
			}
		}
	}
	return m, nil
}

// Read returns the state in a manifest file, and the length of an unfinished edit at its end. It
// changes nothing.
func Read(cfg Config) (st *State, torn int64, err error) {
	path := filepath.Join(cfg.Dir, FileName)
	b, err := vfs.ReadFile(cfg.FS, path)
	if err != nil {
		return nil, 0, fmt.Errorf("manifest: read %s: %w", path, err)
	}
	f, err := parse(path, b)
	if err != nil {
		return nil, 0, err
	}
	if f.shardID != cfg.ShardID {
		return nil, 0, fmt.Errorf("manifest %s belongs to shard %d, not to shard %d: the directory is misplaced", path,
			f.shardID, cfg.ShardID)
	}
	st = &State{}
	for i := range f.edits {
		st = st.apply(&f.edits[i].edit)
	}
	return st, f.torn, nil
}

func (m *Manifest) path() string { return filepath.Join(m.cfg.Dir, FileName) }

// State returns the committed state. The caller must not change it.
func (m *Manifest) State() *State { return m.state }

// TornBytes returns the length of an unfinished edit that Open found at the end of the file and
// ignored. Its Commit never returned nil.
func (m *Manifest) TornBytes() int64 { return m.torn }

// Commit makes the segments added by e live and those it retires dead, in one step together with
// the rest of e.
//
// When Commit returns nil, e is on disk and every later Open sees it. It returns ErrIndexRegress if
// the applied index would decrease, or ErrTooLarge, and then changes nothing. After any other error
// the outcome is unknown: m refuses further commits with ErrBroken, and the caller must call Open
// again to find out what is in the file.
func (m *Manifest) Commit(e *Edit) error {
	if m.broken {
		return ErrBroken
	}
	if e.AppliedIndex > 0 && e.AppliedIndex < m.state.AppliedIndex {
		return fmt.Errorf("manifest %s: commit: %w from %d to %d", m.path(), ErrIndexRegress, m.state.AppliedIndex,
			e.AppliedIndex)
	}
	if err := m.fits(e); err != nil {
		return err
	}
	next := m.state.apply(e)
	var err error
	if m.file == nil || m.size > rewriteBytes && m.size > rewriteFactor*m.base {
		err = m.rewrite(next.asEdit())
	} else {
		// Each record is synced before the next one is written, so a crash leaves a prefix.
		err = records(nil, e, func(b []byte) error { return m.write(m.file, b) })
	}
	if err != nil {
		m.broken = true
		return fmt.Errorf("manifest %s: commit at index %d: %w", m.path(), next.AppliedIndex, err)
	}
	m.state = next
	return nil
}

// fits refuses an edit with a part that is too large to be read again. Only definitions can become
// that large.
func (m *Manifest) fits(e *Edit) error {
	for _, t := range e.Tables {
		if n := len(t.Def); n > maxField {
			return fmt.Errorf("manifest %s: %w: the definition of table %d has %d bytes, at most %d are written; "+
				"drop columns of the table", m.path(), ErrTooLarge, t.ID, n, maxField)
		}
	}
	return nil
}

// rewrite replaces the file with a new one that contains the given edit.
func (m *Manifest) rewrite(e *Edit) error {
	temp := filepath.Join(m.cfg.Dir, segment.TempName(FileName))
	f, err := m.cfg.FS.Create(temp)
	if err != nil {
		return err
	}
	m.size = 0
	err = records(appendHeader(nil, m.cfg.ShardID), e, func(b []byte) error { return m.write(f, b) })
	if err == nil {
		err = m.cfg.FS.Rename(temp, m.path())
	}
	if err == nil {
		err = m.cfg.FS.SyncDir(m.cfg.Dir)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if m.file != nil {
		m.file.Close() // the file was replaced, so nothing depends on it any more
	}
	m.file, m.base = f, m.size
	return nil
}

func (m *Manifest) write(f vfs.File, b []byte) error {
	if _, err := f.Write(b); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	m.size += int64(len(b))
	return nil
}

// Close closes the file. Everything committed is durable without it.
func (m *Manifest) Close() error {
	m.broken = true
	if m.file == nil {
		return nil
	}
	f := m.file
	m.file = nil
	return f.Close()
}
