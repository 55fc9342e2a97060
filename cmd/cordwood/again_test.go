package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"cordwood/cmd/cordwood/cli"
)

// failingOnce starts a server that fails the first request. It returns the idempotency keys of all
// requests.
func failingOnce(t *testing.T, fail func(w http.ResponseWriter)) (server *httptest.Server, asked func() []string) {
	var mu sync.Mutex
	var keys []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		first := len(keys) == 1
		mu.Unlock()
		if first {
			fail(w)
			return
		}
		_, _ = io.WriteString(w, `{"output":[{"affectedrows":1}],"pipelines":[{"name":"p"}]}`)
	}))
	t.Cleanup(s.Close)
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return keys
	}
}

// TestWhatCommandsSendAgain fails a request of each command in every way, and checks which requests
// are retried, and with which key.
func TestWhatCommandsSendAgain(t *testing.T) {
	status := func(code int, header ...string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, `{"code":5003,"error":"failed"}`)
		}
	}
	const unknown, partial = "X-Svc-Outcome", "X-Ingest-Partial"
	failures := []struct {
		name string
		fail func(http.ResponseWriter)
		// again lists the requests that are retried: i means ingest and INSERT, r reads, c other
		// changes.
		again string
	}{
		{"no answer", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, "ir"},
		{"400", status(400), ""},
		{"401", status(401), ""},
		{"403", status(403), ""},
		{"408", status(408), "i"},
		{"413", status(413), ""},
		{"422", status(422), ""},
		{"429", status(429), "irc"},
		{"500", status(500), ""},
		{"502", status(502), "ir"},
		{"503", status(503), "irc"},
		{"503, the outcome is unknown", status(503, unknown, "unknown"), "ir"},
		{"503, a part is stored", status(503, partial, "1/2"), "ir"},
		{"504", status(504), "ir"},
	}
	commands := []struct{ args, kind string }{
		{"ingest --table app -", "i"},
		{"sql|INSERT INTO t VALUES (1)", "i"},
		{"sql --idempotency-key mine|INSERT INTO t VALUES (1)", "i"},
		{"sql|SELECT 1", "r"},
		{"sql|SHOW TABLES", "r"},
		{"sql|DROP TABLE t", "c"},
		{"sql|DELETE FROM t WHERE true", "c"},
		{"sql|what is this", "c"},
		{"table truncate --yes t", "c"},
		{"table show t", "r"},
		{"pipeline put p -", "c"},
		{"pipeline get p", "r"},
		{"pipeline dryrun p", "r"},
	}
	for _, failure := range failures {
		t.Run(failure.name, func(t *testing.T) {
			t.Parallel() // each waits a quarter of a second
			for _, command := range commands {
				s, asked := failingOnce(t, failure.fail)
				line, statement, found := strings.Cut(command.args, "|")
				args := strings.Fields(line)
				if found {
					args = append(args, statement)
				}
				_, _, err := execute(t, `{"a":1}`, append(args, "--server", s.URL)...)
				keys := asked()
				want := 1
				if strings.Contains(failure.again, command.kind) {
					want = 2
				}
				if len(keys) != want || want == 1 && err == nil {
					t.Errorf("%s: sent %d times, want %d: %v", command.args, len(keys), want, err)
					continue
				}
				for _, key := range keys {
					switch {
					case (key != "") != (command.kind == "i"), key != keys[0]:
						t.Errorf("%s: keys %q: a request that stores rows has a key, the same for each try", command.args, keys)
					case strings.Contains(command.args, "mine") && key != "mine":
						t.Errorf("%s: the key is %q", command.args, key)
					}
				}
			}
		})
	}
}

// TestTableNames checks that all commands parse table names in the same way.
func TestTableNames(t *testing.T) {
	var mu sync.Mutex
	var seen string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen += fmt.Sprintf("%s %s %s", r.URL.Query().Get("db"), r.URL.Query().Get("table"), body)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer s.Close()
	for _, command := range []struct{ args, quotes string }{
		{"table show TABLE", `"`},
		{"table set TABLE ttl=1d", `"`},
		{"table unset TABLE ttl", `"`},
		{"table rename TABLE other", `"`},
		{"table drop --yes TABLE", `"`},
		{"table truncate --yes TABLE", `"`},
		{"table move TABLE --to 2", ""},
		{"tail TABLE", ""},
		{"ingest --table TABLE -", ""},
		{"pipeline dryrun p --table TABLE", ""},
	} {
		for name, want := range map[string][2]string{
			"app": {"", "app"}, "shop.app": {"shop", "app"}, `shop."app.v2"`: {"shop", "app.v2"},
			`"app.v2"`: {"", "app.v2"},
		} {
			mu.Lock()
			seen = ""
			mu.Unlock()
			args := strings.Fields(command.args)
			for i := range args {
				args[i] = strings.Replace(args[i], "TABLE", name, 1)
			}
			_, _, _ = execute(t, "{}\n", append(args, "--server", s.URL)...)
			if !strings.Contains(seen, want[0]) || !strings.Contains(seen, command.quotes+want[1]+command.quotes) {
				t.Errorf("%v asks for %s, want database %s and table %s", args, seen, want[0], want[1])
			}
		}
		for _, name := range []string{"a.b.c", "", ".b"} {
			args := strings.Fields(command.args)
			for i := range args {
				args[i] = strings.Replace(args[i], "TABLE", name, 1)
			}
			if code := run(append(args, "--server", s.URL), io.Discard); code != cli.ExitUsage && name != "" {
				t.Errorf("%q: status %d, want the status of a wrong usage", args, code)
			}
		}
		args := strings.Fields(strings.Replace(command.args, "TABLE", "shop.app", 1))
		if code := run(append(args, "--db", "other", "--server", s.URL), io.Discard); code != cli.ExitUsage {
			t.Errorf("%q with another --db: status %d, want the status of a wrong usage", args, code)
		}
	}
}
