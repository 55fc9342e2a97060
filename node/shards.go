package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cordwood/meta"
	"cordwood/meta/metaclient"
	"cordwood/node/clocks"
	"cordwood/node/config"
	"cordwood/node/host"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/httpapi/auth"
	"cordwood/shard"
	"cordwood/shard/compaction"
	"cordwood/shard/install"
	"cordwood/shard/memtable"
	"cordwood/shard/server"
	"cordwood/shard/shardclient"
	"cordwood/shard/store"
)

// openMeta opens the member of the metadata group: a founder, an existing member, or a new one that waits to be
// added.
func (n *node) openMeta() error {
	n.wait("the metadata")
	if _, err := os.Stat(n.cfg.Path("meta", meta.StateFile)); err != nil && n.data.hasMeta() {
		return fmt.Errorf("this node was a member of the metadata group, and its folder %s is gone: restore it from "+
			"a backup of the data folder; if the group has other members, you can also empty the whole data folder, so that "+
			"the node joins as a new one: %w", n.cfg.Path("meta"), err)
	}
	transport, err := n.network.Group("meta")
	if err != nil {
		return err
	}
	_, founders := n.data.Cluster()
	cfg := meta.Config{
		Dir: n.cfg.Path("meta"), NodeID: n.data.nodeID, Transport: transport,
		Logger: n.log, Registerer: n.registry, FailStop: n.failStop,
		LogDeadline: n.cfg.Disk.WriteDeadline, DiskFull: n.disk.found, MaxTables: n.cfg.Limits.MaxTables,
		ObjectStorage: n.cfg.Objects.URL != "",
	}
	if slices.Contains(founders, n.data.nodeID) && !n.data.hasMeta() {
		cfg.Bootstrap, cfg.Founders = true, founders
	}
	m, err := meta.Open(cfg)
	if err != nil {
		return err
	}
	n.member = m
	n.onStop("metadata", func(context.Context) error { return m.Close() })
	if err := n.data.setMeta(); err != nil {
		return err
	}
	metapb.RegisterMetaServer(n.rpc.server, m)
	return n.openObjectStorage()
}

// openMetaClient opens the client of the metadata group. This node may be a member itself. If users is not nil, it gets
// the users and roles of the metadata.
func (n *membership) openMetaClient(users *auth.Provider) {
	cfg := metaclient.Config{Members: n.metaMembers, Dial: n.nodes.Dial, Logger: n.log}
	if users != nil {
		cfg.OnAccess = users.Apply
	} else if n.cfg.Has(config.RoleRouter) {
		u := &unchecked{log: n.log}
		cfg.OnAccess = u.apply
		n.trouble.unchecked.Store(u)
	}
	n.meta = metaclient.New(cfg)
}

// metaMembers lists the nodes that may be members of the metadata group, this node first.
func (n *membership) metaMembers() []string {
	others := n.nodes.WithRole(config.RoleMeta)
	if n.member != nil {
		return append([]string{n.data.nodeID}, others...)
	}
	return others
}

