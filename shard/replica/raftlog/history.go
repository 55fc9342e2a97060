package raftlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog/damage"
	"cordwood/shard/vfs"
)

// A member never takes back an entry that its state machine holds. A leader that has other
// entries in their place was elected by members that had lost them: a disk went back in time,
// because a machine was set back to a snapshot, a folder was copied back, or a disk lost what it
// had synced. The state cannot follow such a leader, and only the operator can say which rows are
// the right ones. The member ends, leaves a mark, and does not open again.

// divergedFile says in one line why the member does not open. It is missing otherwise.
const divergedFile = "DIVERGED"

// History keeps what a member has applied from being taken back in its log. Raft's main goroutine
// uses it, and before that the goroutine that opens the member.
type History struct {
	// Dir is the directory of the member.
	Dir string
	// Committed returns the index of the last entry that the member knows to be committed.
	Committed func() uint64
	// Command and Term are index and term of the last command that was durable in the state machine when
	// the member was opened. Term is 0 if it is not known.
	Command, Term uint64

	replacing atomic.Bool
}

// SetReplacing says whether the state of another member is being installed: raft then clears
// the log of this one.
func (h *History) SetReplacing(on bool) { h.replacing.Store(on) }

// Diverged marks the member as one that has to be made anew, and returns the error that ends
// it, which says why and matches damage.ErrDamaged.
func (h *History) Diverged(format string, args ...any) error {
	why := fmt.Sprintf(format, args...) +
		": a disk of this group went back in time, that of this node or of another one " +
		"(a machine that was set back to a snapshot, a folder that was copied back, a disk that lost what it had synced); " +
		"what this replica holds is kept and not used any more, and it has to be made anew from the others"
	return errors.Join(damage.Errorf("%s", why), MarkDiverged(h.Dir, why))
}

// mayDelete returns an error unless the entries from one index to another, of a log that ends
// with last, may be deleted.
func (h *History) mayDelete(from, to, last uint64) error {
	if h == nil || to < last {
		return nil // the beginning, which a snapshot covers
	}
	if h.replacing.Load() {
		return nil
	}
	if held := h.Committed(); from <= held {
		return h.Diverged("the leader has other entries from %d on, and this replica holds what was committed up to %d", from,
			held)
	}
	return nil
}

// mayStore returns an error unless entries may be appended.
func (h *History) mayStore(logs []*raft.Log) error {
	if h == nil || h.Term == 0 || logs[0].Index > h.Command {
		return nil
	}
	for _, l := range logs {
		if l.Index == h.Command && l.Term != h.Term {
			return h.Diverged("the leader has an entry %d of term %d, and the state of this replica one of term %d", l.Index,
				l.Term, h.Term)
		}
	}
	return nil
}

// Protect compares the log with h, and lets h refuse what would take back applied entries from
// now on. It returns the error of h.Diverged if the log and the state have a different past.
func (s *Log) Protect(h *History) error {
	if h.Term != 0 {
		var l raft.Log
		err := s.GetLog(h.Command, &l)
		if err != nil && !errors.Is(err, raft.ErrLogNotFound) { // not found: it is behind a snapshot
			return err
		}
		if err == nil && l.Term != h.Term {
			return h.Diverged("the log has an entry %d of term %d, and the state one of term %d", l.Index, l.Term, h.Term)
		}
	}
	s.history = h
	return nil
}

// MarkDiverged keeps the member in a directory from being opened again, because its folder is
// known to be older than what it said to other members; it has to be made anew from them. The
// member must not run.
func MarkDiverged(dir, why string) error {
	return vfs.Publish(vfs.OS, filepath.Join(dir, divergedFile), []byte(why+"\n"))
}

// Diverged returns why the member in a directory has to be made anew from the others; empty if
// it has not. It may hold the only copy of acknowledged entries.
func Diverged(dir string) (why string, err error) {
	b, err := os.ReadFile(filepath.Join(dir, divergedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// CheckNotDiverged returns an error that matches damage.ErrDamaged if the member in a directory
// is marked (see Diverged).
func CheckNotDiverged(dir string) error {
	why, err := Diverged(dir)
	if err == nil && why != "" {
		err = damage.Errorf("%s", why)
	}
	return err
}
