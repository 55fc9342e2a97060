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
	fs.StringVar(&c.DataDir, "data-dir", "./cordwood-data", "folder for all files of the node")
	fs.StringVar(&c.NodeName, "node-name", host, "name of the node that users see")
	fs.StringVar(&c.Zone, "zone", "", "zone of the node: the replicas of a shard are spread over zones")
	fs.StringVar(&c.Machine, "machine", "",
		"name of the machine, if several nodes may run on it: used as the zone if --zone is empty")
	fs.StringSliceVar(&c.Roles, "roles", allRoles,
		"what the node does: router (serves users), meta (may be a member of the metadata group), shard (holds rows)")
	fs.StringSliceVar(&c.Cluster.Seeds, "seeds", nil, "rpc addresses of other nodes, HOST:PORT, or "+
		"dns:NAME:PORT for all addresses of a name, which are looked up repeatedly; without seeds, a new node "+
		"founds its own cluster")
	fs.IntVar(&c.Cluster.MetaBootstrapExpect, "meta-bootstrap-expect", 1,
		"number of empty nodes with the role meta that found a cluster together: 1, 3 or 5; set the same number "+
			"on all nodes")
	fs.StringVar(&c.Cluster.ID, "cluster-id", "",
		"id of the existing cluster to which this node belongs; with it, no cluster is founded, even if all "+
			"nodes are empty")
	fs.IntVar(&c.Cluster.Shards, "shards", 4, "shards of a new cluster, 1 to 64")
	fs.IntVar(&c.Cluster.Replication, "replication", 1, "replicas of each shard of a new cluster: 1, 3 or 5")
	durationVar(fs, &c.ShutdownGrace, "shutdown-grace", 30*time.Second,
		"how long a shutdown may take; if it takes five seconds longer, the process exits with status 71")
	fs.Var(&c.Cluster.MaxSize, "max-size", "size of the files and objects of all tables of the cluster, each row "+
		"counted once, above which the oldest rows expire, the same on all nodes with the role meta; 0: no limit. The "+
		"table option max_size limits one table")
	c.Cluster.PartitionHotBytes = 16 << 20
	fs.Var(&c.Cluster.PartitionHotBytes, "partition-hot-bytes", "bytes per second of one table that one shard "+
		"should receive; a table with partitions=auto that receives more gets another partition; set the same "+
		"value on all nodes with the role meta")
	durationVar(fs, &c.Cluster.PartitionHotAfter, "partition-hot-after", 5*time.Minute,
		"how long a table must receive more than --partition-hot-bytes before it gets another partition")
	fs.StringVar(&c.Users.File, "user-file", "",
		"`FILE` with users, in lines user[:rw|ro|wo]=password, read again on SIGHUP; "+
			"they are known on this node only")
	fs.StringVar(&c.Users.Auth, "auth", "", "whether users authenticate: on or off; by default they do if "+
		"--user-file, --user-provider, --bootstrap-admin, --oidc-issuer or --tls-client-user is set")
	c.Users.OIDC.flags(fs)
	fs.StringVar(&c.Users.Audit, "audit", "on", "whether this node stores who changed what in svc_private.audit: on or "+
		"off; off is a warning in the state of the node")
	fs.StringVar(&c.Users.BootstrapAdmin, "bootstrap-admin", "", "`NAME` of a user to create with the role admin, "+
		"unless the cluster has an administrator")
	fs.StringVar(&c.Users.BootstrapAdminPasswordFile, "bootstrap-admin-password-file", "",
		"`FILE` with the password of --bootstrap-admin, of at least 12 bytes")
	durationVar(fs, &c.Users.AccessMaxAge, "access-max-age", time.Hour, "how long this node trusts the users and tokens "+
		"of the metadata while it cannot reach the metadata group; then their requests get 503")
	fs.StringVar(&c.Users.Provider, "user-provider", "", "other source of users: static_user_provider:file:PATH, "+
		"static_user_provider:cmd:u=p,…, watch_file_user_provider:PATH")
	fs.StringVar(&c.HTTP.Addr, "http-addr", "127.0.0.1:4000", "address for users: ingestion and SQL")
	fs.StringVar(&c.HTTP.V1Addr, "http-v1-addr", "", "second address, which serves only paths under /v1/ (often "+
		"port 4006)")
	durationVar(fs, &c.HTTP.Timeout, "http-timeout", 0, "time limit of a request; 0: none")
	c.HTTP.BodyLimit = 64 << 20
	fs.Var(&c.HTTP.BodyLimit, "http-body-limit", "size limit of a decompressed body; 0: none")
	fs.Var(&c.HTTP.InflightLimit, "http-inflight-limit",
		"memory limit of all request bodies together; 0: an eighth of the machine's memory")
	fs.StringVar(&c.HTTP.InflightPolicy, "http-inflight-policy", "wait", "what requests do at "+
		"--http-inflight-limit: wait (up to 10 s) or fail")
	fs.StringSliceVar(&c.HTTP.CORSAllowedOrigins, "http-cors-allowed-origins", nil,
		"origins whose pages may use the server, such as https://grafana.example.com; by default, pages of "+
			"other sites may not")
	fs.StringSliceVar(&c.HTTP.Hosts, "http-hosts", nil, "`NAMES` that a Host header may have if the server has "+
		"no users, in addition to IP addresses, localhost and the machine's name: logs.example.com, "+
		"*.example.com, or * for any name; checked for browsers and for connections from this machine")
	fs.StringSliceVar(&c.HTTP.TrustedProxies, "trusted-proxies", nil, "addresses and networks of proxies, such "+
		"as 10.1.0.0/16, whose headers X-Forwarded-For and X-Forwarded-Proto are used; for other connections, "+
		"the client is the address that connects")
	fs.BoolVar(&c.HTTP.ProxyProtocol, "proxy-protocol", false, "on the ports for users, expect each connection "+
		"of a trusted proxy to begin with a header of the PROXY protocol (version 1 or 2), which contains the "+
		"client's address")
	fs.BoolVar(&c.HTTP.UI, "ui", true, "serve the page for browsers at /dashboard/ of the ports for users")
	fs.StringVar(&c.HTTP.UIDir, "ui-dir", "", "`FOLDER` with the files of the page for browsers (router/web), "+
		"read again for each request, for developers of the page; by default, the files in the program")
	c.Listeners.flags(fs)
	fs.StringVar(&c.PG.Addr, "pg-addr", "", "address for clients of PostgreSQL, which send SQL by its protocol, usually "+
		"127.0.0.1:5432; none: off")
	fs.IntVar(&c.PG.MaxConnections, "pg-max-connections", 200, "connections of PostgreSQL clients at a time; one address "+
		"may have half of them")
	fs.IntVar(&c.PG.ScramIterations, "scram-iterations", 15_000, "SCRAM iterations when users whose "+
		"passwords are stored in plain text sign in to --pg-addr, 4096 to 1000000: more of them make passwords harder "+
		"to guess and sign-ins slower; 15000 take the client and the start of the server about 2.4 ms each")
	fs.StringVar(&c.RPC.Addr, "rpc-addr", "127.0.0.1:4001", "address for nodes: gRPC and raft on one port")
	fs.StringVar(&c.RPC.Advertise, "advertise-addr", "",
		"address at which other nodes reach this node, HOST:PORT; by default, --rpc-addr")
	fs.BoolVar(&c.Users.MetricsOpen, "metrics-open", true, "show /metrics without a user; if the server has "+
		"users, names of databases and tables are left out; false: only users with the privilege MONITOR see "+
		"/metrics, with these names")
	fs.StringVar(&c.AdminAddr, "admin-addr", "",
		"address for the administrator: metrics, profiles (pprof), log level; it has no authentication; by "+
			"default it is off")
	fs.StringVar(&c.RPC.SecretFile, "cluster-secret-file", "", "`FILE` with the cluster secret of at least 32 "+
		"characters, the same on all nodes; only nodes that know it are admitted, over TLS; read again when it "+
		"changes (with two lines, the first is used, and both are accepted); by default cluster-secret in the "+
		"data folder, which a node without --seeds creates")
	fs.BoolVar(&c.RPC.Insecure, "rpc-insecure", false, "start without a cluster secret or certificates although "+
		"other machines can connect to --rpc-addr, so that any program that connects can act as a node; together "+
		"with a secret or certificates: also accept calls without TLS, while these are introduced in a running "+
		"cluster")
	fs.StringVar(&c.RPC.TLS.Cert, "rpc-tls-cert", "",
		"certificate file of this node for the port between nodes (PEM); with a key and a CA, only nodes are "+
			"admitted")
	fs.StringVar(&c.RPC.TLS.Key, "rpc-tls-key", "", "key file of this node (PEM)")
	fs.StringVar(&c.RPC.TLS.CA, "rpc-tls-ca", "", "authority that signs the certificates of all nodes (PEM)")
	fs.StringVar(&c.RPC.TLS.ServerName, "rpc-tls-server-name", "",
		"name for which the certificates of other nodes must be valid; by default, the host in the address of "+
			"each node")
	fs.StringVar(&c.TLS.Cert, "tls-cert", "", "certificate file of the user port (PEM); read again when it changes")
	fs.StringVar(&c.TLS.Key, "tls-key", "", "key file of the user port (PEM)")
	fs.StringVar(&c.TLS.ClientCA, "tls-client-ca", "", "require client certificates signed by this authority (PEM)")
	fs.StringVar(&c.Users.Certificate, "tls-client-user", certificatesOff, "part of a client's certificate that is the "+
		"name of its user: off, cn (the common name), san-dns, san-email or san-uri; requests without a password or a token "+
		"are then of this user; needs --tls-client-ca")
	durationVar(fs, &c.Query.Timeout, "query-timeout", 30*time.Second, "time limit of a query whose request sets "+
		"none")
	durationVar(fs, &c.Query.MaxTimeout, "query-max-timeout", time.Hour, "longest time limit that a request may "+
		"set for a query")
	fs.Var(&c.Query.Memory, "query-memory", "memory limit of all queries together; 0: a quarter of the "+
		"machine's memory")
	fs.IntVar(&c.Query.Threads, "query-threads", 0, "threads of the query engine; 0: one per core")
	fs.IntVar(&c.Query.MaxConcurrent, "query-max-concurrent", 16, "number of queries that run at the same time; "+
		"further queries wait")
	fs.IntVar(&c.Query.MaxConcurrentPerUser, "query-max-concurrent-per-user", 0, "number of queries of one user "+
		"(without users, of one address) that run at the same time; 0: three quarters of query-max-concurrent")
	fs.IntVar(&c.Query.MaxWaiting, "query-max-waiting", 64, "number of queries that may wait; further queries "+
		"are refused")
	fs.IntVar(&c.Query.MaxWaitingPerUser, "query-max-waiting-per-user", 0,
		"number of queries of one user (without users, of one address) that may wait; 0: half of "+
			"query-max-waiting")
	durationVar(fs, &c.Query.MaxWait, "query-max-wait", 10*time.Second,
		"how long a query may wait before it is refused")
	c.Query.KeptMemory = 64 << 20
	fs.Var(&c.Query.KeptMemory, "query-kept-memory", "memory for cached results of repeated queries over "+
		"segments; it is a part of query-memory, at most an eighth of it; 0: no results are cached")
	c.Query.TempLimit = 8 << 30
	fs.Var(&c.Query.TempLimit, "query-temp-limit",
		"size limit of the temporary files of queries that exceed query-memory, in the data folder")
	c.Query.MaxColdBytes = 100 << 30
	fs.Var(&c.Query.MaxColdBytes, "query-max-cold-bytes", "number of bytes that one query may fetch from object storage "+
		"on one node; a query that needs more is refused before it fetches them; 0: any number")
	fs.IntVar(&c.Query.Nice, "query-nice", 5, "how much lower the CPU priority of queries is than that of "+
		"ingestion, 0 to 19")
	durationVar(fs, &c.Query.KillGrace, "query-kill-grace", 2*time.Second,
		"how long a query may continue after it was stopped, before its process is killed and replaced; up to five times "+
			"as long while its process gets too little CPU time to stop")
	durationVar(fs, &c.Query.KillDrain, "query-kill-drain", time.Minute,
		"how long other queries in the process of such a query may continue before the process is killed")
	fs.IntVar(&c.Query.MaxKillsPerUser, "query-max-kills-per-user", 5, "number of query processes that may end "+
		"because of queries of one user (without users, of one address) within twice query-refuse-for; after "+
		"that, this user's queries are refused; if the clients of these queries left, only for five seconds after each")
	durationVar(fs, &c.Query.RefuseFor, "query-refuse-for", 5*time.Minute, "how long queries of such a user are "+
		"refused")
	fs.BoolVar(&c.Query.InProcess, "query-in-process", false,
		"run queries in the process of the server, for debugging; a query that crashes then ends the server")
	c.Shard.FlushBytes = 64 << 20
	fs.Var(&c.Shard.FlushBytes, "shard-flush-bytes", "size of the rows in memory of a shard at which they are "+
		"written to segments")
	durationVar(fs, &c.Shard.FlushAge, "shard-flush-age", 5*time.Minute,
		"age of the oldest row in memory at which the rows are written to segments")
	fs.Var(&c.Shard.Memory, "shard-memory",
		"memory for the rows of all shards; 0: an eighth of the machine's memory, at most four times "+
			"shard-flush-bytes")
	fs.Var(&c.Disk.Reserve, "disk-reserve", "free space on the disk of the data folder below which rows are "+
		"refused; 0: 2GiB or 5 % of the disk, whichever is smaller")
	durationVar(fs, &c.Disk.WriteDeadline, "disk-write-deadline", 10*time.Second,
		"if a write to a log takes longer than this, the process exits with status 70")
	durationVar(fs, &c.Disk.ScrubInterval, "scrub-interval", 24*time.Hour,
		"how often every segment is read to find damage; 0: never")
	c.Disk.ScrubRate = 8 << 20
	fs.Var(&c.Disk.ScrubRate, "scrub-rate", "bytes per second that the check of segments reads; 0: segments are "+
		"never checked")
	c.Objects.flags(fs)
	fs.StringVar(&c.Log.Level, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&c.Log.Format, "log-format", "", "text or json (default: text on a terminal, otherwise json)")
	fs.StringVar(&c.Trace.Endpoint, "trace-endpoint", "", "`URL` of an OpenTelemetry collector for traces (OTLP over "+
		"HTTP), such as http://127.0.0.1:4318; by default, the value of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or "+
		"OTEL_EXPORTER_OTLP_ENDPOINT, and without them no traces are sent. Other variables OTEL_EXPORTER_OTLP_…, "+
		"OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are read as well")
	fs.Float64Var(&c.Trace.SampleRatio, "trace-sample-ratio", 1,
		"share of the requests that are traced, 0 to 1; a client's header traceparent takes precedence")
	fs.BoolVar(&c.Ingest.AutoCreateTable, "auto-create-table", true, "let ingestion create tables and columns")
	fs.BoolVar(&c.Ingest.ClientVariables, "client-variables", true,
		"let records that clients send set svc_ttl, svc_table_suffix and other variables; false: such records fail")
	fs.StringVar(&c.Ingest.GeoIPDatabase, "geoip-database", "",
		"`FILE` with locations of IP addresses (MaxMind DB) for the processor geoip; without it, pipelines "+
			"cannot use this processor")
	fs.StringVar(&c.Ingest.OnReject, "on-reject", onRejectDrop,
		"what happens to records that skip_error drops: drop, or store (in svc_private.rejects)")
	fs.StringVar(&c.Ingest.RejectsTTL, "rejects-ttl", "7d",
		"how long rejected records are kept in svc_private.rejects; used only when this table is created")
	fs.StringVar(&c.Ingest.DefaultColumnPrefix, "default-column-prefix", "svc",
		"prefix in the name of the time index that the server adds: svc gives svc_timestamp")
	fs.Int64Var(&c.Ingest.PipelineRequestSteps, "pipeline-request-steps", pipeline.DefaultSteps, "limit for the "+
		"work of a pipeline on all records of a request, in steps of about 7 ns; each byte of the records adds "+
		"100 steps")
	fs.IntVar(&c.Limits.MaxColumns, "max-columns", 4096, "columns that a table may have")
	fs.IntVar(&c.Limits.MaxColumnsByIngestion, "max-columns-by-ingestion", 2048,
		"number of columns of a table up to which ingestion adds columns; only ALTER TABLE adds more")
	fs.IntVar(&c.Limits.MaxNewColumnsPerRequest, "max-new-columns-per-request", 1000,
		"columns that one ingestion request may add to tables")
	fs.IntVar(&c.Limits.MaxNewTablesPerRequest, "max-new-tables-per-request", 100,
		"number of tables that one ingestion request may create")
	fs.IntVar(&c.Limits.MaxNewTablesPerMinute, "max-new-tables-per-minute", 1000,
		"number of tables that the ingestion requests of a user may create per minute, for each router")
	fs.IntVar(&c.Limits.MaxTables, "max-tables", 100_000, "maximum number of tables over all databases")
	fs.IntVar(&c.Limits.MaxTails, "max-tails", 64, "number of clients that may follow a table (/v1/tail) at the "+
		"same time")
	fs.IntVar(&c.Limits.MaxTailsPerUser, "max-tails-per-user", 0,
		"number of tails of one user (without users, of one address); 0: half of max-tails")
}
