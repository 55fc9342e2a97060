// Package config defines the settings of a node: their fields, the flags, environment variables and YAML keys that
// set them, and their validation. It does not start anything. It also has other checks for tools that need no running
// node: whether files can be read, ports are free, and seeds answer.
package config

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"
)

// Config contains all settings of a node. Flags, environment variables and YAML keys set the same fields; see Load.
type Config struct {
	// DataDir is the folder for all files of the node. Default ./cordwood-data.
	DataDir string
	// NodeName is the name of the node that users see. Its id is generated.
	NodeName string
	// Zone is the location of the node, such as a data center. Replicas of a shard are spread over zones. It may be
	// empty.
	Zone string
	// Machine is the machine of the node, if other nodes may run there, too. It is used as the zone if Zone is empty.
	// It may be empty.
	Machine string
	// Roles are the roles of the node: router, meta, shard. Default all.
	Roles []string
	// ShutdownGrace is the time limit of a shutdown. Default 30s.
	ShutdownGrace time.Duration
	// AdminAddr is the address of the port for metrics, profiles and the log level. The port serves every client that
	// can connect. If AdminAddr is empty, there is no such port.
	AdminAddr string

	Cluster Cluster
	Users   Users
	HTTP    HTTP
	// Listeners are the separate ports for protocols of other systems, in any order.
	Listeners Listeners
	PG        PG
	RPC       RPC
	TLS       TLS
	Ingest    Ingest
	Limits    Limits
	Query     Query
	Shard     Shard
	Disk      Disk
	// Objects is the object storage for old rows.
	Objects ObjectStorage
	Log     Log
	Trace   Trace
}

// Cluster describes how the node finds its cluster, and the properties of a cluster that it founds.
type Cluster struct {
	// Seeds are the rpc addresses of other nodes, or dns:NAME:PORT. Without seeds, a new node is a
	// cluster of its own.
	Seeds []string
	// MetaBootstrapExpect is the number of nodes that found a cluster together. Default 1.
	MetaBootstrapExpect int
	// ID is the only cluster that the node may join. That cluster must exist.
	ID string
	// Shards is the number of shards of a new cluster. Default 4.
	Shards int
	// Replication is the number of replicas of each of these shards. Default 1.
	Replication int
	// MaxSize is the size of the files and objects of all tables above which the oldest rows expire; 0 means no limit.
	MaxSize ByteSize
	// PartitionHotBytes is the maximum ingest rate, in bytes a second, of a table with partitions=auto on one shard.
	// A table that exceeds it for PartitionHotAfter gets another partition. The values on the node that leads the
	// metadata group apply. Default 16MiB and 5m.
	PartitionHotBytes ByteSize
	PartitionHotAfter time.Duration
}

// Users are the users of the ports for users.
type Users struct {
	// File has lines user[:mode]=password.
	File string
	// Auth is on or off. Empty means on if there is a source of users.
	Auth string
	// Audit is on or off: whether the node stores audit records. Default on.
	Audit string
	// BootstrapAdmin is the name of the first administrator of the cluster, and BootstrapAdminPasswordFile a
	// file with the password.
	BootstrapAdmin             string
	BootstrapAdminPasswordFile string
	// AccessMaxAge is how long users and tokens of the metadata are trusted while the metadata group cannot be reached.
	// Default an hour.
	AccessMaxAge time.Duration
	// Certificate says which part of a client's certificate is the name of its user: off, cn, san-dns, san-email or
	// san-uri. Default off.
	Certificate string
	// OIDC is the OpenID Connect provider.
	OIDC OIDC
	// Provider is another source of users, such as static_user_provider:file:PATH.
	Provider string
	// MetricsOpen serves /metrics on the ports for users without authentication. If users must authenticate, the
	// names of databases and tables are left out. If MetricsOpen is false, only users with the privilege MONITOR see the
	// metrics. Default true.
	MetricsOpen bool
}

// Known reports whether requests must authenticate.
func (u *Users) Known() bool {
	sources := u.File != "" || u.Provider != "" || u.BootstrapAdmin != "" || u.OIDC.Issuer != "" || u.certificates()
	return u.Auth == AuthOn || u.Auth == "" && sources
}

// The values of Users.Auth.
const (
	AuthOn  = "on"
	AuthOff = "off"
)

