package shard

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/replica"
	"cordwood/shard/replica/transport"
)

// group is a shard with replicas on several nodes, over the real transport and the real
// service, on loopback addresses.
type group struct {
	t     *testing.T
	setup func(node string, cfg *Config)
	// incarnation is that of the shard, 1 if it is 0.
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

	mu    sync.Mutex // guards shard and cut
	shard *Shard
	cut   bool // nobody reaches it, and it reaches nobody

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

// newGroup founds a shard on the given nodes; setup may change their settings.
func newGroup(t *testing.T, setup func(node string, cfg *Config), founders ...string) *group {
	g := &group{t: t, nodes: map[string]*groupNode{}, setup: setup}
	for _, id := range founders {
		g.addNode(id)
	}
	for _, id := range founders {
		g.open(id, founders)
	}
	return g
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// addNode makes a node without a replica.
func (g *group) addNode(id string) *groupNode {
	t := g.t
	n := &groupNode{id: id, raftOn: listen(t)}
	var err error
	n.network, err = transport.New(transport.Config{ClusterID: "test", NodeID: id, Dial: func(ctx context.Context, to string) (net.Conn, error) {
		peer := g.node(to)
		if peer == nil || n.isCut() || peer.isCut() {
			return nil, fmt.Errorf("node %s cannot be reached", to)
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", peer.raftOn.Addr().String())
		if err != nil {
			return nil, err
		}
		return &cuttable{Conn: conn, a: n, b: peer}, nil
	}})
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
			go n.network.Serve(c)
		}
	}()
	srv := grpc.NewServer()
	shardpb.RegisterShardServiceServer(srv, NewServer(ServerConfig{Shards: n.get, All: func() []*Shard { return nil }, Engine: &fakeEngine{}}))
	on := listen(t)
	go func() { _ = srv.Serve(on) }()
	t.Cleanup(srv.Stop)
	if n.conn, err = grpc.NewClient(on.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
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
	if c.a.isCut() || c.b.isCut() {
		c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func (c *cuttable) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.a.isCut() || c.b.isCut() {
		c.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// config is what the replica of a node is opened with, but for the transport.
func (g *group) config(id string, founders []string) Config {
	n := g.node(id)
	cfg := testConfig(g.t)
	cfg.NodeID, cfg.Dir = id, filepath.Join(g.t.TempDir(), id)
	cfg.Bootstrap, cfg.Founders = len(founders) > 0, founders
	cfg.FailStop = func(err error) { g.t.Errorf("node %s failed: %v", id, err) }
	cfg.Peers = func(node string) (grpc.ClientConnInterface, error) {
		peer := g.node(node)
		if peer == nil || peer.isCut() || n.isCut() {
			return nil, fmt.Errorf("node %s cannot be reached", node)
		}
		return peer.conn, nil
	}
	if g.setup != nil {
		g.setup(id, &cfg)
	}
	if testing.Verbose() {
		cfg.Logger = slog.New(slog.NewTextHandler(testWriter{g.t}, &slog.HandlerOptions{Level: slog.LevelInfo})).With("node", id)
	}
	return cfg
}

// joined is the config of a node with a transport.
func (g *group) joined(n *groupNode) Config {
	g.t.Helper()
	var err error
	n.cfg.Incarnation = max(1, g.incarnation)
	if n.cfg.Transport, err = n.network.Group(fmt.Sprintf("shard/%d/%d", testShard, n.cfg.Incarnation)); err != nil {
		g.t.Fatal(err)
	}
	return n.cfg
}

// open opens the replica of a node, on the folder that it had before, if it had one.
// Without founders it is one that joins.
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

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) { w.t.Logf("%s", b); return len(b), nil }

// stop crashes the replica of a node.
func (g *group) stop(id string) {
	g.t.Helper()
	n := g.nodes[id]
	n.setShard(nil)
	n.open.crash()
}

// leader waits until one of the open replicas leads.
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

// followers are the open replicas that are not o; all of them if o is nil.
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

// barrier waits until a replica shows what the leader has acknowledged.
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

// change makes a change at the leader, again while that is too early.
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

// put writes batches at whoever leads, again as long as a client would.
func (g *group) put(batches ...[]byte) {
	g.t.Helper()
	for ctx := wait(g.t); ; {
		_, err := g.leader().put(batches...)
		if err == nil {
			return
		}
		if reason := errs.ReasonOf(err); ctx.Err() != nil || reason != errs.NotLeader && reason != errs.Busy && reason != errs.OutcomeUnknown {
			g.t.Fatal(err)
		}
	}
}

func busy(err error) bool {
	reason := errs.ReasonOf(err)
	return reason == errs.Busy || reason == errs.NotLeader && errs.From(err).Leader == ""
}

// wantRows waits until a replica shows what the leader does, and compares that.
func (g *group) wantRows(o *opened, table uint64, want ...string) {
	g.t.Helper()
	g.barrier(g.leader(), o)
	if diff := cmp.Diff(want, o.rows(table)); diff != "" {
		g.t.Errorf("node %s (-want +got):\n%s", o.cfg.NodeID, diff)
	}
}

func TestThreeReplicas(t *testing.T) {
	g := newGroup(t, nil, "n1", "n2", "n3")
	first := g.leader()
	g.put(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b"))
	for _, o := range g.followers(first) {
		if err := o.WaitReady(wait(t)); err != nil {
			t.Fatal(err)
		}
		g.wantRows(o, 1, "a")
		o.flush()
		if len(o.files("segments")) == 0 {
			t.Error("a follower flushed, and has no segments")
		}
		_, err := o.put(batch(head(1, 9, 3), "c"))
		if e := errs.From(err); e.Reason != errs.NotLeader || e.Leader != first.cfg.NodeID {
			t.Errorf("a follower answers a write with %v (%s, leader %q)", err, e.Reason, e.Leader)
		}
		if _, err := o.ReadBarrier(wait(t)); errs.ReasonOf(err) != errs.NotLeader {
			t.Errorf("a follower answers a read barrier with %v", err)
		}
	}
	r := first.Report()
	if want := []string{"n1", "n2", "n3"}; !slices.Equal(r.Voters, want) || r.State != "Leader" || !r.CaughtUp || r.Tables[0].Bytes == 0 {
		t.Errorf("report of the leader: %v", r)
	}

	// The leader dies. A retry of what it acknowledged is known to the next one.
	g.stop(first.cfg.NodeID)
	second := g.leader()
	g.put(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b"))
	g.put(batch(head(1, 9, 4), "d"))
	g.wantRows(second, 1, "a", "d")

	// It comes back and follows; leadership is handed to it.
	back := g.open(first.cfg.NodeID, nil)
	g.wantRows(back, 1, "a", "d")
	g.wantRows(back, 2, "b")
	g.change(second, replica.Lead, back.cfg.NodeID)
	if got := g.leader(); got.Shard != back.Shard {
		t.Errorf("node %s leads, want %s", got.cfg.NodeID, back.cfg.NodeID)
	}
	g.put(batch(head(1, 9, 4), "d"), batch(head(1, 9, 5), "e"))
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "d", "e")
	}
}

// TestCutOffLeader has a leader that nobody hears: what it takes in has an unknown
// outcome, and comes about once.
func TestCutOffLeader(t *testing.T) {
	g := newGroup(t, nil, "n1", "n2", "n3")
	old := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	n := g.node(old.cfg.NodeID)
	n.setCut(true)
	_, err := old.put(batch(head(1, 9, 2), "b"))
	if errs.ReasonOf(err) != errs.OutcomeUnknown {
		t.Errorf("a leader that was cut off answers %v", err)
	}
	next := g.leader()
	if next.Shard == old.Shard {
		t.Fatal("the leader that was cut off leads still")
	}
	g.put(batch(head(1, 9, 2), "b"))
	n.setCut(false)
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "b")
	}
}

// TestUnreadyReplicaIsLeft: a query does not wait for a replica that was restarted and has not
// caught up, since another one can answer; the error is one that has others asked.
func TestUnreadyReplicaIsLeft(t *testing.T) {
	g := newGroup(t, nil, "n1", "n2", "n3")
	leader := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	id := g.followers(leader)[0].cfg.NodeID
	g.stop(id)
	n := g.node(id)
	n.setCut(true)
	g.open(id, nil)
	ctx, cancel := context.WithTimeout(t.Context(), readyWait-time.Second)
	defer cancel()
	s := NewServer(ServerConfig{Shards: n.get}).(*server)
	_, err := s.ready(ctx, testShard)
	if errs.From(err).Code != errs.ShardNotReady {
		t.Errorf("a replica that knows no leader: %v, want ShardNotReady", err)
	}
	if ctx.Err() != nil {
		t.Error("the query waited for the replica, although others could have been asked")
	}
}

// TestAnyReplica: a read that any replica may answer is answered by a follower, also while nobody
// leads, unless what it has is too old or nobody knows how old it is.
func TestAnyReplica(t *testing.T) {
	g := newGroup(t, nil, "n1", "n2", "n3")
	leader := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	followers := g.followers(leader)
	o := followers[0]
	g.barrier(leader, o)
	s := NewServer(ServerConfig{Shards: g.node(o.cfg.NodeID).get}).(*server)
	known := func() bool { _, known := o.replica.Staleness(); return known }
	for ctx := wait(t); !known(); {
		select {
		case <-ctx.Done():
			t.Fatal("the follower never knew how old its rows may be")
		case <-time.After(10 * time.Millisecond):
		}
	}
	read := func(most time.Duration) error {
		_, err := s.present(t.Context(), testShard, true, most, 0)
		return err
	}
	if err := read(time.Hour); err != nil {
		t.Errorf("a follower: %v", err)
	}

	// A table that was handed over to the shard: the copy is there, and not known to be all.
	copied := def(5)
	copied.Placement[0].Epoch = 1
	if _, _, err := leader.Write(wait(t), [][]byte{batch(column.Header{TableID: 5, Epoch: 1, SchemaVersion: 1, Session: 9, Seq: 9}, "c")}, []*schemapb.Table{copied}); err != nil {
		t.Fatal(err)
	}
	handed := def(5)
	handed.Version, handed.OriginId = 2, 4
	anyRead := func(o *opened) error {
		g.barrier(leader, o)
		s := NewServer(ServerConfig{Shards: g.node(o.cfg.NodeID).get}).(*server)
		_, err := s.present(t.Context(), testShard, true, time.Hour, 0, def(1), handed)
		return err
	}
	if err := anyRead(o); errs.ReasonOf(err) != errs.NotLeader {
		t.Errorf("a follower that has a copy, perhaps not all of it: %v, want to be sent to the leader", err)
	}
	if err := anyRead(leader); err != nil {
		t.Errorf("the leader, which has all of the copy: %v", err)
	}
	if _, err := leader.Seal(wait(t), []*schemapb.Table{handed}); err != nil {
		t.Fatal(err)
	}
	if err := anyRead(o); err != nil {
		t.Errorf("a follower that knows that it has all of the copy: %v", err)
	}

	if err := read(1); errs.ReasonOf(err) != errs.NotLeader || !strings.Contains(err.Error(), "behind") {
		t.Errorf("a follower that is too far behind: %v, want to be sent to another one", err)
	}
	if _, err := s.present(t.Context(), testShard, false, 0, 0); errs.ReasonOf(err) != errs.NotLeader {
		t.Errorf("a follower where all is to be shown: %v", err)
	}
	g.stop(leader.cfg.NodeID)
	g.stop(followers[1].cfg.NodeID)
	if err := read(time.Hour); err != nil {
		t.Errorf("a follower while nobody leads: %v", err)
	}
	g.stop(o.cfg.NodeID)
	g.open(o.cfg.NodeID, nil)
	if err := read(time.Hour); err == nil || !strings.Contains(err.Error(), "not known how far behind") {
		t.Errorf("a replica that has heard of nobody: %v", err)
	}
}

// TestGrow has a shard of one replica get two more, which need its segments, because
// its log was cut, and rows that were never in it.
func TestGrow(t *testing.T) {
	g := newGroup(t, nil, "n1")
	one := g.leader()
	unlogged := def(3)
	unlogged.Options["skip_wal"] = "true"
	one.mustPut(batch(head(1, 9, 1), "a"), batch(head(2, 9, 2), "b"))
	if _, _, err := one.Write(wait(t), [][]byte{batch(head(3, 9, 3), "u")}, []*schemapb.Table{unlogged}); err != nil {
		t.Fatal(err)
	}
	one.flush()
	one.mustPut(batch(head(3, 9, 4), "v"))
	one.mustPut(batch(head(1, 9, 5), "c"))
	for _, id := range []string{"n2", "n3"} {
		g.addNode(id)
		g.open(id, nil)
		g.change(one, replica.AddLearner, id)
		g.change(one, replica.AddLearner, id)
		g.change(one, replica.Promote, id)
		g.change(one, replica.Promote, id)
	}
	one.mustPut(batch(head(3, 9, 6), "w"))
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "c")
		g.wantRows(o, 2, "b")
		g.wantRows(o, 3, "u", "v", "w")
		if names, err := o.incoming().names(); err != nil || o.Shard != one.Shard && !slices.Equal(names, []string{"AHEAD"}) {
			t.Errorf("node %s: the folder incoming has %v (%v)", o.cfg.NodeID, names, err)
		}
	}
	if err := one.Change(wait(t), replica.Remove, "n1"); errs.CodeOf(err) != errs.IllegalState {
		t.Errorf("the leader was removed by itself: %v", err)
	}

	// The first one goes; the others have everything, its duplicates included.
	g.stop("n1")
	next := g.leader()
	g.put(batch(head(1, 9, 5), "c"), batch(head(1, 9, 7), "d"))
	if err := next.Change(wait(t), replica.Remove, "n1"); err != nil {
		t.Fatal(err)
	}
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "c", "d")
		id := o.cfg.NodeID
		g.stop(id)
		o = g.open(id, nil)
		if err := o.WaitReady(wait(t)); err != nil {
			t.Fatal(err)
		}
		g.wantRows(o, 3, "u", "v", "w")
		if n := o.lost.Load(); n > 0 {
			t.Errorf("node %s: %d files were set aside", id, n)
		}
	}
}

