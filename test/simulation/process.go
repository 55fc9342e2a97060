package simulation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cordwood/meta"
	"cordwood/meta/metaclient"
	"cordwood/node/clocks"
	"cordwood/node/coordinator"
	"cordwood/node/coordinator/snapshot"
	"cordwood/node/host"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/shard"
	"cordwood/shard/compaction"
	"cordwood/shard/memtable"
	"cordwood/shard/query/spool"
	"cordwood/shard/replica/raftlog"
	"cordwood/shard/replica/transport"
	"cordwood/shard/server"
	"cordwood/shard/shardclient"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// process is one run of a node: the parts that package node connects, without ports, files and settings.
type process struct {
	node   *Node
	number uint64
	dead   *atomic.Bool
	raft   *transport.Network
	server *grpc.Server
	accept *acceptor
	member *meta.Meta // nil without the role meta
	meta   *metaclient.Client
	host   *host.Host
	clocks *clocks.Clocks

	ctx    context.Context // for everything that the process does by itself
	cancel context.CancelFunc
	work   sync.WaitGroup
	over   chan struct{} // closed when all its goroutines have ended

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn
}

var processes atomic.Uint64

func newProcess(n *Node) (_ *process, err error) {
	p := &process{
		node: n, number: processes.Add(1), dead: &atomic.Bool{}, conns: map[string]*grpc.ClientConn{},
		over: make(chan struct{}),
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.raft, err = transport.New(transport.Config{
		ClusterID: clusterID, NodeID: n.ID, Logger: n.log,
		Dial: func(ctx context.Context, to string) (net.Conn, error) { return p.connect(ctx, to, raftPort) },
	})
	if err != nil {
		return nil, err
	}
	p.server, p.accept = newServer(), newAcceptor()
	if slices.Contains(n.cluster.metaNodes(), n.ID) {
		if err := p.openMeta(); err != nil {
			p.dead.Store(true)
			p.end()
			return nil, err
		}
	}
	p.meta = metaclient.New(metaclient.Config{Members: p.members, Dial: p.dial, Logger: n.log})
	if err := p.openHost(); err != nil {
		p.dead.Store(true)
		p.end()
		return nil, err
	}
	return p, nil
}

// members lists the nodes that may be members of the metadata group, this one first.
func (p *process) members() []string {
	ids := p.node.cluster.metaNodes()
	slices.SortStableFunc(ids, func(a, b string) int {
		return boolInt(b == p.node.ID) - boolInt(a == p.node.ID)
	})
	return ids
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *process) openMeta() error {
	n := p.node
	t, err := p.raft.Group("meta")
	if err != nil {
		return err
	}
	cfg := meta.Config{
		Dir: filepath.Join(n.dir, "meta"), NodeID: n.ID, Transport: t, Logger: n.log, FailStop: p.fail,
		LogStore:      func() (raftlog.Store, error) { return n.store("meta").Open("meta") },
		SnapshotEvery: 200,
	}
	if slices.Contains(n.cluster.founders, n.ID) && !n.hasMeta {
		cfg.Bootstrap, cfg.Founders = true, n.cluster.founders
	}
	if p.member, err = meta.Open(cfg); err != nil {
		return err
	}
	n.hasMeta = true
	metapb.RegisterMetaServer(p.server, p.member)
	return nil
}

func (p *process) openHost() error {
	n := p.node
	pool := &memtable.Pool{}
	// The clocks use no file.
	p.clocks, _ = clocks.New(clocks.Config{Meta: p.meta, NodeID: n.ID, Now: n.now, Monotonic: n.elapsed, Logger: n.log})
	p.host = host.New(host.Config{
		Dir: n.shardDir(), NodeID: n.ID, Catalog: p.meta, Logger: n.log,
		Created: func(id uint32) bool { n.mu.Lock(); defer n.mu.Unlock(); return n.created[id] },
		MarkCreated: func(ids []uint32) error {
			n.mu.Lock()
			defer n.mu.Unlock()
			if p.dead.Load() {
				return errDead
			}
			for _, id := range ids {
				n.created[id] = true
			}
			return nil
		},
		MarkGone: func(id uint32) error {
			if p.dead.Load() {
				return errDead
			}
			return n.removeReplica(id)
		},
		Open: func(o host.Opening) (*shard.Shard, error) {
			group := groupName(o.ID, o.Incarnation)
			t, err := p.raft.Group(group)
			if err != nil {
				return nil, err
			}
			log, members := n.store(group), raft.Transport(t)
			if n.cluster.mutant == SwapEntry && n.ID == n.cluster.founders[0] {
				members = swapEntries(p.ctx, t)
			}
			peers := p.dial
			if n.cluster.mutant == ShortJoin && n.ID == n.cluster.founders[0] {
				members = alterEntries(p.ctx, t, (&shortJoin{rows: map[uint64]int64{}}).alter)
			}
			if n.cluster.mutant == ForgetVotes {
				peers = func(id string) (grpc.ClientConnInterface, error) {
					conn, err := p.dial(id)
					return earlierVersion{conn}, err
				}
			}
			clock := p.clock()
			s, err := shard.Open(shard.Config{
				Config: store.Config{
					ID: o.ID, Dir: o.Dir, NodeID: n.ID,
					FS: life{vfs.Hook(n.disk, n.shards.hook), p.dead}, Space: n.shards.space,
					FlushBytes: 1 << 20, FlushAge: n.cluster.flushAge(), FlushLogBytes: 256 << 10,
					ShareBytes: 1 << 10, SplitBytes: 16 << 10, Now: n.now, Monotonic: clock.elapsed,
					TTL:  ttlOf,
					Pool: pool, Compaction: compaction.NewLimiter(0, 0), Logger: n.log, FailStop: p.fail,
				},
				TakeBytes:   1, // followers take the leader's segments whenever they can
				Incarnation: o.Incarnation, Bootstrap: o.Bootstrap, Founders: o.Founders,
				Transport: members, Peers: peers,
				Members:       func() []string { return replicasOf(p.meta, o.ID) },
				LogStore:      func() (raftlog.Store, error) { return log.Open(group) },
				TrailingBytes: 8 << 10, Agreed: clock.agreed, Tier: p.tier(),
			})
			if err != nil {
				_ = t.Close() // only leaves the list of groups
				return nil, err
			}
			n.cluster.opened(s)
			return s, nil
		},
		Forget: func(ctx context.Context, m *metapb.Shard) error {
			_, err := p.meta.Propose(ctx, &metapb.Command{Op: &metapb.Command_ChangeShard{ChangeShard: &metapb.ChangeShard{
				ShardId: m.Id, Version: m.Version, Change: &metapb.ChangeShard_Forget{Forget: n.ID},
			}}})
			return err
		},
		Recovered: func(context.Context, *metapb.Shard, uint32) error { return errors.New("nothing is recovered here") },
	})
	return p.serveShards()
}

// serveShards registers the service of shards.
func (p *process) serveShards() error {
	rows, err := spool.Open(filepath.Join(p.node.dir, "fetched"), 1<<30, 1<<30)
	if err != nil {
		return err
	}
	e := &rowEngine{node: p.node, segments: map[string]store.Segment{}}
	client := shardclient.New(shardclient.Config{
		Replicas: func(id uint32) []string { return replicasOf(p.meta, id) },
		Nodes: func() (ids []string) {
			for _, n := range p.meta.Nodes() {
				ids = append(ids, n.Id)
			}
			return ids
		},
		Dial: p.dial, Logger: p.node.log,
	})
	shardpb.RegisterShardServiceServer(p.server, server.New(server.Config{
		Shards: func(id uint32) (server.Shard, bool) {
			s, ok := p.host.Shard(id)
			if !ok {
				return nil, false
			}
			return served{s, e}, true
		},
		All: server.List(p.host.All), Engine: e, Spool: rows, KeptAnswers: 1 << 20, Logger: p.node.log,
		ClusterVersion: p.meta.ClusterVersion,
		Here:           func() string { return p.node.ID },
		Scan: func(ctx context.Context, nodes []string, req *shardpb.ScanRequest) (server.ScanReader, error) {
			r, err := client.Scan(ctx, nodes, req)
			if err != nil {
				return nil, err // a nil *ScanReader in the interface would not be nil
			}
			return r, nil
		},
		Ask: func(ctx context.Context, req *shardpb.QueryRequest) (server.ScanReader, error) {
			r, err := client.Ask(ctx, req)
			if err != nil {
				return nil, err // as above
			}
			return r, nil
		},
	}))
	return nil
}

// clock gives a shard the elapsed time, and the time that the clocks of a majority of the nodes have reached.
type clock struct {
	elapsed func() time.Duration
	agreed  func(context.Context) (time.Time, error)
}

func (p *process) clock() clock {
	n := p.node
	if n.cluster.mutant == TrustClock {
		return clock{
			elapsed: func() time.Duration { return n.now().Sub(n.made) },
			agreed:  func(context.Context) (time.Time, error) { return n.now(), nil },
		}
	}
	return clock{n.elapsed, p.clocks.Agreed}
}

// fail ends a process that cannot trust its log.
func (p *process) fail(err error) {
	if !p.dead.Load() {
		p.node.cluster.failed(p.node, err)
	}
}

// serve accepts connections, and starts the work that the process does by itself.
func (p *process) serve() {
	n := p.node
	go func() { _ = p.server.Serve(p.accept) }() // ends with the process
	n.cluster.net.Listen(n.ID, raftPort, func(conn net.Conn) { p.raft.Serve(conn, "") })
	n.cluster.net.Listen(n.ID, grpcPort, p.accept.take)
	p.run(p.meta.Run)
	p.run(p.enter)
}

func (p *process) run(f func(context.Context) error) {
	p.work.Go(func() {
		if err := f(p.ctx); err != nil && p.ctx.Err() == nil {
			p.fail(err)
		}
	})
}

// enter creates the cluster if there is none, registers the node and starts its work.
func (p *process) enter(ctx context.Context) error {
	if p.meta.WaitReady(ctx) != nil {
		return nil // the process ended
	}
	n := p.node
	if p.meta.ClusterID() == "" && slices.Contains(n.cluster.founders, n.ID) {
		p.propose(ctx, &metapb.Command{Op: &metapb.Command_Bootstrap{Bootstrap: &metapb.Bootstrap{
			ClusterId: clusterID, Shards: uint32(n.cluster.shards), Replication: 3,
		}}})
	}
	for changed := p.meta.Changed(); p.meta.ClusterID() == "" && ctx.Err() == nil; changed = p.meta.Changed() {
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
	roles := []string{"shard"}
	if p.member != nil {
		roles = append(roles, "meta")
	}
	register := &metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: &metapb.RegisterNode{Node: &metapb.Node{
		Id: n.ID, Name: n.ID, RpcAddr: n.ID, Roles: roles, Version: "simulation", MinProtocol: metapb.MinProtocol,
		MaxProtocol: metapb.MaxProtocol,
	}}}}
	if known := func(m *metapb.Node) bool { return m.Id == n.ID }; slices.ContainsFunc(p.meta.Nodes(), known) {
		p.run(func(ctx context.Context) error { p.propose(ctx, register); return nil })
	} else {
		p.propose(ctx, register)
	}
	if ctx.Err() != nil {
		return nil
	}
	if p.member != nil {
		p.run(coordinator.New(coordinator.Config{
			Meta: p.meta, Dial: p.dial, Leads: p.member.Leads, LeadsChanged: p.member.LeadsChanged,
			Limits: snapshot.Limits{ReplaceAfter: replaceAfter}, Logger: n.log,
		}).Run)
	}
	p.run(p.clocks.Run)
	p.run(p.report)
	p.run(p.scrub)
	if err := p.host.Start(); err != nil {
		return err
	}
	return p.host.Run(ctx)
}

