package httpapi

import (
	"bufio"
	"encoding/base64"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/tunnel"

	"cordwood/router/httpapi/exchange"
)

// userFile is a provider of users whose file a test can change.
type userFile struct {
	*auth.Provider
	path string
}

func newUserFile(t *testing.T, text string) *userFile {
	t.Helper()
	f := &userFile{path: filepath.Join(t.TempDir(), "users")}
	f.write(t, text)
	var err error
	if f.Provider, err = auth.Open(auth.Config{UserFile: f.path, Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *userFile) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// change writes a new list of users and loads it.
func (f *userFile) change(t *testing.T, text string) {
	t.Helper()
	f.write(t, text)
	if err := f.Reload(); err != nil {
		t.Fatal(err)
	}
}

const annIsThere, annIsGone = "ann=pw\nroot=1\n", "root=1\n"

// send sends a request as ann. It returns the connection and a reader of the answer.
func send(t *testing.T, srv *httptest.Server, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	head, body, _ := strings.Cut(request, "\n\n")
	head += "\nHost: x\nAuthorization: Basic " + base64.StdEncoding.EncodeToString([]byte("ann:pw"))
	if _, err := io.WriteString(conn, strings.ReplaceAll(head, "\n", "\r\n")+"\r\n\r\n"+body); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// TestEveryRequestEndsWithItsUser removes, for each route, the user of a running request. The request is cancelled,
// and the answer gives the reason.
func TestEveryRequestEndsWithItsUser(t *testing.T) {
	users := newUserFile(t, annIsThere)
	f := newWhole(t, func(c *Config) { c.Auth = users })
	tried := 0
	path := strings.NewReplacer("{name}", "n", "{id}", "1", index, "/logs", "{what:.*}", "x")
	for _, rt := range f.table {
		if rt.needs == access.Open || rt.asksAgain || rt.path == "/admin/rpc" {
			continue // tails and tunnels have their own tests
		}
		for _, m := range rt.methods {
			users.change(t, annIsThere)
			began := make(chan struct{})
			one := rt
			one.methods = []string{m}
			one.handler = func(w http.ResponseWriter, r *http.Request) {
				close(began)
				<-r.Context().Done()
				exchange.WriteError(w, r, r.Context().Err())
			}
			h, err := f.build([]route{one}, protocolUnder)
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(h)
			_, answer := send(t, srv, m+" "+path.Replace(rt.path)+" HTTP/1.1")
			<-began
			users.change(t, annIsGone)
			resp, err := http.ReadResponse(answer, &http.Request{Method: m})
			if err != nil {
				t.Errorf("%s %s: %v", m, rt.path, err)
			} else if resp.StatusCode != 401 && (rt.refuse == nil || resp.StatusCode != 403) ||
				resp.Header.Get("X-Svc-Err-Code") != "7002" ||
				!strings.Contains(resp.Header.Get("X-Svc-Err-Msg"), "ann was removed") {
				t.Errorf("%s %s: %d %v", m, rt.path, resp.StatusCode, resp.Header)
			}
			srv.Close()
			tried++
		}
	}
	if tried < 25 {
		t.Errorf("only %d were tried", tried)
	}
}

// TestLostRightEndsRequest removes the right to read from a user during a query.
func TestLostRightEndsRequest(t *testing.T) {
	users := newUserFile(t, annIsThere)
	began := make(chan struct{})
	f := newWhole(t, func(c *Config) {
		c.Auth = users
		c.Tail = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
			exchange.WriteError(w, r, r.Context().Err())
		})
	})
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	_, answer := send(t, srv, "GET /v1/tail?table=t HTTP/1.1")
	<-began
	users.change(t, "ann:wo=pw\n")
	resp, err := http.ReadResponse(answer, nil)
	if err != nil || resp.StatusCode != 403 || resp.Header.Get("X-Svc-Err-Code") != "7005" {
		t.Fatal(resp, err)
	}
}

// TestStreamThatNobodyReadsEnds removes a user whose client has stopped reading. The blocked write ends soon.
func TestStreamThatNobodyReadsEnds(t *testing.T) {
	users := newUserFile(t, annIsThere)
	blocked, ended := make(chan struct{}), make(chan struct{})
	f := newWhole(t, func(c *Config) {
		c.Auth = users
		c.SQL = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			line := []byte(strings.Repeat("x", 64<<10))
			for i := 0; ; i++ {
				if i == 4 {
					close(blocked) // now or soon
				}
				if _, err := w.Write(line); err != nil {
					close(ended)
					return
				}
			}
		})
	})
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	send(t, srv, "POST /v1/sql HTTP/1.1\nContent-Length: 0")
	<-blocked
	users.change(t, annIsGone)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the write still blocks")
	}
}