// TestFarBehind has a follower be away until the log does not reach back to where it
// was. What it shows meanwhile stays until nobody looks at it.
func TestFarBehind(t *testing.T) {
	g := newGroup(t, func(_ string, cfg *Config) { cfg.TrailingBytes, cfg.trailing = 1, 1 }, "n1", "n2", "n3")
	leader := g.leader()
	var want []string
	seq := uint64(0)
	put := func() {
		seq++
		text := fmt.Sprintf("row-%04d", seq)
		g.put(batch(head(1, 9, seq), text))
		want = append(want, text)
	}
	put()
	away := g.followers(leader)[0]
	g.barrier(leader, away)
	away.flush()
	view := away.ReadView(1)
	defer view.Close()
	for round := range 3 {
		seen := slices.Clone(want)
		g.node(away.cfg.NodeID).setCut(true)
		for range 20 {
			put()
		}
		leader.flush()
		put()
		tail, err := away.Tail(1)
		if err != nil {
			t.Fatal(err)
		}
		g.node(away.cfg.NodeID).setCut(false)
		g.wantRows(away, 1, want...)
		if _, err := tail.Next(wait(t), 1); errs.CodeOf(err) != errs.ShardNotReady {
			t.Errorf("round %d: a tail goes on with %v although the rows came in another way", round, err)
		}
		tail.Close()
		if round == 0 {
			if diff := cmp.Diff(seen, viewRows(t, away.Shard.cfg.FS, view, 1)); diff != "" {
				t.Errorf("an old view changed: %s", diff)
			}
			view.Close()
		}
		put()
		away.flush()
		if round == 1 {
			id := away.cfg.NodeID
			g.stop(id)
			away = g.open(id, nil)
		}
	}
	g.wantRows(away, 1, want...)
}

