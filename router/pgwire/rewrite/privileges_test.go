package rewrite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestPrivileges checks which row of the table of privileges the functions read, and which bits of it: in each form of
// their arguments.
func TestPrivileges(t *testing.T) {
	for call, want := range map[string]struct {
		role, kind, key string
		has, grantable  int
	}{
		"has_table_privilege('logs', 'select')":                           {"1", "r", "'268435457'", 1, 0},
		"has_table_privilege(current_user, 268435457, 'select')":          {"1", "r", "CAST(268435457 AS VARCHAR)", 1, 0},
		"pg_catalog.has_table_privilege(77, c.oid, 'update')":             {"77", "r", "CAST(c.oid AS VARCHAR)", 4, 0},
		"has_column_privilege('bob', 'logs', 'ts', 'select')":             {"77", "r", "'268435457'", 1, 0},
		"has_any_column_privilege('public', 'logs', 'REFERENCES')":        {"0", "r", "'268435457'", 32, 0},
		"has_schema_privilege('public', 'usage')":                         {"1", "n", "'public'", 128, 0},
		"has_schema_privilege(n.nspname, 'create')":                       {"1", "n", "CAST(n.nspname AS VARCHAR)", 256, 0},
		"has_database_privilege('mydb', 'connect')":                       {"1", "d", "'mydb'", 512, 0},
		"pg_has_role('bob', 'member')":                                    {"1", "u", "'bob'", 2048, 0},
		"has_table_privilege('public.logs', 'INSERT WITH GRANT OPTION')":  {"1", "r", "'268435457'", 0, 2},
		"has_table_privilege('logs', 'insert, Delete with grant option')": {"1", "r", "'268435457'", 2, 8},
		"has_column_privilege('logs'::regclass, 1::int2, 'select')": {
			"1", "r", "CAST(CAST(268435457 AS BIGINT) AS VARCHAR)", 1, 0,
		},
	} {
		got, err := Rewrite("SELECT "+call, session())
		text := fmt.Sprintf("SELECT (SELECT bool_or((cordwood_d.granted & %d) <> 0 OR (cordwood_d.grantable & %d) <> 0) "+
			"FROM (SELECT * FROM pg_catalog.cordwood_privileges WHERE role IN (%s)) AS cordwood_d WHERE cordwood_d.kind = '%s' "+
			"AND cordwood_d.key = %s)", want.has, want.grantable, want.role, want.kind, want.key)
		if err != nil || got.Text != text {
			t.Errorf("%s: %v\n got %s\nwant %s", call, err, got.Text, text)
		}
	}
}

// TestWrongPrivileges checks the errors for names that do not exist, and answers that need no look-up.
func TestWrongPrivileges(t *testing.T) {
	for call, want := range map[string]string{
		"has_table_privilege('nosuch', 'select')":          `42P01 relation "nosuch" does not exist`,
		"has_table_privilege('logs', 'fly')":               `22023 unrecognized privilege type: "fly"`,
		"has_table_privilege('logs', 'select,')":           `22023 unrecognized privilege type: ""`,
		"has_table_privilege('eve', 'logs', 'select')":     `42704 role "eve" does not exist`,
		"has_schema_privilege('public', 'select')":         `22023 unrecognized privilege type: "select"`,
		"has_column_privilege('logs', 'nosuch', 'select')": `42703 column "nosuch" of relation "logs" does not exist`,
		"has_sequence_privilege('logs', 'usage')":          `42809 "logs" is not a sequence`,
		"has_server_privilege('x', 'usage')":               `42704 server "x" does not exist`,
		"has_language_privilege('sql', 'usage')":           "CASE WHEN ('sql') IS NOT NULL THEN CAST(TRUE AS BOOLEAN) END",
		"has_table_privilege(NULL, 'select')":              nullBool,
		"has_table_privilege('ann', 'logs', NULL)":         nullBool,
		"has_tablespace_privilege('pg_default', 'create')": "CASE WHEN ('pg_default') IS NOT NULL THEN " +
			"CAST(FALSE AS BOOLEAN) END",
		"has_type_privilege('nosuch', 'usage')":                `42704 type "nosuch" does not exist`,
		"has_database_privilege('public', 'connect, nothing')": `22023 unrecognized privilege type: "nothing"`,
	} {
		got, err := Rewrite("SELECT "+call, session())
		text := strings.TrimPrefix(got.Text, "SELECT ")
		if e := (*Error)(nil); errors.As(err, &e) {
			text = e.State + " " + e.Text
		}
		if text != want {
			t.Errorf("%s\n got %s\nwant %s", call, text, want)
		}
	}
}
