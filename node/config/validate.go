package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"cordwood/meta/catalog"
	"cordwood/node/discovery"
	"cordwood/proto/lazyregexp"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/browser"
	"cordwood/router/httpapi/peer"
)

// Validate reports all faults of c at once, each with the flag to change. Most rules are rows of
// tables: the valid values of numbers, sizes, durations, words and addresses. Each group of
// settings that depend on each other has its own method.
func (c *Config) Validate() error {
	var f faults
	if c.DataDir == "" {
		f.add("--data-dir is empty: set a folder")
	}
	c.checkNumbers(&f)
	c.checkSizes(&f)
	c.checkDurations(&f)
	c.checkAddresses(&f)
	c.checkChoices(&f)
	c.checkRoles(&f)
	c.Cluster.check(&f)
	c.checkFounding(&f)
	c.checkUsers(&f)
	c.HTTP.check(&f)
	c.Listeners.check(c, &f)
	c.PG.check(c, &f)
	c.checkTLS(&f)
	c.Ingest.check(&f)
	c.Objects.check(&f)
	c.Trace.check(&f)
	return errors.Join(f...)
}

// faults are the faults of settings.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// checkNumbers checks the ranges of numbers.
func (c *Config) checkNumbers(f *faults) {
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{
		{"shards", c.Cluster.Shards, 1, 64},
		{"query-threads", c.Query.Threads, 0, 4 * runtime.NumCPU()},
		{"query-nice", c.Query.Nice, 0, 19},
		{"max-columns", c.Limits.MaxColumns, 2, catalog.MaxColumns},
		{"max-columns-by-ingestion", c.Limits.MaxColumnsByIngestion, 1, catalog.MaxColumns},
		{"max-new-columns-per-request", c.Limits.MaxNewColumnsPerRequest, 1, catalog.MaxColumns},
		{"max-tables", c.Limits.MaxTables, 1, 1_000_000},
		{"max-new-tables-per-request", c.Limits.MaxNewTablesPerRequest, 1, 10_000},
		{"max-new-tables-per-minute", c.Limits.MaxNewTablesPerMinute, 1, 1_000_000},
		{"max-tails", c.Limits.MaxTails, 1, 10_000},
	} {
		if n.value < n.min || n.value > n.max {
			f.add("--%s %d: want %d to %d", n.flag, n.value, n.min, n.max)
		}
	}
	for _, n := range []struct {
		flag       string
		value, min int64
	}{
		{"query-max-concurrent", int64(c.Query.MaxConcurrent), 1},
		{"query-max-waiting", int64(c.Query.MaxWaiting), 1},
		{"query-max-kills-per-user", int64(c.Query.MaxKillsPerUser), 1},
		{"pipeline-request-steps", c.Ingest.PipelineRequestSteps, 1_000_000},
	} {
		if n.value < n.min {
			f.add("--%s %d: want at least %d", n.flag, n.value, n.min)
		}
	}
	for _, n := range []struct {
		flag  string
		value int
		of    string
		all   int
	}{
		{"query-max-concurrent-per-user", c.Query.MaxConcurrentPerUser, "query-max-concurrent", c.Query.MaxConcurrent},
		{"query-max-waiting-per-user", c.Query.MaxWaitingPerUser, "query-max-waiting", c.Query.MaxWaiting},
		{"max-tails-per-user", c.Limits.MaxTailsPerUser, "max-tails", c.Limits.MaxTails},
	} {
		if n.value < 0 || n.value > n.all {
			f.add("--%s %d: want 1 to --%s, %d, or 0", n.flag, n.value, n.of, n.all)
		}
	}
}

