package chaos

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// TestTinyLines (T34) sends a server with default settings, in a cgroup of 2 GiB, three bodies of 60 MB at a time
// whose lines are one letter. Each body takes a few compressed kilobytes, but gigabytes as rows. The server may
// refuse the bodies with 413, 429 or 503. It must not end, and must use at most three quarters of the memory.
func TestTinyLines(t *testing.T) {
	if !long() {
		t.Skip("it takes a cgroup: CORDWOOD_CHAOS=1")
	}
	group := memoryGroup(t, memoryOfHostile)
	n := cluster.New(t, "--log-level", "warn")
	limited(t, n, group)
	n.Client = &http.Client{Timeout: 3 * time.Minute}
	n.Start()
	const lines = 30_000_000
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	chunk := bytes.Repeat([]byte("x\n"), 1000)
	for range lines / 1000 {
		if _, err := z.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	var answers [3]int
	var sending sync.WaitGroup
	for i := range answers {
		sending.Go(func() {
			a, err := n.Do("POST", fmt.Sprintf("/v1/ingest?table=tiny%d&pipeline_name=svc_identity", i),
				bytes.NewReader(body.Bytes()),
				"Content-Type", "text/plain", "Content-Encoding", "gzip")
			if err != nil {
				t.Error(err)
				return
			}
			answers[i] = a.Status
		})
	}
	sending.Wait()
	if !n.Running() {
		t.Fatal("the server has ended")
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(n.Pid()) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	most := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if most == nil {
		t.Fatalf("no VmHWM in %s", status)
	}
	kib, _ := strconv.Atoi(string(most[1]))
	if kib<<10 > memoryOfHostile*3/4 {
		t.Errorf("the server used %d MiB, want at most %d", kib>>10, memoryOfHostile*3/4>>20)
	}
	t.Logf("answers %v, at most %d MiB", answers, kib>>10)
	for i, code := range answers {
		switch code {
		case http.StatusOK:
			if rows := n.Rows(t, fmt.Sprintf("SELECT count(*) FROM tiny%d", i)); fmt.Sprint(rows[0][0]) != strconv.Itoa(lines) {
				t.Errorf("%v rows of a request that was answered with 200 are stored, want %d", rows[0][0], lines)
			}
		case http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		default:
			t.Errorf("a request was answered with %d", code)
		}
	}
}
