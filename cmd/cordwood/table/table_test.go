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

// TestListOfTables checks that the columns about object storage are there if a table has something in them.
func TestListOfTables(t *testing.T) {
	rows := `{"name":"app","rows":4,"bytes":2048,"bucket_bytes":0,"waiting_bytes":0,"ttl":null,"shard":1}` + "\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, rows)
	}))
	defer s.Close()
	for _, c := range []struct{ add, want string }{
		{"", "NAME  ROWS  BYTES    TTL      SHARD\napp   4     2.0 KiB  forever  1\n"},
		{
			`{"name":"old","rows":9,"bytes":0,"bucket_bytes":4096,"waiting_bytes":1024,"ttl":"1year","shard":2}` + "\n",
			"NAME  ROWS  BYTES    BUCKET   WAITING  TTL      SHARD\napp   4     2.0 KiB  0 B      0 B      forever  1\n" +
				"old   9     0 B      4.0 KiB  1.0 KiB  1year    2\n",
		},
	} {
		rows += c.add
		out, _, err := clitest.Execute(t, clitest.Root(NewCommand()), "",
			"table", "list", "--db", "public", "--server", s.URL)
		if err != nil || out != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", err, out, c.want)
		}
	}
}
