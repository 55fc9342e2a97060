package replica

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// gated is a transport whose appends to one member wait at a gate. Heartbeats are not delayed.
type gated struct {
	*raft.InmemTransport
	to   atomic.Pointer[raft.ServerID]
	gate sync.RWMutex
}

func (g *gated) AppendEntries(id raft.ServerID, addr raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	if to := g.to.Load(); to != nil && id == *to && args.PrevLogEntry > 0 {
		g.gate.RLock()
		defer g.gate.RUnlock()
	}
	return g.InmemTransport.AppendEntries(id, addr, args, resp)
}

// TestBacklogIsSentAtOnce reconnects a member that did not answer while many entries were written.
// It must get the whole backlog soon, even if nothing more is written. Otherwise it would get about
// one append a second.
func TestBacklogIsSentAtOnce(t *testing.T) {
	ids := []string{"n1", "n2", "n3"}
	trans, members := map[string]*gated{}, map[string]*Replica{}
	for _, id := range ids {
		_, inmem := raft.NewInmemTransport(raft.ServerAddress(id))
		trans[id] = &gated{InmemTransport: inmem}
	}
	for _, a := range ids {
		for _, b := range ids {
			trans[a].Connect(raft.ServerAddress(b), trans[b].InmemTransport)
		}
	}
	for _, id := range ids {
		r, err := Open(Config{
			Group: "test", NodeID: id, Dir: t.TempDir(), FSM: &list{}, Bootstrap: true, Founders: ids, Transport: trans[id],
			Log: raftlog.WAL,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		members[id] = r
	}
	leader := waitAny(t, members["n1"], members["n2"], members["n3"])
	var slow *Replica
	for _, r := range members {
		if r != leader {
			slow = r
		}
	}
	gate := trans[leader.cfg.NodeID]
	to := raft.ServerID(slow.cfg.NodeID)
	gate.to.Store(&to)
	gate.gate.Lock()
	// A broken connection ends the pipeline, and the next append waits at the gate.
	gate.Disconnect(raft.ServerAddress(slow.cfg.NodeID))
	mustPropose(t, leader, "a")
	gate.Connect(raft.ServerAddress(slow.cfg.NodeID), trans[slow.cfg.NodeID].InmemTransport)
	var last Applied
	for i := range 600 {
		var err error
		if last, err = leader.Propose(within(t), fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	gate.gate.Unlock()
	if err := slow.WaitApplied(within(t), last.Index); err != nil {
		t.Error(err)
	}
}
