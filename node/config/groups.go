package config

import "strings"

// Group is a group of settings, in the help of serve and in docs/settings.md.
type Group struct {
	// Title is the heading of the group.
	Title string
	// words are names of settings. A word that ends with a hyphen is a prefix of names.
	words string
}

// Groups are the groups of the settings, in the order in which they are shown.
var Groups = []Group{
	{"Folder and process", "data-dir node-name shutdown-grace config print-config"},
	{"Ports for users", "http- pg- ui ui-dir trusted-proxies proxy-protocol metrics-open admin-addr"},
	{
		"Ports for protocols of other systems",
		"elasticsearch-addr loki-addr splunk-addr otlp- datadog-addr journald-addr syslog-addr gelf-addr forward-addr",
	},
	{"Users and TLS", "auth audit access- user-file user-provider bootstrap- scram-iterations oidc- tls-"},
	{"Cluster", "roles seeds meta-bootstrap-expect cluster-id shards replication zone machine partition-"},
	{"Port for nodes", "rpc- advertise-addr cluster-secret-file"},
	{
		"Ingestion and tables",
		"auto-create-table client-variables default-column-prefix geoip-database on-reject rejects-ttl " +
			"pipeline-request-steps max-columns max-columns-by-ingestion max-new-columns- max-tables max-new-tables- max-size",
	},
	{"Queries and tails", "query- max-tails max-tails-"},
	{"Memory and disk", "shard- disk- scrub-"},
	{"Object storage for old rows", "object-storage-"},
	{"Log and traces", "log- trace-"},
}

// GroupOf returns the index in Groups of the group of a setting, or -1. If several groups have a word that matches
// the name, the longest word wins.
func GroupOf(name string) int {
	group, best := -1, ""
	for i, g := range Groups {
		for _, word := range strings.Fields(g.words) {
			if (word == name || strings.HasSuffix(word, "-") && strings.HasPrefix(name, word)) && len(word) > len(best) {
				group, best = i, word
			}
		}
	}
	return group
}
