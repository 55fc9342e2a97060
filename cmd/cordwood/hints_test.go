package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/cli/clitest"
	"cordwood/router/httpapi/params"
)

// TestIngestHints checks that --hint sends options for new tables, and that the server's warnings
// about them are printed.
func TestIngestHints(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hints, warnings := params.ParseHints(r.Header)
		got = append(got, fmt.Sprint(hints))
		w.Header()["X-Svc-Warnings"] = warnings
		_, _ = io.WriteString(w, `{"output":[{"affectedrows":1}]}`)
	}))
	defer s.Close()
	file := clitest.WriteFile(t, "one", []byte("line\n"))
	_, stderr, err := execute(t, "", "ingest", file, "--server", s.URL, "--table", "t", "--hint", "ttl=1d", "--hint",
		"ttl=7d", "--hint", "on_type_conflict=aside")
	if err != nil || !slices.Equal(got, []string{"map[on_type_conflict:aside ttl:7d]"}) {
		t.Errorf("%q, %v", got, err)
	}
	if !strings.Contains(stderr, "x-svc-hints") || !strings.Contains(stderr, "ttl") {
		t.Errorf("the warning: %q", stderr)
	}
	for _, hint := range []string{"ttl", "=7d", "ttl=", "ttl=7d,append_mode=false", "ttl=\r\nX: y", "append_mod=false"} {
		_, _, err := execute(t, "", "ingest", file, "--server", s.URL, "--table", "t", "--hint", hint)
		if cli.ExitStatus(err) != cli.ExitUsage || len(got) != 1 {
			t.Errorf("%q: %v", hint, err)
		}
	}
}
