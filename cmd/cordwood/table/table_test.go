package table

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli/clitest"
)

// TestWarningsAreShown checks that every command prints the server's warnings.
func TestWarningsAreShown(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Svc-Warnings"] = []string{"rows have expired", "and more"}
	}))
	defer s.Close()
	for _, args := range []string{
		"set app ttl=1ms", "unset app ttl", "rename app old", "truncate --yes app", "drop --yes app",
	} {
		out, errOut, err := clitest.Execute(t, clitest.Root(NewCommand()), "",
			append([]string{"table", "--server", s.URL}, strings.Fields(args)...)...)
		if want := "warning: rows have expired\nwarning: and more\n"; err != nil || errOut != want || out == "" {
			t.Errorf("table %s: %v, stdout %q, stderr %q, want %q", args, err, out, errOut, want)
		}
	}
}

// TestRemovalOfNoTable checks that a missing table is reported before the command asks for confirmation.
func TestRemovalOfNoTable(t *testing.T) {
	status := http.StatusNotFound
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); !strings.HasPrefix(string(body), "SHOW CREATE TABLE") {
			t.Errorf("a statement that was not confirmed: %s", body)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"code":4001,"error":"the server says no"}`)
	}))
	defer s.Close()
	for _, c := range []struct {
		status int
		want   string
	}{
		{http.StatusNotFound, "the server says no"},
		{http.StatusForbidden, "say --yes"}, // a user without the right to read may still remove the table
	} {
		status = c.status
		for _, verb := range []string{"drop", "truncate"} {
			_, _, err := clitest.Execute(t, clitest.Root(NewCommand()), "", "table", verb, "nosuch", "--server", s.URL)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("table %s nosuch after %d: %v, want %q", verb, c.status, err, c.want)
			}
		}
	}
}
