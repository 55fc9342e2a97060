package sql

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli"
)

// TestInsertOfUnknownOutcome checks that the error explains how to repeat the statement safely, and that each INSERT of
// a text has its own idempotency key.
func TestInsertOfUnknownOutcome(t *testing.T) {
	var keys []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if len(keys) == 3 {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	}))
	defer s.Close()
	const text = "INSERT INTO t VALUES (1); SELECT 1; INSERT INTO t VALUES (1)"
	_, _, err := execute(t, "", "sql", text, "--server", s.URL, "--idempotency-key", "it's", "--timeout", "1ms")
	if err == nil || !strings.Contains(err.Error(), `rows may be stored: run the same statement within 15 minutes with `+
		`--idempotency-key 'it'\''s 3', and they are stored once`) {
		t.Errorf("the error says %v", err)
	}
	if got := fmt.Sprintf("%q", keys); got != `["it's" "" "it's 3"]` {
		t.Errorf("keys %s", got)
	}
}

// TestServers checks that the next server is used if one is unreachable, whether the servers are given by flag or
// environment.
func TestServers(t *testing.T) {
	s, asked := sqlServer(t)
	for i, args := range [][]string{
		{"--server", "http://127.0.0.1:1," + s.URL},
		{"--server", "http://127.0.0.1:1", "--server", s.URL},
		{"--server", s.URL + ", http://127.0.0.1:1"},
	} {
		if _, errOut, err := execute(t, "", append([]string{"sql", "SELECT 1"}, args...)...); err != nil ||
			len(asked()) != i+1 || (i < 2) != strings.Contains(errOut, "trying the next server") {
			t.Errorf("%v: %v, %q", args, err, errOut)
		}
	}
	t.Setenv("CORDWOOD_SERVER", "http://127.0.0.1:1,"+s.URL)
	if _, _, err := execute(t, "", "sql", "SELECT 1"); err != nil {
		t.Errorf("from the environment: %v", err)
	}
	t.Setenv("CORDWOOD_SERVER", "http://127.0.0.1:1")
	if _, errOut, err := execute(t, "", "sql", "SELECT 1", "--server", s.URL); err != nil || errOut != "" {
		t.Errorf("the flag takes the place of the environment: %v, %q", err, errOut)
	}
}

// TestReadFlags checks that the flags become parameters of the request, and that the missing parts of
// a partial answer are reported.
func TestReadFlags(t *testing.T) {
	var query string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query().Encode()
		w.Header().Set("X-Svc-Partial", "shard 3: no leader")
		w.Header().Add("X-Svc-Warnings", "the table merges rows")
	}))
	defer s.Close()
	_, errOut, err := execute(t, "", "sql", "SELECT 1", "--server", s.URL, "--consistency", "any", "--max-staleness", "1m",
		"--allow-partial")
	if err != nil || query != "allow_partial=true&consistency=any&format=table&max_staleness=1m" ||
		!strings.Contains(errOut, "without: shard 3: no leader") ||
		!strings.Contains(errOut, "warning: the table merges rows\n") {
		t.Errorf("%v, %q, %q", err, query, errOut)
	}
	for _, args := range [][]string{
		{"--consistency", "strong"},
		{"--max-staleness", "1m"},
		{"--consistency", "any", "--max-staleness", "soon"},
		{"--idempotency-key", strings.Repeat("k", 300)},
	} {
		if code := run(append([]string{"sql", "SELECT 1", "--server", s.URL}, args...), io.Discard); code != cli.ExitUsage {
			t.Errorf("%v: status %d", args, code)
		}
	}
}
