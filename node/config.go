package node

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"

	"cordwood/meta/catalog"
	"cordwood/proto/schema"
)

// Config is everything that can be set of a node. Flags, environment and YAML
// are three spellings of the same fields; see Load.
type Config struct {
	// DataDir holds everything that the node keeps. Default ./cordwood-data.
	DataDir string
	// NodeName is what people see of the node; its identity is made by itself.
	NodeName string
	// Zone is where the node is; replicas of a shard are spread over zones. May be empty.
	Zone string
	// Machine is what the node runs on, if others may run there too. It stands for the zone
	// where that is empty. May be empty.
	Machine string
	// Roles are what the node does: router, meta, shard. Default all.
	Roles []string
	// Seeds are the rpc addresses of other nodes, or dns:NAME:PORT; none: a new node is a
	// cluster of its own.
	Seeds []string
	// MetaBootstrapExpect is the number of nodes that found a cluster together. Default 1.
	MetaBootstrapExpect int
	// ClusterID is the only cluster that the node may belong to, and which exists already.
	ClusterID string
	// Shards is the number of shards that a new cluster gets. Default 4.
	Shards int
	// Replication is the number of replicas of each. Default 1.
	Replication int
	// ShutdownGrace is how long a shutdown may take. Default 30s.
	ShutdownGrace time.Duration
	// PartitionHotBytes is what one shard should take in of a table with partitions=auto at
	// most, in bytes a second, and PartitionHotAfter for how long the table must exceed that
	// until it gets a partition more. Those of the node that leads the metadata group count.
	// Default 16MiB and 5m.
	PartitionHotBytes ByteSize
	PartitionHotAfter time.Duration

	// UserFile holds lines user[:mode]=password; empty: no authentication.
	UserFile string
	// UserProvider names another source of users, as static_user_provider:file:PATH.
	UserProvider string

	// MetricsOpen shows /metrics on the ports for users to anybody, while there are users
	// without names of databases and tables; else to users that may read. Default true.
	MetricsOpen bool

	// AdminAddr serves metrics, profiles and the log level, to whoever can connect;
	// empty: off.
	AdminAddr string

	HTTP  HTTPConfig
	RPC   RPCConfig
	TLS   TLSConfig
	Query QueryConfig
	Shard ShardConfig
	Disk  DiskConfig
	Log   LogConfig
	Trace TraceConfig

	// AutoCreateTable lets ingestion create missing tables and columns. Default true.
	AutoCreateTable bool
	// ClientVariables lets records that clients send set variables, as svc_ttl and
	// svc_table_suffix. Pipelines may set them in any case. Default true.
	ClientVariables bool
	// GeoIPDatabase is a database of places for the processor geoip; empty: pipelines
	// cannot use it.
	GeoIPDatabase string
	// OnReject is what becomes of records that skip_error drops, unless a request says
	// otherwise: drop, or store them in svc_private.rejects. Default drop.
	OnReject string
	// RejectsTTL is how long stored ones are kept. Default 7d.
	RejectsTTL string
	// DefaultColumnPrefix begins the name of the time index that the server adds:
	// svc gives svc_timestamp, empty gives timestamp.
	DefaultColumnPrefix string
	// PipelineRequestSteps bounds the work of a pipeline on all records of a request. Each byte of
	// the records adds 100. Default pipeline.DefaultSteps.
	PipelineRequestSteps int64
	// MaxColumns bounds the columns of one table. Default 4096.
	MaxColumns int
	// MaxTables bounds the tables of the cluster. Default 100000.
	MaxTables int
	// MaxNewTablesPerRequest bounds the tables that one ingestion request makes. Default 100.
	MaxNewTablesPerRequest int
	// MaxNewTablesPerMinute bounds those that the requests of a user make in a minute, for each
	// router. Default 1000.
	MaxNewTablesPerMinute int
	// MaxTails bounds the clients that follow a table at a time. Default 64.
	MaxTails int
	// MaxTailsPerUser of them are of one user, or, without users, of one address; 0: half of
	// MaxTails.
	MaxTailsPerUser int
}

// The values of Config.OnReject.
const (
	onRejectDrop  = "drop"
	onRejectStore = "store"
)

