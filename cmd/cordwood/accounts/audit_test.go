package accounts

import (
	"encoding/json"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli/clitest"
	"cordwood/proto/auditrow"
)

// TestAuditTailValues checks that a mistyped outcome or action is refused with a suggestion.
func TestAuditTailValues(t *testing.T) {
	a := newAsked(t)
	a.rows = `{"action":"create user"}` + "\n" + `{"action":"drop table"}` + "\n"
	for args, want := range map[string]string{
		"--outcome|refusd":     `use ok, refused or failed; did you mean "refused"?`,
		"--action|creat user":  `no record has this action; did you mean "create user"?`,
		"--action|drop table":  "",
		"--outcome|refused":    "",
		"--action|set a quota": "",
	} {
		_, _, err := clitest.Execute(t, root(), "", append([]string{"audit", "tail", "--server", a.URL},
			strings.Split(args, "|")...)...)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// TestVerify checks chains of records that are complete, that begin anew, and that were changed in each way.
func TestVerify(t *testing.T) {
	chain := func(node string, first int64, n int) (rows []auditrow.Row) {
		before := ""
		for i := range n {
			r := auditrow.Row{Time: first + int64(i), Node: node, ID: first + int64(i), Action: "grant", Principal: "ann"}
			r.Chain = r.Link(before)
			before = r.Chain
			rows = append(rows, r)
		}
		return rows
	}
	all := append(chain("(metadata)", 5, 4), chain("n1", 1795907651128064, 5)...)
	change := func(f func([]auditrow.Row) []auditrow.Row) []auditrow.Row {
		return f(append([]auditrow.Row(nil), all...))
	}
	for what, c := range map[string]struct {
		rows  []auditrow.Row
		valid bool
		want  string
	}{
		"complete":     {all, true, "9 records of 2 nodes follow each other"},
		"none":         {nil, true, "0 records of 0 nodes follow each other"},
		"expired":      {all[2:], true, "7 records of 2 nodes follow each other"},
		"a new folder": {append(all[:9:9], chain("n1", 1895907651128064, 2)...), true, "1 times a node began anew"},
		"a changed text": {change(func(r []auditrow.Row) []auditrow.Row {
			r[6].Principal = "bob"
			return r
		}), false, "node n1: record 1795907651128066 does not follow"},
		"a removed record": {
			change(func(r []auditrow.Row) []auditrow.Row { return append(r[:2], r[3:]...) }), false,
			"node (metadata): record 8 does not follow record 6",
		},
		"a changed time": {change(func(r []auditrow.Row) []auditrow.Row {
			r[7].Time++
			return r
		}), false, "node n1: record 1795907651128067"},
	} {
		a := newAsked(t)
		for _, r := range c.rows {
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			a.rows += string(text) + "\n"
		}
		out, _, err := clitest.Execute(t, root(), "", "audit", "verify", "--server", a.URL)
		if (err == nil) != c.valid || !strings.Contains(out, c.want) {
			t.Errorf("%s: %v, output %q, want %q", what, err, out, c.want)
		}
	}
}