// checkSizes checks the lower limits of sizes.
func (c *Config) checkSizes(f *faults) {
	for _, s := range []struct {
		flag       string
		value, min ByteSize
		orZero     bool // 0 means a default
	}{
		{"partition-hot-bytes", c.Cluster.PartitionHotBytes, 1 << 10, false},
		{"max-size", c.Cluster.MaxSize, 64 << 20, true},
		{"query-memory", c.Query.Memory, 16 << 20, true},
		{"query-temp-limit", c.Query.TempLimit, 1 << 20, false},
		{"query-max-cold-bytes", c.Query.MaxColdBytes, 1 << 20, true},
		{"shard-flush-bytes", c.Shard.FlushBytes, 1 << 20, false},
	} {
		switch {
		case s.value >= s.min:
		case !s.orZero:
			f.add("--%s %s: want at least %s", s.flag, s.value, s.min)
		case s.value != 0:
			f.add("--%s %s: want at least %s, or 0", s.flag, s.value, s.min)
		}
	}
}

// checkDurations checks the lower limits of durations.
func (c *Config) checkDurations(f *faults) {
	for _, d := range []struct {
		flag  string
		value time.Duration
		min   time.Duration // 0 means any positive duration
		never bool          // 0 turns it off
	}{
		{"shutdown-grace", c.ShutdownGrace, 0, false},
		{"partition-hot-after", c.Cluster.PartitionHotAfter, time.Second, false},
		{"http-timeout", c.HTTP.Timeout, 0, true},
		{"query-timeout", c.Query.Timeout, 0, false},
		{"query-max-wait", c.Query.MaxWait, 0, false},
		{"query-kill-grace", c.Query.KillGrace, 0, false},
		{"query-kill-drain", c.Query.KillDrain, 0, false},
		{"query-refuse-for", c.Query.RefuseFor, 0, false},
		{"shard-flush-age", c.Shard.FlushAge, time.Second, false},
		{"disk-write-deadline", c.Disk.WriteDeadline, 100 * time.Millisecond, false},
		{"scrub-interval", c.Disk.ScrubInterval, 0, true},
	} {
		switch {
		case d.never && d.value < 0:
			f.add("--%s %s: want a positive duration, or 0", d.flag, d.value)
		case d.value < d.min:
			f.add("--%s %s: want at least %s", d.flag, d.value, d.min)
		case !d.never && d.value <= 0:
			f.add("--%s %s: want a positive duration, such as 30s", d.flag, d.value)
		}
	}
	if c.Query.MaxTimeout < c.Query.Timeout {
		f.add("--query-max-timeout %s: want at least --query-timeout, %s", c.Query.MaxTimeout, c.Query.Timeout)
	}
}

// checkAddresses checks that addresses have the form HOST:PORT.
func (c *Config) checkAddresses(f *faults) {
	for _, a := range []struct {
		flag, addr string
		optional   bool
	}{
		{"http-addr", c.HTTP.Addr, false},
		{"http-v1-addr", c.HTTP.V1Addr, true},
		{"pg-addr", c.PG.Addr, true},
		{"rpc-addr", c.RPC.Addr, false},
		{"advertise-addr", c.RPC.Advertise, true},
		{"admin-addr", c.AdminAddr, true},
	} {
		if a.addr == "" && a.optional {
			continue
		}
		if _, _, err := net.SplitHostPort(a.addr); err != nil {
			f.add("--%s %q: want HOST:PORT, such as 127.0.0.1:4000", a.flag, a.addr)
		}
	}
}

// checkChoices checks that settings with a fixed list of values have one of them.
func (c *Config) checkChoices(f *faults) {
	for _, w := range []struct {
		flag, value string
		known       []string
		optional    bool
	}{
		{"http-inflight-policy", c.HTTP.InflightPolicy, []string{"wait", "fail"}, false},
		{"log-format", c.Log.Format, []string{"text", "json"}, true},
		{"on-reject", c.Ingest.OnReject, []string{onRejectDrop, OnRejectStore}, false},
	} {
		if w.optional && w.value == "" {
			continue
		}
		if !slices.Contains(w.known, w.value) {
			f.add("--%s %q: want %s", w.flag, w.value, strings.Join(w.known, " or "))
		}
	}
	if _, err := c.LogLevel(); err != nil {
		*f = append(*f, err)
	}
}

