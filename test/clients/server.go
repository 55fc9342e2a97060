// Package clients sends logs to a real server with the real clients of other systems, configured as their users do, and
// checks that every record is stored once. README.md describes how to run it.
package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
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

// Records is the number of records that a client sends.
const Records = 2000

// server is a cordwood process with a port for every protocol.
type server struct {
	t    testing.TB
	bin  string
	args []string
	cmd  *exec.Cmd
	// ended is closed when the process has ended.
	ended <-chan struct{}
	log   string
	// These are the addresses of the ports. calls is the address of OTLP over gRPC.
	users, rpc, elasticsearch, loki, splunk, otlp, calls, datadog, syslog, gelf, forward string
	// url is the URL of the HTTP port, to which web sends requests.
	url string
	web *http.Client
}

// start starts a server with additional flags. The server ends with the test. Without CORDWOOD_BIN, the test is
// skipped.
func start(t testing.TB, flags ...string) *server {
	t.Helper()
	s := prepare(t)
	s.args = append(s.args, flags...)
	s.run()
	return s
}

// prepare returns a server that has not been started.
func prepare(t testing.TB) *server {
	t.Helper()
	bin := os.Getenv("CORDWOOD_BIN")
	if bin == "" {
		t.Skip("set CORDWOOD_BIN to a server, as `make clients-test` does")
	}
	s := &server{t: t, bin: bin, log: filepath.Join(t.TempDir(), "log")}
	// Each test has its own loopback address, so that no other client can take its ports.
	ip := fmt.Sprintf("127.%d.%d.%d", 192+rand.IntN(32), rand.IntN(256), 1+rand.IntN(254))
	s.rpc = ip + ":4001"
	s.users, s.loki, s.splunk, s.otlp, s.calls = ip+":4000", ip+":3100", ip+":8088", ip+":4318", ip+":4317"
	s.elasticsearch, s.datadog = ip+":9200", ip+":8282"
	s.url, s.web = "http://"+s.users, http.DefaultClient
	s.syslog, s.gelf, s.forward = ip+":5514", ip+":12201", ip+":24224"
	s.args = []string{
		"serve", "--data-dir", filepath.Join(t.TempDir(), "data"), "--shards", "1", "--http-addr", s.users,
		"--rpc-addr", s.rpc,
		"--elasticsearch-addr", s.elasticsearch,
		"--loki-addr", s.loki, "--splunk-addr", s.splunk, "--otlp-http-addr", s.otlp, "--otlp-grpc-addr", s.calls,
		"--datadog-addr", s.datadog,
		"--syslog-addr", "udp://" + s.syslog + ",tcp://" + s.syslog, "--gelf-addr", "udp://" + s.gelf + ",tcp://" + s.gelf,
		"--forward-addr", "tcp://" + s.forward,
	}
	t.Cleanup(func() {
		s.end(syscall.SIGKILL)
		if t.Failed() {
			text, _ := os.ReadFile(s.log)
			t.Logf("log of the server:\n%s", text)
		}
	})
	return s
}

// run starts the process and waits until it is ready.
func (s *server) run() {
	s.t.Helper()
	out, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer out.Close()
	s.cmd = exec.Command(s.bin, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = out, out
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(time.Minute); ; {
		select {
		case <-ended:
			said, _ := os.ReadFile(s.log)
			s.t.Fatalf("the server ended: %s\n%s", cmd.ProcessState, said)
		case <-ticker.C:
		}
		resp, err := s.web.Get(s.url + "/ready")
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(end) {
			s.t.Fatalf("the server is not ready after a minute: %v", err)
		}
	}
}

// end sends a signal to the process and waits until it has ended.
func (s *server) end(by os.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(by)
	<-s.ended
	s.cmd = nil
}

// query returns the first row of a result, as texts.
func (s *server) query(sql string) ([]string, error) {
	resp, err := s.web.PostForm(s.url+"/v1/sql?format=csv", url.Values{"sql": {sql}})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		var answer struct{ Error string }
		_ = json.Unmarshal(text, &answer)
		return nil, fmt.Errorf("%s: %s", resp.Status, answer.Error)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.Split(strings.TrimSpace(line), ","), nil
}

// await waits until the first row of a result has the given values.
func (s *server) await(sql string, values ...string) {
	s.t.Helper()
	want := fmt.Sprint(values)
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		got, err := s.query(sql)
		if err == nil && fmt.Sprint(got) == want {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Errorf("%s: %v (%v), want %s", sql, got, err, want)
			return
		case <-ticker.C:
		}
	}
}
