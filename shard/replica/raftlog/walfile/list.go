package walfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/metadb"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"cordwood/shard/replica/raftlog/boltfile"
	"cordwood/shard/replica/raftlog/damage"
)

// keyWritten is the key, among raft's values, of the name of the newest file that entries were
// written to. It is part of the format.
const keyWritten = "cordwood-written"

// readList checks the file with the list of segment files and reads it, without opening it for
// writing. written is the name of the newest segment file that entries were written to, empty
// if there is none.
func readList(dir string) (state types.PersistentState, written string, err error) {
	path := filepath.Join(dir, metadb.FileName)
	err = boltfile.WalkBuckets(path, []string{metadb.StableBucket, metadb.MetaBucket}, func(bucket string,
		key, value []byte,
	) error {
		switch {
		case key == nil:
		case bucket == metadb.MetaBucket:
			// An unknown name is a damaged one: without it the library would take the list for
			// empty, and begin a new log.
			dec := json.NewDecoder(bytes.NewReader(value))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&state); err != nil || string(key) != metadb.MetaKey {
				return &boltfile.ErrCorrupt{
					File: path,
					What: fmt.Sprintf("the list of log files, under %q, cannot be read: %v", key, err),
				}
			}
		case bucket == metadb.StableBucket:
			val, err := damage.OpenValue(key, value)
			if string(key) == keyWritten {
				written = string(val)
			}
			return err
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return state, "", checkNoFiles(dir)
	}
	if info, serr := os.Stat(path); err == nil && serr == nil && info.Size() == 0 {
		err = &boltfile.ErrCorrupt{File: path, What: "it is empty"}
	}
	return state, written, err
}

// checkNoFiles checks that a directory without a list has no segment files either.
func checkNoFiles(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*"+fileSuffix))
	if err != nil || len(files) == 0 {
		return err
	}
	return fmt.Errorf("log %s: the list of its files, %s, is missing: restore the directory from a replica or a backup",
		dir, metadb.FileName)
}

// checkFiles compares the list of segment files with the files; written is the newest one that
// entries were written to. It returns the scan of the tail, which takes appends, or nil if the
// tail has no file yet.
func checkFiles(dir string, state types.PersistentState, written string) (tail *scan, err error) {
	for i := range state.Segments {
		if tail, err = checkFile(dir, state, i); err != nil {
			return nil, err
		}
	}
	if n := len(state.Segments); n > 0 && written == segment.FileName(state.Segments[n-1]) &&
		(tail == nil || tail.dataEnd == 0) {
		return nil, &ErrCorrupt{
			File: filepath.Join(dir, written),
			What: "entries were written to it, and it is empty or gone",
		}
	}
	return tail, nil
}

// checkFile compares one row of the list with its file. It returns nil if the file is not made
// yet: it is listed before.
func checkFile(dir string, state types.PersistentState, i int) (*scan, error) {
	l := listed{SegmentInfo: state.Segments[i], dir: dir, tail: i == len(state.Segments)-1}
	if err := l.checkRow(state, i); err != nil {
		return nil, err
	}
	s, err := scanFile(l.path(), nil)
	if errors.Is(err, fs.ErrNotExist) {
		if l.tail {
			return nil, nil
		}
		return nil, &ErrCorrupt{File: l.path(), What: "it is missing"}
	}
	if err != nil {
		return nil, err
	}
	return s, l.compare(s)
}

// listed is a row of the list of segment files.
type listed struct {
	types.SegmentInfo
	dir  string
	tail bool // the last row: its file takes appends
}

func (l *listed) path() string { return filepath.Join(l.dir, segment.FileName(l.SegmentInfo)) }

// bad returns the error for a row that is wrong.
func (l *listed) bad(format string, args ...any) error {
	what := fmt.Sprintf("the entry of %s: ", segment.FileName(l.SegmentInfo)) + fmt.Sprintf(format, args...)
	return &ErrCorrupt{File: filepath.Join(l.dir, metadb.FileName), What: what}
}

// checkRow checks the row against the rest of the list.
func (l *listed) checkRow(state types.PersistentState, i int) error {
	switch {
	case l.Codec > wal.CodecBinaryV1:
		return fmt.Errorf("log %s: entries are of codec %d, this program reads %d: %w", l.path(), l.Codec, wal.CodecBinaryV1,
			damage.ErrUnsupported)
	case l.ID >= state.NextSegmentID:
		return l.bad("its number is %d, and the next one to be given is %d", l.ID, state.NextSegmentID)
	case l.SealTime.IsZero() != l.tail:
		return l.bad("only the last file takes appends")
	case i > 0 && l.BaseIndex != state.Segments[i-1].MaxIndex+1:
		return l.bad("it begins with entry %d, and the one before ends with %d", l.BaseIndex, state.Segments[i-1].MaxIndex)
	}
	return nil
}

// compare checks the row against what its file holds.
func (l *listed) compare(s *scan) error {
	if s.end > 0 && s.codec != l.Codec {
		return l.bad("its codec is %d, and %d by the list", s.codec, l.Codec)
	}
	if s.dataEnd > 0 && s.size < int64(l.SizeLimit) {
		return &ErrCorrupt{
			File:   s.path,
			Offset: s.size,
			What:   fmt.Sprintf("it was made %d bytes long and ends here", l.SizeLimit),
		}
	}
	end := l.BaseIndex + uint64(s.entries) // behind the last entry
	if l.MinIndex < l.BaseIndex || l.MinIndex > end {
		return l.bad("its entries %d to %d begin with %d by the list", l.BaseIndex, end-1, l.MinIndex)
	}
	if l.tail {
		return nil
	}
	// A file may hold more entries than are listed: those were taken back, because another
	// leader did not have them, and the next file begins with their indexes.
	if !s.sealed || l.MaxIndex < l.MinIndex || l.MaxIndex >= end || l.IndexStart != s.indexStart || s.tornBytes() > 0 {
		return l.bad("it is a finished file of entries up to %d with an index at %d, and has %d and %d", l.MaxIndex,
			l.IndexStart, end-1, s.indexStart)
	}
	return nil
}

// has reports whether the list counts an entry of the file: it was neither cut off nor taken
// back.
func (l *listed) has(index uint64) bool {
	return index >= l.MinIndex && (l.tail || index <= l.MaxIndex)
}
