// Package cluster starts real cordwood processes for tests, on free loopback ports and in temporary
// folders, and sends requests to them as a client would. A process that a test started has ended
// when the test ends.
package cluster

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Node is one server process and its data folder. Start, Launch, Kill and Stop of one node must not be called
// concurrently. The other methods are safe for concurrent use.
type Node struct {
	Name string // the value of --node-name; empty outside of a Cluster
	Dir  string
	HTTP string // http://127.0.0.1:PORT; https with --tls-cert
	RPC  string
	// Client sends the requests of Do; nil means http.DefaultClient.
	Client *http.Client
	// Admin is the URL of the administrator's port, such as http://127.0.0.1:PORT, for nodes of a
	// Cluster.
	Admin string

	cluster *Cluster // nil if the node is not part of a Cluster
	between string   // the address for other nodes, if it is not RPC

	t    testing.TB
	args []string
	bin  string
	wrap []string // the command that runs bin
	log  *logBuffer
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how the process ended; read it only after done is closed
}

// New prepares a node with additional flags of `cordwood serve`.
func New(t testing.TB, args ...string) *Node {
	t.Helper()
	return NewAt(t, filepath.Join(t.TempDir(), "data"), args...)
}

// NewAt is like New, with the given data folder.
func NewAt(t testing.TB, dir string, args ...string) *Node {
	t.Helper()
	n := &Node{
		Dir: dir, t: t, bin: Binary(t), log: &logBuffer{},
		HTTP: "http://" + freeAddr(t), RPC: freeAddr(t),
	}
	n.args = append([]string{
		"serve", "--data-dir", n.Dir, "--log-format", "text",
		"--http-addr", strings.TrimPrefix(n.HTTP, "http://"), "--rpc-addr", n.RPC,
	}, args...)
	if slices.Contains(args, "--tls-cert") {
		n.HTTP = "https://" + strings.TrimPrefix(n.HTTP, "http://")
	}
	t.Cleanup(func() {
		n.Kill()
		if t.Failed() {
			t.Logf("log of the server %s:\n%s", n.Name, n.log.String())
		}
	})
	return n
}

// Start starts the process and waits until it is ready. It returns how long this took.
func (n *Node) Start() time.Duration {
	n.t.Helper()
	begin := time.Now()
	if err := n.TryStart(Generous(time.Minute)); err != nil {
		n.t.Fatal(err)
	}
	return time.Since(begin)
}

// TryStart starts the process and waits until it is ready. It returns an error if the process
// ended, or was not ready in time.
func (n *Node) TryStart(limit time.Duration) error {
	n.t.Helper()
	if err := n.launch(); err != nil {
		return err
	}
	return n.AwaitReady(limit)
}

// Launch starts the process and does not wait until it is ready.
func (n *Node) Launch() {
	n.t.Helper()
	if err := n.launch(); err != nil {
		n.t.Fatal(err)
	}
}

func (n *Node) launch() error {
	run := slices.Concat(n.wrap, []string{n.bin}, n.args)
	n.cmd = exec.Command(run[0], run[1:]...)
	n.cmd.Stdout, n.cmd.Stderr = n.log, n.log
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := n.cmd.Start(); err != nil {
		n.cmd = nil
		return fmt.Errorf("start %s: %w", n.bin, err)
	}
	n.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		n.err = cmd.Wait()
		close(done)
	}(n.cmd, n.done)
	return nil
}

// AwaitReady waits until the node reports that it is ready.
func (n *Node) AwaitReady(limit time.Duration) error {
	// The certificate of a node with TLS is not verified here; other tests do that.
	unverified := &tls.Config{InsecureSkipVerify: true} // the server is a process of this test
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{TLSClientConfig: unverified}}
	defer client.CloseIdleConnections()
	why := ""
	for deadline := time.Now().Add(limit); ; {
		resp, err := client.Get(n.HTTP + "/ready")
		if err == nil {
			text, _ := io.ReadAll(resp.Body) // only for the message
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			why = string(text)
		}
		select {
		case <-n.done:
			n.cmd = nil
			return fmt.Errorf("server ended before it was ready: %w\n%s", n.err, n.log.String())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			n.dump()
			return fmt.Errorf("server %s not ready after %s: %s\n%s", n.Name, limit, why, n.log.String())
		}
	}
}

// dump ends the processes of the node's cluster. They log the state of every goroutine.
func (n *Node) dump() {
	all := []*Node{n}
	if n.cluster != nil {
		all = n.cluster.Nodes
	}
	for _, n := range all {
		if n.Running() {
			n.signal(syscall.SIGQUIT)
			<-n.done
		}
	}
}

// Pause suspends the process, as SIGSTOP does; Continue resumes it.
func (n *Node) Pause() { n.signal(syscall.SIGSTOP) }

// Continue resumes a process that Pause suspended.
func (n *Node) Continue() { n.signal(syscall.SIGCONT) }

func (n *Node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(s); err != nil {
		n.t.Fatalf("send %s to server %s: %v", s, n.Name, err)
	}
}

// Pid returns the process id of the running server.
func (n *Node) Pid() int { return n.cmd.Process.Pid }