// checkRoles checks the roles, and the zone and machine of the node.
func (c *Config) checkRoles(f *faults) {
	seen := map[string]bool{}
	for _, r := range c.Roles {
		switch {
		case !slices.Contains(allRoles, r):
			f.add("--roles %q: want some of router, meta, shard", r)
		case seen[r]:
			f.add("--roles contains %s twice", r)
		}
		seen[r] = true
	}
	if len(c.Roles) == 0 {
		f.add("--roles is empty: want some of router, meta, shard")
	}
	if len(c.Zone) > 255 {
		f.add("--zone has %d bytes, at most 255 are possible", len(c.Zone))
	}
	if len(c.Machine) > 255 {
		f.add("--machine has %d bytes, at most 255 are possible", len(c.Machine))
	}
}

// check checks the seeds, and that numbers of voters are odd.
func (c *Cluster) check(f *faults) {
	for _, s := range c.Seeds {
		if err := discovery.CheckSeed(s); err != nil {
			f.add("--seeds %w", err)
		}
	}
	for _, n := range []struct {
		flag  string
		value int
	}{{"meta-bootstrap-expect", c.MetaBootstrapExpect}, {"replication", c.Replication}} {
		if !slices.Contains([]int{1, 3, 5}, n.value) {
			f.add("--%s %d: want 1, 3 or 5", n.flag, n.value)
		}
	}
}

// checkFounding checks that other nodes can reach this one if it has seeds, and otherwise that its settings allow a
// cluster of one node.
func (c *Config) checkFounding(f *faults) {
	if len(c.Cluster.Seeds) > 0 {
		if c.RPC.Advertise == "" && unspecified(c.RPC.Addr) {
			f.add("--rpc-addr %s is not an address that other nodes can dial: set --advertise-addr", c.RPC.Addr)
		}
		return
	}
	// Other nodes may join later with this node as their seed.
	if c.Cluster.MetaBootstrapExpect > 1 {
		f.add("--meta-bootstrap-expect %d needs --seeds: the nodes must find each other", c.Cluster.MetaBootstrapExpect)
	}
	if c.Cluster.Replication > 1 {
		f.add("--replication %d needs --seeds: one node holds one replica", c.Cluster.Replication)
	}
	unknown := func(role string) bool { return !slices.Contains(allRoles, role) }
	// A misspelt role may have been meant as meta.
	if !slices.ContainsFunc(c.Roles, unknown) && !c.Has(RoleMeta) {
		f.add("--roles without meta needs --seeds: nodes of the cluster to join")
	}
}

// minAccessAge is the shortest time for which users of the metadata must be trusted.
const minAccessAge = 10 * time.Second

// checkUsers checks that there is at most one source of users, and that there is one if settings need users.
func (c *Config) checkUsers(f *faults) {
	if c.Users.File != "" && c.Users.Provider != "" {
		f.add("--user-file and --user-provider are both set: choose one")
	}
	switch {
	case c.Users.Auth != "" && c.Users.Auth != AuthOn && c.Users.Auth != AuthOff:
		f.add("--auth is %q: it must be on or off", c.Users.Auth)
	case (c.Users.BootstrapAdmin == "") != (c.Users.BootstrapAdminPasswordFile == ""):
		f.add("--bootstrap-admin and --bootstrap-admin-password-file are needed together")
	case c.Users.BootstrapAdmin != "":
		if err := rights.CheckName(c.Users.BootstrapAdmin); err != nil {
			f.add("--bootstrap-admin: %s", err)
		}
	}
	if c.Users.AccessMaxAge < minAccessAge {
		f.add("--access-max-age %s: it must be at least %s, because an election of the metadata group takes some seconds",
			c.Users.AccessMaxAge, minAccessAge)
	}
	c.Users.OIDC.check(f)
	if c.Users.Audit != AuthOn && c.Users.Audit != AuthOff {
		f.add("--audit is %q: it must be on or off", c.Users.Audit)
	}
	if !c.Users.MetricsOpen && !c.Users.Known() {
		f.add("--metrics-open=false needs --user-file or --user-provider: without users, the server cannot know who may read")
	}
}

