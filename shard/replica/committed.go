package replica

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// ErrCut means that the log does not have an entry any more.
var ErrCut = errors.New("the entry was cut from the log")

// LogEntry is an entry of the log.
type LogEntry struct {
	Index, Term uint64
	// Command means that Data was proposed. Other entries are raft's own.
	Command bool
	Data    []byte
}

// LogBounds returns the index of the first entry of the log, and of the last entry that is known to be committed.
func (r *Replica) LogBounds() (first, committed uint64, err error) {
	first, err = r.log.FirstIndex()
	return first, r.raft.CommitIndex(), err
}

// Committed returns committed entries from an index on, in order: as many as have about maxBytes, but at least one. It
// returns none if there are none yet, and ErrCut if the log begins later.
func (r *Replica) Committed(from uint64, maxBytes int) (entries []LogEntry, err error) {
	last := r.raft.CommitIndex()
	for index, bytes := from, 0; index <= last && bytes < maxBytes; index++ {
		var l raft.Log
		switch err := r.log.GetLog(index, &l); {
		case errors.Is(err, raft.ErrLogNotFound):
			return nil, fmt.Errorf("replica %s: entry %d: %w", r.cfg.Group, index, ErrCut)
		case err != nil:
			return nil, fmt.Errorf("replica %s: read entry %d: %w", r.cfg.Group, index, err)
		}
		e := LogEntry{Index: l.Index, Term: l.Term, Command: l.Type == raft.LogCommand}
		if e.Command {
			e.Data = l.Data
		}
		bytes += len(e.Data) + 16
		entries = append(entries, e)
	}
	return entries, nil
}
