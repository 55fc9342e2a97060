package chaos

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// TestHotTable (T27) writes more to a table with partitions=auto than one shard should take. While rows are written,
// the table must get one partition after another, up to the number of shards, and no request may fail.
func TestHotTable(t *testing.T) {
	together(t)
	shards := 2
	if long() {
		shards = 4
	}
	c, l := start(t, cluster.Spec{Meta: 1, Shard: 2, Router: 1, Shards: shards, Replication: 1, Args: []string{
		"--partition-hot-bytes", "1KiB", "--partition-hot-after", "1s",
	}}, Options{Keyed: 4, Again: 2, Once: 2, Tables: 1})
	first := byName(t, c)[TableName(0)].Placement
	l.Fault("%s is hot", TableName(0))
	begin := time.Now()
	alter(t, c.Routers[0], "ALTER TABLE "+TableName(0)+" SET 'partitions'='auto'")
	cluster.Eventually(t, 2*time.Minute, func() error {
		p := byName(t, c)[TableName(0)].Placement
		if have := 1 + len(p[len(p)-1].MoreShards); have != shards {
			return fmt.Errorf("table %s has %d partitions of %d", TableName(0), have, shards)
		}
		return nil
	})
	p := byName(t, c)[TableName(0)].Placement
	t.Logf("%d partitions after %s, in %d steps", shards, time.Since(begin).Round(time.Millisecond), len(p)-len(first))
	if len(p)-len(first) != shards-1 {
		t.Errorf("the placement went from %v to %v, want one partition more at a time", first, p)
	}
	l.AwaitAcked(t, 500)
	end(t, c, l, 1)
	l.WantAnswers(t, "the table got partitions")
	l.Report(t, 500*time.Millisecond, 3*time.Second)
}

// alter runs a statement that changes a table.
func alter(t testing.TB, n *cluster.Node, sql string) {
	t.Helper()
	a, err := n.Do(http.MethodPost, "/v1/sql?sql="+strings.NewReplacer(" ", "%20", "'", "%27", "=", "%3D").Replace(sql),
		nil)
	if err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s: %v %v", sql, a, err)
	}
}
