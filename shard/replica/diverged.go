package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"cordwood/shard/vfs"
)

// A member never takes an entry back that its state machine holds. A leader that has other
// entries in their place was elected by members that had lost them: a disk went back in time, as
// that of a machine that is set back to a snapshot does, or a folder that is copied back, or a disk
// that loses what it had synced. The state cannot follow such a leader, and which rows are the
// right ones only the operator can say: the member ends, leaves a mark, and does not open again.

// divergedFile says in one line why the member does not open; missing: it does.
const divergedFile = "DIVERGED"

// Termed is a Durable FSM that knows the term of the last command in its durable state.
type Termed interface {
	Durable
	// AppliedTerm is the term of the command with AppliedIndex; 0: it is not known.
	AppliedTerm() uint64
}

// history guards what a member has applied against its own log. Raft's main goroutine and Open
// use it.
type history struct {
	dir string
	// held is the index of the last entry that the member knows to be committed.
	held func() uint64
	// command and term are those of the last command that was durable in the state machine when
	// the member was opened; term is 0 if it is not known.
	command, term uint64
	// replaced is set while the state of another member is installed: the log of before goes.
	replaced atomic.Bool
}

// diverged marks the member and returns the error that ends it.
func (h *history) diverged(format string, args ...any) error {
	why := fmt.Sprintf(format, args...) + ": a disk of this group went back in time, that of this node or of another one " +
		"(a machine that was set back to a snapshot, a folder that was copied back, a disk that lost what it had synced); " +
		"what this replica holds is kept and not used any more, and it has to be made anew from the others"
	return errors.Join(damagedf("%s", why), writeMark(h.dir, why))
}

// cutting tells whether the entries from one index to another, of a log that ends with last, may be
// deleted.
func (h *history) cutting(from, to, last uint64) error {
	if h == nil || to < last {
		return nil // the beginning, which a snapshot covers
	}
	if h.replaced.Load() {
		return nil
	}
	if held := h.held(); from <= held {
		return h.diverged("the leader has other entries from %d on, and this replica holds what was committed up to %d", from, held)
	}
	return nil
}

// storing tells whether entries may be appended.
func (h *history) storing(logs []*raft.Log) error {
	if h == nil || h.term == 0 || logs[0].Index > h.command {
		return nil
	}
	for _, l := range logs {
		if l.Index == h.command && l.Term != h.term {
			return h.diverged("the leader has an entry %d of term %d, and the state of this replica one of term %d", l.Index, l.Term, h.term)
		}
	}
	return nil
}

// check compares the log with the state.
func (h *history) check(s *logStore) error {
	if h.term == 0 {
		return nil
	}
	var l raft.Log
	err := s.GetLog(h.command, &l)
	if errors.Is(err, raft.ErrLogNotFound) {
		return nil // it is behind a snapshot
	}
	if err == nil && l.Term != h.term {
		err = h.diverged("the log has an entry %d of term %d, and the state one of term %d", l.Index, l.Term, h.term)
	}
	return err
}

// MarkDiverged has the member in a directory not open any more, so that it is made anew from the
// others, because its folder is known to be older than what it said to them. The member must not run.
func MarkDiverged(dir, why string) error { return writeMark(dir, why) }

func writeMark(dir, why string) error {
	return vfs.Publish(vfs.OS, filepath.Join(dir, divergedFile), []byte(why+"\n"))
}

// Diverged says why the member in a directory has to be made anew from the others; empty: it
// has not. What it holds may be all that is left of what was acknowledged.
func Diverged(dir string) (why string, err error) {
	b, err := os.ReadFile(filepath.Join(dir, divergedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// checkMark refuses a member that was marked.
func checkMark(dir string) error {
	why, err := Diverged(dir)
	if err == nil && why != "" {
		err = damagedf("%s", why)
	}
	return err
}
