package cluster

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var highWaterLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// mostMemory returns the maximum memory of a process so far, in bytes; 0 if it has ended.
func mostMemory(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	m := highWaterLine.FindSubmatch(b)
	if err != nil || m == nil {
		return 0
	}
	kb, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return kb << 10
}

// numbered returns n texts from a format and the numbers from 0.
func numbered(n int, format string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(list, ", ")
}

// TestHostileSizesOverNodes sends statements with the maximum number of groups, values, rows or texts to three nodes
// with little memory, and a thousand dashboards at once. Each must be answered, or refused with a reason. The memory
// of servers and query processes must stay limited, and no files may be left behind.
func TestHostileSizesOverNodes(t *testing.T) {
	t.Parallel()
	const queryMemory = 128 << 20
	s := newSpread(t, 1, 240_000, "--query-threads", "1", "--query-memory", fmt.Sprint(queryMemory))
	user := s.Nodes[0]
	idle := map[*Node]int64{}
	goroutines := map[*Node]float64{}
	for _, n := range s.Nodes {
		n.Rows(t, "SELECT count(*) FROM spread")
		idle[n], goroutines[n] = mostMemory(n.Pid()), n.metric(t, "go_goroutines")
	}
	for _, q := range []struct {
		name, sql string
		refusal   string // the error with status 400; if empty, it is answered or fails for lack of memory
	}{
		{"groups", "SELECT m, count(*) FROM spread GROUP BY m", ""},
		{"first groups", "SELECT m, count(*) AS n FROM spread GROUP BY m ORDER BY n DESC, m LIMIT 10", ""},
		{"pairs", "SELECT host, count(DISTINCT m), median(id) FROM spread GROUP BY host", ""},
		{"distinct texts of 1 KB", "SELECT count(DISTINCT repeat(m, 16)) FROM spread", ""},
		{"a limit of 1e9", "SELECT m FROM spread ORDER BY m LIMIT 1000000000", ""},
		{"a limit of 1e9 of the newest", "SELECT * FROM spread ORDER BY ts DESC LIMIT 1000000000", ""},
		{"2,000 columns", "SELECT " + numbered(2000, "max(v + %d)") + " FROM spread", ""},
		{"10,000 columns", "SELECT " + numbered(10_000, "max(v + %d)") + " FROM spread", "at most 8192"},
		{"200 levels", "SELECT max(" + strings.Repeat("(", 200) + "v" + strings.Repeat(" + 1)", 200) + ") FROM spread", ""},
		{"900 levels", "SELECT " + strings.Repeat("(", 900) + "v" + strings.Repeat(" + 1)", 900) + " FROM spread", "nested"},
		{"10,000 in a list", "SELECT count(*) FROM spread WHERE id IN (" + numbered(10_000, "%d") + ")", ""},
		{"100,000 in a list", "SELECT count(*) FROM spread WHERE id IN (" + numbered(100_000, "%d") + ")", "262144"},
		{"one list", "SELECT list(m) FROM spread", ""},
		{"one text", "SELECT string_agg(m, ',' ORDER BY id) FROM spread", ""},
	} {
		begin := time.Now()
		ask := func() (*Answer, error) {
			return user.Do("POST", "/v1/sql", strings.NewReader(q.sql), "Content-Type", "application/sql",
				"x-svc-timeout", "2m")
		}
		a, err := ask()
		// On a busy machine no node may find the reason in time: a client repeats the statement then.
		for err == nil && q.refusal != "" && a.Status == 503 && time.Since(begin) < Generous(time.Minute) {
			a, err = ask()
		}
		if err != nil {
			t.Fatalf("%s: %v", q.name, err)
		}
		t.Logf("%s: status %d, %d bytes, %s", q.name, a.Status, len(a.Body), time.Since(begin).Round(time.Millisecond))
		code := a.Header.Get("x-svc-err-code")
		switch {
		case q.refusal != "":
			if a.Status != 400 || !strings.Contains(string(a.Body), q.refusal) {
				t.Errorf("%s: %d %.300s, want %q", q.name, a.Status, a.Body, q.refusal)
			}
		case a.Status != 200 && (a.Status != 503 || code != "6000"):
			t.Errorf("%s: %d %.300s", q.name, a.Status, a.Body)
		}
	}
	const dashboards = 1000
	var wg sync.WaitGroup
	var answered, busy, other atomic.Int64
	for i := range dashboards {
		wg.Go(func() {
			a, err := s.Nodes[i%3].Do("GET", "/v1/sql?sql="+url.QueryEscape(fmt.Sprintf(
				"SELECT host, count(*), max(v) FROM spread WHERE v > %d GROUP BY host", i%10)), nil)
			switch {
			case err == nil && a.Status == 200:
				answered.Add(1)
			case err == nil && a.Status == 503 && a.Header.Get("Retry-After") != "":
				busy.Add(1)
			default:
				other.Add(1)
			}
		})
	}
	wg.Wait()
	t.Logf("%d dashboards were answered, %d were refused with Retry-After", answered.Load(), busy.Load())
	if other.Load() > 0 || answered.Load() == 0 {
		t.Errorf("%d dashboards were answered, %d were refused without Retry-After", answered.Load(), other.Load())
	}
	s.awaitIdle(t)
	s.wantNoFiles(t)
	for _, n := range s.Nodes {
		// The partial results of one query are limited to 64 MiB, and those of all queries to 256 MiB.
		if most := mostMemory(n.Pid()); most > idle[n]+512<<20 {
			t.Errorf("server %s used %d MiB, and %d before", n.Name, most>>20, idle[n]>>20)
		}
		for _, pid := range n.workers() {
			// 512 MiB are for memory that functions allocate outside of the engine's limit.
			if most := mostMemory(pid); most > queryMemory+512<<20+128<<20 {
				t.Errorf("a query process of %s used %d MiB", n.Name, most>>20)
			}
		}
		Eventually(t, 30*time.Second, func() error {
			if now := n.metric(t, "go_goroutines"); now > goroutines[n]+60 {
				return fmt.Errorf("node %s has %v goroutines, and had %v", n.Name, now, goroutines[n])
			}
			return nil
		})
	}
	if got := fmt.Sprint(user.Rows(t, "SELECT count(*) FROM spread")); got != fmt.Sprintf("[[%d]]", s.rows) {
		t.Errorf("afterwards: %s rows", got)
	}
}
