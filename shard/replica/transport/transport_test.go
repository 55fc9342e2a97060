package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// mesh is a set of networks on loopback listeners, with a switch for each direction between two of them.
type mesh struct {
	t     testing.TB
	nodes map[string]*Network
	addrs map[string]string
	mu    sync.Mutex
	cut   map[string]bool // "from>to"
	open  map[string][]net.Conn
	dials atomic.Int64
	wrote map[string]*atomic.Int64 // writes by "from>to"
}

func newMesh(t testing.TB, change func(*Config), ids ...string) *mesh {
	h := &mesh{
		t: t, nodes: map[string]*Network{}, addrs: map[string]string{}, cut: map[string]bool{},
		open: map[string][]net.Conn{}, wrote: map[string]*atomic.Int64{},
	}
	for _, id := range ids {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		h.addrs[id] = l.Addr().String()
		for _, other := range ids {
			h.wrote[id+">"+other] = &atomic.Int64{}
		}
		cfg := Config{
			ClusterID: "c1",
			NodeID:    id,
			Dial:      func(ctx context.Context, to string) (net.Conn, error) { return h.dial(ctx, id, to) },
		}
		if change != nil {
			change(&cfg)
		}
		n, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		h.nodes[id] = n
		var accepting sync.WaitGroup
		accepting.Go(func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				accepting.Go(func() { n.Serve(conn, "") })
			}
		})
		t.Cleanup(func() {
			l.Close()
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			accepting.Wait()
		})
	}
	return h
}

func (h *mesh) dial(ctx context.Context, from, to string) (net.Conn, error) {
	h.dials.Add(1)
	way := from + ">" + to
	h.mu.Lock()
	addr, cut := h.addrs[to], h.cut[way]
	h.mu.Unlock()
	if cut || addr == "" {
		return nil, fmt.Errorf("no connection from %s to %s", from, to)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.open[way] = append(h.open[way], conn)
	h.mu.Unlock()
	return &counted{conn, h.wrote[way]}, nil
}

// counted counts the writes of a connection.
type counted struct {
	net.Conn
	writes *atomic.Int64
}

func (c *counted) Write(b []byte) (int, error) {
	if c.writes != nil {
		c.writes.Add(1)
	}
	return c.Conn.Write(b)
}

// sever cuts or restores both directions between two nodes.
func (h *mesh) sever(a, b string, cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, way := range []string{a + ">" + b, b + ">" + a} {
		h.cut[way] = cut
		if cut {
			for _, c := range h.open[way] {
				c.Close()
			}
			h.open[way] = nil
		}
	}
}

// member is a raft member with its log in memory.
type member struct {
	*raft.Raft
	id    string
	fsm   *sumFSM
	store *raft.InmemStore
}

// sumFSM records the commands.
type sumFSM struct {
	mu   sync.Mutex
	list []string
}

func (f *sumFSM) Apply(l *raft.Log) any {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, string(l.Data))
	return nil
}

func (f *sumFSM) Snapshot() (raft.FSMSnapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return snapshotOf(append([]string(nil), f.list...)), nil
}

func (f *sumFSM) Restore(r io.ReadCloser) error {
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return decode(text, &f.list)
}

func (f *sumFSM) len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.list)
}

type snapshotOf []string

func (s snapshotOf) Persist(sink raft.SnapshotSink) error {
	text, err := encode([]string(s))
	if err == nil {
		_, err = sink.Write(text)
	}
	return errors.Join(err, sink.Close())
}
func (s snapshotOf) Release() {}

func (h *mesh) member(group, id string, ids []string) *member {
	h.t.Helper()
	tr, err := h.nodes[id].Group(group)
	if err != nil {
		h.t.Fatal(err)
	}
	c := raft.DefaultConfig()
	c.LocalID, c.LogLevel = raft.ServerID(id), "OFF"
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout, c.CommitTimeout = 300*time.Millisecond,
		300*time.Millisecond, 300*time.Millisecond, 20*time.Millisecond
	c.SnapshotThreshold, c.TrailingLogs = 1<<40, 4
	m := &member{id: id, fsm: &sumFSM{}, store: raft.NewInmemStore()}
	snaps := raft.NewInmemSnapshotStore()
	if ids != nil {
		var servers []raft.Server
		for _, s := range ids {
			servers = append(servers, raft.Server{ID: raft.ServerID(s), Address: raft.ServerAddress(s)})
		}
		if err := raft.BootstrapCluster(c, m.store, m.store, snaps, tr, raft.Configuration{Servers: servers}); err != nil {
			h.t.Fatal(err)
		}
	}
	if m.Raft, err = raft.NewRaft(c, m.fsm, m.store, m.store, snaps, tr); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := m.Shutdown().Error(); err != nil {
			h.t.Error(err)
		}
		if err := tr.Close(); err != nil {
			h.t.Error(err)
		}
	})
	return m
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting for: %s", what)
		}
	}
}

