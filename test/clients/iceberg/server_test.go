// Package iceberg reads tables that a real server shows as Apache Iceberg tables, with independent readers, and
// compares them with SQL. ../README.md describes how to run it.
package iceberg

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

// patience limits the time of each wait for the server.
const patience = 2 * time.Minute

// server is a cordwood process whose old rows go to a folder. It has the user root.
type server struct {
	t      *testing.T
	url    string
	bucket string
}

// start starts a server that moves and commits rows within seconds. It ends with the test.
func start(t *testing.T) *server {
	t.Helper()
	bin := os.Getenv("CORDWOOD_BIN")
	if bin == "" {
		t.Skip("set CORDWOOD_BIN to a server, as `make iceberg-test` does")
	}
	dir := t.TempDir()
	s := &server{t: t, bucket: filepath.Join(dir, "bucket")}
	users := filepath.Join(dir, "users")
	if err := os.Mkdir(s.bucket, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(users, []byte("root=secretsecret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Each test has its own loopback address, so that no other program takes its ports.
	ip := fmt.Sprintf("127.%d.%d.%d", 192+rand.IntN(32), rand.IntN(256), 1+rand.IntN(254))
	s.url = "http://" + ip + ":4000"
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(bin, "serve", "--data-dir", filepath.Join(dir, "data"), "--shards", "1", "--user-file", users,
		"--http-addr", ip+":4000", "--rpc-addr", ip+":4001", "--object-storage-url", "file://"+s.bucket,
		"--object-storage-upload-after", "1s", "--object-storage-iceberg-every", "1s", "--shard-flush-age", "1s")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("log of the server:\n%s", text)
		}
	})
	s.wait("the server is ready", func() (bool, string) {
		select {
		case <-ended:
			t.Fatal("the server ended")
		default:
		}
		status, body := s.request(http.MethodGet, "/ready", "", nil)
		return status == http.StatusOK, body
	})
	return s
}

// wait waits until a condition holds. The condition also returns a text that describes the state.
func (s *server) wait(what string, holds func() (bool, string)) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, state := holds()
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			s.t.Fatalf("waiting until %s: %s", what, state)
		case <-ticker.C:
		}
	}
}

// request sends a request, as root or with a token, and returns the status and the body. The status is 0 if there is
// no answer.
func (s *server) request(method, path, token string, form url.Values) (int, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	req.SetBasicAuth("root", "secretsecret")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(body)
}

// sql runs a statement and returns its rows as texts by column.
func (s *server) sql(statement string) []map[string]any {
	s.t.Helper()
	status, body := s.request(http.MethodPost, "/v1/sql?format=ndjson", "", url.Values{"sql": {statement}})
	if status != http.StatusOK {
		s.t.Fatalf("%.300s: %d %s", statement, status, body)
	}
	var rows []map[string]any
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	for d.More() {
		var row map[string]any
		if err := d.Decode(&row); err != nil {
			s.t.Fatalf("%.300s: %v: %.300s", statement, err, body)
		}
		rows = append(rows, row)
	}
	return rows
}
