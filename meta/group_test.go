package meta_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/meta"
	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/shard/replica/transport"
)

// group is a metadata group of several members in this process, on loopback addresses.
type group struct {
	t   *testing.T
	dir string
	cfg func(*meta.Config)

	mu      sync.Mutex // guards the fields below
	members map[string]*member
	cut     map[string]bool // "a>b": no connection from a to b is made
	open    map[string][]net.Conn
}

// member is a member, which may be down.
type member struct {
	*meta.Meta
	id       string
	network  *transport.Network
	server   *grpc.Server
	raft     net.Listener
	rpc      net.Listener
	conn     *grpc.ClientConn // of clients
	accepted sync.WaitGroup

	stallMu sync.Mutex
	stalled chan struct{} // if not nil, calls wait for it
}

func newGroup(t *testing.T, founders int, cfg func(*meta.Config)) *group {
	t.Helper()
	g := &group{
		t: t, dir: t.TempDir(), cfg: cfg, members: map[string]*member{}, cut: map[string]bool{},
		open: map[string][]net.Conn{},
	}
	var ids []string
	for i := range founders {
		ids = append(ids, fmt.Sprintf("n%d", i+1))
	}
	for _, id := range ids {
		g.start(id, ids)
	}
	c := g.client(ids...)
	g.propose(c, &metapb.Command{
		Op: &metapb.Command_Bootstrap{Bootstrap: &metapb.Bootstrap{ClusterId: "c1", Shards: 4, NodeId: ids[0]}},
	})
	for _, id := range ids {
		g.register(c, id)
	}
	return g
}

func (g *group) register(c *metaclient.Client, id string) {
	g.t.Helper()
	g.propose(c, &metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: &metapb.RegisterNode{Node: &metapb.Node{
		Id: id, Roles: []string{"meta", "shard"}, MinProtocol: metapb.MinProtocol, MaxProtocol: metapb.MaxProtocol,
	}}}})
}

// start opens a member. Without founders, the member joins an existing group, or is reopened.
func (g *group) start(id string, founders []string) *member {
	g.t.Helper()
	m := &member{id: id}
	var err error
	fatal := func(err error) {
		if err != nil {
			g.t.Fatal(err)
		}
	}
	m.raft, err = net.Listen("tcp", "127.0.0.1:0")
	fatal(err)
	m.rpc, err = net.Listen("tcp", "127.0.0.1:0")
	fatal(err)
	m.network, err = transport.New(transport.Config{
		ClusterID: "c1", NodeID: id, Timeout: time.Second,
		Dial: func(ctx context.Context, to string) (net.Conn, error) { return g.dial(ctx, id, to) },
	})
	fatal(err)
	raft, err := m.network.Group("meta")
	fatal(err)
	cfg := meta.Config{
		Dir: filepath.Join(g.dir, id), NodeID: id, Transport: raft, Bootstrap: len(founders) > 0, Founders: founders,
		HeartbeatTimeout: 500 * time.Millisecond, DownAfter: 3 * time.Second,
	}
	if g.cfg != nil {
		g.cfg(&cfg)
	}
	m.Meta, err = meta.Open(cfg)
	fatal(err)
	m.server = grpc.NewServer(grpc.UnaryInterceptor(m.unary), grpc.StreamInterceptor(m.stream))
	metapb.RegisterMetaServer(m.server, m.Meta)
	m.accepted.Go(func() { _ = m.server.Serve(m.rpc) })
	m.accepted.Go(func() {
		for {
			conn, err := m.raft.Accept()
			if err != nil {
				return
			}
			m.accepted.Go(func() { m.network.Serve(conn, "") })
		}
	})
	m.conn, err = grpc.NewClient(m.rpc.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	fatal(err)
	g.mu.Lock()
	g.members[id] = m
	g.mu.Unlock()
	g.t.Cleanup(func() { g.stop(id) })
	return m
}

// stop closes a member; its files stay.
func (g *group) stop(id string) {
	g.mu.Lock()
	m := g.members[id]
	delete(g.members, id)
	g.mu.Unlock()
	if m == nil {
		return
	}
	g.wake(m)
	m.server.Stop()
	_ = m.raft.Close()
	_ = m.network.Close() // to the others it looks like a killed process
	_ = m.conn.Close()
	_ = m.Close()
	m.accepted.Wait()
}

// stall makes all calls to a member wait, as if the process was suspended, and cuts it off from the
// others.
func (g *group) stall(id string) {
	m := g.member(id)
	m.stallMu.Lock()
	m.stalled = make(chan struct{})
	m.stallMu.Unlock()
	g.isolate(id, true)
}

func (g *group) wake(m *member) {
	m.stallMu.Lock()
	defer m.stallMu.Unlock()
	if m.stalled != nil {
		close(m.stalled)
		m.stalled = nil
	}
}

func (m *member) wait() {
	m.stallMu.Lock()
	stalled := m.stalled
	m.stallMu.Unlock()
	if stalled != nil {
		<-stalled
	}
}

func (m *member) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	m.wait()
	return handler(ctx, req)
}

// stallStream stalls together with its member.
type stallStream struct {
	grpc.ServerStream
	m *member
}

func (s stallStream) SendMsg(msg any) error {
	s.m.wait()
	return s.ServerStream.SendMsg(msg)
}

func (m *member) stream(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	m.wait()
	return handler(srv, stallStream{ss, m})
}

