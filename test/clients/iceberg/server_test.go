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

// server is a cordwood process whose old rows go to object storage. It has the user root.
type server struct {
	t   *testing.T
	url string
	// location is the absolute location of the object storage, and bucket the folder with its objects.
	location, bucket string
}

// start starts a server with a folder as object storage.
func start(t *testing.T) *server {
	t.Helper()
	bucket := filepath.Join(t.TempDir(), "bucket")
	if err := os.Mkdir(bucket, 0o700); err != nil {
		t.Fatal(err)
	}
	return startWith(t, "file://"+bucket, bucket)
}

// startS3 starts a server with a bucket of versitygw, which needs credentials. They are in the environment. It skips
// the test if there is no versitygw.
func startS3(t *testing.T) *server {
	t.Helper()
	bin := os.Getenv("VERSITYGW_BIN")
	if cache, err := os.UserCacheDir(); bin == "" && err == nil { // where the tests of buckets install it
		bin = filepath.Join(cache, "cordwood-test", "versitygw-v1.8.0", "versitygw")
	}
	if _, err := os.Stat(bin); err != nil {
		t.Skipf("no versitygw: %v; set VERSITYGW_BIN, or run the tests of shard/cold/bucket", err)
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o700); err != nil {
		t.Fatal(err)
	}
	endpoint := address() + ":7070"
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "reader", "AWS_SECRET_ACCESS_KEY": "reader-secret", "AWS_REGION": "us-east-1",
		"S3_ENDPOINT": endpoint,
	} {
		t.Setenv(name, value)
	}
	end := launch(t, exec.Command(bin, "--access", "reader", "--secret", "reader-secret", "--port", endpoint, "--quiet",
		"posix", root))
	t.Cleanup(end)
	s := &server{t: t, url: "http://" + endpoint}
	s.wait("versitygw answers", func() (bool, string) {
		status, body := s.request(http.MethodGet, "/", "", nil)
		return status != 0, body
	})
	return startWith(t, "s3://bucket/prod", filepath.Join(root, "bucket", "prod"), "--object-storage-endpoint",
		"http://"+endpoint, "--object-storage-path-style", "--object-storage-region", "us-east-1")
}

// address returns a loopback address. Each server has its own, so that no other program takes its ports.
func address() string {
	return fmt.Sprintf("127.%d.%d.%d", 192+rand.IntN(32), rand.IntN(256), 1+rand.IntN(254))
}

// launch starts a program that ends with this one, and returns a function that ends it.
func launch(t *testing.T, cmd *exec.Cmd) (end func()) {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// startWith starts a server that moves and commits rows within seconds. It ends with the test.
func startWith(t *testing.T, location, bucket string, flags ...string) *server {
	t.Helper()
	bin := os.Getenv("CORDWOOD_BIN")
	if bin == "" {
		t.Skip("set CORDWOOD_BIN to a server, as `make iceberg-test` does")
	}
	dir := t.TempDir()
	s := &server{t: t, location: location, bucket: bucket}
	users := filepath.Join(dir, "users")
	if err := os.WriteFile(users, []byte("root=secretsecret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ip := address()
	s.url = "http://" + ip + ":4000"
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(bin, append([]string{
		"serve", "--data-dir", filepath.Join(dir, "data"), "--shards", "1", "--user-file", users, "--http-addr", ip + ":4000",
		"--rpc-addr", ip + ":4001", "--object-storage-url", location, "--object-storage-upload-after", "1s",
		"--object-storage-iceberg-every", "1s", "--shard-flush-age", "1s",
	}, flags...)...)
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
