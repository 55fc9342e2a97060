package cluster

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/shard/cold/bucket/buckettest"
	"cordwood/shard/manifest"
	"cordwood/shard/vfs"
)

// joinKill kills a server at a request to the bucket, and counts the objects that it stored.
type joinKill struct {
	mu     sync.Mutex // guards the fields below
	stored int
	// steps are the requests that have to come, one after the other. The server is killed at the last one.
	steps []joinStep
	fault buckettest.Fault
	kill  func()
}

// joinStep is a kind of requests.
type joinStep struct{ method, part string }

func (k *joinKill) plan(r *http.Request) buckettest.Fault {
	k.mu.Lock()
	defer k.mu.Unlock()
	if ofToday(r.URL.Path) {
		return buckettest.None
	}
	if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/data/") {
		k.stored++
	}
	if len(k.steps) == 0 || r.Method != k.steps[0].method || !strings.Contains(r.URL.Path, k.steps[0].part) {
		return buckettest.None
	}
	if k.steps = k.steps[1:]; len(k.steps) > 0 {
		return buckettest.None
	}
	k.kill()
	return k.fault
}

// ofToday reports whether a key is that of an object with rows of now. These are records of the audit.
func ofToday(path string) bool {
	day := time.Now().Unix() / 86400
	return strings.Contains(path, fmt.Sprintf("/%d/", day)) || strings.Contains(path, fmt.Sprintf("/%d/", day-1))
}

func (k *joinKill) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stored
}

func (k *joinKill) arm(fault buckettest.Fault, kill func(), steps ...joinStep) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.steps, k.fault, k.kill = steps, fault, kill
}

// TestKillAtEachStepOfAJoin kills a server by SIGKILL at each step by which objects on an S3 server are joined: while
// an object is read, while the new one is sent, when it is stored and the answer is lost, when it is compared, and when
// the state with it is stored. After each restart all rows are there, once, and all objects are joined.
func TestKillAtEachStepOfAJoin(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	proxy := buckettest.NewProxy(t, endpoint, nil)
	n := New(t, "--shards", "1", "--object-storage-url", "s3://"+name+"/prod", "--object-storage-endpoint", proxy.URL,
		"--object-storage-upload-after", "1s", "--object-storage-local-for", "1s", "--object-storage-cache-bytes", "64MiB",
		"--shard-flush-age", "1s")
	n.Start()
	n.mustQuery(t, "CREATE TABLE app (at TIMESTAMP(3) TIME INDEX, n BIGINT, text STRING) "+
		"WITH (append_mode='true', physical_table='x')")
	k := &joinKill{}
	proxy.SetPlan(k.plan)
	rows, cuts, day := 0, 0, daysAgo(10)
	move := func() {
		t.Helper()
		var body strings.Builder
		for range 20 {
			fmt.Fprintf(&body, `{"n":%d,"text":"row %d","at":%d}`+"\n", rows, rows, day+int64(rows))
			rows++
		}
		before := k.count()
		a, err := n.Do("POST", coldPath, strings.NewReader(body.String()), "Content-Type", "application/x-ndjson")
		if err != nil || a.Status != 200 {
			t.Fatalf("%v %+v", err, a)
		}
		cuts++
		Eventually(t, time.Minute, func() error {
			if k.count() == before {
				return fmt.Errorf("the rows of cut %d are not stored", cuts)
			}
			return nil
		})
	}
	const data, state = "/data/", "/state/shard/"
	for _, step := range []struct {
		name  string
		fault buckettest.Fault
		steps []joinStep
	}{
		{"while an object is read", buckettest.Reset, []joinStep{{"GET", data}, {"GET", data}, {"GET", data}}},
		{"while the new object is sent", buckettest.Reset, []joinStep{{"PUT", data}}},
		{"when the new object is stored", buckettest.LostAnswer, []joinStep{{"PUT", data}}},
		{"when the new object is compared", buckettest.Reset, []joinStep{{"PUT", data}, {"HEAD", data}}},
		{"before the state is stored", buckettest.Reset, []joinStep{{"PUT", data}, {"PUT", state}}},
		{"when the state is stored", buckettest.LostAnswer, []joinStep{{"PUT", data}, {"PUT", state}}},
	} {
		day += 86400 // what was joined before stays as it is
		for range 4 {
			move()
		}
		killed, process := make(chan struct{}), n.cmd.Process
		k.arm(step.fault, func() {
			_ = process.Kill()
			close(killed)
		}, step.steps...)
		select {
		case <-killed:
		case <-time.After(Generous(time.Minute)):
			t.Fatalf("%s: the step did not come", step.name)
		}
		n.Kill()
		n.Start()
		wantColdRows(t, n, rows, step.name)
		Eventually(t, 2*time.Minute, func() error { return n.joinedCuts(cuts) })
		wantColdRows(t, n, rows, step.name+", joined")
	}
	Eventually(t, time.Minute, func() error { return n.onlyObjectsIn(1, "app") })
	wantColdRows(t, n, rows, "at the end")
}

// joinedCuts returns nil if so many cuts of the only table in objects were joined, in the first shard.
func (n *Node) joinedCuts(want int) error {
	st, _, err := manifest.Read(manifest.Config{FS: vfs.OS, Dir: filepath.Join(n.Dir, "shards", "1"), ShardID: 1})
	if err != nil {
		return err
	}
	have := 0
	for _, list := range manifest.JoinedCuts(st.Sets) {
		have += len(list)
	}
	if have != want {
		return fmt.Errorf("%d cuts were joined, want %d", have, want)
	}
	return nil
}