func (g *group) dial(ctx context.Context, from, to string) (net.Conn, error) {
	g.mu.Lock()
	m, cut := g.members[to], g.cut[from+">"+to]
	g.mu.Unlock()
	if m == nil || cut {
		return nil, fmt.Errorf("%s cannot reach %s", from, to)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", m.raft.Addr().String())
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cut[from+">"+to] {
		return nil, errors.Join(fmt.Errorf("%s cannot reach %s", from, to), conn.Close())
	}
	g.open[from+">"+to] = append(g.open[from+">"+to], conn)
	return conn, nil
}

// isolate cuts a member off from the others, or reconnects it. Clients still reach it.
func (g *group) isolate(id string, cut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for other := range g.members {
		for _, way := range []string{id + ">" + other, other + ">" + id} {
			g.cut[way] = cut
			if cut {
				for _, c := range g.open[way] {
					_ = c.Close()
				}
				g.open[way] = nil
			}
		}
	}
}

func (g *group) member(id string) *member {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.members[id]
}

func (g *group) ids() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var ids []string
	for id := range g.members {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// leader waits until one of the members leads, and returns its id.
func (g *group) leader(not ...string) string {
	g.t.Helper()
	ctx := within(g.t)
	for {
		for _, id := range g.ids() {
			if m := g.member(id); m != nil && m.Leads() && !slices.Contains(not, id) {
				return id
			}
		}
		select {
		case <-ctx.Done():
			g.t.Fatal("no leader")
		case <-time.After(10 * time.Millisecond): // polling, not a timeout
		}
	}
}

// others returns the ids of all members except the given ones.
func (g *group) others(but ...string) []string {
	return slices.DeleteFunc(g.ids(), func(id string) bool { return slices.Contains(but, id) })
}

// connect returns the function by which clients reach a member.
func (g *group) connect(id string) (grpc.ClientConnInterface, error) {
	m := g.member(id)
	if m == nil {
		return nil, errs.New(errs.ShardUnreachable, "node %s is down", id)
	}
	return m.conn, nil
}

// client starts a client that asks the members in the given order.
func (g *group) client(order ...string) *metaclient.Client {
	g.t.Helper()
	return g.clientOf(metaclient.Config{
		Members: func() []string { return order }, Dial: g.connect, TryTimeout: time.Second,
	})
}

// patience is how long clients wait for a leader: on a busy machine elections take long.
const patience = 50 * time.Second

func (g *group) clientOf(cfg metaclient.Config) *metaclient.Client {
	cfg.LostAfter, cfg.ProposeTimeout = patience, max(cfg.ProposeTimeout, patience)
	c := metaclient.New(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = c.Run(ctx) })
	g.t.Cleanup(func() { cancel(); running.Wait() })
	if err := c.WaitReady(within(g.t)); err != nil {
		g.t.Fatal(err)
	}
	return c
}

func (g *group) propose(c *metaclient.Client, cmd *metapb.Command) *metapb.Result {
	g.t.Helper()
	r, err := c.Propose(within(g.t), cmd)
	if err != nil {
		g.t.Fatal(err)
	}
	return r
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// until waits for the client's view to satisfy a condition.
func until(t *testing.T, c *metaclient.Client, what string, ok func() bool) {
	t.Helper()
	ctx := within(t)
	for {
		changed := c.Changed()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("%s did not happen", what)
		}
	}
}

func ensure(table string, columns ...string) *metapb.Command {
	d := &metapb.TableDemand{Database: "public", Name: table, Columns: []*schemapb.Column{{
		Name: "time", Type: schemapb.Type_TYPE_TIMESTAMP_NANOSECOND, Semantic: schemapb.Semantic_SEMANTIC_TIMESTAMP,
	}}}
	for _, c := range columns {
		name, kind, _ := strings.Cut(c, ":")
		typ := schemapb.Type_TYPE_STRING
		if kind == "int64" {
			typ = schemapb.Type_TYPE_INT64
		}
		d.Columns = append(d.Columns, &schemapb.Column{Name: name, Type: typ, Semantic: schemapb.Semantic_SEMANTIC_FIELD})
	}
	return &metapb.Command{
		Op: &metapb.Command_EnsureSchema{EnsureSchema: &metapb.EnsureSchema{Tables: []*metapb.TableDemand{d}}},
	}
}

func drop(table string) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{Database: "public", Name: table}}}
}

func has(c *metaclient.Client, table string) bool {
	_, ok := c.Table("public", table)
	return ok
}

// states stops all members and returns the state of each, without the parts that legitimately
// differ.
func (g *group) states() map[string]string {
	g.t.Helper()
	out := map[string]string{}
	for _, id := range g.ids() {
		g.stop(id)
		var text strings.Builder
		if err := meta.Inspect(&text, filepath.Join(g.dir, id, meta.StateFile)); err != nil {
			g.t.Fatalf("%s: %v", id, err)
		}
		out[id] = text.String()
	}
	return out
}

// settle waits until every member has applied all entries of the leader.
func (g *group) settle() {
	g.t.Helper()
	for _, id := range g.ids() {
		c := g.client(append([]string{id}, g.others(id)...)...)
		if err := c.Fresh(within(g.t)); err != nil {
			g.t.Fatal(err)
		}
	}
}

// same fails the test if members differ.
func (g *group) same() {
	g.t.Helper()
	g.settle()
	first, text := "", ""
	for id, s := range g.states() {
		if first == "" {
			first, text = id, s
		} else if s != text {
			g.t.Errorf("%s has\n%s\n%s has\n%s", first, text, id, s)
		}
	}
}