// Ingest has the settings of ingestion.
type Ingest struct {
	// AutoCreateTable lets ingestion create missing tables and columns. Default true.
	AutoCreateTable bool
	// ClientVariables lets records of clients set variables such as svc_ttl and svc_table_suffix.
	// Pipelines may always set them. Default true.
	ClientVariables bool
	// GeoIPDatabase is a database of locations for the processor geoip. Without it, pipelines cannot use that
	// processor.
	GeoIPDatabase string
	// OnReject determines what happens to records that skip_error drops: they are dropped, or stored in
	// svc_private.rejects. A request can override it. Default drop.
	OnReject string
	// RejectsTTL is how long stored rejected records are kept. Default 7d.
	RejectsTTL string
	// DefaultColumnPrefix is the prefix of the name of the time index that the server adds: svc gives svc_timestamp,
	// an empty prefix gives timestamp.
	DefaultColumnPrefix string
	// PipelineRequestSteps limits the work of a pipeline on all records of a request. Each byte of
	// the records adds 100 steps. Default pipeline.DefaultSteps.
	PipelineRequestSteps int64
}

// Limits limits what clients may create and use.
type Limits struct {
	// MaxColumns is the maximum number of columns of a table. Default 4096.
	MaxColumns int
	// MaxColumnsByIngestion is the number of columns of a table up to which ingestion adds columns.
	// Default 2048.
	MaxColumnsByIngestion int
	// MaxNewColumnsPerRequest is the maximum number of columns that one ingestion request adds.
	// Default 1000.
	MaxNewColumnsPerRequest int
	// MaxTables is the maximum number of tables of the cluster. Default 100000.
	MaxTables int
	// MaxNewTablesPerRequest is the maximum number of tables that one ingestion request creates.
	// Default 100.
	MaxNewTablesPerRequest int
	// MaxNewTablesPerMinute is the maximum number of tables that the requests of a user create in a
	// minute, for each router. Default 1000.
	MaxNewTablesPerMinute int
	// MaxTails is the maximum number of clients that follow a table at a time. Default 64.
	MaxTails int
	// MaxTailsPerUser is the maximum number of tails of one user, or, without users, of one
	// address; 0 means half of MaxTails.
	MaxTailsPerUser int
}

// These are the values of Ingest.OnReject.
const (
	onRejectDrop  = "drop"
	OnRejectStore = "store"
)

// HTTP contains the settings of the user port.
type HTTP struct {
	// Addr is the address of the port that serves everything. Default 127.0.0.1:4000.
	Addr string
	// V1Addr is the address of a second port that serves only /v1/. If it is empty, there is none.
	V1Addr string
	// Timeout is the time limit of every request; 0 means no limit.
	Timeout time.Duration
	// BodyLimit is the size limit of a decompressed body; 0 means no limit. Default 64MiB.
	BodyLimit ByteSize
	// InflightLimit is the memory limit for the bodies of all running requests; 0 means an eighth of the machine's
	// memory.
	InflightLimit ByteSize
	// InflightPolicy is what requests do at InflightLimit: wait (up to 10 s) or fail.
	InflightPolicy string
	// CORSAllowedOrigins are the origins whose pages may use the port, such as
	// https://grafana.example.com. Default none.
	CORSAllowedOrigins []string
	// Hosts are the host names that clients may use for a port without users, in addition to the machine's name.
	// Default none.
	Hosts []string
	// TrustedProxies are addresses and networks of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto are used. Default none.
	TrustedProxies []string
	// ProxyProtocol expects each connection of a trusted proxy to begin with a PROXY protocol
	// header. Default false.
	ProxyProtocol bool
	// UI makes the port serve the page for browsers. Default true.
	UI bool
	// UIDir is a folder from which the files of the page are read. By default, the files in the program are used.
	UIDir string
}

// PG contains the settings of the port for PostgreSQL clients.
type PG struct {
	// Addr is the address of the port. If it is empty, there is none.
	Addr string
	// MaxConnections is the maximum number of connections. Default 200.
	MaxConnections int
	// ScramIterations is the number of iterations of keys that are made from passwords in plain text. Default 15,000.
	ScramIterations int
}

// RPC is the port between nodes.
type RPC struct {
	// Addr is the address of the port, which serves gRPC and raft. Default 127.0.0.1:4001.
	Addr string
	// Advertise is the address at which other nodes reach this one; empty means Addr.
	Advertise string
	// TLS is mutual TLS between nodes with certificates in files: all three files, or none.
	TLS RPCTLS
	// SecretFile is the file of the cluster's secret, with which nodes without certificate files authenticate each
	// other. If it is empty and the node founded the cluster alone, the secret in the data folder is used.
	SecretFile string
	// Insecure lets the node start without a secret or certificates although other machines can connect. If the node
	// has one of them, it also accepts and makes calls without TLS.
	Insecure bool
}

// RPCTLS lists the files of mutual TLS between nodes, in PEM form. They are read again when they
// change.
type RPCTLS struct {
	Cert, Key string
	// CA is the file of the authority that has signed the certificates of all nodes.
	CA string
	// ServerName is the name that the certificates of other nodes must contain. If it is empty, it is the host of the
	// address at which each node is reached.
	ServerName string
}

