// Package config is the settings of a node: their fields, the flags, variables and YAML keys that
// set them, and what makes them wrong. It does not start anything. Other checks of settings that
// need no running node are here too, for tools: whether the files that they name can be read,
// whether the ports are free, whether the seeds answer.
package config

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
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
	// Machine is what the node runs on, if others may run there too. It is used as the zone if that is
	// empty. May be empty.
	Machine string
	// Roles are what the node does: router, meta, shard. Default all.
	Roles []string
	// ShutdownGrace is how long a shutdown may take. Default 30s.
	ShutdownGrace time.Duration
	// AdminAddr serves metrics, profiles and the log level, to every client that can connect; empty:
	// off.
	AdminAddr string

	Cluster Cluster
	Users   Users
	HTTP    HTTP
	// Listeners are the ports of their own for protocols of other systems, in no order.
	Listeners Listeners
	PG        PG
	RPC       RPC
	TLS       TLS
	Ingest    Ingest
	Limits    Limits
	Query     Query
	Shard     Shard
	Disk      Disk
	Log       Log
	Trace     Trace
}

// Cluster is how the node finds its cluster, and what a cluster that it founds is like.
type Cluster struct {
	// Seeds are the rpc addresses of other nodes, or dns:NAME:PORT; none: a new node is a
	// cluster of its own.
	Seeds []string
	// MetaBootstrapExpect is the number of nodes that found a cluster together. Default 1.
	MetaBootstrapExpect int
	// ID is the only cluster that the node may belong to, and which exists already.
	ID string
	// Shards is the number of shards that a new cluster gets. Default 4.
	Shards int
	// Replication is the number of replicas of each. Default 1.
	Replication int
	// PartitionHotBytes bounds the bytes a second that one shard takes in of a table with
	// partitions=auto: a table that exceeds the bound for PartitionHotAfter gets a partition
	// more. The values of the node that leads the metadata group count. Default 16MiB and 5m.
	PartitionHotBytes ByteSize
	PartitionHotAfter time.Duration
}

// Users are the users of the ports for users.
type Users struct {
	// File holds lines user[:mode]=password; empty: no authentication.
	File string
	// Provider names another source of users, as static_user_provider:file:PATH.
	Provider string
	// MetricsOpen shows /metrics on the ports for users to anybody, while there are users
	// without names of databases and tables; else to users that may read. Default true.
	MetricsOpen bool
}

// Known reports whether requests need a user.
func (u *Users) Known() bool { return u.File != "" || u.Provider != "" }

// Ingest is what ingestion makes of records.
type Ingest struct {
	// AutoCreateTable lets ingestion create missing tables and columns. Default true.
	AutoCreateTable bool
	// ClientVariables lets records that clients send set variables, as svc_ttl and
	// svc_table_suffix. Pipelines may set them in any case. Default true.
	ClientVariables bool
	// GeoIPDatabase is a database of locations for the processor geoip; empty: pipelines
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
}

// Limits bounds what clients may make and hold.
type Limits struct {
	// MaxColumns bounds the columns of one table. Default 4096.
	MaxColumns int
	// MaxColumnsByIngestion bounds the columns of a table up to which ingestion adds some. Default 2048.
	MaxColumnsByIngestion int
	// MaxNewColumnsPerRequest bounds the columns that one ingestion request adds. Default 1000.
	MaxNewColumnsPerRequest int
	// MaxTables bounds the tables of the cluster. Default 100000.
	MaxTables int
	// MaxNewTablesPerRequest bounds the tables that one ingestion request makes. Default 100.
	MaxNewTablesPerRequest int
	// MaxNewTablesPerMinute bounds the tables that the requests of a user make in a minute, for
	// each router. Default 1000.
	MaxNewTablesPerMinute int
	// MaxTails bounds the clients that follow a table at a time. Default 64.
	MaxTails int
	// MaxTailsPerUser bounds the tails of one user, or, without users, of one address; 0: half of
	// MaxTails.
	MaxTailsPerUser int
}

// The values of Ingest.OnReject.
const (
	onRejectDrop  = "drop"
	OnRejectStore = "store"
)

