package statement

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cordwood/proto/rights"
)

func tables(database, name string) rights.Target {
	return rights.Target{Kind: rights.Tables, Database: database, Name: name}
}

func target(database, name string) *rights.Target {
	t := tables(database, name)
	return &t
}

func TestParseAccess(t *testing.T) {
	yes, no, p, until, forever, dotted := true, false, "it's", "2030-01-01", "", "a.b"
	for sql, want := range map[string]Statement{
		"CREATE USER IF NOT EXISTS ann PASSWORD 'it''s' VALID UNTIL '2030-01-01' DISABLED": &CreateUser{
			Name: "ann", IfNotExists: true, UserOptions: UserOptions{Password: &p, ValidUntil: &until, Disabled: &yes},
		},
		`create user "a@b" with password 'it''s'`: &CreateUser{Name: "a@b", UserOptions: UserOptions{Password: &p}},
		"ALTER USER ann ENABLED VALID FOREVER": &AlterUser{
			Name: "ann", UserOptions: UserOptions{Disabled: &no, ValidUntil: &forever},
		},
		"ALTER USER CURRENT_USER PASSWORD 'it''s' OLD 'x'": &AlterUser{
			Own: true, Old: "x", UserOptions: UserOptions{Password: &p},
		},
		"CREATE USER ann CERTIFICATE 'it''s' DISABLED": &CreateUser{
			Name: "ann", UserOptions: UserOptions{Certificate: &p, Disabled: &yes},
		},
		"ALTER USER ann NO CERTIFICATE": &AlterUser{
			Name: "ann", UserOptions: UserOptions{Certificate: &forever},
		},
		`ALTER USER ann DEFAULT DATABASE "a.b" ENABLED`: &AlterUser{
			Name: "ann", UserOptions: UserOptions{Database: &dotted, Disabled: &no},
		},
		"CREATE USER ann NO DEFAULT DATABASE":         &CreateUser{Name: "ann", UserOptions: UserOptions{Database: &forever}},
		"ALTER ROLE team SET GROUPS ('a b', 'it''s')": &AlterRole{Name: "team", Groups: []string{"a b", "it's"}},
		`ALTER ROLE "a.b" UNSET GROUPS`:               &AlterRole{Name: "a.b"},
		"CREATE ROLE team":                            &CreateRole{Name: "team"},
		"DROP ROLE IF EXISTS team":                    &DropPrincipal{Name: "team", Role: true, IfExists: true},
		"SHOW ACCESS TO app.l_* LIMIT 5 OFFSET 1": &ShowAccess{
			Target: tables("app", "l_*"), Page: Page{Limit: 5, Limited: true, Offset: 1},
		},
		"show access to PIPELINE nginx": &ShowAccess{
			Target: rights.Target{Kind: rights.Pipelines, Name: "nginx"},
		},
		"DROP USER ann": &DropPrincipal{Name: "ann"},
		"GRANT reader, team TO a, b": &GrantRole{
			Roles: []string{"reader", "team"}, Names: []string{"a", "b"},
		},
		"REVOKE team FROM a": &GrantRole{
			Revoke: true, Roles: []string{"team"}, Names: []string{"a"},
		},
		"GRANT SELECT, insert ON logs, app.logs_*, *.*, TABLE app.t, DATABASE team_* TO ann WITH GRANT OPTION": &Grant{
			Privileges: rights.Select | rights.Insert, Option: true, Names: []string{"ann"},
			Targets: []rights.Target{
				tables("", "logs"), tables("app", "logs_*"), tables("*", "*"), tables("app", "t"), tables("team_*", "*"),
			},
		},
		"GRANT ALL PRIVILEGES ON PIPELINE nginx*, CLUSTER TO ann": &Grant{
			Names:   []string{"ann"},
			Targets: []rights.Target{{Kind: rights.Pipelines, Name: "nginx*"}, {Kind: rights.Cluster}},
		},
		"REVOKE GRANT OPTION FOR USE ON PIPELINE p FROM ann CASCADE": &Grant{
			Revoke: true, Option: true, Cascade: true, Privileges: rights.Use, Names: []string{"ann"},
			Targets: []rights.Target{{Kind: rights.Pipelines, Name: "p"}},
		},
		// Names that are also keywords.
		"GRANT SELECT ON cluster.x TO ann": &Grant{
			Privileges: rights.Select, Names: []string{"ann"}, Targets: []rights.Target{tables("cluster", "x")},
		},
		"GRANT SELECT ON pipeline TO ann": &Grant{
			Privileges: rights.Select, Names: []string{"ann"}, Targets: []rights.Target{tables("", "pipeline")},
		},
		"SHOW USERS LIKE 'a%' LIMIT 2": &ShowPrincipals{
			Like: func() *string { s := "a%"; return &s }(), Page: Page{Limit: 2, Limited: true},
		},
		"CREATE TOKEN t FOR INGEST INTO app.nginx* PIPELINE pl FROM '192.0.2.0/24', '::1' EXPIRES IN '90d' " +
			"NOTE 'n'": &CreateToken{
			Name: "t", Scope: TokenScope{Ingest: target("app", "nginx*")}, Pipeline: "pl", TokenOptions: TokenOptions{
				From: []string{"192.0.2.0/24", "::1"}, HasFrom: true, Expires: &Expiry{In: "90d"}, Note: ptr("n"),
			},
		},
		"CREATE TOKEN t FOR QUERY ON logs EXPIRES '2030-01-01'": &CreateToken{
			Name: "t", Scope: TokenScope{Query: target("", "logs")}, TokenOptions: TokenOptions{
				Expires: &Expiry{At: "2030-01-01"},
			},
		},
		"CREATE TOKEN t FOR USER ann EXPIRES NEVER": &CreateToken{
			Name: "t", Scope: TokenScope{User: "ann"}, TokenOptions: TokenOptions{Expires: &Expiry{}},
		},
		"CREATE TOKEN t FOR SELECT, INSERT ON a, b.c, USE ON PIPELINE p, ALL ON CLUSTER": &CreateToken{
			Name: "t", Scope: TokenScope{Grants: []TokenGrant{
				{rights.Select | rights.Insert, []rights.Target{tables("", "a"), tables("b", "c")}},
				{rights.Use, []rights.Target{{Kind: rights.Pipelines, Name: "p"}}},
				{0, []rights.Target{{Kind: rights.Cluster}}},
			}},
		},
		// Names that are also privileges.
		"CREATE TOKEN t FOR SELECT ON a, insert": &CreateToken{
			Name: "t", Scope: TokenScope{Grants: []TokenGrant{
				{rights.Select, []rights.Target{tables("", "a"), tables("", "insert")}},
			}},
		},
		"ALTER TOKEN t ROTATE OVERLAP '1h'": &AlterToken{Name: "t", Rotate: true, Overlap: "1h"},
		"ALTER TOKEN t SET FROM ANYWHERE":   &AlterToken{Name: "t", TokenOptions: TokenOptions{HasFrom: true}},
		"DROP TOKEN IF EXISTS t":            &DropToken{Name: "t", IfExists: true},
		"SHOW TOKENS LIMIT 1":               &ShowTokens{Page: Page{Limit: 1, Limited: true}},

		"SHOW ROLES":          &ShowPrincipals{Role: true},
		"SHOW GRANTS":         &ShowGrants{},
		"SHOW GRANTS FOR ann": &ShowGrants{Name: "ann"},
	} {
		got, err := Parse(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if diff := cmp.Diff(want, got[0]); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", sql, diff)
		}
	}
	for _, sql := range []string{
		"ALTER ROLE team", "ALTER ROLE team SET GROUPS", "ALTER ROLE team SET GROUPS ()", "ALTER ROLE team SET GROUPS 'a'",
		"ALTER ROLE team SET GROUPS (a)", "ALTER USER a NO", "CREATE USER a CERTIFICATE",
		"SHOW ACCESS", "SHOW ACCESS TO", "SHOW ACCESS TO app.x y", "SHOW FULL ACCESS TO x",
		"ALTER USER a DEFAULT", "ALTER USER a DEFAULT DATABASE", "ALTER USER a DEFAULT DATABASE 'x'",
		"ALTER USER a NO DATABASE",
		"ALTER USER a DEFAULT DATABASE x NO DEFAULT DATABASE", "CREATE USER a CERTIFICATE b",
		"CREATE USER", "CREATE USER a PASSWORD", "CREATE USER a PASSWORD 'x' PASSWORD 'y'", "CREATE USER a PASSWORD e'x'",
		"CREATE USER a PASSWORD $$x$$", "ALTER USER a", "ALTER USER CURRENT_USER PASSWORD 'x'", "GRANT SELECT ON t",
		"GRANT SELECT TO ann", "GRANT FLY ON t TO ann", "GRANT SELECT (c) ON t TO ann", "GRANT SELECT ON t * TO ann",
		"REVOKE team TO ann", "GRANT team TO ann WITH GRANT OPTION", "SHOW GRANTS FOR", "DROP USER a, b",
		"GRANT SELECT ON a.b.c TO ann", "GRANT ALL ON t TO ann CASCADE",
	} {
		if got, err := Parse(sql); err == nil {
			t.Errorf("%s is parsed as %#v", sql, got[0])
		}
	}
}

