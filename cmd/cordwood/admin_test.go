package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAdminCommands(t *testing.T) {
	var asked string
	port := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if asked = strings.TrimSpace(r.Method + " " + r.URL.String() + " " + string(body)); string(body) == "loud" {
			http.Error(w, "set the log level: \"loud\" is not debug, info, warn or error", http.StatusBadRequest)
			return
		}
		_, _ = io.WriteString(w, "answer\n")
	}))
	defer port.Close()
	for _, c := range []struct{ args, asked, want string }{
		{"drain", "POST /drain?wait=5s", "answer\n"},
		{"drain --wait 1m30s", "POST /drain?wait=1m30s", "answer\n"},
		{"undrain", "DELETE /drain", "answer\n"},
		{"log-level", "GET /log-level", "answer\n"},
		{"log-level debug", "PUT /log-level debug", "answer\n"},
		{"log-level loud", "PUT /log-level loud", "is not debug"},
	} {
		asked = ""
		out, err := runAdmin(t, append(strings.Fields(c.args), "--admin", port.URL)...)
		if err != nil {
			out = err.Error()
		}
		if asked != c.asked || !strings.Contains(out, c.want) {
			t.Errorf("admin %s: asked %q, printed %q; want %q, %q", c.args, asked, out, c.asked, c.want)
		}
	}
	port.Close()
	if _, err := runAdmin(t, "drain", "--admin", port.URL); err == nil || !strings.Contains(err.Error(), "--admin-addr") ||
		strings.Contains(err.Error(), "--server") {
		t.Errorf("without a port: %v", err)
	}
}

func runAdmin(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := newRootCommand()
	var out strings.Builder
	root.SetOut(&out)
	root.SetArgs(append([]string{"admin"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}
