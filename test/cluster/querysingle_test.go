package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTablesOfSeveralNodes runs statements over tables with one shard each, whose leaders are three different nodes.
// All nodes have replicas of all shards, but no node leads all of them. Only partial results may travel.
func TestTablesOfSeveralNodes(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{All: 3, Replication: 3, Shards: 6})
	c.Start()
	user := c.Nodes[0]
	byLeader := map[string]string{}
	Eventually(t, 30*time.Second, func() error {
		clear(byLeader)
		for i := range 6 {
			user.Rows(t, fmt.Sprintf("CREATE TABLE IF NOT EXISTS t%d (ts TIMESTAMP(3) TIME INDEX, x BIGINT) "+
				"WITH (append_mode='true')", i))
		}
		leaders := map[string]string{}
		for _, r := range user.Rows(t, "SELECT shard_id, leader FROM svc_private.shards WHERE leader IS NOT NULL") {
			leaders[fmt.Sprint(r[0])] = fmt.Sprint(r[1])
		}
		const placed = "SELECT table_name, shard_id FROM information_schema.tables WHERE table_name LIKE 't_'"
		for _, r := range user.Rows(t, placed) {
			byLeader[leaders[fmt.Sprint(r[1])]] = fmt.Sprint(r[0])
		}
		if len(byLeader) != 3 || byLeader[""] != "" {
			return fmt.Errorf("the tables are led by %v", byLeader)
		}
		return nil
	})
	var tables []string
	for _, name := range byLeader {
		tables = append(tables, name)
	}
	slices.Sort(tables)
	for i, name := range tables {
		user.Rows(t, fmt.Sprintf("INSERT INTO %s VALUES (1, %d)", name, i))
	}
	for _, s := range []struct{ sql, want string }{
		{"SELECT count(*) FROM {A} WHERE x NOT IN (SELECT x FROM {B}) AND x NOT IN (SELECT x FROM {C})", "[[1]]"},
		{"SELECT x FROM {A} WHERE x < (SELECT max(x) FROM {B}) AND EXISTS (SELECT 1 FROM {C} WHERE x = 2)", "[[0]]"},
		{
			"SELECT count(*), sum(x) FROM (SELECT x FROM {A} UNION ALL SELECT x FROM {B} UNION ALL SELECT x FROM {C}) u",
			"[[3 3]]",
		},
		{
			"SELECT count(*) FROM {A} UNION ALL SELECT max(x) FROM {B} UNION ALL SELECT max(x) FROM {C} ORDER BY 1",
			"[[1] [1] [2]]",
		},
	} {
		sql := strings.NewReplacer("{A}", tables[0], "{B}", tables[1], "{C}", tables[2]).Replace(s.sql)
		for _, n := range c.Nodes {
			Eventually(t, 10*time.Second, func() error {
				if rows := fmt.Sprint(n.Rows(t, sql)); rows != s.want {
					t.Fatalf("%s: %s: %s, want %s", n.Name, sql, rows, s.want)
				}
				if plan := fmt.Sprint(n.Rows(t, "EXPLAIN "+sql)); strings.Contains(plan, "of other nodes are fetched") {
					return fmt.Errorf("%s: %s: %s", n.Name, sql, plan)
				}
				return nil
			})
		}
	}
}
