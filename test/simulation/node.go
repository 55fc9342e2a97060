package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/proto/shardpb"
	"cordwood/shard"
	"cordwood/shard/compaction"
	"cordwood/shard/replica"
	"cordwood/shard/replica/transport"
	"cordwood/shard/vfs"
)

const clusterID = "simulation"

// The ports of a node.
const (
	raftPort = "raft"
	grpcPort = "grpc"
)

// Group is a shard of the simulation.
type Group struct {
	ID       uint32
	Founders []string
}

// Node is a node with its disk, which outlives its processes.
type Node struct {
	ID   string
	disk *vfs.Mem
	dir  string // for what is on a real disk: raft's snapshots
	net  *Network
	log  *slog.Logger
	// mutant is how the program is broken.
	mutant Mutant

	mu    sync.Mutex
	logs  map[uint32]*Log
	known map[uint32]bool // groups that it has opened before
	lives map[uint32]int  // how many replicas of a group it has removed
	life  *process        // nil while it is down
}

// process is one life of a node.
type process struct {
	node   *Node
	dead   *atomic.Bool
	raft   *transport.Network
	server *grpc.Server
	accept *acceptor

	mu     sync.Mutex
	shards map[uint32]*shard.Shard
	conns  map[string]*grpc.ClientConn
}

func newNode(id, dir string, network *Network, logger *slog.Logger) *Node {
	return &Node{
		ID: id, disk: vfs.NewMem(), dir: filepath.Join(dir, id), net: network, log: logger.With("node", id),
		logs: map[uint32]*Log{}, known: map[uint32]bool{}, lives: map[uint32]int{},
	}
}

// Up tells whether a process runs.
func (n *Node) Up() bool { return n.process() != nil }

func (n *Node) process() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.life
}

// shard returns the open shard of a group; nil if there is none.
func (n *Node) shard(id uint32) *shard.Shard {
	p := n.process()
	if p == nil {
		return nil
	}
	s, _ := p.shard(id)
	return s
}

// has tells whether the node has a replica of a group on its disk.
func (n *Node) has(id uint32) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[id]
}

// join opens a replica of a group that the node did not found.
func (n *Node) join(g Group) error {
	p := n.process()
	if p == nil {
		return errDead
	}
	return p.open(Group{ID: g.ID})
}

// leave closes the replica of a group that the node no longer belongs to, and forgets it.
func (n *Node) leave(ctx context.Context, id uint32) {
	if p := n.process(); p != nil {
		p.mu.Lock()
		s := p.shards[id]
		delete(p.shards, id)
		p.mu.Unlock()
		if s != nil {
			_ = s.Close(ctx) // its rows are elsewhere
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, id)
	delete(n.logs, id)
	n.lives[id]++
}

// Start starts a process that opens the groups.
func (n *Node) Start(groups []Group) error {
	p := &process{node: n, dead: &atomic.Bool{}, shards: map[uint32]*shard.Shard{}, conns: map[string]*grpc.ClientConn{}}
	var err error
	p.raft, err = transport.New(transport.Config{
		ClusterID: clusterID, NodeID: n.ID, Logger: n.log,
		Dial: func(ctx context.Context, to string) (net.Conn, error) { return p.connect(ctx, to, raftPort) },
	})
	if err != nil {
		return err
	}
	p.server, p.accept = grpc.NewServer(), newAcceptor()
	for _, g := range groups {
		if err := p.open(g); err != nil {
			err = fmt.Errorf("node %s: shard %d: %w", n.ID, g.ID, err)
			p.dead.Store(true)
			p.end()
			return err
		}
	}
	shardpb.RegisterShardServiceServer(p.server, shard.NewServer(shard.ServerConfig{Shards: p.shard, All: p.all}))
	go func() { _ = p.server.Serve(p.accept) }() // ends with the process
	n.net.Listen(n.ID, raftPort, p.raft.Serve)
	n.net.Listen(n.ID, grpcPort, p.accept.take)
	n.mu.Lock()
	n.life = p
	n.mu.Unlock()
	return nil
}

// open opens a replica, of a group that this node founds or joins.
func (p *process) open(g Group) error {
	n := p.node
	n.mu.Lock()
	l := n.logs[g.ID]
	if l == nil {
		l = NewLog()
		if n.mutant == SkipSync {
			l.Lazy = 3
		}
		n.logs[g.ID] = l
	}
	founds := !n.known[g.ID] && slices.Contains(g.Founders, n.ID)
	n.known[g.ID] = true
	lives := n.lives[g.ID]
	n.mu.Unlock()
	t, err := p.raft.Group(fmt.Sprintf("shard/%d/1", g.ID))
	if err != nil {
		return err
	}
	cfg := shard.Config{
		ID: g.ID, Incarnation: 1, Dir: filepath.Join(n.dir, fmt.Sprintf("%d.%d", g.ID, lives)), NodeID: n.ID, Bootstrap: founds, Transport: t, Peers: p.dial,
		FS: life{n.disk, p.dead}, LogStore: func() (replica.Store, error) { return l.Open(), nil },
		FlushBytes: 1 << 20, FlushAge: 20 * time.Second, FlushLogBytes: 256 << 10, ShareBytes: 1 << 10, SplitBytes: 16 << 10,
		TrailingBytes: 8 << 10, Compaction: compaction.NewLimiter(0, 0), Logger: n.log,
	}
	if founds {
		cfg.Founders = g.Founders
	}
	s, err := shard.Open(cfg)
	if err != nil {
		return errors.Join(err, t.Close())
	}
	p.mu.Lock()
	p.shards[g.ID] = s
	p.mu.Unlock()
	return nil
}

func (p *process) shard(id uint32) (*shard.Shard, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, ok := p.shards[id]
	return s, ok
}

func (p *process) all() []*shard.Shard {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*shard.Shard, 0, len(p.shards))
	for _, s := range p.shards {
		out = append(out, s)
	}
	return out
}

