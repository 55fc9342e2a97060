package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/vfs"
)

// joiningFile marks a member that was created empty, without founding the group, and does not have everything yet
// that was committed at that time. It is empty, or has the term and the index of Progress.
const joiningFile = "JOINING"

// Progress is how far a group is: index and term of an entry that was committed in the term of the leader.
type Progress struct{ Term, Index uint64 }

// joining keeps a new member from acting on what it does not know. An empty member may have been a member before:
// it was removed, its files were deleted, and it was added again, under the same name. Members that missed the
// removal still count it as a voter. Such a member could become the leader with the vote of the empty one, which has
// forgotten what it had acknowledged, and committed entries would be lost.
//
// So a new member asks the leader how far the group is, before it answers anything. Until its log has reached that
// entry, which is after its own removal, it votes only for candidates who have the entry, follows only leaders of
// that term or a later one, and does not stand for election.
type joining struct {
	group, dir string
	logger     *slog.Logger
	now        *running
	at         atomic.Pointer[Progress] // nil until the leader has answered
	reached    atomic.Bool              // the log has the entry of at
}

// joins returns the state of a member that joins, or nil for all others. fresh reports that the member is empty and
// does not found the group.
func joins(cfg Config, fresh bool, now *running) (*joining, error) {
	path := filepath.Join(cfg.Dir, joiningFile)
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if !fresh {
			return nil, nil
		}
		if err := vfs.Publish(vfs.OS, path, nil); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, err
	}
	j := &joining{group: cfg.Group, dir: cfg.Dir, logger: cfg.Logger, now: now}
	if len(b) > 0 {
		var p Progress
		if _, err := fmt.Sscanf(string(b), "%d %d\n", &p.Term, &p.Index); err != nil {
			return nil, fmt.Errorf("%s contains %q instead of a term and an index: %w", path, b, err)
		}
		j.at.Store(&p)
	}
	return j, nil
}

const (
	askPause = 200 * time.Millisecond // between two questions
	askLimit = 5 * time.Second        // for one question
)

// learn asks until the leader has answered and the answer is on disk, or ended is closed.
func (j *joining) learn(ended <-chan struct{}, ask func(context.Context) (Progress, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	for j.at.Load() == nil {
		limited, cancel := context.WithTimeout(ctx, askLimit)
		p, err := ask(limited)
		cancel()
		if err == nil {
			err = vfs.Publish(vfs.OS, filepath.Join(j.dir, joiningFile), fmt.Appendf(nil, "%d %d\n", p.Term, p.Index))
		}
		if err == nil {
			j.at.Store(&p)
			return
		}
		j.logger.Debug("a new replica cannot ask the leader how far the group is; it is retried", "group", j.group,
			"error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(askPause):
		}
	}
}

// done reports whether the member knows all that it must know, and removes the mark when it does.
func (j *joining) done() bool {
	if j == nil || j.reached.Load() {
		return true
	}
	at := j.at.Load()
	if at == nil || j.now.lastIndex() < at.Index {
		return false
	}
	// If the file stays, the member finds at its next start that it has the entry.
	_ = os.Remove(filepath.Join(j.dir, joiningFile))
	j.reached.Store(true)
	return true
}

// refuse returns the reason why this member does not answer a request, or "".
func (j *joining) refuse(request any) string {
	if j.done() {
		return ""
	}
	at := j.at.Load()
	if at == nil {
		return fmt.Sprintf("the replica of %s is new here, and has not learned from the leader yet how far the group is",
			j.group)
	}
	switch req := request.(type) {
	case *raft.RequestVoteRequest:
		return j.refuseVote(*at, req.LastLogTerm, req.LastLogIndex)
	case *raft.RequestPreVoteRequest:
		return j.refuseVote(*at, req.LastLogTerm, req.LastLogIndex)
	case *raft.AppendEntriesRequest:
		return j.refuseLeader(*at, req.Term)
	case *raft.InstallSnapshotRequest:
		return j.refuseLeader(*at, req.Term)
	default:
		return j.mayNotLead()
	}
}

func (j *joining) refuseVote(at Progress, term, index uint64) string {
	if term > at.Term || term == at.Term && index >= at.Index {
		return ""
	}
	return fmt.Sprintf("the replica of %s is new here, and the candidate's log ends with entry %d of term %d, before "+
		"entry %d of term %d, which was committed when the replica was created", j.group, index, term, at.Index, at.Term)
}

func (j *joining) refuseLeader(at Progress, term uint64) string {
	if term >= at.Term {
		return ""
	}
	return fmt.Sprintf("the replica of %s is new here, and was created in term %d: a leader of term %d is out of date",
		j.group, at.Term, term)
}

// mayNotLead returns the reason why this member does not stand for election, or "".
func (j *joining) mayNotLead() string {
	if j.done() {
		return ""
	}
	return fmt.Sprintf("the replica of %s is new here, and does not have all committed entries yet", j.group)
}
