package shard

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/replica"
	"cordwood/shard/replica/transport"
	"cordwood/shard/server"
)

// group is a shard with replicas on several nodes, over the real transport and the real
// service, on loopback addresses.
type group struct {
	t     testing.TB
	setup func(node string, cfg *Config)
	// incarnation is the incarnation of the shard; 0 means 1.
	incarnation uint32

	mu    sync.Mutex // guards nodes
	nodes map[string]*groupNode
}

func (g *group) node(id string) *groupNode {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.nodes[id]
}

// groupNode is a node of a group. Its network outlives its replica.
type groupNode struct {
	id      string
	network *transport.Network
	raftOn  net.Listener
	conn    *grpc.ClientConn

	mu    sync.Mutex // guards shard, cut and side
	shard *Shard
	cut   bool // it is cut off from all nodes
	side  int  // it reaches only the nodes with the same side

	cfg  Config
	open *opened
}

func (n *groupNode) isCut() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut
}

func (n *groupNode) setCut(cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = cut
}

func (n *groupNode) sideOf() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.side
}

// apart reports whether two nodes cannot reach each other.
func apart(a, b *groupNode) bool { return a.isCut() || b.isCut() || a.sideOf() != b.sideOf() }

// part moves nodes to the other side of the network.
func (g *group) part(side int, ids ...string) {
	for _, id := range ids {
		n := g.node(id)
		n.mu.Lock()
		n.side = side
		n.mu.Unlock()
	}
}

func (n *groupNode) setShard(s *Shard) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shard = s
}

func (n *groupNode) get(id uint32) (*Shard, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shard, n.shard != nil && id == testShard
}