// TLS contains the settings of TLS on the user port.
type TLS struct {
	Cert, Key string
	// ClientCA, if set, makes client certificates required that this authority has signed.
	ClientCA string
}

// Query contains the settings of queries.
type Query struct {
	// Timeout is the time limit of a query that sets none. Default 30s.
	Timeout time.Duration
	// MaxTimeout is the longest time limit that a query may set. Default 1h.
	MaxTimeout time.Duration
	// Memory is the memory limit of all queries together; 0 means a quarter of the machine's.
	Memory ByteSize
	// Threads is the number of threads of the engine; 0 means one per core.
	Threads int
	// MaxConcurrent is the number of queries that run at once; further queries wait. Default 16.
	MaxConcurrent int
	// MaxConcurrentPerUser is the number of running queries of one user, or, without users, of one
	// address; 0 means three quarters of MaxConcurrent.
	MaxConcurrentPerUser int
	// MaxWaiting is the maximum number of waiting queries; further queries are refused. Default 64.
	MaxWaiting int
	// MaxWaitingPerUser is the maximum number of waiting queries of one user; 0 means half of
	// MaxWaiting.
	MaxWaitingPerUser int
	// MaxWait is the maximum time that a query waits. Default 10s.
	MaxWait time.Duration
	// KeptMemory is the memory limit for cached partial results of segments, for repeated queries; 0 means that none
	// are cached. Default 64MiB.
	KeptMemory ByteSize
	// TempLimit is the size limit of the temporary files of queries. Default 8GiB.
	TempLimit ByteSize
	// MaxColdBytes is the maximum number of bytes that a query fetches from object storage on one node; 0 means any
	// number. Default 100GiB.
	MaxColdBytes ByteSize
	// Nice is how much lower the CPU priority of queries is than that of ingestion, from 0 to 19. Default 5.
	Nice int
	// KillGrace is how long a query may continue after it was stopped. After that, its process is killed. Default 2s.
	KillGrace time.Duration
	// KillDrain is how long other queries of that process may continue before it is killed. Default 1m.
	KillDrain time.Duration
	// MaxKillsPerUser is the number of query processes that may crash or be killed because of one user (or, without
	// users, one address) within twice RefuseFor. After that, the queries of that user are refused for RefuseFor.
	// Defaults 5, 5m.
	MaxKillsPerUser int
	RefuseFor       time.Duration
	// InProcess runs queries in the server's own process, for debugging.
	InProcess bool
}

// Shard contains the settings of memory and of flushes to segments.
type Shard struct {
	// FlushBytes is the size of the rows in memory at which a shard flushes. Default 64MiB.
	FlushBytes ByteSize
	// FlushAge is the age of the oldest row in memory at which a shard flushes. Default 5m.
	FlushAge time.Duration
	// Memory is the memory limit for the rows of all shards together; 0 means an eighth of the machine's memory, at
	// most four times FlushBytes.
	Memory ByteSize
}

// Disk contains the settings of the disk.
type Disk struct {
	// Reserve is the free disk space below which rows are refused; 0 means 2 GiB or 5 % of the disk, whichever is
	// smaller.
	Reserve ByteSize
	// WriteDeadline is the time limit of one write to a log, after which the process ends. Default
	// 10s.
	WriteDeadline time.Duration
	// ScrubInterval is the interval at which every segment is read to find damage; 0 means never.
	// Default 24h.
	ScrubInterval time.Duration
	// ScrubRate is the maximum rate of this check, in bytes per second; 0 means that it never runs. Default 8MiB.
	ScrubRate ByteSize
}

// Log contains the settings of the server's own log, on standard error.
type Log struct {
	// Level is debug, info, warn or error. Default info.
	Level string
	// Format is text or json. If it is empty, it is text on a terminal, and json otherwise.
	Format string
}

// Trace contains the settings of traces.
type Trace struct {
	// Endpoint is the URL of a collector that accepts OTLP over HTTP. If it is empty,
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT is used; without these,
	// traces are off.
	Endpoint string
	// SampleRatio is the share of requests without a traceparent that are traced. Default 1.
	SampleRatio float64
}

// TimestampColumn returns the name of the time index that the server adds.
func (c *Config) TimestampColumn() string {
	if c.Ingest.DefaultColumnPrefix == "" {
		return "timestamp"
	}
	return c.Ingest.DefaultColumnPrefix + "_timestamp"
}

// Path returns the path of a file in the data folder.
func (c *Config) Path(elem ...string) string {
	return filepath.Join(append([]string{c.DataDir}, elem...)...)
}

// ParseLevel parses one of the four levels.
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
	return 0, fmt.Errorf("%q is not debug, info, warn or error", text)
}
