package replica

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"cordwood/shard/replica/raftlog"
)

// TestAddedAgain removes a member while another one, which is cut off, still counts it as a voter. Then it adds
// the removed member again, with an empty folder. The member that was cut off must not become the leader with its
// vote, nor have entries acknowledged by it: it lacks committed entries.
func TestAddedAgain(t *testing.T) {
	kinds(t, func(t *testing.T, kind raftlog.Kind) {
		g := &memory{t: t, kind: kind, trans: map[string]*raft.InmemTransport{}, fsms: map[string]*list{}}
		founders := []string{"n1", "n2", "n3"}
		var members []*Replica
		for _, id := range founders {
			g.transport(id, founders...)
		}
		for _, id := range founders {
			members = append(members, g.open(id, t.TempDir(), func(c *Config) { c.Bootstrap, c.Founders = true, founders }))
		}
		leader := waitAny(t, members...)
		var others []*Replica
		for _, r := range members {
			if r != leader {
				others = append(others, r)
			}
		}
		cut, again := others[0], others[1]
		mustPropose(t, leader, "a")
		index, term, err := leader.ReadIndex(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := cut.WaitApplied(within(t), index); err != nil {
			t.Fatal(err)
		}
		for _, id := range founders {
			g.connect(cut.cfg.NodeID, id, false)
		}
		last := cut.Stats().LastIndex
		g.transport("n4", leader.cfg.NodeID, again.cfg.NodeID)
		fourth := g.open("n4", t.TempDir(), func(*Config) {})
		for _, change := range []ChangeKind{AddLearner, Promote} {
			g.change(leader, change, "n4", fourth)
		}
		g.change(leader, Remove, again.cfg.NodeID)
		mustPropose(t, leader, "b", "c")

		// The member is added again.
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		id, dir := again.cfg.NodeID, t.TempDir()
		delete(g.fsms, id)
		g.transport(id, cut.cfg.NodeID)
		answer := make(chan Progress, 1)
		again = g.open(id, dir, func(c *Config) {
			c.Progress = func(ctx context.Context) (Progress, error) {
				select {
				case p := <-answer:
					return p, nil
				case <-ctx.Done():
					return Progress{}, ctx.Err()
				}
			}
		})
		from := g.trans[cut.cfg.NodeID]
		name := []byte(cut.cfg.NodeID)
		header := raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax, ID: name, Addr: name}
		requests := map[string]func() error{
			"pre-vote": func() error {
				return from.RequestPreVote(raft.ServerID(id), raft.ServerAddress(id), &raft.RequestPreVoteRequest{
					RPCHeader: header, Term: term + 100, LastLogIndex: last, LastLogTerm: term,
				}, &raft.RequestPreVoteResponse{})
			},
			"vote": func() error {
				return from.RequestVote(raft.ServerID(id), raft.ServerAddress(id), &raft.RequestVoteRequest{
					RPCHeader: header, Term: term + 100, LastLogIndex: last, LastLogTerm: term,
				}, &raft.RequestVoteResponse{})
			},
			"append": func() error {
				return from.AppendEntries(raft.ServerID(id), raft.ServerAddress(id), &raft.AppendEntriesRequest{
					RPCHeader: header, Term: term - 1,
					Entries: []*raft.Log{{Index: 1, Term: term - 1, Type: raft.LogNoop}},
				}, &raft.AppendEntriesResponse{})
			},
			"heartbeat": func() error {
				return from.AppendEntries(raft.ServerID(id), raft.ServerAddress(id), &raft.AppendEntriesRequest{
					RPCHeader: header, Term: term - 1,
				}, &raft.AppendEntriesResponse{})
			},
			"transfer": func() error {
				return from.TimeoutNow(raft.ServerID(id), raft.ServerAddress(id), &raft.TimeoutNowRequest{RPCHeader: header},
					&raft.TimeoutNowResponse{})
			},
		}
		refused := func(when string) {
			t.Helper()
			for name, request := range requests {
				if err := request(); err == nil || !strings.Contains(err.Error(), "is new here") {
					t.Errorf("%s: a %s is answered with %v", when, name, err)
				}
			}
		}
		refused("before the leader has answered")
		_, p, err := leader.ReadProgress(within(t))
		if err != nil {
			t.Fatal(err)
		}
		answer <- p
		j := filepath.Join(dir, joiningFile)
		g.until(func() bool { b, err := os.ReadFile(j); return err == nil && len(b) > 0 })
		refused("before the entries have come")

		g.connect(leader.cfg.NodeID, id, true)
		g.connect("n4", id, true)
		g.change(leader, AddLearner, id)
		g.change(leader, Promote, id, again)
		mustPropose(t, leader, "d")
		if index, _, err = leader.ReadIndex(within(t)); err != nil {
			t.Fatal(err)
		}
		if err := again.WaitApplied(within(t), index); err != nil {
			t.Fatal(err)
		}
		g.until(func() bool { _, err := os.Stat(j); return errors.Is(err, os.ErrNotExist) })
		wantList(t, g.fsms[id], []string{"a", "b", "c", "d"})
		if err := requests["heartbeat"](); err != nil {
			t.Errorf("a member that has all entries answers a heartbeat with %v", err)
		}
	})
}

