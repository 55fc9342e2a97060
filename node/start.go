package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"google.golang.org/grpc"

	"cordwood/meta"
	"cordwood/meta/metaclient"
	"cordwood/node/host"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/httpapi"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/body"
	"cordwood/router/pipeline"
	"cordwood/router/pipeline/processor"
	"cordwood/router/query"
	"cordwood/router/query/sqlhttp"
	"cordwood/router/tail"
	"cordwood/router/write"
	"cordwood/shard"
	"cordwood/shard/compaction"
	"cordwood/shard/memtable"
	"cordwood/shard/shardclient"
)

// start opens every part, each after those that it calls. What it opened before an
// error is closed by stop.
func (n *node) start(ctx context.Context) error {
	memory := memoryLimit()
	limitHeap(memory)
	n.registry = newRegistry(n.proc.Version)

	// What the settings name is read first: a mistake in them leaves no data folder behind.
	files, err := n.readFiles()
	if err != nil {
		return &SettingsError{err}
	}
	data, err := openDataDir(n.cfg.DataDir)
	if err != nil {
		return err
	}
	n.data = data
	n.onStop("data folder", func(context.Context) error { return data.close() })
	if err := n.watchDisk(); err != nil {
		return err
	}
	if err := n.openUserPort(files.userTLS); err != nil {
		return err
	}
	if err := n.openAdmin(); err != nil {
		return err
	}

	rpc, err := listenRPC(n.cfg.RPC.Addr, files.rpcTLS)
	if err != nil {
		return err
	}
	n.onStop("rpc port", rpc.close)
	m, err := n.openMeta(rpc.server)
	if err != nil {
		return err
	}
	shards, client, err := n.openShards(ctx, rpc, m, memory)
	if err != nil {
		return err
	}
	return n.openRouter(rpc, shards, client, files.users, memory)
}

// settingsFiles is what the files that settings name hold.
type settingsFiles struct {
	users           *auth.Provider // nil: no authentication
	userTLS, rpcTLS *tls.Config    // nil: without
}

func (n *node) readFiles() (f settingsFiles, err error) {
	if f.userTLS, err = n.cfg.TLS.tlsConfig(n.log); err != nil {
		return f, err
	}
	if f.rpcTLS, err = n.cfg.RPC.TLS.tlsConfig(n.log); err != nil {
		return f, err
	}
	f.users, err = n.authenticator()
	return f, err
}

// openUserPort opens the ports for users, with a handler that says what the node waits for.
func (n *node) openUserPort(conf *tls.Config) (err error) {
	before := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/health", "/v1/health":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{}"))
		default:
			err := errs.New(errs.ShardNotReady, "%s", n.ready()).WithRetryAfter(time.Second)
			httpapi.WriteError(w, r, err)
		}
	})
	if n.users, err = listenHTTP(n.cfg.HTTP.Addr, conf, before); err != nil {
		return err
	}
	if n.cfg.HTTP.V1Addr != "" {
		if n.usersV1, err = listenHTTP(n.cfg.HTTP.V1Addr, conf, before); err != nil {
			return err
		}
	}
	return nil
}

// authenticator reads the users; nil if there is no authentication.
func (n *node) authenticator() (*auth.Provider, error) {
	if n.cfg.UserFile == "" && n.cfg.UserProvider == "" {
		return nil, nil
	}
	p, err := auth.Open(auth.Config{Option: n.cfg.UserProvider, UserFile: n.cfg.UserFile, Logger: n.log})
	if err != nil {
		return nil, err
	}
	n.onStop("users", func(context.Context) error { return p.Close() })
	n.run("watching the users", p.Run)
	if n.proc.Reload == nil {
		return p, nil
	}
	n.run("reading users again", func(ctx context.Context) error {
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-n.proc.Reload:
			}
			if err := p.Reload(); err != nil {
				n.log.Error("users not read again, the last good list stays", "err", err)
			}
		}
	})
	return p, nil
}