// TestConnectionServesOthersAfterwards checks that, after a request was ended, its connection serves a request of
// another user.
func TestConnectionServesOthersAfterwards(t *testing.T) {
	users := newUserFile(t, annIsThere)
	began := make(chan struct{})
	f := newWhole(t, func(c *Config) {
		c.Auth = users
		c.SQL = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(began)
			<-r.Context().Done()
			exchange.WriteError(w, r, r.Context().Err())
		})
	})
	srv := httptest.NewServer(f.Handler())
	defer srv.Close()
	conn, answers := send(t, srv, "POST /v1/sql HTTP/1.1\nContent-Length: 0")
	<-began
	users.change(t, annIsGone)
	resp, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	// This is longer than a deadline left from the first request would allow.
	for until := time.Now().Add(500*time.Millisecond + 100*time.Millisecond); time.Now().Before(until); {
		if _, err := io.WriteString(conn, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if resp, err = http.ReadResponse(answers, nil); err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBodyOfRemovedUserIsNotStored removes the user while the body arrives.
func TestBodyOfRemovedUserIsNotStored(t *testing.T) {
	for after, want := range map[string]string{annIsGone: "7002", "ann:ro=pw\n": "7005", "ann:wo=pw\n": ""} {
		users := newUserFile(t, annIsThere)
		f := newFixture(t, func(c *Config) { c.Auth = users })
		for _, rt := range f.table {
			if rt.asksAgain && rt.needs != access.Insert {
				t.Errorf("%s asks again: try it here", rt.path)
			}
		}
		srv := httptest.NewServer(f.Handler())
		conn, answers := send(t, srv, "POST "+ingestURL+
			" HTTP/1.1\nContent-Type: application/json\nContent-Length: 7\nExpect: 100-continue")
		// The server asks for the body after it has authenticated the user.
		if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
			t.Fatal(line, err)
		}
		if _, err := answers.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		users.change(t, after)
		if _, err := io.WriteString(conn, `{"a":1}`); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil || resp.Header.Get("X-Svc-Err-Code") != want {
			t.Fatalf("%q: %v, %v", after, resp, err)
		}
		if stored := f.writer.calls > 0; stored != (want == "") {
			t.Errorf("%q: stored is %t", after, stored)
		}
		srv.Close()
	}
}

// TestTunnelEndsWithItsUser checks that, when a user is removed, the connections of the user's backups are closed.
func TestTunnelEndsWithItsUser(t *testing.T) {
	for after, code := range map[string]errs.Code{
		annIsGone:     errs.UserPasswordMismatch,
		"ann=other\n": errs.UserPasswordMismatch,
		"ann:wo=pw\n": errs.AccessDenied,
	} {
		users := newUserFile(t, annIsThere)
		conns := make(chan *access.Caller, 1)
		f := newWhole(t, func(c *Config) {
			c.Auth = users
			c.Tunnel = func(_ net.Conn, caller *access.Caller) { conns <- caller }
		})
		srv := httptest.NewServer(f.Handler())
		_, answers := send(t, srv, "GET /admin/rpc HTTP/1.1\nConnection: Upgrade\nUpgrade: "+tunnel.Protocol)
		if resp, err := http.ReadResponse(answers, nil); err != nil || resp.StatusCode != 101 {
			t.Fatal(resp, err)
		}
		caller := <-conns
		need := access.Need{Privilege: access.Backup}
		if err := caller.Require(need); err != nil {
			t.Fatal(err)
		}
		users.change(t, after)
		if _, err := answers.ReadByte(); err == nil {
			t.Errorf("%q: the connection stays open", after)
		}
		if err := caller.Require(need); errs.CodeOf(err) != code {
			t.Errorf("%q: a call is answered %v", after, err)
		}
		srv.Close()
	}
}

// TestGuessingIsRefused checks that, after too many wrong passwords the status is 429, with the time to wait. Other
// users are not affected.
func TestGuessingIsRefused(t *testing.T) {
	users := newUserFile(t, annIsThere)
	f := newWhole(t, func(c *Config) { c.Auth = users })
	basic := func(user, password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	}
	for range 10 {
		checkError(t, f.call("GET", "/v1/pipelines", "", "Authorization", basic("ann", "guess")), 401,
			errs.UserPasswordMismatch)
	}
	for _, path := range []string{"/v1/pipelines", "/v1/nothing"} {
		w := f.call("GET", path, "", "Authorization", basic("ann", "pw"))
		if after := w.Header().Get("Retry-After"); w.Code != 429 || after != "60" ||
			!strings.Contains(w.Body.String(), "too many failed sign-ins of ann from 192.0.2.1; try again in 60 s") {
			t.Errorf("%s: %d, %s, %s", path, w.Code, after, w.Body)
		}
	}
	if w := f.call("GET", "/v1/pipelines", "", "Authorization", basic("root", "1")); w.Code != 200 {
		t.Errorf("another user: %d %s", w.Code, w.Body)
	}
}