// TestAccessAdvice checks that errors say how to write a statement.
func TestAccessAdvice(t *testing.T) {
	for sql, want := range map[string]string{
		`CREATE USER ann PASSWORD "secret of ann"`:  "a password in single quotes",
		"CREATE USER web1.example.com PASSWORD 'x'": `in double quotes, as in "web1.example.com"`,
		"CREATE USER oidc:bob":                      `in double quotes, as in "oidc:bob"`,
		"GRANT SELECT ON t TO ann@example.com, bob": `in double quotes, as in "ann@example.com"`,
		"DROP USER web-1":                           `in double quotes, as in "web-1"`,
		"GRANT OPERATE TO rita":                     "such as ON CLUSTER",
		"REVOKE SELECT FROM rita":                   "such as ON app.*",
	} {
		if _, err := Parse(sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
	for _, sql := range []string{"GRANT SELECT ON t TO ann-- a comment", "CREATE USER ann;", "DROP USER ann"} {
		if _, err := Parse(sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestNoPasswordsInErrors checks that a syntax error does not repeat a part of a password.
func TestNoPasswordsInErrors(t *testing.T) {
	for _, sql := range []string{
		"CREATE USER ann PASSWORD hush", `CREATE USER ann PASSWORD "hush"`, "CREATE USER ann PASSWORD $$hush$$",
		"CREATE USER ann PASSWORD = 'hush'", "CREATE USER ann PASSWORD 'it' 'hush'", "CREATE USER ann PASSWORD 'it'hush",
		"ALTER USER ann PASSWORD `hush`", "ALTER USER CURRENT_USER PASSWORD 'new' 'hush'",
		"ALTER USER CURRENT_USER PASSWORD 'new' OLD hush", "ALTER USER CURRENT_USER PASSWORD 'new' OLD 'it' hush",
	} {
		_, err := Parse(sql)
		if err == nil || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "column") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
