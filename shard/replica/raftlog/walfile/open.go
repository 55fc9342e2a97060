// Package walfile opens the logs that hashicorp/raft-wal keeps in segment files, after it has
// checked them.
//
// raft-wal reads a finished file by its index without comparing a checksum, treats damage in the
// newest file as the end of the log, and removes files that are missing in a damaged list. A
// flipped bit would silently remove acknowledged entries. Open therefore reads everything before
// the library does (see meta.Load for the order), and all writes of the library go through a
// guard.Guard. Only this package needs to know the private layout of raft-wal 0.4.2 (layout.go).
package walfile

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
	walfs "github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"

	"cordwood/shard/replica/raftlog/guard"
)

// Config describes the log that Open opens. Dir, SegmentBytes and Guard are required.
type Config struct {
	Dir string
	// SegmentBytes is the size of a new segment file.
	SegmentBytes int
	// Guard controls the writes, and ends the log when one fails.
	Guard *guard.Guard
	// Unneeded is the index up to which damaged entries may be cut off; 0 means that none may.
	Unneeded uint64
	// Cut is called when damaged entries were cut off. The default value does nothing.
	Cut func()
	// Synced is called with the duration of each fsync of a segment file. The default value
	// does nothing.
	Synced func(time.Duration)
	// Logger gets a message when damage is cut off, Library the messages of raft-wal. The default
	// values discard them.
	Logger  *slog.Logger
	Library hclog.Logger
}

// Log is an open log.
type Log struct {
	*wal.WAL
	finished []Finished
}

// Finished is a file of the log that takes no more entries.
type Finished struct {
	Last  uint64 // index of its last entry
	Bytes int64  // the size of all its entries
}

// Open checks the log in a directory and opens it, or creates a new one. If the log is damaged in
// entries that are needed, it changes nothing and returns an error that matches damage.ErrDamaged.
func Open(cfg Config) (*Log, error) {
	if cfg.Cut == nil {
		cfg.Cut = func() {}
	}
	if cfg.Synced == nil {
		cfg.Synced = func(time.Duration) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Library == nil {
		cfg.Library = hclog.NewNullLogger()
	}
	m := &meta{cfg: &cfg}
	filer := segment.NewFiler(cfg.Dir, &guardedFS{walfs.New(), &cfg, m})
	m.filer = filer
	log, err := wal.Open(cfg.Dir, wal.WithSegmentSize(cfg.SegmentBytes), wal.WithLogger(cfg.Library), wal.WithMetaStore(m),
		wal.WithSegmentFiler(filer))
	if err != nil {
		// The library leaves the list open, and the next open would wait for its lock for ever.
		return nil, errors.Join(err, m.Close())
	}
	return &Log{log, m.finished}, nil
}

// Finished returns the finished files as they were when the log was opened, oldest first.
func (l *Log) Finished() []Finished { return l.finished }

// GetLog reads an entry. raft-wal returns entries that were cut off as long as their file exists,
// and a leader would send these to others instead of a snapshot. This method does not return them.
func (l *Log) GetLog(index uint64, entry *raft.Log) error {
	if first, err := l.FirstIndex(); err != nil {
		return err
	} else if index < first {
		return raft.ErrLogNotFound // raft compares it with ==
	}
	err := l.WAL.GetLog(index, entry)
	if errors.Is(err, wal.ErrNotFound) {
		return raft.ErrLogNotFound
	}
	return err
}

// Verify reads every committed byte of a log and changes nothing. It calls entry with each entry of
// the log, in order, and returns the length of an unfinished append, which Open cuts off. If the
// log is damaged, it returns an error that matches damage.ErrDamaged.
func Verify(dir string, entry func(*raft.Log) error) (torn int64, err error) {
	state, written, err := readList(dir)
	if err != nil {
		return 0, err
	}
	tail, err := checkFiles(dir, state, written)
	if err != nil {
		return 0, err
	}
	if tail != nil {
		torn = tail.tornBytes()
	}
	codec := &wal.BinaryCodec{}
	for i, si := range state.Segments {
		file := listed{SegmentInfo: si, dir: dir, tail: i == len(state.Segments)-1}
		_, err := scanFile(file.path(), func(index uint64, _ int64, b []byte) error {
			var l raft.Log
			if err := decodeEntry(codec, b, &l); err != nil || l.Index != index {
				return fmt.Errorf("log %s: entry %d cannot be decoded: its index field is %d: "+
					"%w", file.path(), index, l.Index, err)
			}
			if !file.has(index) {
				return nil
			}
			return entry(&l)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return torn, err
		}
	}
	return torn, nil
}

// decodeEntry decodes an entry whose checksum is correct. It recovers from panics of the codec.
func decodeEntry(codec *wal.BinaryCodec, b []byte, l *raft.Log) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return codec.Decode(b, l)
}

// EachEntry calls show with each entry in the files of a log, even while a process has it open. It
// does not read the list of files, so it may show entries that were already cut off. It changes
// nothing.
func EachEntry(dir string, show func(*raft.Log) error) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	codec := &wal.BinaryCodec{}
	var last uint64
	return segment.NewFiler(dir, walfs.New()).DumpLogs(0, 0, func(info types.SegmentInfo, e types.LogEntry) (bool, error) {
		if info.Codec != codec.ID() {
			return false, fmt.Errorf("segment of entry %d has codec %d, want %d", e.Index, info.Codec, codec.ID())
		}
		var l raft.Log
		if err := decodeEntry(codec, e.Data, &l); err != nil {
			return false, fmt.Errorf("entry after %d: %w", last, err)
		}
		last = l.Index
		return true, show(&l)
	})
}