func (n *node) openMeta(server *grpc.Server) (*meta.Meta, error) {
	n.waiting.Store("the metadata")
	m, err := meta.Open(meta.Config{
		Dir: n.cfg.dir("meta"), NodeID: n.data.id.NodeID, Logger: n.log, Registerer: n.registry, FailStop: n.failStop,
		LogDeadline: n.cfg.Disk.WriteDeadline, DiskFull: n.disk.found, MaxTables: n.cfg.MaxTables,
	})
	if err != nil {
		return nil, err
	}
	n.onStop("metadata", func(context.Context) error { return m.Close() })
	metapb.RegisterMetaServer(server, m)
	return m, nil
}

// openShards opens the query engine and the shards, which begin to serve other roles.
func (n *node) openShards(ctx context.Context, rpc *rpcServer, m *meta.Meta, memory int64) (*host.Host, *metaclient.Client, error) {
	shardDir, err := filepath.Abs(n.cfg.dir("shards"))
	if err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(shardDir, 0o750); err != nil {
		return nil, nil, fmt.Errorf("make folder of shards: %w", err)
	}
	pool, budget := &memtable.Pool{}, shard.NewBudget(n.memtableBudget(memory))
	sql, err := n.openEngine(shardDir, pool, memory)
	if err != nil {
		return nil, nil, err
	}

	client := metaclient.New(metaclient.Config{Conn: rpc.conn, Logger: n.log})
	compactions := compaction.NewLimiter(0.5, 64<<20)
	ttl := func(t *schema.Table) schema.TTL {
		database := ""
		if d, ok := client.Database(t.Database); ok {
			database = d.Options[schema.OptionTTL]
		}
		return schema.EffectiveTTL(t.Options[schema.OptionTTL], database)
	}
	h := host.New(host.Config{
		Dir: shardDir, NodeID: n.data.id.NodeID, Catalog: client, Logger: n.log,
		Created: n.data.hasShard, MarkCreated: n.data.addShards,
		Open: func(id uint32, dir string, bootstrap bool) (*shard.Shard, error) {
			return shard.Open(shard.Config{
				ID: id, Dir: dir, NodeID: n.data.id.NodeID, Bootstrap: bootstrap,
				FlushBytes: int64(n.cfg.Shard.FlushBytes), FlushAge: n.cfg.Shard.FlushAge,
				Pool: pool, Budget: budget, Compaction: compactions, TTL: ttl,
				LogDeadline: n.cfg.Disk.WriteDeadline, Space: n.disk.space, DiskFull: n.disk.found,
				Logger: n.log, Registerer: n.registry, FailStop: n.failStop,
			})
		},
	})
	n.onStop("shards", h.Close)
	service := shard.NewServer(shard.ServerConfig{Shards: h.Shard, All: h.All, Engine: sql})
	shardpb.RegisterShardServiceServer(rpc.server, service)
	rpc.conn.shards = service
	n.operators = newOperatorServer(m, service)
	n.onStop("calls of operators", n.operators.stop)
	n.disk.onFull(func() {
		for _, s := range h.All() {
			s.MakeRoom()
		}
	})
	rpc.serve()

	if err := m.WaitReady(ctx); err != nil {
		return nil, nil, fmt.Errorf("wait for the metadata group: %w", err)
	}
	n.run("following the metadata", client.Run)
	if err := client.WaitReady(ctx); err != nil {
		return nil, nil, fmt.Errorf("wait for the first state of the metadata: %w", err)
	}
	if err := n.join(ctx, client); err != nil {
		return nil, nil, err
	}
	n.waiting.Store("the shards")
	if err := h.Start(ctx); err != nil {
		return nil, nil, err
	}
	n.run("following placement", h.Run)
	n.run("scrubbing", func(ctx context.Context) error { return n.scrub(ctx, h) })
	return h, client, nil
}

