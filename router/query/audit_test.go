package query

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/query/statement"
)

// changeLines returns the lines for changes in a log, without members that do not concern them.
func changeLines(t *testing.T, log *bytes.Buffer) (lines []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(log.Bytes()) {
		m := map[string]any{}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		if m["msg"] == "change" {
			lines = append(lines, m)
		}
	}
	return lines
}

// notAudited has the statements that are not recorded, with the reason.
var notAudited = map[string]string{
	"Query": "reads", "Insert": "ingestion", "SetTimeZone": "changes the session only",
	"ShowDatabases": "reads", "ShowTables": "reads", "ShowQuotas": "reads", "ShowCreateDatabase": "reads",
	"ShowCreateTable": "reads", "Describe": "reads", "DescribeQuery": "reads", "ShowPrincipals": "reads",
	"ShowTokens": "reads", "ShowGrants": "reads", "ShowAccess": "reads",
}

// TestEveryStatementHasAnAuditDecision fails for a type of statement that is neither recorded nor in notAudited.
func TestEveryStatementHasAnAuditDecision(t *testing.T) {
	for typ, k := range kinds {
		reason, listed := notAudited[typ.Elem().Name()]
		if k.Changes == listed || listed && reason == "" {
			t.Errorf("%s: changes is %t, and the reason not to record it is %q: decide whether it is recorded",
				typ.Elem().Name(), k.Changes, reason)
		}
		delete(notAudited, typ.Elem().Name())
	}
	for name := range notAudited {
		t.Errorf("%s is no statement", name)
	}
}

