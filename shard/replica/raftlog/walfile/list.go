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

// readList checks and reads the file with the list of segment files, without opening it for
// writing. written is the name of the newest segment file to which entries were written; it is
// empty if there is none.
func readList(dir string) (state types.PersistentState, written string, err error) {
	path := filepath.Join(dir, metadb.FileName)
	err = boltfile.WalkBuckets(path, []string{metadb.StableBucket, metadb.MetaBucket}, func(bucket string,
		key, value []byte,
	) error {
		switch {
		case key == nil:
		case bucket == metadb.MetaBucket:
			// An unknown field indicates a damaged name. The library would treat the list as empty
			// and begin a new log.
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

// checkFiles compares the list of segment files with the files. written is the newest file to which
// entries were written. It returns the scan of the tail, the file that takes appends, or nil if the
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
			What: "entries were written to it, but it is empty or missing",
		}
	}
	return tail, nil
}

// checkFile compares one row of the list with its file. It returns nil if the file does not exist
// yet, because files are listed before they are created.
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
	tail bool // whether it is the last row, whose file takes appends
}

func (l *listed) path() string { return filepath.Join(l.dir, segment.FileName(l.SegmentInfo)) }

// bad returns the error for a wrong row.
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
		return l.bad("its number is %d, but the next number to be assigned is %d", l.ID, state.NextSegmentID)
	case l.SealTime.IsZero() != l.tail:
		return l.bad("only the last file takes appends")
	case i > 0 && l.BaseIndex != state.Segments[i-1].MaxIndex+1:
		return l.bad("it begins with entry %d, but the previous file ends with "+
			"%d", l.BaseIndex, state.Segments[i-1].MaxIndex)
	}
	return nil
}

// compare checks the row against the contents of its file.
func (l *listed) compare(s *scan) error {
	if s.end > 0 && s.codec != l.Codec {
		return l.bad("its codec is %d, but the list has %d", s.codec, l.Codec)
	}
	if s.dataEnd > 0 && s.size < int64(l.SizeLimit) {
		return &ErrCorrupt{
			File:   s.path,
			Offset: s.size,
			What:   fmt.Sprintf("it was created with %d bytes and ends here", l.SizeLimit),
		}
	}
	end := l.BaseIndex + uint64(s.entries) // after the last entry
	if l.MinIndex < l.BaseIndex || l.MinIndex > end {
		return l.bad("it has the entries %d to %d, but in the list they begin with %d", l.BaseIndex, end-1, l.MinIndex)
	}
	if l.tail {
		return nil
	}
	// A file may have more entries than are listed. Those were removed from the log because they
	// conflicted with another leader's, and the next file begins with their indexes.
	if !s.sealed || l.MaxIndex < l.MinIndex || l.MaxIndex >= end || l.IndexStart != s.indexStart || s.tornBytes() > 0 {
		return l.bad("in the list it has entries up to %d and an index at %d, but the file has %d and %d", l.MaxIndex,
			l.IndexStart, end-1, s.indexStart)
	}
	return nil
}

// has reports whether the list includes an entry of the file, so that the entry was neither cut off
// nor replaced.
func (l *listed) has(index uint64) bool {
	return index >= l.MinIndex && (l.tail || index <= l.MaxIndex)
}