// leader waits until all of the members follow the same leader, and returns it.
func leader(t testing.TB, members ...*member) *member {
	t.Helper()
	var found *member
	eventually(t, "a leader", func() bool {
		found = nil
		for _, m := range members {
			if m.State() == raft.Leader {
				found = m
			}
		}
		for _, m := range members {
			if _, id := m.LeaderWithID(); found == nil || string(id) != found.id {
				return false
			}
		}
		return true
	})
	return found
}

var three = []string{"a", "b", "c"}

// TestGroupsReplicate replicates several groups over the shared connections, in order and
// completely, with a lost leader and a member that returns and needs a snapshot.
func TestGroupsReplicate(t *testing.T) {
	h := newMesh(t, nil, three...)
	const groups, commands = 4, 200
	for g := range groups {
		var members []*member
		for _, id := range three {
			members = append(members, h.member(fmt.Sprint("g", g), id, three))
		}
		l := leader(t, members...)
		for i := range commands {
			l.Apply(fmt.Appendf(nil, "%d-%d", g, i), 5*time.Second)
		}
		if err := l.Barrier(5 * time.Second).Error(); err != nil {
			t.Fatal(err)
		}
		for _, m := range members {
			eventually(t, "all commands on "+m.id, func() bool { return m.fsm.len() == commands })
			for i, got := range m.fsm.list {
				if want := fmt.Sprintf("%d-%d", g, i); got != want {
					t.Fatalf("%s: command %d is %q, want %q", m.id, i, got, want)
				}
			}
		}
	}
	// All groups together use one stream of each of two classes, in each direction. More dials mean
	// that a stream broke.
	if n := h.dials.Load(); n > 24 {
		t.Errorf("%d dials for %d groups on 3 nodes", n, groups)
	}
}

func TestPartitionAndSnapshot(t *testing.T) {
	h := newMesh(t, func(c *Config) { c.Timeout = 500 * time.Millisecond }, three...)
	var members []*member
	for _, id := range three {
		members = append(members, h.member("g", id, three))
	}
	old := leader(t, members...)
	var rest []*member
	for _, m := range members {
		if m != old {
			h.sever(old.id, m.id, true)
			rest = append(rest, m)
		}
	}
	l := leader(t, rest...)
	big := make([]byte, 1<<20)
	for range 12 {
		l = apply(t, big, rest...)
	}
	// The log before the snapshot is cut, so the member that was cut off needs the snapshot.
	if err := l.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	for _, m := range rest {
		h.sever(old.id, m.id, false)
	}
	eventually(t, "the member that was away has everything", func() bool {
		return old.fsm.len() == l.fsm.len() && old.fsm.len() >= 12
	})
	apply(t, []byte("after"), members...)
}

// apply lets the leader apply a command, and returns the leader, which may change on a busy
// machine.
func apply(t *testing.T, data []byte, members ...*member) *member {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		l := leader(t, members...)
		err := l.Apply(data, 5*time.Second).Error()
		if err == nil {
			return l
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestHeartbeatsOfOneGroupArePrompt checks that heartbeats of the metadata group are not delayed,
// because reads wait for them.
func TestHeartbeatsOfOneGroupArePrompt(t *testing.T) {
	h := newMesh(t, func(c *Config) { c.Coalesce, c.Timeout = time.Hour, 10*time.Second }, "a", "b")
	ta, err := h.nodes["a"].Group("meta")
	if err != nil {
		t.Fatal(err)
	}
	tb, err := h.nodes["b"].Group("meta")
	if err != nil {
		t.Fatal(err)
	}
	tb.SetHeartbeatHandler(func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Term: 7, Success: true}, nil) })
	var resp raft.AppendEntriesResponse
	if err := ta.AppendEntries("b", "", &raft.AppendEntriesRequest{Term: 7}, &resp); err != nil || resp.Term != 7 {
		t.Errorf("%v, %+v", err, resp)
	}
}

// TestHeartbeatsAreCoalesced checks that heartbeats of many groups share writes.
func TestHeartbeatsAreCoalesced(t *testing.T) {
	h := newMesh(t, func(c *Config) { c.Coalesce = 40 * time.Millisecond }, "a", "b")
	const groups = 32
	var beats atomic.Int64
	var calls sync.WaitGroup
	for g := range groups {
		name := fmt.Sprint("g", g)
		ta, err := h.nodes["a"].Group(name)
		if err != nil {
			t.Fatal(err)
		}
		tb, err := h.nodes["b"].Group(name)
		if err != nil {
			t.Fatal(err)
		}
		tb.SetHeartbeatHandler(func(rpc raft.RPC) {
			beats.Add(1)
			rpc.Respond(&raft.AppendEntriesResponse{Term: 7, Success: true}, nil)
		})
		for range 4 {
			calls.Go(func() {
				var resp raft.AppendEntriesResponse
				if err := ta.AppendEntries("b", "", &raft.AppendEntriesRequest{Term: 7}, &resp); err != nil || resp.Term != 7 {
					t.Errorf("heartbeat of %s: %v, %+v", name, err, resp)
				}
			})
		}
	}
	calls.Wait()
	if beats.Load() != 4*groups {
		t.Errorf("%d heartbeats arrived, want %d", beats.Load(), 4*groups)
	}
	if n := h.wrote["a>b"].Load(); n > 2*groups {
		t.Errorf("%d writes for %d heartbeats", n, 4*groups)
	}
}

