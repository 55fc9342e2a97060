package raftlog

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/boltfile"
	"cordwood/shard/replica/raftlog/walfile"
)

// EachEntry calls show with each entry in the log of the member in dir, in order, and changes
// nothing. A WAL may be read while a process has it open. It is then read without the list of its
// files, so entries that a snapshot has already cut off may still be shown. A bolt log cannot be
// read while a process has it open.
func EachEntry(dir string, kind Kind, show func(*raft.Log) error) error {
	return eachEntry(logDir(dir), kind, show)
}

func eachEntry(logDir string, kind Kind, show func(*raft.Log) error) error {
	if kind == Bolt {
		return boltfile.EachEntry(filepath.Join(logDir, boltfile.LogName), show)
	}
	return walfile.EachEntry(logDir, show)
}

// Inspect prints the entries of a log as text, one on each line. It calls describe, if not nil, for
// a description of a command. dir is a log directory of either kind, or the member's directory. See
// EachEntry.
func Inspect(w io.Writer, dir string, describe func(w io.Writer, data []byte)) error {
	if exists(logDir(dir)) {
		dir = logDir(dir)
	}
	kind := WAL
	if exists(filepath.Join(dir, boltfile.LogName)) {
		kind = Bolt
	}
	if err := eachEntry(dir, kind, func(l *raft.Log) error { return printEntry(w, l, describe) }); err != nil {
		return fmt.Errorf("inspect log %s: %w", dir, err)
	}
	return nil
}

func printEntry(w io.Writer, l *raft.Log, describe func(w io.Writer, data []byte)) error {
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