// HTTP is the user port.
type HTTP struct {
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
	// Hosts are the names, besides the machine's, by which clients may ask for a port without users.
	// Default none.
	Hosts []string
	// TrustedProxies are addresses and networks of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto count. Default none.
	TrustedProxies []string
	// ProxyProtocol has each connection of a trusted proxy begin with a header of the PROXY
	// protocol. Default false.
	ProxyProtocol bool
	// UI serves the page for browsers. Default true.
	UI bool
	// UIDir has the files of the page read from a folder. Default: those in the program.
	UIDir string
}

// PG is the port for clients of PostgreSQL.
type PG struct {
	// Addr serves PostgreSQL's protocol; empty: off.
	Addr string
	// MaxConnections bounds the connections. Default 200.
	MaxConnections int
}

// RPC is the port between nodes.
type RPC struct {
	// Addr serves gRPC and raft. Default 127.0.0.1:4001.
	Addr string
	// Advertise is where other nodes reach this one; empty: Addr.
	Advertise string
	// TLS is mutual TLS between nodes by certificates in files: all three files, or none.
	TLS RPCTLS
	// SecretFile holds the secret of the cluster, by which nodes prove themselves to each other
	// without files of certificates. Empty: that in the data folder, if the node founded the
	// cluster alone.
	SecretFile string
	// Insecure lets the node start without either beyond this machine, and has it take and
	// make calls without TLS as well if it has one.
	Insecure bool
}

// RPCTLS names the files of mutual TLS between nodes, in PEM form. They are
// read again when they change.
type RPCTLS struct {
	Cert, Key string
	// CA signs the certificates of all nodes.
	CA string
	// ServerName is what the certificates of other nodes must be for; empty: the host of the
	// address at which each is reached.
	ServerName string
}

// TLS is TLS on the user port.
type TLS struct {
	Cert, Key string
	// ClientCA, if set, makes client certificates required.
	ClientCA string
}

// Query bounds what queries may take.
type Query struct {
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
	// KeptMemory bounds the partial results of segments that are kept for queries which are asked again; 0: none are
	// kept. Default 64MiB.
	KeptMemory ByteSize
	// TempLimit bounds the temporary files of queries. Default 8GiB.
	TempLimit ByteSize
	// Nice is how much lower the CPU priority of queries is than that of ingestion, 0 to 19. Default 5.
	Nice int
	// KillGrace is how long a query may continue after its end; then its process is killed.
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

// Shard is when a shard writes what it holds in memory to segments.
type Shard struct {
	// FlushBytes of rows in memory. Default 64MiB.
	FlushBytes ByteSize
	// FlushAge of the oldest row in memory. Default 5m.
	FlushAge time.Duration
	// Memory of the rows of all shards together; 0: an eighth of the machine's, at
	// most four times FlushBytes.
	Memory ByteSize
}

// Disk is how the node treats its disk.
type Disk struct {
	// Reserve is the room below which no rows are taken; 0: 2 GiB or a twentieth of the
	// disk, whichever is smaller.
	Reserve ByteSize
	// WriteDeadline is how long one write to a log may take before the process ends.
	// Default 10s.
	WriteDeadline time.Duration
	// ScrubInterval is how often every segment is read to find damage; 0: never.
	// Default 24h.
	ScrubInterval time.Duration
	// ScrubRate is how many bytes a second that reads; 0: never. Default 8MiB.
	ScrubRate ByteSize
}

// Log is the server's own log, on standard error.
type Log struct {
	// Level is debug, info, warn or error. Default info.
	Level string
	// Format is text or json; empty: text on a terminal, else json.
	Format string
}

// Trace is where traces go.
type Trace struct {
	// Endpoint is the URL of a collector that takes OTLP over HTTP. The default value is
	// empty: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT, else traces
	// are off.
	Endpoint string
	// SampleRatio is the part of requests without a traceparent that are traced. Default 1.
	SampleRatio float64
}

// TimestampColumn returns the name of the time index that the server adds.
func (c *Config) TimestampColumn() string {
	if c.Ingest.DefaultColumnPrefix == "" {
		return "timestamp"
	}
	return c.Ingest.DefaultColumnPrefix + "_timestamp"
}

// Path returns the path of something in the data folder.
func (c *Config) Path(elem ...string) string {
	return filepath.Join(append([]string{c.DataDir}, elem...)...)
}

// ParseLevel reads one of the four levels.
func ParseLevel(text string) (slog.Level, error) {
	switch strings.ToLower(text) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("%q is none of debug, info, warn and error", text)
}
