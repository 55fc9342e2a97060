package cluster

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket/buckettest"
)

// wantColdRows checks that app has so many rows, each with its number and text.
func wantColdRows(t *testing.T, n *Node, rows int, what string) {
	t.Helper()
	var want strings.Builder
	for i := range rows {
		fmt.Fprintf(&want, " [%d row %d]", i, i)
	}
	var got string
	Eventually(t, time.Minute, func() error {
		list, err := n.Query("SELECT n, text FROM app ORDER BY n")
		got = strings.TrimPrefix(strings.TrimSuffix(fmt.Sprint(list), "]"), "[")
		return err
	})
	if got != strings.TrimSpace(want.String()) {
		t.Errorf("%s: the table does not have its %d rows: %.300s", what, rows, got)
	}
}

// TestKillAtEachStepOfAMove kills a server by SIGKILL at each step by which rows go to an S3 server: while an object is
// sent, when it is stored and the answer is lost, when it is compared, before and after the state is stored, and when
// local files are removed. After each restart all rows are there, and at the end all objects are.
func TestKillAtEachStepOfAMove(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	proxy := buckettest.NewProxy(t, endpoint, nil)
	url := "s3://" + name + "/prod"
	n := New(t, "--shards", "1", "--object-storage-url", url, "--object-storage-endpoint", proxy.URL,
		"--object-storage-upload-after", "1s", "--object-storage-local-for", "1s", "--object-storage-cache-bytes", "64MiB",
		"--shard-flush-age", "1s")
	n.Start()
	n.mustQuery(t, "CREATE TABLE app (svc_timestamp TIMESTAMP(9) TIME INDEX, n BIGINT, text STRING) "+
		"WITH (append_mode='true', physical_table='x')")
	segments := filepath.Join(n.Dir, "shards", "1", "segments")
	rows := 0
	for round, step := range []struct {
		name, method, part string
		fault              buckettest.Fault
	}{
		{"while an object is sent", "PUT", "/data/", buckettest.Reset},
		{"when an object is stored", "PUT", "/data/", buckettest.LostAnswer},
		{"when an object is compared", "HEAD", "/data/", buckettest.Reset},
		{"before the state is stored", "PUT", "/state/shard/", buckettest.Reset},
		{"when the state is stored", "PUT", "/state/shard/", buckettest.LostAnswer},
		{name: "when local files are removed"},
		{name: "when local files are removed, once more"},
	} {
		killed, process := make(chan struct{}), n.cmd.Process
		kill := func() {
			_ = process.Kill()
			close(killed)
		}
		armed := step.method != ""
		proxy.SetPlan(func(r *http.Request) buckettest.Fault {
			if !armed || r.Method != step.method || !strings.Contains(r.URL.Path, step.part) {
				return buckettest.None
			}
			armed = false
			kill()
			return step.fault
		})
		var body strings.Builder
		for range 50 {
			fmt.Fprintf(&body, `{"n":%d,"text":"row %d"}`+"\n", rows, rows)
			rows++
		}
		if err := n.Ingest("app", []byte(body.String())); err != nil {
			t.Fatal(err)
		}
		if step.method == "" {
			go killWhenRemoved(segments, kill)
		}
		select {
		case <-killed:
		case <-time.After(time.Minute):
			t.Fatalf("%s: the step did not come:\n%s", step.name, n.Log())
		}
		n.Kill()
		proxy.SetPlan(nil)
		if round%2 == 0 { // what the cache had is no help
			if err := os.RemoveAll(filepath.Join(n.Dir, "cache")); err != nil {
				t.Fatal(err)
			}
		}
		n.Start()
		wantColdRows(t, n, rows, step.name)
	}
	Eventually(t, 2*time.Minute, func() error { return n.onlyObjectsIn(1, "app") })
	wantColdRows(t, n, rows, "at the end")
	n.Stop()
	out, err := exec.Command(n.bin, "doctor", "--quiet", "--data-dir", n.Dir, "--config",
		settingsFile(t, url, endpoint)).CombinedOutput()
	if exitStatus(err) == 3 || !strings.Contains(string(out), "in object storage") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

// killWhenRemoved calls kill when a segment that was there has been removed.
func killWhenRemoved(dir string, kill func()) {
	seen := map[string]bool{}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		there := map[string]bool{}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			there[e.Name()], seen[e.Name()] = true, true
		}
		for name := range seen {
			if !there[name] && strings.HasSuffix(name, ".parquet") {
				kill()
				return
			}
		}
	}
}

// TestMoveTableWhileBucketFails moves a table whose rows are only on an S3 server to another shard while that server
// fails, and kills a node meanwhile. The move ends when the server answers again, and all rows are there.
func TestMoveTableWhileBucketFails(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	proxy := buckettest.NewProxy(t, endpoint, nil)
	c, want := coldCluster(t, "--object-storage-url", "s3://"+name+"/prod", "--object-storage-endpoint", proxy.URL)
	n := c.Nodes[0]
	at := fmt.Sprint(n.Rows(t, "SELECT shard_id FROM information_schema.tables WHERE table_name = 'app'"))
	to := map[string]string{"[[1]]": "2", "[[2]]": "1"}[at]
	proxy.SetPlan(buckettest.Always(buckettest.Internal))
	ended := make(chan error, 1)
	go func() {
		out, err := exec.Command(n.bin, "table", "move", "app", "--to", to, "--with-rows", "--wait", "--server",
			n.HTTP).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		ended <- err
	}()
	Eventually(t, time.Minute, func() error {
		got := fmt.Sprint(n.Rows(t, "SELECT count(*) FROM svc_private.operations WHERE state = 'running'"))
		if got == "[[0]]" {
			return fmt.Errorf("the move has not begun")
		}
		return nil
	})
	for i := range 10 {
		if err := n.Ingest("app", fmt.Appendf(nil, `{"n":%d,"level":"late","text":"after"}`, 1000+i)); err != nil {
			t.Errorf("a write while the bucket fails: %v", err)
		}
	}
	c.Nodes[1].Kill()
	c.Nodes[1].Start()
	select {
	case err := <-ended:
		t.Fatalf("the move ended without the bucket: %v", err)
	default:
	}
	proxy.SetPlan(nil)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(Generous(4 * time.Minute)):
		t.Fatal("the move did not end")
	}
	for _, n := range c.Nodes {
		compareCold(t, n, want, "moved, node "+n.Name)
		Eventually(t, time.Minute, func() error {
			list, err := n.Query("SELECT count(*), sum(n) FROM app WHERE level = 'late'")
			if got := fmt.Sprint(list); err == nil && got != "[[10 10045]]" {
				err = fmt.Errorf("the new rows: %s", got)
			}
			return err
		})
	}
	if got := fmt.Sprint(n.Rows(t, "SELECT shard_id FROM information_schema.tables WHERE table_name = 'app'")); got == at {
		t.Errorf("the table is still in shard %s", got)
	}
}