// TestForeignNodesAreRefused checks that a node with another id or of another cluster is refused
// with a reason.
func TestForeignNodesAreRefused(t *testing.T) {
	h := newMesh(t, nil, "a", "b")
	for _, c := range []struct{ name, cluster, to, want string }{
		{"another cluster", "c2", "b", "belongs to cluster c2"},
		{"another node", "c1", "moved", "this is node b"},
	} {
		n, err := New(Config{ClusterID: c.cluster, NodeID: "x", Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", h.addrs["b"])
		}})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := n.Group("g")
		if err != nil {
			t.Fatal(err)
		}
		err = tr.RequestVote(raft.ServerID(c.to), "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{})
		if !errors.Is(err, ErrRefused) || !contains(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	// A missing group is reported as an answer and not as a lost connection.
	tr, err := h.nodes["a"].Group("g")
	if err != nil {
		t.Fatal(err)
	}
	err = tr.RequestVote("b", "", &raft.RequestVoteRequest{}, &raft.RequestVoteResponse{})
	if err == nil || !contains(err, "not open on this node") {
		t.Errorf("a group that does not exist: %v", err)
	}
	if _, err := h.nodes["a"].Group("g"); err == nil {
		t.Error("a group was opened twice")
	}
}

// TestSlowGroupIsAlone checks that a member that does not answer delays neither another group nor a
// heartbeat, and that the window stops its leader.
func TestSlowGroupIsAlone(t *testing.T) {
	h := newMesh(t, func(c *Config) { c.GroupWindow, c.AppendTimeout = 1<<20, 30*time.Second }, "a", "b")
	open := func(node, group string) *Transport {
		tr, err := h.nodes[node].Group(group)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	slow, quick := open("a", "slow"), open("a", "quick")
	slowB, quickB := open("b", "slow"), open("b", "quick")
	slowB.SetHeartbeatHandler(func(rpc raft.RPC) { rpc.Respond(&raft.AppendEntriesResponse{Term: 1}, nil) })
	go func() {
		for rpc := range quickB.Consumer() {
			rpc.Respond(&raft.AppendEntriesResponse{Term: 2}, nil)
			if rpc.Command.(*raft.AppendEntriesRequest).PrevLogEntry == 99 {
				return
			}
		}
	}()
	big := &raft.AppendEntriesRequest{Term: 1, Entries: []*raft.Log{{Data: make([]byte, 700<<10)}}}
	pl, err := slow.AppendEntriesPipeline("b", "")
	if err != nil {
		t.Fatal(err)
	}
	defer pl.Close()
	var sent atomic.Int64
	go func() {
		for range 3 {
			if _, err := pl.AppendEntries(big, &raft.AppendEntriesResponse{}); err != nil {
				return
			}
			sent.Add(1)
		}
	}()
	for i := range 50 {
		var resp raft.AppendEntriesResponse
		req := *big
		req.PrevLogEntry = uint64(i + 50)
		if err := quick.AppendEntries("b", "", &req, &resp); err != nil || resp.Term != 2 {
			t.Fatalf("append of the other group: %v, %+v", err, resp)
		}
		if err := slow.AppendEntries("b", "", &raft.AppendEntriesRequest{Term: 1}, &resp); err != nil {
			t.Fatalf("heartbeat of the slow group: %v", err)
		}
	}
	if n := sent.Load(); n != 1 {
		t.Errorf("%d appends of 700 KiB are in flight in a window of 1 MiB, want 1", n)
	}
	// The window opens when the member answers.
	go func() {
		for range 3 {
			rpc := <-slowB.Consumer()
			rpc.Respond(&raft.AppendEntriesResponse{Term: 3, Success: true}, nil)
		}
	}()
	for range 3 {
		f := <-pl.Consumer()
		if err := f.Error(); err != nil || f.Response().Term != 3 {
			t.Errorf("answer of the slow group: %v", err)
		}
	}
}

// TestStaleConnection checks that a dead connection does not make a vote fail: the vote is sent
// again.
func TestStaleConnection(t *testing.T) {
	h := newMesh(t, nil, "a", "b")
	ta, err := h.nodes["a"].Group("g")
	if err != nil {
		t.Fatal(err)
	}
	tb, err := h.nodes["b"].Group("g")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for range 2 {
			rpc := <-tb.Consumer()
			rpc.Respond(&raft.RequestVoteResponse{Granted: true}, nil)
		}
	}()
	for i := range 2 {
		var resp raft.RequestVoteResponse
		if err := ta.RequestVote("b", "", &raft.RequestVoteRequest{Term: 1}, &resp); err != nil || !resp.Granted {
			t.Fatalf("vote %d: %v, %+v", i, err, resp)
		}
		h.mu.Lock()
		for _, c := range h.open["a>b"] {
			c.Close()
		}
		h.mu.Unlock()
	}
}

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