// check checks the settings of the port for clients of PostgreSQL.
func (p *PG) check(c *Config, f *faults) {
	if p.Addr != "" && !c.Has(RoleRouter) {
		f.add("--pg-addr needs the role router: nodes without it serve no users")
	}
	if p.MaxConnections < 1 || p.MaxConnections > 100_000 {
		f.add("--pg-max-connections %d must be 1 to 100000", p.MaxConnections)
	}
	if p.ScramIterations < 4096 || p.ScramIterations > 1_000_000 {
		f.add("--scram-iterations %d must be 4096 to 1000000", p.ScramIterations)
	}
}

// check checks the proxies, hosts and origins that the user port and the administrator's port trust.
func (h *HTTP) check(f *faults) {
	if _, err := peer.Parse(h.TrustedProxies); err != nil {
		f.add("--trusted-proxies %w", err)
	}
	if h.ProxyProtocol && len(h.TrustedProxies) == 0 {
		f.add("--proxy-protocol needs --trusted-proxies: headers are accepted from these addresses only")
	}
	for _, name := range h.Hosts {
		if err := browser.ParseHost(name); err != nil {
			f.add("--http-hosts %q: %w", name, err)
		}
	}
	for _, origin := range h.CORSAllowedOrigins {
		if _, err := browser.ParseOrigin(origin); err != nil {
			f.add("--http-cors-allowed-origins %q: %w", origin, err)
		}
	}
}

// checkTLS checks that certificate files that belong together are all set.
func (c *Config) checkTLS(f *faults) {
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		f.add("--tls-cert and --tls-key belong together: set both or none")
	}
	if c.TLS.ClientCA != "" && c.TLS.Cert == "" {
		f.add("--tls-client-ca needs --tls-cert and --tls-key")
	}
	switch {
	case !c.Users.certificates():
	case certificateNames[c.Users.Certificate] == nil:
		f.add("--tls-client-user is %q: it must be off, cn, san-dns, san-email or san-uri", c.Users.Certificate)
	case c.TLS.ClientCA == "":
		f.add("--tls-client-user needs --tls-client-ca: other certificates prove nothing")
	}
	t := c.RPC.TLS
	if (t.Cert == "") != (t.Key == "") || (t.Cert == "") != (t.CA == "") {
		f.add("--rpc-tls-cert, --rpc-tls-key and --rpc-tls-ca belong together: set all or none")
	}
	if t.ServerName != "" && t.Cert == "" {
		f.add("--rpc-tls-server-name needs --rpc-tls-cert, --rpc-tls-key and --rpc-tls-ca")
	}
	if t.Cert != "" && c.RPC.SecretFile != "" {
		f.add("--cluster-secret-file and --rpc-tls-cert are both set: choose one; " +
			"to change from one to the other, see docs/cluster.md")
	}
}

var prefixPattern = lazyregexp.New(`^([A-Za-z][A-Za-z0-9_]{0,31})?$`)

// check checks the settings of ingestion: the file, the time to live, and the name of the column.
func (i *Ingest) check(f *faults) {
	if i.GeoIPDatabase != "" {
		if _, err := os.Stat(i.GeoIPDatabase); err != nil {
			f.add("--geoip-database: %w", err)
		}
	}
	if _, err := schema.NormalizeOption(schema.OptionTTL, i.RejectsTTL); err != nil {
		f.add("--rejects-ttl %q: want a duration, such as 7d", i.RejectsTTL)
	}
	if !prefixPattern.MatchString(i.DefaultColumnPrefix) {
		f.add("--default-column-prefix %q: want letters, digits and _", i.DefaultColumnPrefix)
	}
}

// check checks the address to which traces are sent, and the share of requests that are traced.
func (t *Trace) check(f *faults) {
	if t.Endpoint != "" {
		u, err := url.Parse(t.Endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			f.add("--trace-endpoint %q: want a URL, such as http://127.0.0.1:4318", t.Endpoint)
		}
	}
	if !(t.SampleRatio >= 0 && t.SampleRatio <= 1) {
		f.add("--trace-sample-ratio %v: want 0 to 1", t.SampleRatio)
	}
}

// LogLevel returns the level of the log.
func (c *Config) LogLevel() (slog.Level, error) {
	l, err := ParseLevel(c.Log.Level)
	if err != nil {
		return 0, fmt.Errorf("--log-level: %w", err)
	}
	return l, nil
}
