package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// settingGroups are the groups of the settings in the help of serve. A setting belongs to the
// group with the longest word that is its name, or its beginning if the word ends in a hyphen.
var settingGroups = []struct{ title, words string }{
	{"Folder and process", "data-dir node-name shutdown-grace config print-config"},
	{"Ports for users", "http- trusted-proxies proxy-protocol metrics-open admin-addr"},
	{"Users and TLS", "user-file user-provider tls-"},
	{"Cluster", "roles seeds meta-bootstrap-expect cluster-id shards replication zone machine partition-"},
	{"Port for nodes", "rpc- advertise-addr cluster-secret-file"},
	{"Ingestion and tables", "auto-create-table client-variables default-column-prefix geoip-database on-reject rejects-ttl pipeline-request-steps max-columns max-tables max-new-tables-"},
	{"Queries and tails", "query- max-tails max-tails-"},
	{"Memory and disk", "shard- disk- scrub-"},
	{"Log and traces", "log- trace-"},
}

// settingGroup is the group of a setting, or -1.
func settingGroup(name string) int {
	group, best := -1, ""
	for i, g := range settingGroups {
		for _, word := range strings.Fields(g.words) {
			if (word == name || strings.HasSuffix(word, "-") && strings.HasPrefix(name, word)) && len(word) > len(best) {
				group, best = i, word
			}
		}
	}
	return group
}

// groupSettings has the help of a command show its flags in groups.
func groupSettings(cmd *cobra.Command) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		sets := make([]*pflag.FlagSet, len(settingGroups)+1)
		for i := range sets {
			sets[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			i := settingGroup(f.Name)
			if i < 0 {
				i = len(settingGroups)
			}
			sets[i].AddFlag(f)
		})
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", cmd.UseLine(), cmd.Example)
		for i, set := range sets {
			title := "Other flags"
			if i < len(settingGroups) {
				title = settingGroups[i].title
			}
			if set.HasAvailableFlags() {
				fmt.Fprintf(&b, "\n%s:\n%s", title, set.FlagUsages())
			}
		}
		_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
		return err
	})
}
