package chaos

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// TestSlowClients (T25) lets 2,000 clients start requests and then send one byte per second, half of them in the head
// and half in the body. Other requests must be answered in at most twice the usual time, and the server must use at
// most 64 MiB more memory.
func TestSlowClients(t *testing.T) {
	if !long() {
		t.Skip("it opens thousands of connections: CORDWOOD_CHAOS=1")
	}
	n := cluster.New(t, "--log-level", "warn")
	n.Start()
	tables := []string{"a", "b", "c", "d"}
	probe(n, tables, after(3*time.Second)) // creates tables and buffers
	before, memory := probe(n, tables, after(15*time.Second)), resident(t, n)
	const clients = 2000
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := 0
	for i := range clients {
		wg.Go(func() {
			conn, err := net.DialTimeout("tcp", strings.TrimPrefix(n.HTTP, "http://"), 30*time.Second)
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			defer conn.Close()
			text := "POST /v1/ingest?pipeline_name=svc_identity&table=slow HTTP/1.1\r\nHost: localhost\r\n"
			if i%2 == 0 {
				text += "Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n{\"a\":\""
			} else {
				text += "X-Header: "
			}
			if _, err := conn.Write([]byte(text)); err != nil {
				return // a refusal is also an answer
			}
			mu.Lock()
			open++
			mu.Unlock()
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case <-tick.C:
					if _, err := conn.Write([]byte("x")); err != nil {
						return // the connection was closed
					}
				}
			}
		})
	}
	cluster.Eventually(t, 30*time.Second, func() error {
		mu.Lock()
		defer mu.Unlock()
		if open < clients*9/10 {
			return fmt.Errorf("%d of %d clients are connected", open, clients)
		}
		return nil
	})
	during, more := probe(n, tables, after(20*time.Second)), resident(t, n)
	close(stop)
	wg.Wait()
	t.Logf("%d slow clients; other requests: %v before, %v during the test; memory %d and %d "+
		"MiB", open, before, during, memory>>20,
		more>>20)
	if during.failed > 0 {
		t.Errorf("%d other requests failed, such as %s", during.failed, during.why)
	}
	if a, b := before.at(99), during.at(99); b > 2*a && b > 100*time.Millisecond {
		t.Errorf("other requests take %s (p99) with slow clients, and took %s before", b, a)
	}
	if more > memory+64<<20 {
		t.Errorf("the server uses %d MiB, and used %d before", more>>20, memory>>20)
	}
	if err := n.Ingest("a", []byte(`{"probe":1}`)); err != nil {
		t.Error(err)
	}
}

// resident returns the memory of a server's own process, in bytes.
func resident(t testing.TB, n *cluster.Node) int64 {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(n.Pid()), "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("the process has no VmRSS")
	return 0
}
