// Package webtest opens the page of a real server in a real browser, and uses it as a reader would. Its tests skip
// without Chromium, and without CORDWOOD_BIN, which `make web-test` sets.
package webtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
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

	"github.com/chromedp/chromedp"
)

// browser is the browser of the package: a tab for each test.
var browser context.Context

func TestMain(m *testing.M) {
	path, err := exec.LookPath("chromium")
	if err != nil || os.Getenv("CORDWOOD_BIN") == "" {
		fmt.Println("skipped: there is no chromium, or CORDWOOD_BIN is not set")
		os.Exit(0)
	}
	allocator, endAllocator := chromedp.NewExecAllocator(context.Background(), chromedp.Headless, chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.ExecPath(path))
	ctx, end := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		fmt.Println("start the browser:", err)
		os.Exit(1)
	}
	browser = ctx
	code := m.Run()
	end()
	endAllocator()
	os.Exit(code)
}

// server is a process of cordwood.
type server struct {
	t   *testing.T
	url string
	// user and password are used by ingest, if set.
	user, password string
}

// start starts a server, which ends with the test.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	p := launch(t, append([]string{"--shards", "1", "--rpc-addr", freeAddress(t)}, args...)...)
	p.awaitReady(20 * time.Second)
	return p.server
}

// startWithAdmin starts a server with the administrator root, as whom it is used, and returns the password.
func startWithAdmin(t *testing.T) (s *server, password string) {
	t.Helper()
	password = "correct horse battery"
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		t.Fatal(err)
	}
	s = start(t, "--bootstrap-admin", "root", "--bootstrap-admin-password-file", file)
	s.user, s.password = "root", password
	return s, password
}

// process is a server that this test started.
type process struct {
	*server
	cmd  *exec.Cmd
	said bytes.Buffer // what it wrote to its standard error
}

// launch starts a server with a data folder and an HTTP address of its own, which ends with the test. It does not wait
// until it is ready.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	addr := freeAddress(t)
	p := &process{server: &server{t: t, url: "http://" + addr}}
	p.cmd = exec.Command(os.Getenv("CORDWOOD_BIN"), append([]string{
		"serve", "--data-dir", filepath.Join(t.TempDir(), "data"), "--http-addr", addr,
	}, args...)...)
	p.cmd.Stderr = &p.said
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// awaitReady waits until the server is ready.
func (p *process) awaitReady(limit time.Duration) {
	p.t.Helper()
	deadline := time.Now().Add(limit)
	for ticker := time.NewTicker(20 * time.Millisecond); ; <-ticker.C {
		if resp, err := http.Get(p.url + "/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			p.kill()
			p.t.Fatalf("the server is not ready after %s:\n%s", limit, p.said.String())
		}
	}
}

// freeAddress returns an address with a free port. The kernel does not give ports below 32768 to outgoing connections,
// of which the browser makes many, so that none takes the port before the server listens on it.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 15_000+rand.IntN(15_000))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("no free port was found")
	return ""
}

// ingest stores rows in a table, by their field ts in milliseconds.
func (s *server) ingest(table string, rows ...map[string]any) {
	s.t.Helper()
	body, err := json.Marshal(rows)
	if err != nil {
		s.t.Fatal(err)
	}
	path := "/v1/ingest?pipeline_name=svc_identity&custom_time_index=ts;epoch;ms&table=" + table
	s.post(path, "application/json", string(body))
}

// run runs a statement.
func (s *server) run(sql string) {
	s.t.Helper()
	s.post("/v1/sql?sql="+url.QueryEscape(sql), "", "")
}

// post sends a request as s.user, which must be answered with 200.
func (s *server) post(path, contentType, body string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if s.user != "" {
		r.SetBasicAuth(s.user, s.password)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %d %s", path, resp.StatusCode, text)
	}
}

// logs returns n rows of the last minutes; every tenth is an error.
func logs(n int) []map[string]any {
	now := time.Now().UnixMilli()
	rows := make([]map[string]any, n)
	for i := range rows {
		rows[i] = map[string]any{
			"ts": now - int64(n-i)*100, "level": "INFO", "msg": fmt.Sprintf("request %d served", i),
			"host": fmt.Sprintf("web-%d", i%3),
		}
		if i%10 == 0 {
			rows[i]["level"], rows[i]["msg"] = "ERROR", fmt.Sprintf("request %d failed", i)
		}
	}
	return rows
}
