package query

import (
	"context"
	"strings"
	"testing"

	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// TestAccountTexts checks what users are told to write instead, and the warning of a time in the past.
func TestAccountTexts(t *testing.T) {
	root := by("root", access.ReadWrite)
	for _, tt := range []struct{ sql, want string }{
		{"GRANT SELECT ON shop TO bob", "shop is a database, and database public has no table of this name: write shop.* "},
		{"CREATE TOKEN t FOR INGEST INTO shop", "write shop.* "},
		{"CREATE TOKEN t FOR QUERY ON shop", "write shop.* "},
		{"CREATE TOKEN t FOR SELECT ON shop", "write shop.* "},
	} {
		if _, err := newWorld(t).run(root, tt.sql); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.sql, err, tt.want)
		}
	}
	own := with(rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Monitor})
	name := access.From(own).User
	_, err := newWorld(t).run(own, "ALTER USER "+name+" PASSWORD 'another password'")
	if err == nil || !strings.Contains(err.Error(), "ALTER USER CURRENT_USER PASSWORD '…' OLD '…'") {
		t.Errorf("the own password: %v", err)
	}
	for sql, warned := range map[string]bool{
		"CREATE USER x VALID UNTIL '2020-01-01'": true, "CREATE USER x VALID UNTIL '2200-01-01'": false,
		"ALTER USER bob VALID UNTIL '2020-01-01'": true, "ALTER USER bob VALID FOREVER": false,
	} {
		w := newWorld(t)
		parsed, err := statement.Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		var warnings []string
		err = w.Execute(root, Request{Statements: parsed}, func(_ context.Context, r Result) error {
			warnings = append(warnings, r.Warnings...)
			return nil
		})
		if err != nil || (len(warnings) == 1 && strings.Contains(warnings[0], "is in the past")) != warned {
			t.Errorf("%s: %v, %q", sql, err, warnings)
		}
	}
}
