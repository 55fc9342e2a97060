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

	"github.com/spf13/pflag"

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
	// MaxColumns bounds the columns of one table. Default 4096.
	MaxColumns int
	// MaxTables bounds the tables of the cluster. Default 100000.
	MaxTables int
	// MaxTails bounds the clients that follow a table at a time. Default 64.
	MaxTails int
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
	// V1Addr serves only /v1/ and /dashboard; empty: off.
	V1Addr string
	// Timeout bounds every request; 0: none.
	Timeout time.Duration
	// BodyLimit bounds a decompressed body; 0: none. Default 64MiB.
	BodyLimit ByteSize
	// InflightLimit bounds the memory of all bodies under way; 0: an eighth of the machine's.
	InflightLimit ByteSize
	// InflightPolicy is wait (up to 10 s) or fail.
	InflightPolicy string
	EnableCORS     bool
	// CORSAllowedOrigins is the list of origins; empty: any.
	CORSAllowedOrigins []string
	// ProtectConfig asks for a user at /config too.
	ProtectConfig bool
}

// RPCConfig is the port between nodes.
type RPCConfig struct {
	// Addr serves gRPC and raft. Default 127.0.0.1:4001.
	Addr string
	// Advertise is where other nodes reach this one; empty: Addr.
	Advertise string
	// TLS is mutual TLS between nodes: all three files, or none.
	TLS RPCTLSConfig
}

