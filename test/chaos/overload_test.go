package chaos

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// memoryOfOverload is the maximum memory of TestOverload's server, in bytes.
const memoryOfOverload = 1 << 30

// TestOverload (T24) sends a server with 1 GiB ten times as many requests as it can take at a time, and repeats
// refused requests at once. The server must continue at 70 % of its usual rate, refuse the rest with Retry-After,
// stay within 90 % of its memory, lose no row, and be back to normal within 10 s after the load. The sending program
// runs on the same machine.
func TestOverload(t *testing.T) {
	if !long() {
		t.Skip("it takes minutes and a cgroup: CORDWOOD_CHAOS=1")
	}
	group := memoryGroup(t, memoryOfOverload)
	n := cluster.New(t, "--log-level", "warn")
	limited(t, n, group)
	n.Start()

	o := &overload{
		t: t, node: n, bodies: overloadBodies(dice(t)),
		client: &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 100}},
	}
	o.watch()
	before := o.phase("as much as it takes", 8, 20*time.Second)
	under := o.phase("ten times as much", 80, time.Duration(rounds(1, 5))*time.Minute)
	back, since := 0.0, time.Now()
	for time.Since(since) < 10*time.Second {
		back = max(back, o.phase("after the overload", 8, 2*time.Second))
	}
	after := o.phase("long after the overload", 8, 20*time.Second)
	best := (before + after) / 2 // other load on the machine may change during the test
	if under < 0.7*best {
		t.Errorf("%.0f rows a second under overload, %.0f before and after: %.0f %%, want 70", under, best, 100*under/best)
	}
	if back < 0.7*best {
		t.Errorf("%.0f rows a second at best in the 10 s after the overload, %.0f before and later", back, best)
	}
	o.sending.Wait()
	close(o.done)
	o.watching.Wait()
	if o.rss > memoryOfOverload*9/10 {
		t.Errorf("%d MiB of memory were used, want 90 %% of %d at most", o.rss>>20, memoryOfOverload>>20)
	}
	for text, times := range o.refused {
		t.Logf("refused %d times: %s", times, text)
	}
	t.Logf("memory: %d MiB at most; under overload %.0f rows/s, %.0f %% of %.0f before and after", o.rss>>20, under,
		100*under/best, best)
	rows := n.Rows(t, "SELECT count(*) FROM overload")
	if got, _ := strconv.ParseInt(fmt.Sprint(rows[0][0]), 10, 64); got < o.acked.Load() ||
		got > o.acked.Load()+o.unknown.Load() {
		t.Errorf("%d rows are stored, %d were acknowledged, and the outcome of %d is "+
			"unknown", got, o.acked.Load(), o.unknown.Load())
	}
	if !n.Running() {
		t.Error("the server has ended")
	}
}

// overload is the state of the test.
type overload struct {
	t      *testing.T
	node   *cluster.Node
	bodies [][]byte // bodies of overloadRows rows each; the second half have ten times as many

	acked, unknown atomic.Int64 // numbers of rows
	client         *http.Client
	sending        sync.WaitGroup
	watching       sync.WaitGroup
	done           chan struct{}
	rss            int64 // the maximum of the server and its children
	mu             sync.Mutex
	refused        map[string]int // how often, by status and text
}

const overloadRows = 1000

// digits matches the parts that differ between texts of one kind.
var digits = regexp.MustCompile(`[0-9.]+`)

func overloadBodies(r *rand.Rand) (bodies [][]byte) {
	for i := range 16 {
		rows := overloadRows
		if i >= 8 {
			rows *= 10
		}
		var b bytes.Buffer
		for range rows {
			fmt.Fprintf(&b,
				`{"host":"edge-%02d","addr":"10.%d.%d.%d","method":"GET","path":"/api/v2/items/%d?page=%d",`+
					`"status":%d,"bytes":%d,"agent":"Mozilla/5.0 (X11; Linux x86_64) Chrome/%d.0 `+
					`Safari/537.36","id":"%016x%016x","took":%.3f}`+"\n",
				r.IntN(12), r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(100_000), r.IntN(50), 200+r.IntN(5)*50,
				r.IntN(50_000), 90+r.IntN(50), r.Uint64(), r.Uint64(), r.Float64())
		}
		bodies = append(bodies, b.Bytes())
	}
	return bodies
}