// TestJoiningFile opens a member that was created earlier. It must know from its file how far the group was, and
// must not open with a file that it cannot read.
func TestJoiningFile(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Group: "test", Dir: dir}
	if j, err := joins(cfg, false, &running{}); err != nil || j != nil || j.refuse(&raft.TimeoutNowRequest{}) != "" ||
		j.mayNotLead() != "" {
		t.Errorf("a member that does not join: %v, %v", j, err)
	}
	if j, err := joins(cfg, true, &running{}); err != nil || j.mayNotLead() == "" {
		t.Errorf("a new member: %v, %v", j, err)
	}
	path := filepath.Join(dir, joiningFile)
	if err := os.WriteFile(path, []byte("7 50\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := joins(cfg, false, &running{})
	if err != nil || *j.at.Load() != (Progress{7, 50}) {
		t.Fatalf("the file is read as %+v, %v", j, err)
	}
	for _, c := range []struct {
		term, index uint64
		granted     bool
	}{{6, 99, false}, {7, 49, false}, {7, 50, true}, {8, 3, true}} {
		why := j.refuse(&raft.RequestVoteRequest{LastLogTerm: c.term, LastLogIndex: c.index})
		if (why == "") != c.granted {
			t.Errorf("a candidate whose log ends with entry %d of term %d: %q", c.index, c.term, why)
		}
	}
	if err := os.WriteFile(path, []byte("seven"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := joins(cfg, false, &running{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file without numbers: %v", err)
	}
}

// memory is a group whose members are connected in memory.
type memory struct {
	t     *testing.T
	kind  raftlog.Kind
	trans map[string]*raft.InmemTransport
	fsms  map[string]*list
}

// transport creates the transport of a node, and connects it to other nodes.
func (g *memory) transport(id string, to ...string) {
	_, g.trans[id] = raft.NewInmemTransport(raft.ServerAddress(id))
	for _, other := range to {
		if other != id && g.trans[other] != nil {
			g.connect(id, other, true)
		}
	}
}

func (g *memory) connect(a, b string, on bool) {
	if on {
		g.trans[a].Connect(raft.ServerAddress(b), g.trans[b])
		g.trans[b].Connect(raft.ServerAddress(a), g.trans[a])
	} else {
		g.trans[a].Disconnect(raft.ServerAddress(b))
		g.trans[b].Disconnect(raft.ServerAddress(a))
	}
}

func (g *memory) open(id, dir string, change func(*Config)) *Replica {
	g.t.Helper()
	g.fsms[id] = &list{}
	cfg := Config{Group: "test", NodeID: id, Dir: dir, FSM: g.fsms[id], Transport: g.trans[id], Log: g.kind}
	change(&cfg)
	r, err := Open(cfg)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = r.Close() })
	return r
}

// change changes the members, when those that it needs have caught up.
func (g *memory) change(leader *Replica, kind ChangeKind, id string, caughtUp ...*Replica) {
	g.t.Helper()
	for _, r := range caughtUp {
		index, _, err := leader.ReadIndex(within(g.t))
		if err != nil {
			g.t.Fatal(err)
		}
		if kind != AddLearner {
			if err := r.WaitApplied(within(g.t), index); err != nil {
				g.t.Fatal(err)
			}
		}
	}
	var err error
	g.until(func() bool { err = leader.Change(within(g.t), kind, id); return err == nil })
	if err != nil {
		g.t.Fatalf("%s %s: %v", kind, id, err)
	}
}

func (g *memory) until(done func() bool) {
	g.t.Helper()
	for ctx := within(g.t); !done(); {
		if ctx.Err() != nil {
			g.t.Error("it has not happened in time")
			return
		}
		<-time.After(time.Millisecond)
	}
}