// join makes the cluster at the first start, and tells it where this node is.
func (n *node) join(ctx context.Context, client *metaclient.Client) error {
	propose := func(cmd *metapb.Command) (*metapb.Result, error) {
		cmd.TimeUnixNano = time.Now().UnixNano()
		return client.Propose(ctx, cmd)
	}
	id := client.ClusterID()
	if id == "" {
		if n.data.id.ClusterID != "" {
			return fmt.Errorf("data folder %s belongs to cluster %s but its metadata is empty: restore the folder meta from a backup", n.data.path, n.data.id.ClusterID)
		}
		res, err := propose(&metapb.Command{Op: &metapb.Command_Bootstrap{Bootstrap: &metapb.Bootstrap{
			ClusterId: newID(), Shards: uint32(n.cfg.Shards), NodeId: n.data.id.NodeID,
		}}})
		if err != nil {
			return fmt.Errorf("make the cluster: %w", err)
		}
		id = res.ClusterId
	}
	if err := n.data.setCluster(id); err != nil {
		return err
	}
	_, err := propose(&metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: &metapb.RegisterNode{Node: &metapb.Node{
		Id: n.data.id.NodeID, Name: n.cfg.NodeName, RpcAddr: n.cfg.RPC.Addr, HttpAddr: n.users.addr.String(),
		Roles: []string{"router", "meta", "shard"}, Version: n.proc.Version.Version,
		MinProtocol: metapb.MinProtocol, MaxProtocol: metapb.MaxProtocol,
	}}}})
	if err != nil {
		return fmt.Errorf("register this node: %w", err)
	}
	if have := len(client.Shards()); have != n.cfg.Shards {
		n.log.Info("the cluster keeps the number of shards that it was made with", "shards", have, "setting", n.cfg.Shards)
	}
	return nil
}

