package declared

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// TestPlan checks the statements that turn one file into another.
func TestPlan(t *testing.T) {
	const all = "users: {ann: {roles: [web], grants: ['SELECT, INSERT ON app.*', USE ON PIPELINE svc_identity]}, " +
		"bob: {}}\nroles: {web: {groups: [b, a]}}\nquotas: {app: {tables: 10, stored_bytes: 2GiB}}"
	grants := func(list string) string { return "users: {a: {grants: [" + list + "]}}" }
	for _, tt := range []struct {
		name, have, want string
		statements       []string
	}{
		{"nothing to do", all, all, nil},
		{"other forms of the same", all, strings.NewReplacer(
			"SELECT, INSERT ON", "insert, select ON", "2GiB", "2147483648", "[b, a]", "[a, b]",
		).Replace(all), nil},
		{"what is not mentioned remains", all, "roles: {web: {groups: [a, b]}}", nil},
		{"everything is new", "users: {}", all, []string{
			"CREATE ROLE web", "CREATE USER ann", "CREATE USER bob", "ALTER ROLE web SET GROUPS ('a', 'b')",
			"GRANT web TO ann", "GRANT SELECT, INSERT ON app.* TO ann", "GRANT USE ON PIPELINE svc_identity TO ann",
			"ALTER DATABASE app SET 'quota.stored_bytes' = '2147483648', 'quota.tables' = '10'",
		}},
		{"nothing remains", all, "{users: {}, roles: {}, quotas: {}}", []string{
			"DROP ROLE web", "DROP USER ann", "DROP USER bob",
			"ALTER DATABASE app UNSET 'quota.stored_bytes', 'quota.tables'",
		}},
		{
			"options", "users: {a.b: {disabled: true, certificate: x, valid_until: '2030-01-01T00:00:00Z'}}",
			"users: {a.b: {certificate: it's, database: app}}",
			[]string{`ALTER USER "a.b" VALID FOREVER CERTIFICATE 'it''s' DEFAULT DATABASE app ENABLED`},
		},
		{
			"a part of a wide grant", grants("SELECT ON app.*"), grants("SELECT ON app.web"),
			[]string{"REVOKE SELECT ON app.* FROM a", "GRANT SELECT ON app.web TO a"},
		},
		{
			"a wide grant beside a narrow one that stays", grants("SELECT ON app.*, 'SELECT, INSERT ON app.web'"),
			grants("'SELECT, INSERT ON app.web'"),
			[]string{"REVOKE SELECT ON app.* FROM a", "GRANT SELECT ON app.web TO a"},
		},
		{
			"a narrow grant in a wide one", grants("SELECT ON app.*, 'SELECT, INSERT ON app.web'"),
			grants("SELECT ON app.*"),
			[]string{"REVOKE INSERT ON app.web FROM a"},
		},
		{
			"both are gone", grants("SELECT ON *.*, SELECT ON app.*, SELECT ON app.web"), "users: {a: {}}",
			[]string{"REVOKE SELECT ON *.* FROM a"},
		},
		{
			"the option", grants("SELECT ON app.* WITH GRANT OPTION"), grants("SELECT ON app.*"),
			[]string{"REVOKE GRANT OPTION FOR SELECT ON app.* FROM a"},
		},
		{
			"with the option", grants("SELECT ON app.*"), grants("ALL ON app.* with grant option"),
			[]string{"GRANT ALL ON app.* TO a WITH GRANT OPTION"},
		},
		{
			"a role instead of another", "users: {a: {roles: [x]}}", "users: {a: {roles: [admin, y]}}",
			[]string{"REVOKE x FROM a", "GRANT admin TO a", "GRANT y TO a"},
		},
	} {
		have, err := Parse([]byte(tt.have))
		want, bad := Parse([]byte(tt.want))
		if err != nil || bad != nil {
			t.Fatalf("%s: %v, %v", tt.name, err, bad)
		}
		for _, r := range have.Roles { // as Of has them
			slices.Sort(r.Groups)
		}
		if b, ok := have.Quotas["app"]; ok {
			b["stored_bytes"] = "2147483648"
		}
		got, err := Plan(have, want)
		if err != nil || !slices.Equal(got, tt.statements) {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

// TestOf checks that stored users and roles have the form of a file, which Parse reads, and that it needs no changes.
func TestOf(t *testing.T) {
	tables := uint32(rights.Tables)
	s := Of([]*metapb.AccessPrincipal{
		{
			Name: "a.b", Roles: []string{"web", "admin"}, Verifier: "SCRAM-SHA-256$secret", Disabled: true,
			ValidUntilUnixNano: 1893456000e9, DefaultDatabase: "app", Grants: []*metapb.AccessGrant{
				{Kind: tables, Database: "app", Name: "we*", Privileges: uint32(rights.Select), GrantedBy: "x"},
				{Kind: tables, Database: "app", Name: "we*", Privileges: uint32(rights.Insert), Grantable: uint32(rights.Insert)},
				{Kind: tables, Database: `q"x`, Name: "y", Privileges: uint32(rights.Drop)},
				{Kind: uint32(rights.Cluster), Privileges: uint32(rights.Monitor)},
			},
		},
		{Name: "web", Role: true, Groups: []string{"it's"}},
	})
	text, err := json.Marshal(s)
	const want = `{"users":{"a.b":{"roles":["admin","web"],"grants":["DROP ON \"q\"\"x\".y",` +
		`"SELECT ON app.we*","INSERT ON app.we* WITH GRANT OPTION","MONITOR ON CLUSTER"],"disabled":true,` +
		`"valid_until":"2030-01-01T00:00:00Z","database":"app"}},"roles":{"web":{"groups":["it's"]}}}`
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v", text, err)
	}
	again, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := Plan(s, again); err != nil || len(plan) > 0 {
		t.Errorf("%q, %v", plan, err)
	}
}

// TestFaults checks that faults in files are refused, and named.
func TestFaults(t *testing.T) {
	for file, want := range map[string]string{
		"":                                      "no document",
		"{}":                                    "none of the keys",
		"people: {}":                            "people",
		"users: {a: {groups: [x]}}":             "groups",
		"roles: {a: {disabled: true}}":          "disabled",
		"users: {a: {}, a: {}}":                 "twice",
		"users: [a]":                            "expected a map",
		"users: {a: {grants: SELECT}}":          "expected a list",
		"quotas: {app: {rows: [1]}}":            "expected a single value",
		"quotas: {app: {fuel: 1}}":              "fuel",
		"quotas: {app: {tables: many}}":         "many",
		"users: {a: {grants: [FLY ON x.y]}}":    "FLY",
		"users: {a: {grants: [SELECT ON web]}}": "public.web",
		"users: {a: {grants: [reader]}}":        "privileges and targets",
		"users: {a: {grants: ['SELECT ON a.b TO y, x']}}":         "",
		"users: {a: {grants: ['SELECT ON a.b TO x; DROP USER']}}": "",
		"users: {a: {grants: [MONITOR ON a.b]}}":                  "the privileges on it are",
	} {
		s, err := Parse([]byte(file))
		if err == nil {
			_, err = Plan(&State{}, s)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
}
