package cluster

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// highWater returns the maximum memory of the server's process since forgetHighWater.
func highWater(t *testing.T, n *Node) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("the process has no VmHWM")
	return 0
}

// TestSmallRowsDoNotTakeTheMemory sends bodies of tens of megabytes with the smallest possible rows, compressed to a
// few kilobytes. The server must stay near its limits, store each body completely or not at all, and report the
// reason.
func TestSmallRowsDoNotTakeTheMemory(t *testing.T) {
	const limit = 64 << 20
	n := New(t, "--http-inflight-limit", "64MiB", "--shard-memory", "64MiB", "--log-level", "warn")
	n.Start()
	send := func(table, ctype, head, one, tail string, count int) (rows int, status int) {
		var body bytes.Buffer
		z := gzip.NewWriter(&body)
		_, _ = z.Write([]byte(head))
		chunk := []byte(strings.Repeat(one, 10_000))
		for range count / 10_000 {
			_, _ = z.Write(chunk)
		}
		_, _ = z.Write([]byte(tail))
		if err := z.Close(); err != nil {
			t.Error(err)
			return 0, 0
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			n.HTTP+"/v1/ingest?pipeline_name=svc_identity&table="+table, &body)
		if err != nil {
			t.Error(err)
			return 0, 0
		}
		req.Header.Set("Content-Type", ctype)
		req.Header.Set("Content-Encoding", "gzip")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return 0, 0
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			rows = count
		}
		return rows, resp.StatusCode
	}
	const nd = "application/x-ndjson"
	idle := highWater(t, n)
	var wg sync.WaitGroup
	for i, b := range []struct {
		ctype, head, one, tail string
		count                  int
		at                     int // the number of simultaneous requests
	}{
		{"text/plain", "", "x\n", "", 1_000_000, 1},
		{"text/plain", "", "x\n", "", 30_000_000, 1},
		{nd, "", "{}\n", "", 22_000_000, 1},
		{"application/json", "[", "{},", "{}]", 2_000_000, 1},
		{nd, "", `{"a":1}` + "\n", "", 7_000_000, 1},
		{"text/plain", "", "x\n", "", 30_000_000, 3},
	} {
		for k := range b.at {
			wg.Go(func() {
				table := fmt.Sprintf("t%d_%d", i, k)
				rows, status := send(table, b.ctype, b.head, b.one, b.tail, b.count)
				if status != 200 && status != 413 && status != 429 && status != 503 {
					t.Errorf("body %d: status %d", i, status)
				}
				if status == 200 && b.ctype == "application/json" {
					rows++
				}
				if i == 0 && status != 200 {
					t.Errorf("a body of 2 MB is not stored: status %d", status)
				}
				if status == 200 {
					if got, err := n.Query("SELECT count(*) FROM " + table); err != nil ||
						fmt.Sprint(got) != fmt.Sprintf("[[%d]]", rows) {
						t.Errorf("table %s has %v rows, not %d: %v", table, got, rows, err)
					}
				}
			})
		}
		wg.Wait()
		t.Logf("body %d: at most %d MiB, idle %d", i, highWater(t, n)>>20, idle>>20)
		// The rest is for the garbage collector: free memory that is not returned to the system yet.
		if most := highWater(t, n); most > idle+limit+(64<<20)+(256<<20) {
			t.Errorf("body %d: the server had %d MiB, and %d when it was idle", i, most>>20, idle>>20)
		}
	}
}
