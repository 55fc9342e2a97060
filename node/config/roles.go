package config

import (
	"cmp"
	"slices"
	"strings"

	"cordwood/node/discovery"
)

// The roles of a node.
const (
	RoleRouter = "router"
	RoleMeta   = discovery.RoleMeta
	RoleShard  = "shard"
)

var allRoles = []string{RoleRouter, RoleMeta, RoleShard}

// Has reports whether the node has a role.
func (c *Config) Has(role string) bool { return slices.Contains(c.Roles, role) }

// Place returns the key over which replicas are spread: the zone, or the machine if no zone is set.
func (c *Config) Place() string { return cmp.Or(c.Zone, c.Machine) }

// TracingOn reports whether traces are on. They are turned on by the flag, or by the variables that all OpenTelemetry
// programs read.
func (c *Config) TracingOn(lookup func(string) (string, bool)) bool {
	if c.Trace.Endpoint != "" {
		return true
	}
	if v, _ := lookup("OTEL_SDK_DISABLED"); strings.EqualFold(v, "true") {
		return false
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		if v, _ := lookup(name); v != "" {
			return true
		}
	}
	return false
}
