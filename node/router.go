package node

import (
	"context"
	"net/http"
	"runtime"

	"cordwood/meta/metaclient"
	"cordwood/node/config"
	"cordwood/node/coordinator"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/body"
	"cordwood/router/httpapi"
	"cordwood/router/httpapi/about"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/explore"
	"cordwood/router/httpapi/lokiapi"
	"cordwood/router/httpapi/session"
	"cordwood/router/iceberg"
	"cordwood/router/ingest"
	"cordwood/router/pipeline"
	"cordwood/router/pipeline/processor"
	"cordwood/router/query"
	"cordwood/router/query/sqlhttp"
	"cordwood/router/quota"
	"cordwood/router/tail"
	"cordwood/router/web"
	"cordwood/router/write"
	"cordwood/shard/shardclient"
)

// openRouter builds the router and starts to serve users.
func (n *node) openRouter(users *auth.Provider, shares config.Shares) error {
	client, shards := n.meta, n.shards
	writer, err := write.New(write.Config{
		Meta: client, Shards: shards, NoAutoCreate: !n.cfg.Ingest.AutoCreateTable, ClusterVersion: client.ClusterVersion,
		Logger: n.log, Registerer: n.registry,
	})
	if err != nil {
		return err
	}
	quotas, err := n.openQuotas()
	if err != nil {
		return err
	}
	follow, err := n.openTail(client, shards, quotas)
	if err != nil {
		return err
	}
	quotas.CountTails(follow)
	policy := body.Wait
	if n.cfg.HTTP.InflightPolicy == "fail" {
		policy = body.Fail
	}
	bodies, err := body.New(body.Config{
		MaxBytes: int64(n.cfg.HTTP.BodyLimit), MaxInFlight: shares.Bodies,
		Policy: policy, Registerer: n.registry,
		Known: func(database string) bool { _, ok := client.Database(database); return ok },
	})
	if err != nil {
		return err
	}
	queries := query.Config{
		Meta: client, Shards: shards, Writer: writer, ClusterVersion: client.ClusterVersion,
		Timeout: n.cfg.Query.Timeout, MaxTimeout: n.cfg.Query.MaxTimeout,
		Running: n.cfg.Query.MaxConcurrent, RunningPerUser: n.cfg.Query.MaxConcurrentPerUser,
		Waiting: n.cfg.Query.MaxWaiting, WaitingPerUser: n.cfg.Query.MaxWaitingPerUser, MaxWait: n.cfg.Query.MaxWait,
		MaxColumns: n.cfg.Limits.MaxColumns, Writable: n.disk.writable, Logger: n.log, Registerer: n.registry,
		Changes: n.changes,
		Users:   users.Users, Sessions: n.sessions.list, Quotas: quotas,
	}
	n.registerAge(users)
	if users != nil { // a nil provider in the interface would not be nil
		queries.Accounts = users
		n.keepUsers(users)
		n.trouble.users.Store(n.front)
	}
	service, err := query.New(queries)
	if err != nil {
		return err
	}
	quotas.CountQueries(service)
	sql, err := sqlhttp.New(sqlhttp.Config{
		Service: service, Bodies: bodies, Start: exchange.StartOf, Timeout: n.cfg.Query.Timeout, Logger: n.log,
		WriteError: exchange.WriteError,
		Named:      exchange.NamedNodes,
	})
	if err != nil {
		return err
	}
	explorer, err := explore.New(explore.Config{Source: service, Timeout: n.cfg.Query.Timeout})
	if err != nil {
		return err
	}
	reader, err := lokiapi.New(lokiapi.Config{
		Source: service, Tail: follow, Timeout: n.cfg.Query.Timeout, Registerer: n.registry,
		Build: lokiapi.Build{
			Revision: n.proc.Version.Commit, Date: n.proc.Version.Date, GoVersion: runtime.Version(),
		},
	})
	if err != nil {
		return err
	}
	var lake *iceberg.Catalog
	if n.objects != nil {
		lake, err = iceberg.New(iceberg.Config{
			Source: &icebergSource{commits: n.icebergCatalog(), log: n.log}, Names: service,
			Properties: icebergProperties(&n.cfg.Objects),
		})
		if err != nil {
			return err
		}
	}
	f := &forward{members: n.metaMembers, replicas: n.replicas, dial: n.nodes.Dial}
	n.operators = newOperatorServer(&forwardMeta{forward: f}, &forwardShards{forward: f, pins: map[uint64]pinned{}},
		n.changes)
	n.operators.internal = func(id uint64) bool {
		t, ok := client.TableByID(id)
		return ok && schema.ReservedDatabase(t.Database)
	}
	n.onStop("calls of operators", n.operators.stop)
	config := httpapi.Config{
		Changes: n.changes, Tunnel: n.operators.serve, NodeNames: n.nameNodes,
		Catalog: client, Fresh: client.Fresh, Writer: writer, Quotas: quotas, Bodies: bodies, Tail: follow,
		Pipelines: client,
		Saved:     client,
		Access:    service,
		SQL:       sql, LogQuery: http.HandlerFunc(sql.ServeLogs), Explore: explorer, Loki: reader,
		Iceberg:           lake,
		Cluster:           coordinator.NewAdmin(client).On(n.data.nodeID).WithShards(shards),
		PipelineOptions:   pipeline.Options{Env: processor.Env{GeoIPDatabase: n.cfg.Ingest.GeoIPDatabase}},
		NoClientVariables: !n.cfg.Ingest.ClientVariables,
		Lookup: func(ctx context.Context, q *ingest.Lookup) ([]string, error) {
			return service.Lookup(ctx, query.Lookup(*q))
		},
		StoreRejects: n.cfg.Ingest.OnReject == config.OnRejectStore, RejectsTTL: n.cfg.Ingest.RejectsTTL,
		Proxies: n.proxies, Browsers: n.browsers, Timeout: n.cfg.HTTP.Timeout, MetricsClosed: !n.cfg.Users.MetricsOpen,
		NoAutoCreate: !n.cfg.Ingest.AutoCreateTable, TimestampColumn: n.cfg.TimestampColumn(),
		MaxColumns:     n.cfg.Limits.MaxColumns,
		MaxMadeColumns: n.cfg.Limits.MaxColumnsByIngestion, MaxNewColumns: n.cfg.Limits.MaxNewColumnsPerRequest,
		MaxNewTables: n.cfg.Limits.MaxNewTablesPerRequest, MaxNewTablesPerMinute: n.cfg.Limits.MaxNewTablesPerMinute,
		Places:        n.places,
		PipelineSteps: n.cfg.Ingest.PipelineRequestSteps,
		Ready:         n.unready,
		Writable:      n.disk.writable,
		Refusals:      n.refusals,
		Warnings:      n.warnings,
		Status: about.Status{
			Version: n.proc.Version.Version, Commit: n.proc.Version.Commit, Branch: n.proc.Version.Branch,
			Date: n.proc.Version.Date, GoVersion: runtime.Version(), Hostname: n.cfg.NodeName,
		},
		ConfigText: func() string { return n.proc.ConfigText },
		Tracer:     n.traces.tracer, Logger: n.log, Registerer: n.registry, Gatherer: n.registry,
	}
	if n.cfg.HTTP.UI {
		config.Page = web.New(web.Config{Dir: n.cfg.HTTP.UIDir})
	}
	// A nil *Provider in the interface would not be nil.
	if users != nil {
		config.Auth = users
		sessions := session.Config{Users: users, Cluster: client.ClusterID}
		if source := n.protection.secret; source != nil {
			sessions.Keys = func() [][]byte { return source.Keys("cordwood sessions, version 1") }
			users.HideUnknown(func() []byte { return source.Keys("cordwood unknown users, version 1")[0] })
		}
		if config.Sessions, err = session.New(sessions); err != nil {
			return err
		}
		config.SignIn, config.People, config.OIDCRedirect = users, users, n.cfg.Users.OIDC.RedirectURL
		if n.oidc != nil {
			config.OIDC = n.oidc
		}
		config.Bootstrap = n.bootstrap
	}
	front, err := httpapi.New(config)
	if err != nil {
		return err
	}
	n.users.setHandler(front.Handler())
	if n.usersV1 != nil {
		n.usersV1.setHandler(front.PublicHandler())
	}
	if err := n.serveListeners(front); err != nil {
		return err
	}
	if err := n.servePostgres(service, bodies); err != nil {
		return err
	}
	return n.serveSockets(front.Ingestion(), bodies)
}

// openTail returns the handler of tails, which end when their port closes.
func (n *node) openTail(
	client *metaclient.Client, shards *shardclient.Client, quotas *quota.Keeper,
) (*tail.Handler, error) {
	h, err := tail.New(tail.Config{
		Meta: client, Analyze: shards.Analyze, WriteError: exchange.WriteError, MaxOpen: n.cfg.Limits.MaxTails,
		MaxOpenPerUser: n.cfg.Limits.MaxTailsPerUser,
		Follow: func(ctx context.Context, req *shardpb.TailRequest) (tail.Reader, error) {
			r, err := shards.Tail(ctx, req)
			if err != nil {
				return nil, err // a nil reader in the interface would not be nil
			}
			return r, nil
		},
		Changes: n.changes, Quotas: quotas, Logger: n.log, Registerer: n.registry,
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