// newGroup creates a shard on the given nodes; setup may change their settings.
func newGroup(t testing.TB, setup func(node string, cfg *Config), founders ...string) *group {
	g := &group{t: t, nodes: map[string]*groupNode{}, setup: setup}
	for _, id := range founders {
		g.addNode(id)
	}
	for _, id := range founders {
		g.open(id, founders)
	}
	return g
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// addNode adds a node without a replica.
func (g *group) addNode(id string) *groupNode {
	t := g.t
	n := &groupNode{id: id, raftOn: listen(t)}
	var err error
	n.network, err = transport.New(transport.Config{
		ClusterID: "test", NodeID: id,
		Dial: func(ctx context.Context, to string) (net.Conn, error) {
			peer := g.node(to)
			if peer == nil || apart(n, peer) {
				return nil, fmt.Errorf("node %s cannot be reached", to)
			}
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", peer.raftOn.Addr().String())
			if err != nil {
				return nil, err
			}
			return &cuttable{Conn: conn, a: n, b: peer}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.network.Close() })
	go func() {
		for {
			c, err := n.raftOn.Accept()
			if err != nil {
				return
			}
			go n.network.Serve(c, "")
		}
	}()
	srv := grpc.NewServer()
	shardpb.RegisterShardServiceServer(srv, server.New(server.Config{
		Shards: server.Find(n.get),
		All:    func() []server.Shard { return nil },
		Engine: &fakeEngine{},
	}))
	on := listen(t)
	go func() { _ = srv.Serve(on) }()
	t.Cleanup(srv.Stop)
	if n.conn, err = grpc.NewClient(on.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.conn.Close() })
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nodes[id] = n
	return n
}

// cuttable is a connection that fails while one of its nodes is cut off.
type cuttable struct {
	net.Conn
	a, b *groupNode
}

func (c *cuttable) Write(b []byte) (int, error) {
	if apart(c.a, c.b) {
		c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func (c *cuttable) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if apart(c.a, c.b) {
		c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// config returns the configuration of a node's replica, without the transport.
func (g *group) config(id string, founders []string) Config {
	n := g.node(id)
	cfg := testConfig(g.t)
	cfg.NodeID, cfg.Dir = id, filepath.Join(g.t.TempDir(), id)
	cfg.Bootstrap, cfg.Founders = len(founders) > 0, founders
	cfg.FailStop = func(err error) { g.t.Errorf("node %s failed: %v", id, err) }
	cfg.Members = func() []string {
		g.mu.Lock()
		defer g.mu.Unlock()
		return slices.Collect(maps.Keys(g.nodes))
	}
	cfg.Peers = func(node string) (grpc.ClientConnInterface, error) {
		peer := g.node(node)
		if peer == nil || apart(n, peer) {
			return nil, fmt.Errorf("node %s cannot be reached", node)
		}
		return peer.conn, nil
	}
	if g.setup != nil {
		g.setup(id, &cfg)
	}
	if testing.Verbose() {
		cfg.Logger = slog.New(slog.NewTextHandler(testWriter{g.t}, &slog.HandlerOptions{Level: slog.LevelInfo})).
			With("node", id)
	}
	return cfg
}

// joined returns the configuration of a node's replica, with a transport.
func (g *group) joined(n *groupNode) Config {
	g.t.Helper()
	var err error
	n.cfg.Incarnation = max(1, g.incarnation)
	if n.cfg.Transport, err = n.network.Group(fmt.Sprintf("shard/%d/%d", testShard, n.cfg.Incarnation)); err != nil {
		g.t.Fatal(err)
	}
	return n.cfg
}

// open opens the replica of a node, in its former folder if it had one. Without founders the
// replica joins an existing group.
func (g *group) open(id string, founders []string) *opened {
	g.t.Helper()
	n := g.node(id)
	if n.cfg.Dir == "" {
		n.cfg = g.config(id, founders)
	}
	s, err := Open(g.joined(n))
	if err != nil {
		g.t.Fatal(err)
	}
	n.open = &opened{s, g.t, n.cfg}
	n.setShard(s)
	g.t.Cleanup(n.open.crash)
	return n.open
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) { w.t.Logf("%s", b); return len(b), nil }

// stop crashes the replica of a node.
func (g *group) stop(id string) {
	g.t.Helper()
	n := g.nodes[id]
	n.setShard(nil)
	n.open.crash()
}

// leader waits until one of the open replicas leads, and returns it.
func (g *group) leader() *opened {
	g.t.Helper()
	ctx, cancel := context.WithCancel(wait(g.t))
	defer cancel()
	found := make(chan *opened, len(g.nodes))
	for _, n := range g.nodes {
		if s, ok := n.get(testShard); ok && !n.isCut() {
			go func() {
				if s.replica.WaitLeader(ctx) == nil {
					found <- n.open
				}
			}()
		}
	}
	select {
	case o := <-found:
		return o
	case <-ctx.Done():
		g.t.Fatal("nobody leads")
		return nil
	}
}

// followers returns the open replicas except o, or all of them if o is nil.
func (g *group) followers(o *opened) (out []*opened) {
	ids := []string{}
	for id, n := range g.nodes {
		if s, ok := n.get(testShard); ok && (o == nil || s != o.Shard) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		out = append(out, g.nodes[id].open)
	}
	return out
}

// barrier waits until a replica has applied everything that the leader has acknowledged.
func (g *group) barrier(leader, o *opened) {
	g.t.Helper()
	index, err := leader.ReadBarrier(wait(g.t))
	if err != nil {
		g.t.Fatal(err)
	}
	if err := o.WaitApplied(wait(g.t), index); err != nil {
		g.t.Fatal(err)
	}
}

// caughtUp waits until a replica has every acknowledged row, even if the leader changes meanwhile.
func (g *group) caughtUp(o *opened) {
	g.t.Helper()
	for ctx := wait(g.t); ; {
		index, err := g.leader().ReadBarrier(ctx)
		if err == nil {
			err = o.WaitApplied(ctx, index)
		}
		if err == nil {
			return
		}
		if reason := errs.ReasonOf(err); ctx.Err() != nil || reason != errs.NotLeader && reason != errs.Busy {
			g.t.Fatal(err)
		}
	}
}

// change makes a change at the leader, and repeats it while the leader is not ready for it.
func (g *group) change(o *opened, kind replica.ChangeKind, node string) {
	g.t.Helper()
	ctx := wait(g.t)
	for {
		err := o.Change(ctx, kind, node)
		if err == nil {
			return
		}
		if busy(err) && ctx.Err() == nil {
			<-time.After(20 * time.Millisecond)
			continue
		}
		g.t.Fatal(err)
	}
}

// put writes batches at the leader, and repeats the write for as long as a client would.
func (g *group) put(batches ...[]byte) {
	g.t.Helper()
	for ctx := wait(g.t); ; {
		_, err := g.leader().put(batches...)
		if err == nil {
			return
		}
		if reason := errs.ReasonOf(err); ctx.Err() != nil ||
			reason != errs.NotLeader && reason != errs.Busy && reason != errs.OutcomeUnknown {
			g.t.Fatal(err)
		}
	}
}

func busy(err error) bool {
	reason := errs.ReasonOf(err)
	return reason == errs.Busy || reason == errs.NotLeader && errs.From(err).Leader == ""
}

// wantRows waits until a replica has the leader's rows, and compares them with the wanted rows.
func (g *group) wantRows(o *opened, table uint64, want ...string) {
	g.t.Helper()
	g.caughtUp(o)
	if diff := cmp.Diff(want, o.rows(table)); diff != "" {
		g.t.Errorf("node %s (-want +got):\n%s", o.cfg.NodeID, diff)
	}
}
