package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// partOf matches what EXPLAIN says about the part of a node.
var partOf = regexp.MustCompile(`node (\S+): shards ([\d ]+)`)

// TestQueriesFollowLeaders moves the leaders of the shards of a table to other nodes, and writes nothing afterwards.
// Queries through each node must be divided by the new leaders soon: otherwise nodes would fetch rows of each other.
// With three replicas on four nodes, no node has replicas of all shards.
func TestQueriesFollowLeaders(t *testing.T) {
	t.Parallel()
	s := fillSpread(t, NewCluster(t, Spec{All: 4, Replication: 3, Shards: 6}), 120_000)
	ids := map[string]string{}
	for _, n := range s.Nodes {
		n.Rows(t, "SELECT host, count(*) FROM spread GROUP BY host") // the node knows the leaders of now
		id, err := n.Identity()
		if err != nil {
			t.Fatal(err)
		}
		ids[n.Name] = id.NodeID
	}
	s.Nodes[2].Stop()
	s.Nodes[2].Start()
	for _, n := range s.Nodes {
		n.Rows(t, "SELECT host, count(*) FROM spread GROUP BY host")
		Eventually(t, 30*time.Second, func() error {
			leaders := map[string]string{}
			for _, r := range s.Nodes[0].Rows(t, "SELECT shard_id, leader FROM svc_private.shards") {
				leaders[fmt.Sprint(r[0])] = fmt.Sprint(r[1])
			}
			explained := fmt.Sprint(n.Rows(t, "EXPLAIN SELECT host, count(*) FROM spread GROUP BY host"))
			parts := partOf.FindAllStringSubmatch(explained, -1)
			var shards []string
			for _, p := range parts {
				for _, shard := range strings.Fields(p[2]) {
					shards = append(shards, shard)
					if leaders[shard] != ids[p[1]] {
						return fmt.Errorf("shard %s is led by %s; %s", shard, leaders[shard], explained)
					}
				}
			}
			if slices.Sort(shards); len(slices.Compact(shards)) != 6 {
				return fmt.Errorf("EXPLAIN has the shards %v", shards)
			}
			return nil
		})
	}
}