// Running reports whether the process has not ended.
func (n *Node) Running() bool {
	if n.cmd == nil {
		return false
	}
	select {
	case <-n.done:
		return false
	default:
		return true
	}
}

// Ended waits for the process to end by itself and returns its exit status. It returns -1 if a signal ended the
// process, or if it did not end in time.
func (n *Node) Ended(limit time.Duration) int {
	select {
	case <-n.done:
	case <-time.After(limit):
		return -1
	}
	status := n.cmd.ProcessState.ExitCode()
	n.cmd = nil
	return status
}

// Kill ends the process with SIGKILL and waits for its end.
func (n *Node) Kill() {
	if n.cmd == nil {
		return
	}
	// The process may have ended by itself.
	_ = n.cmd.Process.Kill()
	<-n.done
	n.cmd = nil
}

// Stop asks the process to end, waits, and fails the test unless it ends with status 0.
func (n *Node) Stop() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	n.awaitStop()
}

// awaitStop waits for the end of a process that was asked to end.
func (n *Node) awaitStop() {
	n.t.Helper()
	select {
	case <-n.done:
	case <-time.After(Generous(40 * time.Second)):
		n.t.Fatalf("server still runs two minutes after SIGTERM\n%s", n.log.String())
	}
	n.cmd = nil
	if n.err != nil {
		n.t.Fatalf("server ended with %v\n%s", n.err, n.log.String())
	}
}

// Log returns the output of the process so far.
func (n *Node) Log() string { return n.log.String() }

// Answer is the server's answer to one request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do sends one request to a path of the node. header contains alternating names and values.
func (n *Node) Do(method, path string, body io.Reader, header ...string) (*Answer, error) {
	req, err := http.NewRequest(method, n.HTTP+path, body)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	client := http.DefaultClient
	if n.Client != nil {
		client = n.Client
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return &Answer{resp.StatusCode, resp.Header, b}, nil
}

// Ingest posts NDJSON through svc_identity to a table of the database public and
// returns an error unless it was acknowledged.
func (n *Node) Ingest(table string, body []byte) error {
	a, err := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table="+url.QueryEscape(table),
		bytes.NewReader(body), "Content-Type", "application/x-ndjson")
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return fmt.Errorf("ingest into %s: %d %s", table, a.Status, a.Body)
	}
	return nil
}

// ask posts SQL. While the query process has not started within its ten seconds, ask repeats the request for up to a
// minute: on a loaded machine this is not a failure.
func (n *Node) ask(path, contentType, body string) (*Answer, error) {
	for deadline := time.Now().Add(time.Minute); ; {
		a, err := n.Do("POST", path, strings.NewReader(body), "Content-Type", contentType)
		starts := err == nil && a.Status == http.StatusServiceUnavailable &&
			bytes.Contains(a.Body, []byte("the query worker is not ready after"))
		if !starts || time.Now().After(deadline) {
			return a, err
		}
	}
}

// Query runs one statement and returns its rows, numbers as json.Number.
func (n *Node) Query(sql string) ([][]any, error) {
	a, err := n.ask("/v1/sql", "application/x-www-form-urlencoded", "sql="+url.QueryEscape(sql))
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, fmt.Errorf("%s: %d %s", sql, a.Status, a.Body)
	}
	var out struct {
		Output []struct {
			Records struct {
				Rows [][]any `json:"rows"`
			} `json:"records"`
		} `json:"output"`
	}
	dec := json.NewDecoder(bytes.NewReader(a.Body))
	dec.UseNumber()
	if err := dec.Decode(&out); err != nil {
		return nil, fmt.Errorf("%s: %w", sql, err)
	}
	if len(out.Output) != 1 {
		return nil, fmt.Errorf("%s: %d results, want 1", sql, len(out.Output))
	}
	return out.Output[0].Records.Rows, nil
}

// Rows does what Query does, and fails the test on an error.
func (n *Node) Rows(t testing.TB, sql string) [][]any {
	t.Helper()
	rows, err := n.Query(sql)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

var build struct {
	sync.Once
	path string
	err  error
}

// Binary returns the path of the program under test: $CORDWOOD_BIN, or one built for this run.
func Binary(t testing.TB) string {
	t.Helper()
	if bin := os.Getenv("CORDWOOD_BIN"); bin != "" {
		return bin
	}
	build.Do(func() {
		dir, err := os.MkdirTemp("", "cordwood-test")
		if err != nil {
			build.err = err
			return
		}
		build.path = filepath.Join(dir, "cordwood")
		out, err := exec.Command("go", "build", "-o", build.path, "cordwood/cmd/cordwood").CombinedOutput()
		if err != nil {
			build.err = errors.Join(err, errors.New(string(out)))
		}
	})
	if build.err != nil {
		t.Fatalf("build cordwood: %v", build.err)
	}
	return build.path
}

// logBuffer keeps the end of a process's output.
type logBuffer struct {
	mu  sync.Mutex
	buf []byte
}

const keptLog = 256 << 10

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf = append(b.buf, p...)
	if len(b.buf) > 2*keptLog {
		b.buf = append(b.buf[:0], b.buf[len(b.buf)-keptLog:]...)
	}
	return len(p), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.buf)
}
