package replica

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
	"go.etcd.io/bbolt"
)

// InspectLog prints the entries of a log as text, one line each, and has describe
// say what a command holds; nil prints only its size. dir is the log directory of
// either kind, or the replica's directory above it. Nothing is changed.
//
// A WAL may be read while a process has it open. It is then read without its
// metadata, so entries that a snapshot has already cut off may still be shown. A
// Bolt log cannot be read while it is open.
func InspectLog(w io.Writer, dir string, describe func(w io.Writer, data []byte)) error {
	if _, err := os.Stat(filepath.Join(dir, "log")); err == nil {
		dir = filepath.Join(dir, "log")
	}
	show := func(l *raft.Log) error {
		_, err := fmt.Fprintf(w, "%d term %d %s, %d bytes\n", l.Index, l.Term, typeName(l.Type), len(l.Data))
		switch {
		case err != nil:
		case l.Type == raft.LogConfiguration:
			for _, s := range raft.DecodeConfiguration(l.Data).Servers {
				if _, err = fmt.Fprintf(w, "  %s %s at %s\n", s.Suffrage, s.ID, s.Address); err != nil {
					break
				}
			}
		case l.Type == raft.LogCommand && describe != nil:
			describe(w, l.Data)
		}
		return err
	}
	var err error
	if _, serr := os.Stat(filepath.Join(dir, boltFile)); serr == nil {
		err = inspectBolt(filepath.Join(dir, boltFile), show)
	} else {
		err = inspectWAL(dir, show)
	}
	if err != nil {
		return fmt.Errorf("inspect log %s: %w", dir, err)
	}
	return nil
}

func typeName(t raft.LogType) string {
	switch t {
	case raft.LogCommand:
		return "command"
	case raft.LogNoop:
		return "election"
	case raft.LogBarrier:
		return "barrier"
	case raft.LogConfiguration:
		return "membership"
	default:
		return t.String()
	}
}

func inspectWAL(dir string, show func(*raft.Log) error) error {
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	codec := &wal.BinaryCodec{}
	var last uint64
	return segment.NewFiler(dir, fs.New()).DumpLogs(0, 0, func(info types.SegmentInfo, e types.LogEntry) (bool, error) {
		if info.Codec != codec.ID() {
			return false, fmt.Errorf("segment of entry %d has codec %d, want %d", e.Index, info.Codec, codec.ID())
		}
		var l raft.Log
		if err := codec.Decode(e.Data, &l); err != nil {
			return false, fmt.Errorf("entry after %d: %w", last, err)
		}
		last = l.Index
		return true, show(&l)
	})
}

func inspectBolt(path string, show func(*raft.Log) error) (err error) {
	store, err := raftboltdb.New(raftboltdb.Options{Path: path, BoltOptions: &bbolt.Options{ReadOnly: true, Timeout: time.Second}})
	if err != nil {
		return fmt.Errorf("%s (is the server running?): %w", path, err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	first, err := store.FirstIndex()
	if err != nil || first == 0 {
		return err
	}
	last, err := store.LastIndex()
	if err != nil {
		return err
	}
	for i := first; i <= last; i++ {
		var l raft.Log
		if err := store.GetLog(i, &l); errors.Is(err, raft.ErrLogNotFound) {
			continue
		} else if err != nil {
			return fmt.Errorf("entry %d: %w", i, err)
		}
		if err := show(&l); err != nil {
			return err
		}
	}
	return nil
}
