package replica

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// cutOff is a transport that reaches no member while it is cut off.
type cutOff struct {
	*raft.InmemTransport
	mu             sync.Mutex
	cut            bool
	appends, beats int // attempts while it was cut off
}

func (c *cutOff) AppendEntries(id raft.ServerID, addr raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	c.mu.Lock()
	cut := c.cut
	if cut {
		if len(args.Entries) == 0 && args.PrevLogEntry == 0 && args.LeaderCommitIndex == 0 {
			c.beats++
		} else {
			c.appends++
		}
	}
	c.mu.Unlock()
	if cut {
		return errors.New("cut off")
	}
	return c.InmemTransport.AppendEntries(id, addr, args, resp)
}

func (c *cutOff) AppendEntriesPipeline(raft.ServerID, raft.ServerAddress) (raft.AppendPipeline, error) {
	return nil, raft.ErrPipelineReplicationNotSupported
}

// TestAppendsWaitForAMemberToComeBack disconnects a member for many heartbeats. During this time
// appends to it must not be tried, because after each failure raft would wait longer, up to 10 s.
// They continue when the member answers again.
func TestAppendsWaitForAMemberToComeBack(t *testing.T) {
	ids := []string{"n1", "n2", "n3"}
	trans := map[string]*cutOff{}
	for _, id := range ids {
		_, inmem := raft.NewInmemTransport(raft.ServerAddress(id))
		trans[id] = &cutOff{InmemTransport: inmem}
	}
	for _, a := range ids {
		for _, b := range ids {
			trans[a].Connect(raft.ServerAddress(b), trans[b].InmemTransport)
		}
	}
	var members []*Replica
	for _, id := range ids {
		var only raft.Transport = trans[id]
		if id == "n1" {
			only = &toOne{cutOff: trans[id], id: "n3"}
		}
		r, err := Open(Config{
			Group: "test", NodeID: id, Dir: t.TempDir(), FSM: &list{}, Bootstrap: true, Founders: ids, Transport: only,
			Log: raftlog.WAL,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		members = append(members, r)
	}
	leader := waitAny(t, members[0], members[1], members[2])
	if leader != members[0] {
		// A member that has only just started is not ready to lead.
		ctx := within(t)
		for {
			err := leader.Change(ctx, Lead, "n1")
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				t.Fatal(err)
			}
			runtime.Gosched()
		}
		leader = members[0]
		if err := leader.WaitLeader(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	link := trans["n1"]
	link.mu.Lock()
	link.cut = true
	link.mu.Unlock()
	var last Applied
	for appends, beats := 0, 0; appends <= 2 && beats < 8; {
		var err error
		if last, err = leader.Propose(within(t), []byte("a")); err != nil {
			t.Fatal(err)
		}
		link.mu.Lock()
		appends, beats = link.appends, link.beats
		link.mu.Unlock()
		if appends > 2 {
			t.Errorf("%d appends were tried while the member was away, besides %d heartbeats", appends, beats)
		}
	}
	link.mu.Lock()
	link.cut = false
	link.mu.Unlock()
	if err := members[2].WaitApplied(within(t), last.Index); err != nil {
		t.Error(err)
	}
}

// toOne is a transport that is cut off from one member only.
type toOne struct {
	*cutOff
	id raft.ServerID
}

func (c *toOne) AppendEntries(id raft.ServerID, addr raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse,
) error {
	if id != c.id {
		return c.InmemTransport.AppendEntries(id, addr, args, resp)
	}
	return c.cutOff.AppendEntries(id, addr, args, resp)
}