// HTTPConfig is the user port.
type HTTPConfig struct {
	// Addr serves everything. Default 127.0.0.1:4000.
	Addr string
	// V1Addr serves only /v1/; empty: off.
	V1Addr string
	// Timeout bounds every request; 0: none.
	Timeout time.Duration
	// BodyLimit bounds a decompressed body; 0: none. Default 64MiB.
	BodyLimit ByteSize
	// InflightLimit bounds the memory of all bodies under way; 0: an eighth of the machine's.
	InflightLimit ByteSize
	// InflightPolicy is wait (up to 10 s) or fail.
	InflightPolicy string
	// CORSAllowedOrigins are the origins whose pages may use the port, as
	// https://grafana.example.com. Default none.
	CORSAllowedOrigins []string
	// Hosts are the names, besides the machine's, by which clients may ask for a port that
	// knows no users. Default none.
	Hosts []string
	// TrustedProxies are addresses and networks of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto count. Default none.
	TrustedProxies []string
	// ProxyProtocol has each connection of a trusted proxy begin with a header of the PROXY
	// protocol. Default false.
	ProxyProtocol bool
}

// RPCConfig is the port between nodes.
type RPCConfig struct {
	// Addr serves gRPC and raft. Default 127.0.0.1:4001.
	Addr string
	// Advertise is where other nodes reach this one; empty: Addr.
	Advertise string
	// TLS is mutual TLS between nodes by certificates in files: all three files, or none.
	TLS RPCTLSConfig
	// SecretFile holds the secret of the cluster, by which nodes prove themselves to each other
	// without files of certificates. Empty: that in the data folder, if the node founded the
	// cluster alone.
	SecretFile string
	// Insecure lets the node start without either beyond this machine, and has it take and
	// make calls without TLS as well if it has one.
	Insecure bool
}

// RPCTLSConfig names the files of mutual TLS between nodes, in PEM form. They are
// read again when they change.
type RPCTLSConfig struct {
	Cert, Key string
	// CA signs the certificates of all nodes.
	CA string
	// ServerName is what the certificates of other nodes must be for; empty: the host of the
	// address at which each is reached.
	ServerName string
}

// TLSConfig is TLS on the user port.
type TLSConfig struct {
	Cert, Key string
	// ClientCA, if set, makes client certificates required.
	ClientCA string
}

// QueryConfig bounds what queries may take.
type QueryConfig struct {
	// Timeout of a query that does not ask for another. Default 30s.
	Timeout time.Duration
	// MaxTimeout is the longest that a query may ask for. Default 1h.
	MaxTimeout time.Duration
	// Memory of all queries together; 0: a quarter of the machine's.
	Memory ByteSize
	// Threads of the engine; 0: as many as there are cores.
	Threads int
	// MaxConcurrent queries run at once; more wait. Default 16.
	MaxConcurrent int
	// MaxConcurrentPerUser of them are of one user, or, without users, of one address; 0:
	// three quarters of MaxConcurrent.
	MaxConcurrentPerUser int
	// MaxWaiting queries wait at most; others are refused. Default 64.
	MaxWaiting int
	// MaxWaitingPerUser of them are of one user; 0: half of MaxWaiting.
	MaxWaitingPerUser int
	// MaxWait is how long a query waits at most. Default 10s.
	MaxWait time.Duration
	// TempLimit bounds the temporary files of queries. Default 8GiB.
	TempLimit ByteSize
	// Nice is how much queries give way to ingestion for the CPU, 0 to 19. Default 5.
	Nice int
	// KillGrace is how long a query may go on after its end; then its process is killed.
	// Default 2s.
	KillGrace time.Duration
	// KillDrain is how long the other queries of that process may go on before. Default 1m.
	KillDrain time.Duration
	// MaxKillsPerUser is how many processes may be killed or break down because of queries of
	// one user, or, without users, of one address, within twice RefuseFor; then
	// the queries of that user are refused for RefuseFor. Defaults 5, 5m.
	MaxKillsPerUser int
	RefuseFor       time.Duration
	// InProcess runs queries in the server's own process, for debugging.
	InProcess bool
}

// ShardConfig is when a shard writes what it holds in memory to segments.
type ShardConfig struct {
	// FlushBytes of rows in memory. Default 64MiB.
	FlushBytes ByteSize
	// FlushAge of the oldest row in memory. Default 5m.
	FlushAge time.Duration
	// Memory of the rows of all shards together; 0: an eighth of the machine's, at
	// most four times FlushBytes.
	Memory ByteSize
}

// DiskConfig is how the node treats its disk.
type DiskConfig struct {
	// Reserve is the room below which no rows are taken; 0: 2 GiB or a twentieth of the
	// disk, whichever is smaller.
	Reserve ByteSize
	// WriteDeadline is how long one write to a log may take before the process ends.
	// Default 10s.
	WriteDeadline time.Duration
	// ScrubInterval is how often every segment is read through to find damage; 0: never.
	// Default 24h.
	ScrubInterval time.Duration
	// ScrubRate is how many bytes a second that reads; 0: never. Default 8MiB.
	ScrubRate ByteSize
}

