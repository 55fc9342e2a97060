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

// A member never removes an entry that its state machine has applied. A leader with other entries
// in their place was elected by members that had lost the entries, because a disk went back in
// time: a machine was reset to a snapshot, a folder was replaced by an old copy, or a disk lost
// data that it had synced. The state cannot follow such a leader, and only the operator can decide
// which rows are correct. The member stops, leaves a mark, and does not open again.

// divergedFile contains one line with the reason why the member does not open. Other members do not
// have this file.
const divergedFile = "DIVERGED"

// History prevents applied entries from being removed from the log. Raft's main goroutine uses it,
// and before that the goroutine that opens the member.
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

// SetReplacing records whether the state of another member is being installed. In that case raft
// clears the log of this member.
func (h *History) SetReplacing(on bool) { h.replacing.Store(on) }

// Diverged marks the member as one that must be replaced. It returns the error that ends the
// member. The error contains the reason and matches damage.ErrDamaged.
func (h *History) Diverged(format string, args ...any) error {
	why := fmt.Sprintf(format, args...) +
		": a disk of this group went back in time, on this node or on another one " +
		"(a machine was reset to a snapshot, a folder was replaced by an old copy, or a disk lost synced data); " +
		"the files of this replica are kept but not used any more, and it has to be created again from the other replicas"
	return errors.Join(damage.Errorf("%s", why), MarkDiverged(h.Dir, why))
}

// mayDelete returns an error unless the entries from one index to another, of a log that ends with
// last, may be deleted.
func (h *History) mayDelete(from, to, last uint64) error {
	if h == nil || to < last {
		return nil // the start of the log, which a snapshot covers
	}
	if h.replacing.Load() {
		return nil
	}
	if held := h.Committed(); from <= held {
		return h.Diverged("the leader has other entries from %d on, but this replica has applied the committed entries up "+
			"to %d", from,
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
			return h.Diverged("the leader has entry %d with term %d, but the state of this replica has it with term "+
				"%d", l.Index,
				l.Term, h.Term)
		}
	}
	return nil
}

// Protect compares the log with h. From then on h refuses every change that would remove applied
// entries. It returns the error of h.Diverged if the log and the state have different histories.
func (s *Log) Protect(h *History) error {
	if h.Term != 0 {
		var l raft.Log
		err := s.GetLog(h.Command, &l)
		if err != nil && !errors.Is(err, raft.ErrLogNotFound) { // the entry is not in the log because a snapshot covers it
			return err
		}
		if err == nil && l.Term != h.Term {
			return h.Diverged("the log has entry %d with term %d, but the state has it with term %d", l.Index, l.Term, h.Term)
		}
	}
	s.history = h
	return nil
}

// MarkDiverged prevents the member in a directory from being opened again, because its folder is
// known to be older than the state that it has reported to other members. It has to be created
// again from them. The member must not be running.
func MarkDiverged(dir, why string) error {
	return vfs.Publish(vfs.OS, filepath.Join(dir, divergedFile), []byte(why+"\n"))
}

// Diverged returns the reason why the member in a directory has to be created again from the
// others, or an empty text. The directory may have the only copy of acknowledged entries.
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