// RPCTLSConfig names the files of mutual TLS between nodes, in PEM form. They are
// read again when they change.
type RPCTLSConfig struct {
	Cert, Key string
	// CA signs the certificates of all nodes.
	CA string
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
	// MaxWaiting queries wait at most; others are refused. Default 64.
	MaxWaiting int
	// MaxWait is how long a query waits at most. Default 10s.
	MaxWait time.Duration
	// TempLimit bounds the temporary files of queries. Default 8GiB.
	TempLimit ByteSize
	// Nice is how much queries give way to ingestion for the CPU, 0 to 19. Default 5.
	Nice int
	// KillGrace is how long a query may go on after its end; then its process is killed.
	// Default 2s.
	KillGrace time.Duration
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
	fs.StringVar(&c.Machine, "machine", "", "name of the machine, where several nodes may run on one: stands for --zone where that is empty")
	fs.StringSliceVar(&c.Roles, "roles", allRoles, "what the node does: router (serves users), meta (may be a member of the metadata group), shard (holds rows)")
	fs.StringSliceVar(&c.Seeds, "seeds", nil, "rpc addresses of other nodes, HOST:PORT, or dns:NAME:PORT for all addresses of a name, looked up again and again; none: a new node is a cluster of its own")
	fs.IntVar(&c.MetaBootstrapExpect, "meta-bootstrap-expect", 1, "empty nodes with the role meta that found a cluster together: 1, 3 or 5, the same on all")
	fs.StringVar(&c.ClusterID, "cluster-id", "", "the cluster that this node is to belong to, which exists: none is founded, even if all nodes are empty")
	fs.IntVar(&c.Shards, "shards", 4, "shards of a new cluster, 1 to 64")
	fs.IntVar(&c.Replication, "replication", 1, "replicas of each shard of a new cluster: 1, 3 or 5")
	fs.DurationVar(&c.ShutdownGrace, "shutdown-grace", 30*time.Second, "how long a shutdown may take; what hangs five seconds longer is cut off, with status 71")
	c.PartitionHotBytes = 16 << 20
	fs.Var(&c.PartitionHotBytes, "partition-hot-bytes", "bytes a second of one table that one shard should take in: beyond that one with partitions=auto gets one more; the same on all nodes with the role meta")
	fs.DurationVar(&c.PartitionHotAfter, "partition-hot-after", 5*time.Minute, "for how long a table must exceed that")
	fs.StringVar(&c.UserFile, "user-file", "", "users, lines `user[:rw|ro|wo]=password`, read again on SIGHUP; none: no authentication")
	fs.StringVar(&c.UserProvider, "user-provider", "", "other source of users: static_user_provider:file:PATH, static_user_provider:cmd:u=p,…, watch_file_user_provider:PATH")
	fs.StringVar(&c.HTTP.Addr, "http-addr", "127.0.0.1:4000", "address for users: ingestion and SQL")
	fs.StringVar(&c.HTTP.V1Addr, "http-v1-addr", "", "second address, serving only /v1/ and /dashboard (often port 4006)")
	fs.DurationVar(&c.HTTP.Timeout, "http-timeout", 0, "time limit of a request; 0: none")
	c.HTTP.BodyLimit = 64 << 20
	fs.Var(&c.HTTP.BodyLimit, "http-body-limit", "size limit of a decompressed body; 0: none")
	fs.Var(&c.HTTP.InflightLimit, "http-inflight-limit", "memory limit of all bodies under way; 0: an eighth of the machine's")
	fs.StringVar(&c.HTTP.InflightPolicy, "http-inflight-policy", "wait", "at that limit: wait (up to 10 s) or fail")
	fs.BoolVar(&c.HTTP.EnableCORS, "http-enable-cors", true, "answer cross-origin requests of browsers")
	fs.BoolVar(&c.HTTP.ProtectConfig, "http-protect-config", false, "show /config to users only, once there are any")
	fs.StringSliceVar(&c.HTTP.CORSAllowedOrigins, "http-cors-allowed-origins", nil, "origins allowed; none: any")
	fs.StringVar(&c.RPC.Addr, "rpc-addr", "127.0.0.1:4001", "address for nodes: gRPC and raft on one port")
	fs.StringVar(&c.RPC.Advertise, "advertise-addr", "", "where other nodes reach this one, HOST:PORT; none: the rpc address")
	fs.StringVar(&c.AdminAddr, "admin-addr", "", "address for the administrator: metrics, profiles (pprof), log level; knows no users; none: off")
	fs.StringVar(&c.RPC.TLS.Cert, "rpc-tls-cert", "", "certificate file of this node for the port between nodes (PEM); with a key and a CA only nodes get in")
	fs.StringVar(&c.RPC.TLS.Key, "rpc-tls-key", "", "key file of this node (PEM)")
	fs.StringVar(&c.RPC.TLS.CA, "rpc-tls-ca", "", "authority that signs the certificates of all nodes (PEM)")
	fs.StringVar(&c.TLS.Cert, "tls-cert", "", "certificate file of the user port (PEM); read again when it changes")
	fs.StringVar(&c.TLS.Key, "tls-key", "", "key file of the user port (PEM)")
	fs.StringVar(&c.TLS.ClientCA, "tls-client-ca", "", "require client certificates signed by this authority (PEM)")
	fs.DurationVar(&c.Query.Timeout, "query-timeout", 30*time.Second, "time limit of a query that names no other")
	fs.DurationVar(&c.Query.MaxTimeout, "query-max-timeout", time.Hour, "longest time limit that a query may name")
	fs.Var(&c.Query.Memory, "query-memory", "memory limit of all queries; 0: a quarter of the machine's")
	fs.IntVar(&c.Query.Threads, "query-threads", 0, "threads of the query engine; 0: one per core")
	fs.IntVar(&c.Query.MaxConcurrent, "query-max-concurrent", 16, "queries that run at once; more wait")
	fs.IntVar(&c.Query.MaxWaiting, "query-max-waiting", 64, "queries that wait at most; others are refused")
	fs.DurationVar(&c.Query.MaxWait, "query-max-wait", 10*time.Second, "how long a query waits at most before it is refused")
	c.Query.TempLimit = 8 << 30
	fs.Var(&c.Query.TempLimit, "query-temp-limit", "temporary files of queries that exceed query-memory, in the data folder")
	fs.IntVar(&c.Query.Nice, "query-nice", 5, "how much queries give way to ingestion for the CPU, 0 to 19")
	fs.DurationVar(&c.Query.KillGrace, "query-kill-grace", 2*time.Second, "how long a query that was stopped may go on before its process is killed and replaced")
	fs.BoolVar(&c.Query.InProcess, "query-in-process", false, "run queries in the server's own process, for debugging: one that goes wrong can end the server")
	c.Shard.FlushBytes = 64 << 20
	fs.Var(&c.Shard.FlushBytes, "shard-flush-bytes", "rows in memory, per shard, at which they are written to segments")
	fs.DurationVar(&c.Shard.FlushAge, "shard-flush-age", 5*time.Minute, "age of the oldest row in memory at which they are written to segments")
	fs.Var(&c.Shard.Memory, "shard-memory", "rows in memory of all shards; 0: an eighth of the machine's, at most four times shard-flush-bytes")
	fs.Var(&c.Disk.Reserve, "disk-reserve", "room on the disk of the data folder below which no rows are taken, until there is more again; 0: 2GiB or 5 % of the disk, whichever is smaller")
	fs.DurationVar(&c.Disk.WriteDeadline, "disk-write-deadline", 10*time.Second, "time after which a write to a log that does not return ends the process, with status 70")
	fs.DurationVar(&c.Disk.ScrubInterval, "scrub-interval", 24*time.Hour, "how often every segment is read through to find damage; 0: never")
	c.Disk.ScrubRate = 8 << 20
	fs.Var(&c.Disk.ScrubRate, "scrub-rate", "bytes a second that this reads; 0: never")
	fs.StringVar(&c.Log.Level, "log-level", "info", "debug, info, warn or error")
	fs.StringVar(&c.Log.Format, "log-format", "", "text or json (default: text on a terminal, else json)")
	fs.StringVar(&c.Trace.Endpoint, "trace-endpoint", "", "`URL` of an OpenTelemetry collector for traces (OTLP over HTTP), as http://127.0.0.1:4318; none: that of OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT, else no traces. OTEL_EXPORTER_OTLP_HEADERS and its other variables, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES are read as well")
	fs.Float64Var(&c.Trace.SampleRatio, "trace-sample-ratio", 1, "part of requests that are traced, 0 to 1, unless a client's header traceparent says whether")
	fs.BoolVar(&c.AutoCreateTable, "auto-create-table", true, "let ingestion create tables and columns")
	fs.BoolVar(&c.ClientVariables, "client-variables", true, "let records that clients send set svc_ttl, svc_table_suffix and other variables; false: such records fail")
	fs.StringVar(&c.GeoIPDatabase, "geoip-database", "", "`FILE` with places of addresses (MaxMind DB) for the processor geoip; none: pipelines cannot use it")
	fs.StringVar(&c.OnReject, "on-reject", onRejectDrop, "what becomes of records that skip_error drops: drop, or store in svc_private.rejects")
	fs.StringVar(&c.RejectsTTL, "rejects-ttl", "7d", "how long stored ones are kept; of consequence when the table is created")
	fs.StringVar(&c.DefaultColumnPrefix, "default-column-prefix", "svc", "prefix of the time index that the server adds: svc gives svc_timestamp")
	fs.IntVar(&c.MaxColumns, "max-columns", 4096, "columns that a table may have")
	fs.IntVar(&c.MaxTables, "max-tables", 100_000, "tables that there may be, over all databases")
	fs.IntVar(&c.MaxTails, "max-tails", 64, "clients that may follow a table (/v1/tail) at a time")
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
	if p := c.HTTP.InflightPolicy; p != "wait" && p != "fail" {
		bad("--http-inflight-policy %q: want wait or fail", p)
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		bad("--tls-cert and --tls-key go together: set both or none")
	}
	if t := c.RPC.TLS; (t.Cert == "") != (t.Key == "") || (t.Cert == "") != (t.CA == "") {
		bad("--rpc-tls-cert, --rpc-tls-key and --rpc-tls-ca go together: set all or none")
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
	if c.MaxColumns < 2 || c.MaxColumns > catalog.MaxColumns {
		bad("--max-columns %d: want 2 to %d", c.MaxColumns, catalog.MaxColumns)
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