// TestChangesAreAudited runs every kind of statement as a user who may, as a user who may not, and while the
// metadata fails. Each statement that changes something is logged in one line, and others are not logged.
func TestChangesAreAudited(t *testing.T) {
	objects := map[string][2]string{
		"CreateDatabase": {"d", ""}, "AlterDatabase": {"shop", ""}, "DropDatabase": {"shop", ""},
		"CreateTable": {"public", "n"},
		"AlterTable":  {"public", "logs"}, "DropTable": {"public", "logs"}, "TruncateTable": {"public", "logs"},
		"Delete": {"public", "logs"}, "CreateUser": {"", "bob"}, "AlterUser": {"", "bob"}, "CreateRole": {"", "team"},
		"AlterRole":     {"", "web"},
		"DropPrincipal": {"", "bob"}, "Grant": {"", "bob"}, "GrantRole": {"", "bob"},
		"CreateToken": {"", "tk"}, "AlterToken": {"", "ship"}, "DropToken": {"", "ship"},
		"Kill": {"", ""},
	}
	for kind, text := range everyKind {
		for _, right := range []access.Right{access.ReadWrite, access.ReadOnly} {
			var log bytes.Buffer
			w := newWorld(t, func(c *Config) { c.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
			ctx := access.With(t.Context(), &access.Caller{
				Sender: access.Sender{User: "ann", Right: right, Proof: "password"}, Address: netip.MustParseAddr("192.0.2.7"),
				RequestID: "r1",
			})
			_, err := w.run(ctx, text, func(r *Request) { r.Texts = statement.Texts(text) })
			lines := changeLines(t, &log)
			object, changes := objects[kind]
			if !changes {
				if len(lines) > 0 {
					t.Errorf("%s as %s is logged: %v", text, right, lines)
				}
				continue
			}
			outcome, code := "ok", float64(0)
			switch {
			case kind == "Kill":
				outcome, code = "failed", float64(errs.InvalidArguments) // no query has this id
			case right == access.ReadOnly && (kind == "AlterToken" || kind == "DropToken"):
				outcome, code = "failed", float64(errs.InvalidArguments) // tokens of others do not exist
			case right == access.ReadOnly:
				outcome, code = "refused", 7006
			case err != nil:
				outcome, code = "failed", 1001 // DELETE from a table that keeps every row
			}
			if len(lines) != 1 {
				t.Errorf("%s as %s: %d lines", text, right, len(lines))
				continue
			}
			for key, want := range map[string]any{
				"principal": "ann", "auth": "password", "address": "192.0.2.7", "request_id": "r1",
				"statement": strings.NewReplacer("a long password", "…", "_secret", "_…").Replace(text),
				"database":  object[0], "object": object[1], "outcome": outcome, "code": code,
			} {
				if lines[0][key] != want {
					t.Errorf("%s as %s: %s is %v, want %v", text, right, key, lines[0][key], want)
				}
			}
		}
	}
}

// TestEachStatementIsAudited checks that each statement of a text is logged in a separate line with its own text.
func TestEachStatementIsAudited(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, func(c *Config) { c.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
	text := "CREATE DATABASE a; SELECT 1; DROP TABLE nope; DROP DATABASE b"
	if _, err := w.run(t.Context(), text, func(r *Request) { r.Texts = statement.Texts(text) }); err == nil {
		t.Fatal("there is no table nope")
	}
	lines := changeLines(t, &log)
	if len(lines) != 2 || lines[0]["statement"] != "CREATE DATABASE a" || lines[0]["outcome"] != "ok" ||
		lines[1]["statement"] != "DROP TABLE nope" || lines[1]["outcome"] != "failed" || lines[1]["code"] != float64(4001) {
		t.Errorf("%v", lines)
	}
}

// entries counts the entries of a log of changes.
type entries int

func (n *entries) Add(audit.Entry) { *n++ }

// TestAttemptsWithoutEffectAreCounted repeats statements that change nothing: the records are bounded.
func TestAttemptsWithoutEffectAreCounted(t *testing.T) {
	for _, text := range []string{
		"DROP TOKEN gone", "DROP TOKEN IF EXISTS gone", "DROP TABLE IF EXISTS gone", "DROP TABLE gone",
	} {
		var sink entries
		changes := audit.New(nil, &sink)
		w := newWorld(t, func(c *Config) { c.Changes = changes })
		for range 1000 {
			_, _ = w.run(t.Context(), text, func(r *Request) { r.Texts = statement.Texts(text) })
		}
		changes.Flush(true)
		if sink != 101 {
			t.Errorf("%s: %d records, want 100 and the number of the others", text, sink)
		}
	}
}

// TestNothingIsHiddenInAudit writes statements whose long comments, repeated names or long lists would keep out of a
// shortened record what they change. Their records have all of it, or they are refused.
func TestNothingIsHiddenInAudit(t *testing.T) {
	long := "/* " + strings.Repeat("x", 20_000) + " */"
	many := "bob"
	for i := range 800 {
		many += ", user_" + strconv.Itoa(i)
	}
	for _, tt := range []struct{ sql, want, fault string }{
		{"GRANT " + long + " admin TO bob" + strings.Repeat(",bob", 5000), "", "longer than 16384 bytes"},
		{"GRANT " + long + " admin TO bob" + strings.Repeat(",bob", 60) + ",evil", ",bob,evil", ""},
		{"GRANT SELECT ON logs TO " + many + ", evil", ", evil", ""},
		{"GRANT SELECT ON logs TO " + many + ", " + many + ", " + many + ", evil", "", "longer than 16384 bytes"},
		{"CREATE TOKEN hid FOR " + long + " ALL ON *.*", "FOR ALL ON *.*", ""},
		{"ALTER TABLE " + long + " logs SET 'ttl'='30d'", "ALTER TABLE logs SET 'ttl'='30d'", ""},
		{"ALTER TABLE logs SET 'comment'='" + strings.Repeat("x", 20_000) + "', 'ttl'='1h'", "", "longer than 16384 bytes"},
		{"DELETE FROM logs WHERE msg IN ('" + strings.Repeat("x", 20_000) + "')", "DELETE FROM logs", ""},
	} {
		var log bytes.Buffer
		w := newWorld(t, func(c *Config) { c.Logger = slog.New(slog.NewJSONHandler(&log, nil)) })
		_, err := w.run(by("root", access.ReadWrite), tt.sql, func(r *Request) { r.Texts = statement.Texts(tt.sql) })
		lines := changeLines(t, &log)
		if len(lines) != 1 {
			t.Fatalf("%.40s: %d lines", tt.sql, len(lines))
		}
		got := lines[0]["statement"].(string)
		switch {
		case tt.fault != "":
			if err == nil || !strings.Contains(err.Error(), tt.fault) || len(w.meta.proposed) > 0 {
				t.Errorf("%.40s: %v, %d commands", tt.sql, err, len(w.meta.proposed))
			}
		case err != nil && errs.CodeOf(err) == errs.InvalidArguments, !strings.Contains(got, tt.want):
			t.Errorf("%.40s: %v, recorded %.100s", tt.sql, err, got)
		}
	}
}
