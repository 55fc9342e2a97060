package replica

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// TestAwaitAfterTheEnd makes every request that raft answers with a future, after raft's main loop
// has ended. About half of the requests stay in a queue that is no longer read.
func TestAwaitAfterTheEnd(t *testing.T) {
	r := mustOpen(t, config(t.TempDir(), raftlog.WAL, &list{}))
	r.fail(errors.New("the disk is gone"))
	for ctx := within(t); r.raft.State() != raft.Shutdown; {
		select {
		case <-ctx.Done():
			t.Fatal("raft was not shut down")
		case <-time.After(time.Millisecond):
		}
	}
	for name, ask := range map[string]func() raft.Future{
		"a proposal":               func() raft.Future { return r.raft.Apply([]byte("a"), 0) },
		"a barrier":                func() raft.Future { return r.raft.Barrier(0) },
		"whether it leads":         func() raft.Future { return r.raft.VerifyLeader() },
		"another voter":            func() raft.Future { return r.raft.AddVoter("n2", "n2", 0, 0) },
		"another learner":          func() raft.Future { return r.raft.AddNonvoter("n2", "n2", 0, 0) },
		"one member less":          func() raft.Future { return r.raft.RemoveServer("n2", 0, 0) },
		"another leader":           func() raft.Future { return r.raft.LeadershipTransfer() },
		"a certain one as leader":  func() raft.Future { return r.raft.LeadershipTransferToServer("n2", "n2") },
		"the members of the group": func() raft.Future { return r.raft.GetConfiguration() },
	} {
		t.Run(name, func(t *testing.T) {
			done := make(chan error)
			for range 20 {
				go func() { done <- r.await(ask()) }()
				select {
				case err := <-done:
					if err != nil && !errors.Is(err, raft.ErrRaftShutdown) && !errors.Is(err, raft.ErrEnqueueTimeout) {
						t.Errorf("got %v", err)
					}
				case <-within(t).Done():
					t.Fatal("a request was not answered")
				}
			}
		})
	}
}

// blockedList is a list that applies entries only when the test allows it.
type blockedList struct {
	*list
	let chan struct{}
}

func (b blockedList) Apply(index, term uint64, data []byte) any {
	<-b.let
	return b.list.Apply(index, term, data)
}

// TestNoProposalOutlivesTheFailure fails a replica while many committed entries wait for the state
// machine. No caller may wait for answers that raft will never give.
func TestNoProposalOutlivesTheFailure(t *testing.T) {
	fsm := blockedList{list: &list{}, let: make(chan struct{})}
	r := mustOpen(t, config(t.TempDir(), raftlog.WAL, fsm))
	const proposals = 50
	ended := make(chan error, proposals)
	for i := range proposals {
		before := r.raft.CommitIndex()
		go func() {
			_, err := r.Propose(t.Context(), fmt.Appendf(nil, "a%d", i))
			ended <- err
		}()
		for ctx := within(t); r.raft.CommitIndex() == before; {
			select {
			case <-ctx.Done():
				t.Fatalf("entry %d is not committed", i)
			case <-time.After(time.Millisecond):
			}
		}
	}
	r.fail(errors.New("the disk is gone"))
	for range proposals {
		if err := <-ended; err == nil {
			t.Error("an entry was applied by a state machine that does nothing")
		}
	}
	idle := make(chan struct{})
	go func() { r.inflight.Wait(); close(idle) }()
	close(fsm.let)
	select {
	case <-idle:
	case <-within(t).Done():
		t.Error("a goroutine waits for an answer that never comes")
	}
}