// dial connects to the services of another node.
func (p *process) dial(to string) (grpc.ClientConnInterface, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.conns[to]; c != nil {
		return c, nil
	}
	c, err := dial(to, p.connect)
	if err == nil {
		p.conns[to] = c
	}
	return c, err
}

// connect opens a connection unless the process is dead.
func (p *process) connect(ctx context.Context, to, port string) (net.Conn, error) {
	if p.dead.Load() {
		return nil, errDead
	}
	return p.node.net.Dial(ctx, p.node.ID, to, port)
}

// dial makes a connection to the services of a node.
func dial(to string, connect func(ctx context.Context, to, port string) (net.Conn, error)) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+to,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return connect(ctx, to, grpcPort) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// Crash is a power cut: what was not synced is lost.
func (n *Node) Crash() {
	n.mu.Lock()
	p := n.life
	n.life = nil
	n.mu.Unlock()
	if p == nil {
		return
	}
	p.dead.Store(true)
	n.net.Down(n.ID)
	n.disk.Crash(0)
	n.mu.Lock()
	for _, l := range n.logs {
		l.Crash()
	}
	if n.mutant == LoseLog {
		for id := range n.logs {
			n.logs[id] = NewLog()
			n.lives[id]++
		}
	}
	n.mu.Unlock()
	p.end()
}

// Stop ends the process as an operator does.
func (n *Node) Stop(ctx context.Context) error {
	n.mu.Lock()
	p := n.life
	n.life = nil
	n.mu.Unlock()
	if p == nil {
		return nil
	}
	var errs []error
	for _, s := range p.all() {
		errs = append(errs, s.Close(ctx))
	}
	n.net.Down(n.ID)
	p.end()
	return errors.Join(errs...)
}

// end ends the goroutines of a process; what they still try fails.
func (p *process) end() {
	_ = p.accept.Close()
	p.server.Stop()
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	var closing sync.WaitGroup
	for _, s := range p.all() {
		closing.Go(func() { _ = s.Close(dead) }) // a crash has no last words
	}
	closing.Wait()
	_ = p.raft.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
}

// acceptor is a listener that is given its connections.
type acceptor struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newAcceptor() *acceptor {
	return &acceptor{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (a *acceptor) take(c net.Conn) {
	select {
	case a.conns <- c:
	case <-a.done:
		_ = c.Close()
	}
}

func (a *acceptor) Accept() (net.Conn, error) {
	select {
	case c := <-a.conns:
		return c, nil
	case <-a.done:
		return nil, net.ErrClosed
	}
}

func (a *acceptor) Close() error {
	a.once.Do(func() { close(a.done) })
	return nil
}

func (a *acceptor) Addr() net.Addr { return addr("listener") }
