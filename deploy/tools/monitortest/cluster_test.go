package monitortest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// node is a real server in a cluster of three nodes.
type node struct {
	name, http, rpc string
	log             bytes.Buffer
	process         *exec.Cmd
}

// startCluster starts three nodes and waits until each is ready.
func startCluster(t *testing.T, bin string) []*node {
	t.Helper()
	addrs := freeAddrs(t, 6)
	nodes, objects := make([]*node, 3), t.TempDir()
	for i := range nodes {
		nodes[i] = &node{name: fmt.Sprintf("db%d", i+1), http: addrs[2*i], rpc: addrs[2*i+1]}
	}
	for _, n := range nodes {
		n.process = exec.Command(bin, "serve", "--data-dir", filepath.Join(t.TempDir(), n.name), "--node-name", n.name,
			"--http-addr", n.http, "--rpc-addr", n.rpc, "--seeds", nodes[0].rpc+","+nodes[1].rpc+","+nodes[2].rpc,
			"--meta-bootstrap-expect", "3", "--replication", "3", "--shards", "2", "--disk-reserve", "16MiB",
			"--shard-flush-bytes", "2MiB", "--object-storage-url", "file://"+objects)
		n.process.Stdout, n.process.Stderr = &n.log, &n.log
		// Kill the server if the test process is killed.
		n.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := n.process.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			n.kill()
			if t.Failed() {
				t.Logf("log of %s:\n%s", n.name, n.log.Bytes())
			}
		})
	}
	for _, n := range nodes {
		eventually(t, func() error {
			status, text, err := n.get("/ready")
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("%s: /ready: %s", n.name, text)
			}
			return err
		})
	}
	return nodes
}

// kill ends a node abruptly. It may be called twice.
func (n *node) kill() {
	_ = n.process.Process.Kill()
	_ = n.process.Wait()
}

func (n *node) get(path string) (int, string, error) {
	return n.send(http.MethodGet, path, "", "")
}

// send makes a request and returns its status and body.
func (n *node) send(method, path, kind, body string) (int, string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+n.http+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// work makes a node produce the metrics that dashboards show.
func (n *node) work(t *testing.T) {
	t.Helper()
	expect := func(want int, method, path, kind, body string) {
		t.Helper()
		status, text, err := n.send(method, path, kind, body)
		if err != nil || status != want {
			t.Fatalf("%s: %s %s: %d %s %v, want %d", n.name, method, path, status, text, err, want)
		}
	}
	const yaml, json, form = "application/x-yaml", "application/json", "application/x-www-form-urlencoded"
	expect(200, http.MethodPost, "/v1/pipelines/numbers", yaml,
		"version: 2\nprocessors:\n  - vrl:\n      source: |\n        .n = to_int!(.n)\n        .\n")
	var rows strings.Builder
	for i := range 20_000 {
		// The value does not matter.
		fmt.Fprintf(&rows, "{\"n\":\"%d\",\"message\":\"%x was here\"}\n", i, uint32(i)*2654435761)
	}
	expect(200, http.MethodPost, "/v1/ingest?table=app&pipeline_name=numbers", "application/x-ndjson", rows.String())
	expect(200, http.MethodPost, "/v1/ingest?table=app&pipeline_name=numbers&skip_error=true", json,
		`[{"n":"1"},{"n":"one"}]`)
	expect(400, http.MethodPost, "/v1/ingest?table=app&pipeline_name=numbers", json, `[{"n":"one"}]`)
	for sql, want := range map[string]int{
		"SELECT count(*), max(length(message)) FROM app": 200,
		"SHOW TABLES":                     200,
		"INSERT INTO app (n) VALUES (20)": 200,
		"SELECT nothing FROM app":         400,
	} {
		expect(want, http.MethodPost, "/v1/sql", form, url.Values{"sql": {sql}}.Encode())
	}
}

// eventually waits until check returns nil. The time limit is long because the machine may be busy.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	end := time.Now().Add(2 * time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited two minutes: %v", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// freeAddrs returns loopback addresses that are not in use. The ports are below the range that the
// system assigns to clients, in a block that this process reserves by locking a file.
func freeAddrs(t *testing.T, n int) []string {
	t.Helper()
	for block := range 19 {
		f, err := os.OpenFile(filepath.Join(os.TempDir(), fmt.Sprintf("cordwood-test-ports-%d.lock", block)),
			os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, os.ErrPermission) { // the file belongs to another user
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil { //nolint:gosec // a file descriptor
			f.Close()
			continue
		}
		t.Cleanup(func() { f.Close() })
		var addrs []string
		for port := 12_000 + block*1_000; len(addrs) < n; port++ {
			addr := fmt.Sprintf("127.0.0.1:%d", port)
			if l, err := net.Listen("tcp", addr); err == nil {
				l.Close()
				addrs = append(addrs, addr)
			}
			if port%1_000 == 999 {
				break
			}
		}
		if len(addrs) == n {
			return addrs
		}
	}
	t.Fatal("other processes have all ports for tests")
	return nil
}