// TestFullDiskHandsOn fills the disk of the leader: another replica leads, and takes rows.
func TestFullDiskHandsOn(t *testing.T) {
	var full sync.Map
	g := newGroup(t, func(node string, cfg *Config) {
		cfg.Space = func() Space {
			if _, ok := full.Load(node); ok {
				return SpaceFull
			}
			return SpaceOK
		}
	}, "n1", "n2", "n3")
	first := g.leader()
	g.put(batch(head(1, 9, 1), "a"))
	changed := first.LeadsChanged()
	full.Store(first.cfg.NodeID, true)
	select {
	case <-changed:
	case <-wait(t).Done():
		t.Fatal("the leader stays")
	}
	g.put(batch(head(1, 9, 2), "b"))
	for _, o := range g.followers(nil) {
		g.wantRows(o, 1, "a", "b")
	}
}

// TestRecover loses two of three replicas. The third goes on alone as a new incarnation,
// which the others join with nothing of what they had.
func TestRecover(t *testing.T) {
	g := newGroup(t, nil, "n1", "n2", "n3")
	g.put(batch(head(1, 9, 1), "a"))
	g.leader().flush()
	g.put(batch(head(1, 9, 2), "b"))
	n3 := g.node("n3")
	g.barrier(g.leader(), n3.open)
	for _, id := range []string{"n1", "n2", "n3"} {
		g.stop(id)
	}
	got, err := Recover(n3.cfg.Dir, testShard, "n3")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"n1", "n2", "n3"}; !slices.Equal(got.Voters, want) || got.Before != 1 || got.Incarnation != 2 || got.LastIndex == 0 {
		t.Errorf("recovered: %+v", got)
	}
	if _, recovered, err := FolderIncarnation(n3.cfg.Dir); err != nil || !recovered {
		t.Errorf("the folder does not say that it was recovered (%v)", err)
	}
	if _, err := Open(g.joined(n3)); err == nil || !strings.Contains(err.Error(), "incarnation 2") {
		t.Errorf("the replica of a later incarnation opens as the first one: %v", err)
	}
	g.incarnation = 2
	leader := g.open("n3", nil)
	g.put(batch(head(1, 9, 2), "b"), batch(head(1, 9, 3), "c"))
	for _, id := range []string{"n1", "n2"} {
		dir := g.node(id).cfg.Dir
		o := g.open(id, nil)
		if _, err := os.Stat(dir + ".incarnation-1/raft"); err != nil {
			t.Errorf("the replica of the lost group is not kept: %v", err)
		}
		g.change(leader, replica.AddLearner, id)
		g.change(leader, replica.Promote, id)
		g.wantRows(o, 1, "a", "b", "c")
	}
}
