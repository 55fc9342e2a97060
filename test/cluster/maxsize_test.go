package cluster

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket/buckettest"
)

// TestMaxSize has three nodes with rows of six days in local files and on an S3 server. With max_size, rows of the
// oldest days expire on all nodes.
func TestMaxSize(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	c := NewCluster(t, Spec{All: 3, Shards: 2, Args: []string{
		"--object-storage-url", "s3://" + name + "/prod", "--object-storage-endpoint", endpoint,
		"--object-storage-upload-after", "1s", "--object-storage-local-for", "72h", "--object-storage-cache-bytes", "64MiB",
		"--shard-flush-age", "1s",
	}})
	c.Secret()
	c.Start()
	n := c.Nodes[0]
	const days, rows = 6, 400
	for _, table := range []string{"app", "other"} {
		n.mustQuery(t, "CREATE TABLE "+table+" (ts TIMESTAMP(3) TIME INDEX, day BIGINT, text STRING) "+
			"WITH (append_mode='true', physical_table='"+table+"', partitions='2')")
	}
	if _, err := n.Query("ALTER TABLE app SET 'max_size'='1 byte'"); err == nil {
		t.Error("a wrong size is accepted")
	}
	noise := rand.New(rand.NewPCG(1, 2))
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	// Old days are only in objects, later ones in local files too.
	inBucket := func(want int) {
		t.Helper()
		Eventually(t, 2*time.Minute, func() error {
			got := fmt.Sprint(n.Rows(t, "SELECT location, sum(rows) FROM svc_private.segments WHERE table_name = 'app' "+
				"GROUP BY location ORDER BY location"))
			if got != fmt.Sprintf("[[bucket %d]]", want) {
				return fmt.Errorf("rows are in %s, want %d in the bucket only", got, want)
			}
			return nil
		})
	}
	for day := range days {
		if day == days/2 {
			inBucket(rows * days / 2)
		}
		for _, table := range []string{"app", "other"} {
			var sql strings.Builder
			for i := range rows {
				text := make([]byte, 1500)
				for k := range text {
					text[k] = byte('(' + noise.IntN(80))
				}
				at := midnight.AddDate(0, 0, day-days).Add(time.Duration(i) * time.Minute)
				fmt.Fprintf(&sql, ", (%d, %d, '%s')", at.UnixMilli(), day, text)
			}
			n.mustQuery(t, "INSERT INTO "+table+" (ts, day, text) VALUES "+sql.String()[2:])
		}
	}
	// The rows are in segments, some of which may have been copied to the bucket.
	Eventually(t, time.Minute, func() error {
		got := fmt.Sprint(n.Rows(t, "SELECT sum(rows) FROM svc_private.segments WHERE table_name = 'app'"))
		if got != fmt.Sprintf("[[%d]]", days*rows) {
			return fmt.Errorf("%s rows are in segments and objects", got)
		}
		return nil
	})
	const perDay = "SELECT day, count(*) FROM app GROUP BY day ORDER BY day"
	size := func() float64 {
		rows := n.Rows(t, "SELECT sum(bytes)::DOUBLE FROM svc_private.segments WHERE table_name = 'app'")
		bytes, err := rows[0][0].(json.Number).Float64()
		if err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	limit := int(size()*0.55) / 1024
	n.mustQuery(t, fmt.Sprintf("ALTER TABLE app SET 'max_size'='%dKiB'", limit))
	if got := fmt.Sprint(n.Rows(t, "SHOW CREATE TABLE app")); !strings.Contains(got, "max_size=") {
		t.Errorf("SHOW CREATE TABLE: %s", got)
	}
	Eventually(t, 3*time.Minute, func() error {
		for _, n := range c.Nodes {
			if got := fmt.Sprint(n.Rows(t, perDay)); got != "[[3 400] [4 400] [5 400]]" {
				return fmt.Errorf("node %s has the days %s", n.Name, got)
			}
		}
		return nil
	})
	if got := size(); got > float64(limit)*1024 || got < float64(limit)*1024*0.7 {
		t.Errorf("the table has %.0f bytes, its limit is %d KiB", got, limit)
	}
	if got := fmt.Sprint(n.Rows(t, "SELECT count(*) FROM other")); got != "[[2400]]" {
		t.Errorf("another table has %s rows", got)
	}
	metrics, logged := "", false
	for _, n := range c.Nodes {
		a, err := n.Do("GET", "/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		metrics += string(a.Body)
		logged = logged || strings.Contains(n.Log(), "the oldest rows of a table expire because of a limit of size")
	}
	counted := false
	for line := range strings.Lines(metrics) {
		if v, ok := strings.CutPrefix(line, `cordwood_cluster_size_expired_bytes_total{option="max_size"} `); ok {
			counted = counted || strings.TrimSpace(v) != "0"
		}
	}
	if !counted || !logged {
		t.Errorf("the expired bytes are counted: %t, and logged: %t", counted, logged)
	}
}