// LogConfig is the server's own log, on standard error.
type LogConfig struct {
	// Level is debug, info, warn or error. Default info.
	Level string
	// Format is text or json; empty: text on a terminal, else json.
	Format string
}

// TraceConfig is where traces go.
type TraceConfig struct {
	// Endpoint is the URL of a collector that takes OTLP over HTTP. The default value is
	// empty: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT, else traces
	// are off.
	Endpoint string
	// SampleRatio is the part of requests that are traced, of those whose clients do not
	// say by a traceparent. Default 1.
	SampleRatio float64
}

var prefixPattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_]{0,31})?$`)

// Validate reports every fault of c at once, each with the flag to change.
func (c *Config) Validate() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.DataDir == "" {
		bad("--data-dir is empty: name a folder")
	}
	if c.Shards < 1 || c.Shards > 64 {
		bad("--shards %d: want 1 to 64", c.Shards)
	}
	c.validateCluster(bad)
	if c.ShutdownGrace <= 0 {
		bad("--shutdown-grace %s: want a positive duration, as 30s", c.ShutdownGrace)
	}
	if c.PartitionHotBytes < 1<<10 {
		bad("--partition-hot-bytes %s: want at least 1KiB", c.PartitionHotBytes)
	}
	if c.PartitionHotAfter < time.Second {
		bad("--partition-hot-after %s: want at least 1s", c.PartitionHotAfter)
	}
	if c.UserFile != "" && c.UserProvider != "" {
		bad("--user-file and --user-provider are both set: choose one")
	}
	if !c.MetricsOpen && c.UserFile == "" && c.UserProvider == "" {
		bad("--metrics-open=false needs --user-file or --user-provider: without users nobody can be told apart")
	}
	for _, a := range []struct {
		flag, addr string
		optional   bool
	}{{"http-addr", c.HTTP.Addr, false}, {"http-v1-addr", c.HTTP.V1Addr, true}, {"rpc-addr", c.RPC.Addr, false}, {"advertise-addr", c.RPC.Advertise, true}, {"admin-addr", c.AdminAddr, true}} {
		if a.addr == "" && a.optional {
			continue
		}
		if _, _, err := net.SplitHostPort(a.addr); err != nil {
			bad("--%s %q: want HOST:PORT, as 127.0.0.1:4000", a.flag, a.addr)
		}
	}
	if c.HTTP.Timeout < 0 || c.Query.Timeout <= 0 {
		bad("--http-timeout must not be negative, and --query-timeout must be positive")
	}
	c.validateHTTP(bad)
	if p := c.HTTP.InflightPolicy; p != "wait" && p != "fail" {
		bad("--http-inflight-policy %q: want wait or fail", p)
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		bad("--tls-cert and --tls-key go together: set both or none")
	}
	if t := c.RPC.TLS; (t.Cert == "") != (t.Key == "") || (t.Cert == "") != (t.CA == "") {
		bad("--rpc-tls-cert, --rpc-tls-key and --rpc-tls-ca go together: set all or none")
	}
	if c.RPC.TLS.Cert != "" && c.RPC.SecretFile != "" {
		bad("--cluster-secret-file and --rpc-tls-cert are both set: choose one; to change from the one to the other, see docs/cluster.md")
	}
	if t := c.RPC.TLS; t.ServerName != "" && t.Cert == "" {
		bad("--rpc-tls-server-name needs --rpc-tls-cert, --rpc-tls-key and --rpc-tls-ca")
	}
	if c.TLS.ClientCA != "" && c.TLS.Cert == "" {
		bad("--tls-client-ca needs --tls-cert and --tls-key")
	}
	if c.Query.Threads < 0 || c.Query.Threads > 4*runtime.NumCPU() {
		bad("--query-threads %d: want 0 to %d", c.Query.Threads, 4*runtime.NumCPU())
	}
	if c.Query.MaxConcurrent < 1 {
		bad("--query-max-concurrent %d: want at least 1", c.Query.MaxConcurrent)
	}
	if c.Query.MaxTimeout < c.Query.Timeout {
		bad("--query-max-timeout %s: want at least --query-timeout, %s", c.Query.MaxTimeout, c.Query.Timeout)
	}
	if c.Query.MaxWaiting < 1 || c.Query.MaxWait <= 0 || c.Query.KillGrace <= 0 {
		bad("--query-max-waiting, --query-max-wait and --query-kill-grace must be positive")
	}
	if c.Query.KillDrain <= 0 || c.Query.MaxKillsPerUser < 1 || c.Query.RefuseFor <= 0 {
		bad("--query-kill-drain, --query-max-kills-per-user and --query-refuse-for must be positive")
	}
	if n := c.Query.MaxConcurrentPerUser; n < 0 || n > c.Query.MaxConcurrent {
		bad("--query-max-concurrent-per-user %d: want 1 to --query-max-concurrent, %d, or 0", n, c.Query.MaxConcurrent)
	}
	if n := c.Query.MaxWaitingPerUser; n < 0 || n > c.Query.MaxWaiting {
		bad("--query-max-waiting-per-user %d: want 1 to --query-max-waiting, %d, or 0", n, c.Query.MaxWaiting)
	}
	if n := c.MaxTailsPerUser; n < 0 || n > c.MaxTails {
		bad("--max-tails-per-user %d: want 1 to --max-tails, %d, or 0", n, c.MaxTails)
	}
	if m := c.Query.Memory; m != 0 && m < 16<<20 {
		bad("--query-memory %s: want at least 16MiB, or 0", m)
	}
	if c.Query.TempLimit < 1<<20 {
		bad("--query-temp-limit %s: want at least 1MiB", c.Query.TempLimit)
	}
	if c.Query.Nice < 0 || c.Query.Nice > 19 {
		bad("--query-nice %d: want 0 to 19", c.Query.Nice)
	}
	if c.Shard.FlushBytes < 1<<20 {
		bad("--shard-flush-bytes %s: want at least 1MiB", c.Shard.FlushBytes)
	}
	if c.Disk.WriteDeadline < 100*time.Millisecond {
		bad("--disk-write-deadline %s: want at least 100ms", c.Disk.WriteDeadline)
	}
	if c.Disk.ScrubInterval < 0 {
		bad("--scrub-interval %s: want a positive duration, or 0", c.Disk.ScrubInterval)
	}
	if c.Shard.FlushAge < time.Second {
		bad("--shard-flush-age %s: want at least 1s", c.Shard.FlushAge)
	}
	if _, err := c.logLevel(); err != nil {
		faults = append(faults, err)
	}
	if f := c.Log.Format; f != "" && f != "text" && f != "json" {
		bad("--log-format %q: want text or json", f)
	}
	c.Trace.validate(bad)
	if c.GeoIPDatabase != "" {
		if _, err := os.Stat(c.GeoIPDatabase); err != nil {
			bad("--geoip-database: %w", err)
		}
	}
	if r := c.OnReject; r != onRejectDrop && r != onRejectStore {
		bad("--on-reject %q: want %s or %s", r, onRejectDrop, onRejectStore)
	}
	if _, err := schema.NormalizeOption(schema.OptionTTL, c.RejectsTTL); err != nil {
		bad("--rejects-ttl %q: want a duration, as 7d", c.RejectsTTL)
	}
	if !prefixPattern.MatchString(c.DefaultColumnPrefix) {
		bad("--default-column-prefix %q: want letters, digits and _", c.DefaultColumnPrefix)
	}
	if c.PipelineRequestSteps < 1_000_000 {
		bad("--pipeline-request-steps %d: want 1000000 or more", c.PipelineRequestSteps)
	}
	if c.MaxColumns < 2 || c.MaxColumns > catalog.MaxColumns {
		bad("--max-columns %d: want 2 to %d", c.MaxColumns, catalog.MaxColumns)
	}
	if c.MaxNewTablesPerRequest < 1 || c.MaxNewTablesPerRequest > 10_000 {
		bad("--max-new-tables-per-request %d: want 1 to 10000", c.MaxNewTablesPerRequest)
	}
	if c.MaxNewTablesPerMinute < 1 || c.MaxNewTablesPerMinute > 1_000_000 {
		bad("--max-new-tables-per-minute %d: want 1 to 1000000", c.MaxNewTablesPerMinute)
	}
	if c.MaxTables < 1 || c.MaxTables > 1_000_000 {
		bad("--max-tables %d: want 1 to 1000000", c.MaxTables)
	}
	if c.MaxTails < 1 || c.MaxTails > 10_000 {
		bad("--max-tails %d: want 1 to 10000", c.MaxTails)
	}
	return errors.Join(faults...)
}

func (c *Config) logLevel() (slog.Level, error) {
	l, err := parseLevel(c.Log.Level)
	if err != nil {
		return 0, fmt.Errorf("--log-level: %w", err)
	}
	return l, nil
}

// timestampColumn is the name of the time index that the server adds.
func (c *Config) timestampColumn() string {
	if c.DefaultColumnPrefix == "" {
		return "timestamp"
	}
	return c.DefaultColumnPrefix + "_timestamp"
}

func (c *Config) dir(elem ...string) string {
	return filepath.Join(append([]string{c.DataDir}, elem...)...)
}
