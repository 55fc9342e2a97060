package fault_test

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
	"cordwood/test/fault"
)

// TestDeleteWithoutRoom deletes more rows than a full disk has space to record. The answer must be 503 with
// Retry-After, and contain the progress or that it is unknown. The server must continue. Once there is free space,
// the same statement must delete the rest.
func TestDeleteWithoutRoom(t *testing.T) {
	disk := fault.NewDisk(t, "ext4", 96)
	n := cluster.NewAt(t, filepath.Join(disk.Dir, "data"), "--shards", "1", "--shard-flush-age", "1s", "--disk-reserve",
		"8MiB")
	n.Start()
	if _, err := n.Query("CREATE TABLE big (svc_timestamp TIMESTAMP(9) TIME INDEX, id STRING PRIMARY KEY) WITH " +
		"(append_mode='false')"); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	const posts, rows = 20, 10_000
	for range posts {
		var body strings.Builder
		for range rows {
			fmt.Fprintf(&body, "{\"id\":\"%016x%016x%016x\"}\n", r.Uint64(), r.Uint64(), r.Uint64())
		}
		a, err := n.Do("POST", "/v1/ingest?table=big&pipeline_name=svc_identity", strings.NewReader(body.String()),
			"Content-Type", "application/x-ndjson")
		if err != nil || a.Status != 200 {
			t.Fatalf("%v: %s", err, a.Body)
		}
	}
	count := func() string { return countOf(t, n, "big") }
	filler := fill(t, disk, 0)
	awaitFull(t, n)
	form := strings.NewReader(url.Values{"sql": {"DELETE FROM big WHERE id >= ''"}}.Encode())
	a, err := n.Do("POST", "/v1/sql", form, "Content-Type", "application/x-www-form-urlencoded", "x-svc-timeout", "5s")
	if err != nil {
		t.Fatalf("the server does not answer: %v", err)
	}
	t.Logf("full: %d, Retry-After %q: %s", a.Status, a.Header.Get("Retry-After"), a.Body)
	if a.Status != 503 || a.Header.Get("Retry-After") == "" ||
		!strings.Contains(string(a.Body), "DELETE FROM public.big") {
		t.Errorf("full: %d %s, want 503 with Retry-After and the statement", a.Status, a.Body)
	}
	if !n.Running() {
		t.Fatal("full: the server has ended")
	}
	before := count()
	if before == "0" {
		t.Error("full: all rows were deleted, so the test has no effect")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	wait(t, 30*time.Second, "the rest is deleted", func() bool {
		_, err := n.Query("DELETE FROM big WHERE id >= ''")
		if err != nil && !strings.Contains(err.Error(), "503") {
			t.Errorf("with free space: %v", err)
		}
		return err == nil
	})
	if got := count(); got != "0" {
		t.Errorf("with free space: %s of %s rows are left", got, before)
	}
	n.Kill()
	n.Start()
	if got := count(); got != "0" {
		t.Errorf("killed and started again: %s rows are back", got)
	}
	n.Stop()
	if r := fault.Doctor(t, n.Dir); r.Result == "damaged" {
		t.Errorf("doctor reports %+v", r)
	}
}