// phase runs senders for a time, half of them with large requests, and returns the acknowledged rows per second. It
// does not wait for the last answers. An answer counts in the phase in which it arrives.
func (o *overload) phase(name string, senders int, length time.Duration) float64 {
	begin, before, cpu, own := time.Now(), o.acked.Load(), o.cpu(), ownCPU()
	for i := range senders {
		o.sending.Go(func() {
			for k := i; time.Since(begin) < length; k++ {
				at := i%2*8 + k/2%8
				o.send(o.bodies[at], overloadRows*int64(1+at/8*9))
			}
		})
	}
	<-time.After(time.Until(begin.Add(length)))
	rows, took, used, own := o.acked.Load()-before, time.Since(begin), o.cpu()-cpu, ownCPU()-own
	o.t.Logf("%s: %d senders, %s: %.0f rows/s, %.0f rows per CPU-second, %.0f %% of a CPU, and %.0f %% for the senders",
		name, senders, took.Round(time.Millisecond),
		float64(rows)/took.Seconds(), float64(rows)/used.Seconds(), 100*used.Seconds()/took.Seconds(),
		100*own.Seconds()/took.Seconds())
	return float64(rows) / took.Seconds()
}

func (o *overload) send(body []byte, rows int64) {
	resp, err := o.client.Post(o.node.HTTP+"/v1/ingest?table=overload&pipeline_name=svc_identity",
		"application/x-ndjson", bytes.NewReader(body))
	if err != nil {
		o.unknown.Add(rows)
		o.t.Errorf("a request got no answer: %v", err)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		o.acked.Add(rows)
		return
	}
	o.unknown.Add(rows) // an interrupted request may have been stored
	text, err := io.ReadAll(io.LimitReader(resp.Body, 300))
	if err != nil {
		o.t.Errorf("the answer of status %d was cut off: %v", resp.StatusCode, err)
	}
	o.mu.Lock()
	o.refused[digits.ReplaceAllString(fmt.Sprint(resp.StatusCode, " ", string(text)), "N")]++
	o.mu.Unlock()
	if s := resp.StatusCode; s != http.StatusTooManyRequests && s != http.StatusServiceUnavailable {
		o.t.Errorf("status %d", s)
	} else if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || after < 1 {
		o.t.Errorf("status %d with Retry-After %q", s, resp.Header.Get("Retry-After"))
	}
}

// watch records the memory of the server and its children until done is closed.
func (o *overload) watch() {
	o.done, o.refused = make(chan struct{}), map[string]int{}
	o.watching.Go(func() {
		for {
			var sum int64
			for _, pid := range o.pids() {
				status, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
				if err != nil {
					continue // the process has ended
				}
				for line := range strings.Lines(string(status)) {
					if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
						kb, _ := strconv.ParseInt(f[1], 10, 64)
						sum += kb << 10
					}
				}
			}
			o.rss = max(o.rss, sum)
			select {
			case <-o.done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	})
}

// pids returns the processes of the server.
func (o *overload) pids() []string {
	pid := strconv.Itoa(o.node.Pid())
	out := []string{pid}
	lists, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
	for _, file := range lists {
		if list, err := os.ReadFile(file); err == nil {
			out = append(out, strings.Fields(string(list))...)
		}
	}
	return out
}

// cpu returns the CPU time that the server has used.
func (o *overload) cpu() (sum time.Duration) {
	for _, pid := range o.pids() {
		stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err != nil {
			continue
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, ticks := range f[11:13] {
			n, _ := strconv.ParseInt(ticks, 10, 64)
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// ownCPU returns the CPU time that this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memoryGroup creates a cgroup with a memory limit in bytes, and returns its folder. It is removed after the nodes
// that are created later have ended.
func memoryGroup(t *testing.T, limit int) string {
	t.Helper()
	for _, kind := range []struct{ under, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		group := filepath.Join(kind.under, fmt.Sprintf("cordwood-chaos-%d", os.Getpid()))
		if err := os.Mkdir(group, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() {
			cluster.Eventually(t, 10*time.Second, func() error { return os.Remove(group) }) // when its processes have ended
		})
		if err := os.WriteFile(filepath.Join(group, kind.limit), []byte(strconv.Itoa(limit)), 0o600); err == nil {
			return group
		}
	}
	t.Skip("cannot create a cgroup with a memory limit: this needs root and the memory controller")
	return ""
}
