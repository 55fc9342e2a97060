package node

import (
	"cmp"
	"net"
	"slices"

	"cordwood/node/discovery"
)

// The roles of a node.
const (
	roleRouter = "router"
	roleMeta   = discovery.RoleMeta
	roleShard  = "shard"
)

var allRoles = []string{roleRouter, roleMeta, roleShard}

// has tells whether the node has a role.
func (c *Config) has(role string) bool { return slices.Contains(c.Roles, role) }

// validateCluster reports the faults of what makes the node part of a cluster.
func (c *Config) validateCluster(bad func(format string, args ...any)) {
	seen, known := map[string]bool{}, true
	for _, r := range c.Roles {
		switch {
		case !slices.Contains(allRoles, r):
			bad("--roles %q: want some of router, meta, shard", r)
			known = false
		case seen[r]:
			bad("--roles names %s twice", r)
		}
		seen[r] = true
	}
	if len(c.Roles) == 0 {
		bad("--roles is empty: want some of router, meta, shard")
	}
	for _, s := range c.Seeds {
		if err := discovery.CheckSeed(s); err != nil {
			bad("--seeds %w", err)
		}
	}
	odd := func(flag string, n int) {
		if n != 1 && n != 3 && n != 5 {
			bad("--%s %d: want 1, 3 or 5", flag, n)
		}
	}
	odd("meta-bootstrap-expect", c.MetaBootstrapExpect)
	odd("replication", c.Replication)
	if len(c.Zone) > 255 {
		bad("--zone has %d bytes, at most 255 are possible", len(c.Zone))
	}
	if len(c.Machine) > 255 {
		bad("--machine has %d bytes, at most 255 are possible", len(c.Machine))
	}
	if len(c.Seeds) > 0 {
		if c.RPC.Advertise == "" && unspecified(c.RPC.Addr) {
			bad("--rpc-addr %s is no address that other nodes can dial: set --advertise-addr", c.RPC.Addr)
		}
		return
	}
	// Alone, until others come with this node as their seed.
	if c.MetaBootstrapExpect > 1 {
		bad("--meta-bootstrap-expect %d needs --seeds: the nodes must find each other", c.MetaBootstrapExpect)
	}
	if c.Replication > 1 {
		bad("--replication %d needs --seeds: one node holds one replica", c.Replication)
	}
	if known && !c.has(roleMeta) { // else what is misspelt may have been meant as meta
		bad("--roles without meta needs --seeds: nodes of the cluster to join")
	}
}

// unspecified tells whether addr is that of all interfaces.
func unspecified(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// place is what replicas are spread over: the zone, or the machine where there are no zones.
func (c *Config) place() string { return cmp.Or(c.Zone, c.Machine) }
