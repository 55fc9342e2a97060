package cluster

import (
	"os/exec"
	"strings"
	"testing"
)

// TestTableCommands manages a table with the commands of the program.
func TestTableCommands(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	for _, table := range []string{"app", "od:d@name"} {
		if err := n.Ingest(table, []byte(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		args    string // separated by |
		want    string // a part of the output
		refused bool
	}{
		{args: "list", want: "app"},
		{args: "list|--like|o%|-o|json", want: `"name": "od:d@name"`},
		{args: "list|--db|nowhere", want: "does not exist", refused: true},
		{args: "set|app|ttl=7d", want: "changed public.app"},
		{args: "show|app", want: "ttl='7days'"},
		{args: "set|app|ttl=soon", want: "soon", refused: true},
		{args: "set|app|ttl", want: "OPTION=VALUE", refused: true},
		{args: "unset|app|ttl", want: "changed public.app"},
		{args: "list", want: "forever"},
		{args: `rename|od:d@name|plain`, want: "renamed"},
		{args: "truncate|plain", want: "--yes", refused: true},
		{args: "truncate|--yes|plain", want: "truncated public.plain"},
		{args: "drop|--yes|plain", want: "dropped public.plain"},
		{args: "drop|--yes|plain", want: "does not exist", refused: true},
		{args: "show|plain", want: "does not exist", refused: true},
	}
	for _, s := range steps {
		args := append([]string{"table"}, strings.Split(s.args, "|")...)
		out, err := exec.Command(Binary(t), append(args, "--server", n.HTTP)...).CombinedOutput()
		if (err != nil) != s.refused || !strings.Contains(string(out), s.want) {
			t.Errorf("%v: %v, want %q in\n%s", args, err, s.want, out)
		}
	}
	if rows := n.Rows(t, "SELECT a FROM app"); len(rows) != 1 {
		t.Errorf("rows of the other table: %v", rows)
	}
}