// openRouter builds the front and lets users in.
func (n *node) openRouter(rpc *rpcServer, h *host.Host, client *metaclient.Client, users *auth.Provider, memory int64) error {
	n.waiting.Store("the router")
	dial := func(conn grpc.ClientConnInterface) func(string) (grpc.ClientConnInterface, error) {
		return func(nodeID string) (grpc.ClientConnInterface, error) {
			if nodeID != n.data.id.NodeID {
				return nil, errs.New(errs.ShardUnreachable, "node %s is not this one", nodeID)
			}
			return conn, nil
		}
	}
	shards := shardclient.New(shardclient.Config{
		Replicas: func(id uint32) []string {
			for _, s := range client.Shards() {
				if s.Id == id {
					return s.Replicas
				}
			}
			return nil
		},
		Dial: dial(rpc.conn), DialTail: dial(rpc.tails),
		Nodes:  func() []string { return []string{n.data.id.NodeID} },
		Logger: n.log, Registerer: n.registry,
	})
	writer, err := write.New(write.Config{
		Meta: client, Shards: shards, NodeID: n.data.id.NodeID, NoAutoCreate: !n.cfg.AutoCreateTable,
		Logger: n.log, Registerer: n.registry,
	})
	if err != nil {
		return err
	}
	follow, err := n.openTail(client, shards)
	if err != nil {
		return err
	}
	policy := body.Wait
	if n.cfg.HTTP.InflightPolicy == "fail" {
		policy = body.Fail
	}
	bodies, err := body.New(body.Config{
		MaxBytes: int64(n.cfg.HTTP.BodyLimit), MaxInFlight: orQuarter(n.cfg.HTTP.InflightLimit, memory),
		Policy: policy, Registerer: n.registry,
	})
	if err != nil {
		return err
	}
	service, err := query.New(query.Config{
		Meta: client, Shards: shards, Writer: writer, Timeout: n.cfg.Query.Timeout, MaxTimeout: n.cfg.Query.MaxTimeout,
		Running: n.cfg.Query.MaxConcurrent, Waiting: n.cfg.Query.MaxWaiting, MaxWait: n.cfg.Query.MaxWait,
		MaxColumns: n.cfg.MaxColumns, Writable: n.disk.writable, Logger: n.log, Registerer: n.registry,
	})
	if err != nil {
		return err
	}
	sql, err := sqlhttp.New(sqlhttp.Config{
		Service: service, Bodies: bodies, Start: httpapi.StartOf, Timeout: n.cfg.Query.Timeout, Logger: n.log,
		WriteError: httpapi.WriteError,
		Permission: httpapi.Permission,
	})
	if err != nil {
		return err
	}
	config := httpapi.Config{
		Tunnel:  n.operators.serve,
		Catalog: client, Writer: writer, Bodies: bodies, SQL: sql, Tail: follow, Pipelines: client,
		PipelineOptions:   pipeline.Options{Env: processor.Env{GeoIPDatabase: n.cfg.GeoIPDatabase}},
		NoClientVariables: !n.cfg.ClientVariables,
		StoreRejects:      n.cfg.OnReject == onRejectStore, RejectsTTL: n.cfg.RejectsTTL,
		Timeout: n.cfg.HTTP.Timeout, CORS: n.cfg.HTTP.EnableCORS, CORSOrigins: n.cfg.HTTP.CORSAllowedOrigins,
		NoAutoCreate: !n.cfg.AutoCreateTable, TimestampColumn: n.cfg.timestampColumn(), MaxColumns: n.cfg.MaxColumns,
		Ready: func() []string {
			if err := n.ready(); err != nil {
				return []string{err.Error()}
			}
			return nil
		},
		Writable:   n.disk.writable,
		Warnings:   n.disk.warnings,
		Status:     httpapi.Status{Version: n.proc.Version.Version, Commit: n.proc.Version.Commit, Branch: n.proc.Version.Branch, GoVersion: runtime.Version(), Hostname: n.cfg.NodeName},
		ConfigText: func() string { return n.proc.ConfigText },
		Logger:     n.log, Registerer: n.registry, Gatherer: n.registry,
	}
	// A nil provider in the interface would not be nil.
	if users != nil {
		config.Auth = users
	}
	front, err := httpapi.New(config)
	if err != nil {
		return err
	}
	n.users.setHandler(front.Handler())
	if n.usersV1 != nil {
		n.usersV1.setHandler(front.PublicHandler())
	}
	n.waiting.Store("")
	return nil
}

// openTail makes the handler of tails, which end when their port closes.
func (n *node) openTail(client *metaclient.Client, shards *shardclient.Client) (*tail.Handler, error) {
	h, err := tail.New(tail.Config{
		Meta: client, Analyze: shards.Analyze, WriteError: httpapi.WriteError, MaxOpen: n.cfg.MaxTails,
		Follow: func(ctx context.Context, req *shardpb.TailRequest) (tail.Reader, error) {
			r, err := shards.Tail(ctx, req)
			if err != nil {
				return nil, err // a nil reader in the interface would not be nil
			}
			return r, nil
		},
		Logger: n.log, Registerer: n.registry,
	})
	if err != nil {
		return nil, err
	}
	n.users.server.RegisterOnShutdown(h.Close)
	if n.usersV1 != nil {
		n.usersV1.server.RegisterOnShutdown(h.Close)
	}
	return h, nil
}

// memtableBudget is the memory of all memtables of the node together: what is set,
// else an eighth of the machine's, at most four times the flush size.
func (n *node) memtableBudget(memory int64) int64 {
	if n.cfg.Shard.Memory > 0 {
		return int64(n.cfg.Shard.Memory)
	}
	return min(memory/8, 4*int64(n.cfg.Shard.FlushBytes))
}

// orQuarter is the size that was set or, if none was, a quarter of the memory.
func orQuarter(set ByteSize, memory int64) int64 {
	if set > 0 {
		return int64(set)
	}
	return memory / 4
}
