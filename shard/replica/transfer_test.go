package replica

import (
	"errors"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"

	"github.com/hashicorp/raft"
)

// TestNoTransferToASilentMember checks that leadership is not transferred to a member that does not
// answer. Writes would wait until raft abandons the transfer.
func TestNoTransferToASilentMember(t *testing.T) {
	ids := []string{"n1", "n2", "n3"}
	members, trans := openGroup(t, ids...)
	leader := waitAny(t, members["n1"], members["n2"], members["n3"])
	mustPropose(t, leader, "a")
	former := leader.cfg.NodeID
	var dead, alive string
	for _, id := range ids {
		switch {
		case id == leader.cfg.NodeID:
		case dead == "":
			dead = id
		default:
			alive = id
		}
	}
	for _, id := range ids {
		trans[id].Disconnect(raft.ServerAddress(dead))
	}
	trans[dead].DisconnectAll()
	silent := func() bool { return time.Since(leader.wire.Progress(dead).Answered) > leader.cfg.HeartbeatTimeout }
	for ctx := within(t); !silent(); {
		select {
		case <-ctx.Done():
			t.Fatalf("node %s still answers", dead)
		case <-time.After(time.Millisecond):
		}
	}
	err := leader.Change(within(t), Lead, dead)
	if e := errs.From(err); err == nil || e.Reason != errs.Busy || e.RetryAfter == 0 {
		t.Errorf("transfer of leadership to a silent member: %v, want a refusal that may be tried again later", err)
	}
	if errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		t.Errorf("the transfer was begun: %v", err)
	}
	// The same holds if the leader may choose, and if the only candidate is excluded.
	err = leader.StepDown(within(t), alive)
	if e := errs.From(err); err == nil || e.Reason != errs.Busy || !strings.Contains(err.Error(), dead) ||
		leader.raft.State() != raft.Leader {
		t.Errorf("step down if one voter is silent and the other is excluded: %v, want a refusal that lists both nodes",
			err)
	}
	if err := leader.StepDown(within(t)); err != nil || leader.raft.State() == raft.Leader {
		t.Fatalf("step down if one voter answers: %v", err)
	}
	// On a slow machine leadership may change by itself at any time.
	for ctx := within(t); ; {
		leader = proposeAny(t, members[alive], leader, "b")
		to := alive
		if alive == leader.cfg.NodeID {
			to = former
		}
		err := leader.Change(ctx, Lead, to)
		if err == nil {
			break
		}
		if r := errs.ReasonOf(err); r != errs.Busy && r != errs.NotLeader && r != errs.OutcomeUnknown {
			t.Fatalf("transfer of leadership to a member that answers: %v", err)
		}
	}
}

// TestSnapshotDuringTransfer checks that a snapshot waits for a running transfer of leadership and
// does not fail. Otherwise a node that stops during the transfer would end with an error.
func TestSnapshotDuringTransfer(t *testing.T) {
	ids := []string{"n1", "n2", "n3"}
	members, trans := openGroup(t, ids...)
	leader := waitAny(t, members["n1"], members["n2"], members["n3"])
	mustPropose(t, leader, "a")
	silent := ids[0]
	if silent == leader.cfg.NodeID {
		silent = ids[1]
	}
	for _, id := range ids {
		trans[id].Disconnect(raft.ServerAddress(silent))
	}
	trans[silent].DisconnectAll()
	// The transfer lasts until raft abandons it, because the other member receives nothing of it.
	handOver := leader.raft.LeadershipTransferToServer(raft.ServerID(silent), raft.ServerAddress(silent))
	if err := leader.Snapshot(); err != nil {
		t.Errorf("snapshot: %v", err)
	}
	if err := handOver.Error(); err == nil {
		t.Error("a silent member took over")
	}
}

// proposeAny proposes an entry at whichever of two members leads, and returns the leader.
func proposeAny(t *testing.T, a, b *Replica, entry string) *Replica {
	t.Helper()
	for ctx := within(t); ; {
		r := waitAny(t, a, b)
		_, err := r.Propose(ctx, []byte(entry))
		if err == nil {
			return r
		}
		if ctx.Err() != nil {
			t.Fatalf("propose %q: %v", entry, err)
		}
	}
}