// openShards opens the query engine, and the host that will open the shards.
func (n *node) openShards(shares config.Shares) error {
	shardDir, err := filepath.Abs(n.cfg.Path("shards"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(shardDir, 0o750); err != nil {
		return fmt.Errorf("make folder of shards: %w", err)
	}
	if err := n.openObjectStorage(); err != nil {
		return err
	}
	tier := n.tier()
	pool, budget := &memtable.Pool{}, store.NewBudget(shares.Rows)
	sql, fetched, err := n.openEngine(shardDir, pool, shares)
	if err != nil {
		return err
	}
	compactions := compaction.NewLimiter(0.5, 64<<20)
	fetch := install.NewRate(fetchRate)
	ttl := func(t *schema.Table) schema.TTL {
		database := ""
		if d, ok := n.meta.Database(t.Database); ok {
			database = d.Options[schema.OptionTTL]
		}
		return schema.EffectiveTTL(t.Options[schema.OptionTTL], database)
	}
	if n.clocks, err = clocks.New(clocks.Config{
		Meta: n.meta, NodeID: n.data.nodeID, File: n.cfg.Path("CLOCK"), Logger: n.log,
	}); err != nil {
		return err
	}
	n.host = host.New(host.Config{
		Dir: shardDir, NodeID: n.data.nodeID, Catalog: n.meta, Logger: n.log, Registerer: n.registry,
		Created: n.data.hasShard, MarkCreated: n.data.addShards, MarkGone: n.data.dropShard,
		Open: func(o host.Opening) (*shard.Shard, error) {
			transport, err := n.network.Group(fmt.Sprintf("shard/%d/%d", o.ID, o.Incarnation))
			if err != nil {
				return nil, err
			}
			s, err := shard.Open(shard.Config{
				Config: store.Config{
					ID: o.ID, Dir: o.Dir, NodeID: n.data.nodeID,
					FlushBytes: int64(n.cfg.Shard.FlushBytes), FlushAge: n.cfg.Shard.FlushAge,
					Pool: pool, Budget: budget, Compaction: compactions, TTL: ttl, Seen: n.clocks.Seen(),
					Space: n.disk.space, Logger: n.log, FailStop: n.failStop, Crashed: n.crashed,
				},
				Incarnation: o.Incarnation, Bootstrap: o.Bootstrap, Founders: o.Founders, Tier: tier,
				Transport: transport, Peers: n.nodes.Dial, Fetch: fetch,
				Members: func() []string { return n.replicas(o.ID) },
				Agreed:  n.clocks.Agreed, ClusterVersion: n.meta.ClusterVersion,
				Places:      n.places,
				LogDeadline: n.cfg.Disk.WriteDeadline, DiskFull: n.disk.found, Registerer: n.registry,
			})
			if err != nil {
				_ = transport.Close() // only leaves the list of groups
			}
			return s, err
		},
		Forget: n.forgetReplica, Recovered: n.recoveredReplica, Founded: n.foundedReplicas,
	})
	n.trouble.host.Store(n.host)
	n.onStop("shards", n.host.Close)
	service := server.New(server.Config{
		Shards: server.Find(n.host.Shard), All: server.List(n.host.All), Engine: sql, Spool: fetched,
		Scan: n.scan, Ask: n.ask, Leaders: n.shards, KeptAnswers: keptByServer(&n.cfg.Query, shares),
		ClusterVersion: n.meta.ClusterVersion,
		Limited:        n.limitsCPU,
		Name:           n.nameNodes, Here: n.oneOfSeveral, Registerer: n.registry, Logger: n.log,
		Cold: n.objects.readerOrNil(),
	})
	shardpb.RegisterShardServiceServer(n.rpc.server, service)
	n.rpc.conn.shards = service
	n.disk.onFull(func() {
		for _, s := range n.host.All() {
			s.MakeRoom()
		}
	})
	return nil
}

// oneOfSeveral returns the id of this node, or "" if no other node has shards.
func (n *node) oneOfSeveral() string {
	if len(n.shardNodes()) < 2 {
		return ""
	}
	return n.data.nodeID
}

// scan requests rows from another node for a query on this node.
func (n *node) scan(ctx context.Context, nodes []string, req *shardpb.ScanRequest) (server.ScanReader, error) {
	r, err := n.shards.Scan(ctx, nodes, req)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ask runs a part of a query of this node on the node that has most of its rows.
func (n *node) ask(ctx context.Context, req *shardpb.QueryRequest) (server.ScanReader, error) {
	r, err := n.shards.Ask(ctx, req)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// fetchRate is the maximum rate, in bytes per second, at which all replicas of a node together fetch from other
// nodes.
const fetchRate = 100e6

// forgetReplica reports to the metadata that a removed replica no longer exists on this node. Before that, it sends a
// node report without the replica. Once the metadata no longer list the replica, a new replica may be placed on this
// node. With an older report, the coordinator might consider the new replica as complete, and let it vote before it
// has rows.
func (n *node) forgetReplica(ctx context.Context, s *metapb.Shard) error {
	if err := n.reports.sendReport(ctx); err != nil {
		return fmt.Errorf("report that the replica of shard %d is gone: %w", s.Id, err)
	}
	_, err := n.meta.Propose(ctx, &metapb.Command{
		TimeUnixNano: time.Now().UnixNano(),
		Op: &metapb.Command_ChangeShard{ChangeShard: &metapb.ChangeShard{
			ShardId: s.Id, Version: s.Version, Change: &metapb.ChangeShard_Forget{Forget: n.data.nodeID},
		}},
	})
	return err
}

// recoveredReplica reports to the metadata that this node's replica of a shard is the only one of a new incarnation.
func (n *membership) recoveredReplica(ctx context.Context, s *metapb.Shard, incarnation uint32) error {
	_, err := n.meta.Propose(ctx, &metapb.Command{
		TimeUnixNano: time.Now().UnixNano(),
		Op: &metapb.Command_ChangeShard{ChangeShard: &metapb.ChangeShard{
			ShardId: s.Id, Version: s.Version,
			Change: &metapb.ChangeShard_Recovered{Recovered: &metapb.Recovered{NodeId: n.data.nodeID, Incarnation: incarnation}},
		}},
	})
	return err
}

// foundedReplicas reports to the metadata that this node has created its replicas of the shards
// that it founds.
func (n *membership) foundedReplicas(ctx context.Context, shards []*metapb.FoundedShard) error {
	if n.meta.ClusterVersion() < metapb.ProtocolMarks {
		return nil // the cluster does not support this report yet; the host retries
	}
	_, err := n.meta.Propose(ctx, &metapb.Command{
		TimeUnixNano: time.Now().UnixNano(),
		Op:           &metapb.Command_FoundShards{FoundShards: &metapb.FoundShards{NodeId: n.data.nodeID, Shards: shards}},
	})
	return err
}

// startShards opens the shards that are placed on this node. After that, it follows changes of the placement.
func (n *node) startShards() error {
	n.wait("the shards")
	if err := n.host.Start(); err != nil {
		return err
	}
	n.run("comparing clocks", n.clocks.Run)
	n.run("following placement", n.host.Run)
	n.run("fetching the ends of objects", n.fetchEnds)
	n.run("scrubbing", func(ctx context.Context) error { return n.scrub(ctx, n.host) })
	return nil
}

func (n *node) newShardClient() *shardclient.Client {
	return shardclient.New(shardclient.Config{
		Replicas: n.replicas,
		Dial:     n.nodes.Dial, DialTail: n.nodes.DialTail, DialFresh: n.nodes.DialFresh,
		Nodes:  n.shardNodes,
		Logger: n.log, Registerer: n.registry,
	})
}

// replicas lists the nodes that hold a shard.
func (n *membership) replicas(id uint32) []string {
	return slices.Clone(n.meta.Shard(id).GetReplicas()) // the slice is shared with the copy of the metadata
}

// shardNodes lists the nodes that hold shards, this node first if it holds some.
func (n *membership) shardNodes() []string {
	var out []string
	for _, m := range n.meta.Nodes() {
		switch {
		case m.Id == n.data.nodeID || !slices.Contains(m.Roles, config.RoleShard):
		default:
			out = append(out, m.Id)
		}
	}
	if n.host != nil {
		out = slices.Insert(out, 0, n.data.nodeID)
	}
	return out
}
