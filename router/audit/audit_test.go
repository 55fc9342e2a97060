package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/router/access"
)

// record logs a change and returns its line.
func record(t *testing.T, c Change) map[string]any {
	t.Helper()
	var out bytes.Buffer
	New(slog.New(slog.NewJSONHandler(&out, nil)), nil).Record(t.Context(), c)
	if strings.Count(out.String(), "\n") != 1 {
		t.Fatalf("not one line: %s", &out)
	}
	line := map[string]any{}
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	return line
}

var ann = &access.Caller{
	Sender:  access.Sender{User: "ann\n\"x", Right: access.ReadWrite, Proof: "password"},
	Address: netip.MustParseAddr("192.0.2.7"), RequestID: "r1",
}

func TestRecord(t *testing.T) {
	need := access.Need{
		Privilege: access.Drop,
		Action:    "drop table",
		Object:    access.Object{Kind: access.Table, Database: "d", Name: "t\nlevel=ERROR"},
	}
	for outcome, err := range map[string]error{
		"ok": nil, "refused": errs.New(errs.PermissionDenied, "no\nnever"), "failed": errors.New("disk"),
	} {
		line := record(t, Change{By: ann, Need: need, Statement: "DROP TABLE t", Message: "m", Err: err})
		want := map[string]any{
			"level": "INFO", "msg": "change", "principal": "ann\n\"x", "auth": "password", "address": "192.0.2.7",
			"action":      "drop table",
			"object_kind": "table", "database": "d", "object": "t\nlevel=ERROR", "statement": "DROP TABLE t", "outcome": outcome,
			"code": float64(errs.CodeOf(err)), "message": "m", "request_id": "r1",
		}
		if err != nil {
			want["message"] = err.Error()
		}
		delete(line, "time")
		for k, v := range want {
			if line[k] != v {
				t.Errorf("%s: %s is %q, want %q", outcome, k, line[k], v)
			}
		}
		if len(line) != len(want) {
			t.Errorf("%s: %v", outcome, line)
		}
	}
	New(nil, nil).Record(t.Context(), Change{By: ann})
}

func TestStatementIsBounded(t *testing.T) {
	line := record(t, Change{
		By:        ann,
		Statement: strings.Repeat("é", maxStatement),
		Err:       errors.New(strings.Repeat("é", maxMessage)),
	})
	for key, most := range map[string]int{"statement": maxStatement, "message": maxMessage} {
		text := line[key].(string)
		if len(text) > most || len(text) < most-8 || !utf8.ValidString(text) || !strings.HasSuffix(text, "…") {
			t.Errorf("%s has %d bytes", key, len(text))
		}
	}
}

func TestSecretsAreCutOut(t *testing.T) {
	for in, want := range map[string]string{
		"CREATE USER u PASSWORD 'se''cret' VALID UNTIL 'x'": "CREATE USER u PASSWORD '…' VALID UNTIL 'x'",
		"alter user u password = 'secret'":                  "alter user u password = '…'",
		"ALTER USER CURRENT_USER PASSWORD 'new' OLD 'old'":  "ALTER USER CURRENT_USER PASSWORD '…' OLD '…'",
		"CREATE USER u PASSWORD 'cut off":                   "CREATE USER u PASSWORD '…'",
		"ALTER TABLE t SET 'secret_key'='x'":                "ALTER TABLE t SET 'secret_key'='…'",
		"CREATE USER u PASSWORD /* it's */ 'secret'":        "CREATE USER u PASSWORD '…'",
		"CREATE USER u PASSWORD\v'secret'":                  "CREATE USER u PASSWORD '…'",
		"DROP TABLE passwords":                              "DROP TABLE passwords",
		"DELETE FROM t WHERE user = 'ann'":                  "DELETE FROM t WHERE user = 'ann'",
		strings.Repeat("a", maxStatement-20) + " PASSWORD 'secretsecretse'": strings.Repeat("a", maxStatement-20) +
			" PASSWORD '…'",
	} {
		if got := record(t, Change{By: ann, Statement: in})["statement"]; got != want {
			t.Errorf("%s: %s", strings.TrimSpace(in), strings.TrimSpace(got.(string)))
		}
	}
}

// TestBeginNamesIssuer checks that the commands of a change say who makes it and what it needs, also if records are
// not stored.
func TestBeginNamesIssuer(t *testing.T) {
	by := &access.Caller{Sender: access.Sender{User: "ann", Grants: rights.NewIndex(nil, nil)}}
	ctx := New(nil, nil).Begin(t.Context(), func() Change {
		return Change{By: by, Need: access.Need{
			Privilege: access.Drop, Object: access.Object{Kind: access.Table, Database: "d", Name: "t"},
		}}
	})
	got := metaclient.AuditedOf(ctx).Issuer()
	if got.GetPrincipal() != "ann" || len(got.GetNeeds()) != 1 || got.Needs[0].Name != "t" {
		t.Error(got)
	}
}
