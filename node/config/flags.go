package config

import (
	"os"
	"time"

	"github.com/spf13/pflag"

	"cordwood/router/pipeline"
)

// Flags declares every setting on fs, with its default, bound to c.
func (c *Config) Flags(fs *pflag.FlagSet) {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	*c = Config{}
	fs.StringVar(&c.DataDir, "data-dir", "./cordwood-data", "folder of everything that the node keeps")
	fs.StringVar(&c.NodeName, "node-name", host, "name of the node, for people")
	fs.StringVar(&c.Zone, "zone", "", "zone of the node: the replicas of a shard are spread over zones")
	fs.StringVar(&c.Machine, "machine", "",
		"name of the machine, where several nodes may run on one: stands for --zone where that is empty")
	fs.StringSliceVar(&c.Roles, "roles", allRoles,
		"what the node does: router (serves users), meta (may be a member of the metadata group), shard (holds rows)")
	fs.StringSliceVar(&c.Cluster.Seeds, "seeds", nil, "rpc addresses of other nodes, HOST:PORT, or dns:NAME:PORT for "+
		"all addresses of a name, looked up again and again; none: a new node is a cluster of its own")
	fs.IntVar(&c.Cluster.MetaBootstrapExpect, "meta-bootstrap-expect", 1,
		"empty nodes with the role meta that found a cluster together: 1, 3 or 5, the same on all")
	fs.StringVar(&c.Cluster.ID, "cluster-id", "",
		"the cluster that this node is to belong to, which exists: none is founded, even if all nodes are empty")
	fs.IntVar(&c.Cluster.Shards, "shards", 4, "shards of a new cluster, 1 to 64")
	fs.IntVar(&c.Cluster.Replication, "replication", 1, "replicas of each shard of a new cluster: 1, 3 or 5")
	fs.DurationVar(&c.ShutdownGrace, "shutdown-grace", 30*time.Second,
		"how long a shutdown may take; what hangs five seconds longer is cut off, with status 71")
	c.Cluster.PartitionHotBytes = 16 << 20
	fs.Var(&c.Cluster.PartitionHotBytes, "partition-hot-bytes", "bytes a second of one table that one shard should "+
		"take in: beyond that one with partitions=auto gets one more; the same on all nodes with the role meta")
	fs.DurationVar(&c.Cluster.PartitionHotAfter, "partition-hot-after", 5*time.Minute,
		"how long a table must take more than --partition-hot-bytes before it gets another partition")
	fs.StringVar(&c.Users.File, "user-file", "",
		"`FILE` of users, lines user[:rw|ro|wo]=password, read again on SIGHUP; none: no authentication")
	fs.StringVar(&c.Users.Provider, "user-provider", "", "other source of users: static_user_provider:file:PATH, "+
		"static_user_provider:cmd:u=p,…, watch_file_user_provider:PATH")
	fs.StringVar(&c.HTTP.Addr, "http-addr", "127.0.0.1:4000", "address for users: ingestion and SQL")
	fs.StringVar(&c.HTTP.V1Addr, "http-v1-addr", "", "second address, serving only /v1/ (often port 4006)")
	fs.DurationVar(&c.HTTP.Timeout, "http-timeout", 0, "time limit of a request; 0: none")
	c.HTTP.BodyLimit = 64 << 20
	fs.Var(&c.HTTP.BodyLimit, "http-body-limit", "size limit of a decompressed body; 0: none")
	fs.Var(&c.HTTP.InflightLimit, "http-inflight-limit",
		"memory limit of all bodies under way; 0: an eighth of the machine's")
	fs.StringVar(&c.HTTP.InflightPolicy, "http-inflight-policy", "wait", "at that limit: wait (up to 10 s) or fail")
	fs.StringSliceVar(&c.HTTP.CORSAllowedOrigins, "http-cors-allowed-origins", nil,
		"origins whose pages may use the server, as https://grafana.example.com; none: no page of another site")
	fs.StringSliceVar(&c.HTTP.Hosts, "http-hosts", nil, "`NAMES` that a Host header may have while there are no "+
		"users, besides IP addresses, localhost and the machine's name: logs.example.com, *.example.com, or * for "+
		"any; checked for browsers and for connections from this machine")
	fs.StringSliceVar(&c.HTTP.TrustedProxies, "trusted-proxies", nil, "addresses and networks of proxies, as "+
		"10.1.0.0/16, whose X-Forwarded-For and X-Forwarded-Proto count; none: the client is the address that connects")
	fs.BoolVar(&c.HTTP.ProxyProtocol, "proxy-protocol", false, "have each connection of a trusted proxy begin with a "+
		"header of the PROXY protocol (version 1 or 2), which tells the client's address, on the ports for users")
	fs.BoolVar(&c.HTTP.UI, "ui", true, "serve the page for browsers at /dashboard/ of the ports for users")
	fs.StringVar(&c.HTTP.UIDir, "ui-dir", "", "`FOLDER` with the files of that page, read again for each request, for "+
		"those who work on it (router/web); none: those in the program")
	c.Listeners.flags(fs)
	fs.StringVar(&c.PG.Addr, "pg-addr", "", "address for clients of PostgreSQL, which send SQL by its protocol, usually "+
		"127.0.0.1:5432; none: off")
	fs.IntVar(&c.PG.MaxConnections, "pg-max-connections", 200, "connections of PostgreSQL clients at a time; one address "+
		"may have half of them")
	fs.StringVar(&c.RPC.Addr, "rpc-addr", "127.0.0.1:4001", "address for nodes: gRPC and raft on one port")
	fs.StringVar(&c.RPC.Advertise, "advertise-addr", "",
		"where other nodes reach this one, HOST:PORT; none: the rpc address")
	fs.BoolVar(&c.Users.MetricsOpen, "metrics-open", true, "show /metrics to anybody, while there are users without "+
		"the names of databases and tables; false: to users that may read, with them")
	fs.StringVar(&c.AdminAddr, "admin-addr", "",
		"address for the administrator: metrics, profiles (pprof), log level; knows no users; none: off")
	fs.StringVar(&c.RPC.SecretFile, "cluster-secret-file", "", "`FILE` with the secret of the cluster, of at least "+
		"32 characters, the same on all nodes: only nodes that know it get in, by TLS; read again when it changes "+
		"(two lines: the first is used, both are accepted); by default cluster-secret in the data folder, which a "+
		"node makes that starts without --seeds")
	fs.BoolVar(&c.RPC.Insecure, "rpc-insecure", false, "start without a secret of the cluster or certificates "+
		"although other machines can connect to --rpc-addr: any program that connects can act as a node; "+
		"together with a secret or certificates: take calls without TLS as well, while a running cluster is given them")
	fs.StringVar(&c.RPC.TLS.Cert, "rpc-tls-cert", "",
		"certificate file of this node for the port between nodes (PEM); with a key and a CA only nodes get in")
	fs.StringVar(&c.RPC.TLS.Key, "rpc-tls-key", "", "key file of this node (PEM)")
	fs.StringVar(&c.RPC.TLS.CA, "rpc-tls-ca", "", "authority that signs the certificates of all nodes (PEM)")
	fs.StringVar(&c.RPC.TLS.ServerName, "rpc-tls-server-name", "",
		"name that the certificates of other nodes must be good for; none: the host of each one's address")
	fs.StringVar(&c.TLS.Cert, "tls-cert", "", "certificate file of the user port (PEM); read again when it changes")
	fs.StringVar(&c.TLS.Key, "tls-key", "", "key file of the user port (PEM)")
	fs.StringVar(&c.TLS.ClientCA, "tls-client-ca", "", "require client certificates signed by this authority (PEM)")
	fs.DurationVar(&c.Query.Timeout, "query-timeout", 30*time.Second, "time limit of a query that names no other")
	fs.DurationVar(&c.Query.MaxTimeout, "query-max-timeout", time.Hour, "longest time limit that a query may name")
	fs.Var(&c.Query.Memory, "query-memory", "memory limit of all queries; 0: a quarter of the machine's")
	fs.IntVar(&c.Query.Threads, "query-threads", 0, "threads of the query engine; 0: one per core")
	fs.IntVar(&c.Query.MaxConcurrent, "query-max-concurrent", 16, "queries that run at once; more wait")
	fs.IntVar(&c.Query.MaxConcurrentPerUser, "query-max-concurrent-per-user", 0, "queries of one user, or without "+
		"users of one address, that run at the same time; 0: three quarters of query-max-concurrent")
	fs.IntVar(&c.Query.MaxWaiting, "query-max-waiting", 64, "queries that wait at most; others are refused")
	fs.IntVar(&c.Query.MaxWaitingPerUser, "query-max-waiting-per-user", 0,
		"queries of one user, or without users of one address, that wait at most; 0: half of query-max-waiting")
	fs.DurationVar(&c.Query.MaxWait, "query-max-wait", 10*time.Second,
		"how long a query waits at most before it is refused")
	c.Query.KeptMemory = 64 << 20
	fs.Var(&c.Query.KeptMemory, "query-kept-memory", "memory for results of aggregates in segments, kept for "+
		"queries that are asked again; it is a part of query-memory, an eighth of that at most; 0: none are kept")
	c.Query.TempLimit = 8 << 30
	fs.Var(&c.Query.TempLimit, "query-temp-limit",
		"temporary files of queries that exceed query-memory, in the data folder")
	fs.IntVar(&c.Query.Nice, "query-nice", 5, "how much queries give way to ingestion for the CPU, 0 to 19")
	fs.DurationVar(&c.Query.KillGrace, "query-kill-grace", 2*time.Second,
		"how long a query that was stopped may go on before its process is killed and replaced")
	fs.DurationVar(&c.Query.KillDrain, "query-kill-drain", time.Minute,
		"how long the other queries of that process may go on before it is killed")
	fs.IntVar(&c.Query.MaxKillsPerUser, "query-max-kills-per-user", 5, "query processes that may end because of "+
		"queries of one user, or without users of one address, within twice query-refuse-for; then that user's "+
		"queries are refused")
	fs.DurationVar(&c.Query.RefuseFor, "query-refuse-for", 5*time.Minute, "how long they are refused")
	fs.BoolVar(&c.Query.InProcess, "query-in-process", false,
		"run queries in the server's own process, for debugging: one that goes wrong can end the server")
	c.Shard.FlushBytes = 64 << 20
	fs.Var(&c.Shard.FlushBytes, "shard-flush-bytes", "rows in memory, per shard, at which they are written to segments")
	fs.DurationVar(&c.Shard.FlushAge, "shard-flush-age", 5*time.Minute,
		"age of the oldest row in memory at which they are written to segments")
	fs.Var(&c.Shard.Memory, "shard-memory",
		"rows in memory of all shards; 0: an eighth of the machine's, at most four times shard-flush-bytes")
	fs.Var(&c.Disk.Reserve, "disk-reserve", "room on the disk of the data folder below which no rows are taken, "+
		"until there is more again; 0: 2GiB or 5 % of the disk, whichever is smaller")
	fs.DurationVar(&c.Disk.WriteDeadline, "disk-write-deadline", 10*time.Second,
		"time after which a write to a log that does not return ends the process, with status 70")
	fs.DurationVar(&c.Disk.ScrubInterval, "scrub-interval", 24*time.Hour,
		"how often every segment is read through to find damage; 0: never")
	c.Disk.ScrubRate = 8 << 20
	fs.Var(&c.Disk.ScrubRate, "scrub-rate", "bytes a second that this reads; 0: never")
	fs.StringVar(&c.Log.Level, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&c.Log.Format, "log-format", "", "text or json (default: text on a terminal, else json)")
	fs.StringVar(&c.Trace.Endpoint, "trace-endpoint", "", "`URL` of an OpenTelemetry collector for traces (OTLP over "+
		"HTTP), as http://127.0.0.1:4318; none: that of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or "+
		"OTEL_EXPORTER_OTLP_ENDPOINT, else no traces. OTEL_EXPORTER_OTLP_HEADERS and its other variables, "+
		"OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are read as well")
	fs.Float64Var(&c.Trace.SampleRatio, "trace-sample-ratio", 1,
		"part of requests that are traced, 0 to 1, unless a client's header traceparent says whether")
	fs.BoolVar(&c.Ingest.AutoCreateTable, "auto-create-table", true, "let ingestion create tables and columns")
	fs.BoolVar(&c.Ingest.ClientVariables, "client-variables", true,
		"let records that clients send set svc_ttl, svc_table_suffix and other variables; false: such records fail")
	fs.StringVar(&c.Ingest.GeoIPDatabase, "geoip-database", "",
		"`FILE` with places of addresses (MaxMind DB) for the processor geoip; none: pipelines cannot use it")
	fs.StringVar(&c.Ingest.OnReject, "on-reject", onRejectDrop,
		"what becomes of records that skip_error drops: drop, or store in svc_private.rejects")
	fs.StringVar(&c.Ingest.RejectsTTL, "rejects-ttl", "7d",
		"how long rejected records are kept in svc_private.rejects; read once, when that table is created")
	fs.StringVar(&c.Ingest.DefaultColumnPrefix, "default-column-prefix", "svc",
		"prefix of the time index that the server adds: svc gives svc_timestamp")
	fs.Int64Var(&c.Ingest.PipelineRequestSteps, "pipeline-request-steps", pipeline.DefaultSteps, "work of a pipeline "+
		"on all records of a request, in steps of about 7 ns, to which each byte of the records adds 100")
	fs.IntVar(&c.Limits.MaxColumns, "max-columns", 4096, "columns that a table may have")
	fs.IntVar(&c.Limits.MaxColumnsByIngestion, "max-columns-by-ingestion", 2048,
		"columns of a table up to which ingestion adds columns; beyond them only ALTER TABLE does")
	fs.IntVar(&c.Limits.MaxNewColumnsPerRequest, "max-new-columns-per-request", 1000,
		"columns that one ingestion request may add to tables")
	fs.IntVar(&c.Limits.MaxNewTablesPerRequest, "max-new-tables-per-request", 100,
		"tables that one ingestion request may make")
	fs.IntVar(&c.Limits.MaxNewTablesPerMinute, "max-new-tables-per-minute", 1000,
		"tables that the ingestion requests of a user may make in a minute, for each router")
	fs.IntVar(&c.Limits.MaxTables, "max-tables", 100_000, "tables that there may be, over all databases")
	fs.IntVar(&c.Limits.MaxTails, "max-tails", 64, "clients that may follow a table (/v1/tail) at a time")
	fs.IntVar(&c.Limits.MaxTailsPerUser, "max-tails-per-user", 0,
		"tails of one user, or without users of one address; 0: half of max-tails")
}
