package replica

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/hashicorp/raft"
)

// Snapshot makes the state machine persist everything applied so far, stores the result as the
// group's newest snapshot, and then cuts the log before it: to Config.TrailingBytes if there are
// other members, and otherwise to one entry. It does nothing and returns nil if this process has
// applied no entry. Concurrent calls run one after another.
func (r *Replica) Snapshot() error {
	err := r.snapshots.take()
	if err == nil || errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return nil
	}
	return fmt.Errorf("replica %s: snapshot: %w", r.cfg.Group, err)
}

// transferChecks is the number of times that a snapshot is tried again; the tries are a tenth of an
// election timeout apart. Raft takes no snapshot during a transfer of leadership, which lasts at
// most one election timeout.
const transferChecks = 20

// snapshots takes the snapshots of a member.
type snapshots struct {
	of *Replica
	// token holds an element while a snapshot is taken, and while a snapshot of another member is
	// installed.
	token chan struct{}
}

func (s *snapshots) take() error {
	r := s.of
	select {
	case s.token <- struct{}{}:
		defer func() { <-s.token }()
	case <-r.ended:
		return cmp.Or(r.failure(), ErrClosed)
	}
	if err := r.failure(); err != nil {
		return err
	}
	if err := s.setTrailing(); err != nil {
		return err
	}
	r.fsm.setSnapshotErr(nil)
	err := r.raft.Snapshot().Error()
	for range transferChecks {
		if !errors.Is(err, raft.ErrLeadershipTransferInProgress) {
			break
		}
		select {
		case <-time.After(r.cfg.ElectionTimeout / 10):
		case <-r.ended:
		}
		err = r.raft.Snapshot().Error()
	}
	if cause := r.fsm.takeSnapshotErr(); err != nil && cause != nil {
		return cause // raft passes on only the text
	}
	return err
}

// setTrailing sets how much of the log raft keeps before the next snapshot.
func (s *snapshots) setTrailing() error {
	r := s.of
	n := uint64(1)
	if !r.SoleMember() {
		n = max(r.cfg.TrailingLogs, r.log.EntriesWithin(r.cfg.TrailingBytes, r.raft.LastIndex()))
	}
	conf := r.raft.ReloadableConfig()
	if conf.TrailingLogs == n {
		return nil
	}
	conf.TrailingLogs = n
	return r.raft.ReloadConfig(conf)
}

// snapshotCheck is how often a member checks whether its log has grown enough to be cut. A random
// time up to the same length is added, so that not all members check at once.
const snapshotCheck = 2 * time.Minute

// takeRegularly takes a snapshot whenever Config.SnapshotEvery entries were appended since the
// newest one, until the member ends. The library could do this by itself, but it would also do so
// while a snapshot of another member is installed. That is a deadlock: the library's snapshot waits
// for the main loop, the main loop waits for the state machine to restore, and the restore waits
// for the release of the frozen state.
func (s *snapshots) takeRegularly() {
	r := s.of
	for {
		select {
		case <-r.ended:
			return
		case <-time.After(snapshotCheck + rand.N(snapshotCheck)):
		}
		newest, err := strconv.ParseUint(r.raft.Stats()["last_snapshot_index"], 10, 64)
		if err == nil && r.raft.LastIndex()-min(newest, r.raft.LastIndex()) < r.cfg.SnapshotEvery {
			continue
		}
		if err := r.Snapshot(); err != nil && r.failure() == nil {
			r.cfg.Logger.Warn("could not take a snapshot, so the log was not cut; this is tried "+
				"again", "group", r.cfg.Group, "error", err)
		}
	}
}