// keep is the ttl of tables; see ttlOf. A run is shorter, so nothing may expire, whatever the clocks show.
const keep = time.Hour

// replaceAfter is how long a node must be silent until its replicas are replaced.
const replaceAfter = time.Minute

// propose retries until the command is accepted or ctx ends.
func (p *process) propose(ctx context.Context, cmd *metapb.Command) {
	for {
		cmd.TimeUnixNano = p.node.now().UnixNano()
		if _, err := p.meta.Propose(ctx, cmd); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}

// report sends the state of the node to the metadata group, once a second.
func (p *process) report(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		call, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, _ = p.meta.Report(call, &metapb.ReportRequest{ // the next report replaces it
			NodeId: p.node.ID, Process: p.number, TimeUnixNano: p.node.now().UnixNano(), DiskCapacity: 1 << 40,
			DiskUsed: 1 << 30,
			Version:  "simulation", MinProtocol: metapb.MinProtocol, MaxProtocol: metapb.MaxProtocol,
			Replicas: p.host.Reports(), LeftShards: p.host.Left(),
		})
		cancel()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
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

// connect opens a connection unless the process has crashed.
func (p *process) connect(ctx context.Context, to, port string) (net.Conn, error) {
	if p.dead.Load() {
		return nil, errDead
	}
	return p.node.cluster.net.Dial(ctx, p.node.ID, to, port)
}

// dial creates a connection to the services of a node.
func dial(to string, connect func(ctx context.Context, to, port string) (net.Conn, error)) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+to,
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return connect(ctx, to, grpcPort) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(shardclient.MaxMessageBytes),
			grpc.MaxCallSendMsgSize(shardclient.MaxMessageBytes)),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// stop transfers the leaderships of the process, and closes its shards and its member.
func (p *process) stop(ctx context.Context) error {
	handing, cancel := context.WithTimeout(ctx, 8*time.Second)
	p.host.StepDown(handing)
	if p.member != nil {
		_ = p.member.StepDown(handing) // there may be no successor
	}
	cancel()
	p.cancel()
	p.work.Wait()
	err := p.host.Close(ctx)
	if p.member != nil {
		err = errors.Join(err, p.member.Close())
	}
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	return nil
}

// end ends the goroutines of a process. Their further calls fail.
func (p *process) end() {
	p.cancel()
	_ = p.accept.Close()
	p.server.Stop()
	dead, cancel := context.WithCancel(context.Background())
	cancel()
	var closing sync.WaitGroup
	if p.host != nil {
		closing.Go(func() { _ = p.host.Close(dead) }) // a crashed process sends nothing
	}
	if p.member != nil {
		closing.Go(func() { _ = p.member.Close() })
	}
	closing.Wait()
	_ = p.raft.Close()
	p.work.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	close(p.over)
}
