package query

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/access/scram"
)

// fakeUsers has the listed user file and the users of the metadata ann, boss and bob, and the
// roles team and chiefs.
type fakeUsers struct{ principals []*metapb.AccessPrincipal }

func (*fakeUsers) Listed(name string) bool { return name == "file" }

func (u *fakeUsers) Principals() []*metapb.AccessPrincipal {
	if u.principals != nil {
		return u.principals
	}
	return []*metapb.AccessPrincipal{
		{Name: "ann"},
		{Name: "boss", Roles: []string{rights.AdminRole}},
		{Name: "bob"},
		{Name: "team", Role: true},
		{Name: "chiefs", Role: true, Roles: []string{rights.AdminRole}},
	}
}

// StoredTokens has tokens of ann, boss and bob, one that bob has created, and one that has expired.
func (*fakeUsers) StoredTokens() []*metapb.AccessToken {
	scope := []*metapb.AccessGrant{{
		Kind: uint32(rights.Tables), Database: "public", Name: "logs", Privileges: uint32(rights.Select),
	}}
	return []*metapb.AccessToken{
		{Name: "of_ann", Id: "idA", User: "ann", CreatedBy: "boss"},
		{Name: "of_bob", Id: "idB", User: "bob", CreatedBy: "bob"},
		{Name: "of_boss", Id: "idC", User: "boss", CreatedBy: "boss"},
		{Name: "ship", Id: "AbCdEfGhIj", Grants: scope, CreatedBy: "bob"},
		{Name: "expired", Id: "idD", Grants: scope, CreatedBy: "boss", ExpiresUnixNano: 1},
	}
}

func (*fakeUsers) Check(_ context.Context, user, password string, _ netip.Addr) (access.Sender, error) {
	switch password {
	case "old":
	case "too many":
		return access.Sender{}, errs.New(errs.RateLimited, "too many failed sign-ins")
	default:
		return access.Sender{}, errs.New(errs.UserPasswordMismatch, "wrong")
	}
	return access.Sender{User: user}, nil
}

// TestWhoMayManage checks that nobody can grant more than they hold, and that only an administrator can change an
// administrator.
func TestWhoMayManage(t *testing.T) {
	grantable := on(rights.Select, "public", "*")
	grantable.Grantable = rights.Select
	team := with(grantable)
	keeper := with(rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Access})
	for _, tt := range []struct {
		who  context.Context
		sql  string
		code errs.Code
	}{
		{team, "GRANT SELECT ON logs TO bob", 0},
		{team, "REVOKE SELECT ON logs FROM bob", 0},
		{team, "GRANT SELECT ON public.* TO bob WITH GRANT OPTION", 0},
		{team, "GRANT SELECT ON shop.* TO bob", errs.PermissionDenied},
		{team, "GRANT INSERT ON logs TO bob", errs.PermissionDenied},
		{team, "GRANT ALL ON logs TO bob", errs.PermissionDenied},
		{team, "GRANT team TO bob", errs.PermissionDenied},
		{team, "SHOW GRANTS FOR bob", errs.PermissionDenied},
		{team, "CREATE USER x", errs.PermissionDenied},
		{keeper, "GRANT ALL ON *.* TO bob", 0},
		{keeper, "GRANT team TO bob", 0},
		{keeper, "GRANT operator TO bob", errs.PermissionDenied},
		{keeper, "GRANT admin TO bob", errs.PermissionDenied},
		{keeper, "GRANT OPERATE ON CLUSTER TO bob", errs.PermissionDenied},
		{keeper, "ALTER USER boss PASSWORD 'another password'", errs.PermissionDenied},
		{keeper, "DROP USER boss", errs.PermissionDenied},
		{keeper, "GRANT SELECT ON logs TO boss", errs.PermissionDenied},
		{keeper, "REVOKE SELECT ON logs FROM bob, boss", errs.PermissionDenied},
		{keeper, "ALTER USER bob DISABLED", 0},
		{keeper, "GRANT SELECT ON shop TO bob", errs.InvalidArguments},
		{keeper, "GRANT SELECT ON public.shop TO bob", 0},
		{keeper, "GRANT SELECT ON shop.* TO bob", 0},
		{keeper, "REVOKE SELECT ON shop FROM bob", 0},
		{keeper, "REVOKE admin FROM boss", errs.PermissionDenied},
		{keeper, "ALTER ROLE team SET GROUPS ('devs')", 0},
		{keeper, "ALTER ROLE chiefs SET GROUPS ('devs')", errs.PermissionDenied},
		{keeper, "ALTER ROLE chiefs UNSET GROUPS", errs.PermissionDenied},
		{keeper, "ALTER USER boss CERTIFICATE 'x'", errs.PermissionDenied},
		{team, "ALTER ROLE team SET GROUPS ('devs')", errs.PermissionDenied},
		{team, "ALTER USER bob CERTIFICATE 'x'", errs.PermissionDenied},
		{by("root", access.ReadWrite), "GRANT admin TO bob", 0},
		{by("root", access.ReadWrite), "DROP USER boss", 0},
		{by("root", access.ReadWrite), "DROP USER file", errs.InvalidArguments},
		{by("root", access.ReadWrite), "GRANT SELECT ON logs TO file", errs.InvalidArguments},
		{by("root", access.ReadWrite), "CREATE USER x PASSWORD 'short'", errs.InvalidArguments},
		{by("root", access.ReadWrite), "CREATE USER x VALID UNTIL 'tomorrow'", errs.InvalidArguments},
		{team, "ALTER USER CURRENT_USER PASSWORD 'another password' OLD 'old'", 0},
		{team, "ALTER USER CURRENT_USER PASSWORD 'another password' OLD 'wrong'", errs.PermissionDenied},
		{team, "ALTER USER CURRENT_USER PASSWORD 'another password' OLD 'too many'", errs.RateLimited},
		{
			by("root", access.ReadWrite), "CREATE USER x PASSWORD '" + strings.Repeat("p", scram.MaxPassword+1) + "'",
			errs.InvalidArguments,
		},
	} {
		w := newWorld(t)
		_, err := w.run(tt.who, tt.sql)
		if errs.CodeOf(err) != tt.code || (err == nil) != (len(w.meta.proposed) == 1) {
			t.Errorf("%s: %v, %d commands", tt.sql, err, len(w.meta.proposed))
		}
	}
}

// TestCommandOfUser checks that a command has the verifier of the password and never the password, also in the actor's
// statement.
func TestCommandOfUser(t *testing.T) {
	w := newWorld(t)
	const sql = "CREATE USER IF NOT EXISTS x PASSWORD 'correct horse' VALID UNTIL '2030-01-01' DEFAULT DATABASE app"
	if _, err := w.run(by("root", access.ReadWrite), sql, func(r *Request) { r.Texts = []string{sql} }); err != nil {
		t.Fatal(err)
	}
	cmd := w.meta.proposed[0].GetChangeAccess()
	p := cmd.Changes[0].GetCreate().GetPrincipal()
	if !strings.HasPrefix(p.Verifier, "SCRAM-SHA-256$15000:") || p.ValidUntilUnixNano == 0 || p.DefaultDatabase != "app" ||
		strings.Contains(cmd.String(), "correct horse") || cmd.Actor.Principal != "root" {
		t.Error(cmd)
	}
}

// TestGrantsOfPerson checks that a person sees the roles of the groups, and own grants.
func TestGrantsOfPerson(t *testing.T) {
	users := &fakeUsers{principals: []*metapb.AccessPrincipal{
		{Name: "web", Role: true, Groups: []string{"devs", "it's"}},
		{Name: "app", Role: true, Groups: []string{"ops"}},
		{Name: "oidc:ann", Grants: []*metapb.AccessGrant{
			{Kind: uint32(rights.Tables), Database: "app", Name: "t", Privileges: 1},
		}},
	}}
	w := newWorld(t, func(c *Config) { c.Accounts = users })
	ann := &access.Caller{Sender: access.Sender{
		User: "oidc:ann", Proof: "oidc", Grants: rights.NewIndex(nil, []string{rights.AdminRole}),
		Person: &access.Person{Groups: []string{"devs"}},
	}}
	got, err := w.run(access.With(t.Context(), ann), "SHOW GRANTS")
	if err != nil || !strings.Contains(got, `GRANT web TO ""oidc:ann""`) || strings.Contains(got, "GRANT app") ||
		!strings.Contains(got, `GRANT SELECT ON app.t TO ""oidc:ann""`) {
		t.Errorf("%s, %v", got, err)
	}
	got, err = w.run(access.With(t.Context(), ann), "SHOW ROLES")
	if err != nil || !strings.Contains(got, "'devs', 'it''s'") {
		t.Errorf("%s, %v", got, err)
	}
}

// TestShowGrants checks that each grant is shown as the statement that grants it.
func TestShowGrants(t *testing.T) {
	users := &fakeUsers{principals: []*metapb.AccessPrincipal{{
		Name: "ann", Roles: []string{"team"}, Grants: []*metapb.AccessGrant{
			{Kind: uint32(rights.Tables), Database: "app", Name: "l*", Privileges: 3, Grantable: 1},
			{Kind: uint32(rights.Cluster), Privileges: uint32(rights.OfCluster)},
		},
	}}}
	w := newWorld(t, func(c *Config) { c.Accounts = users })
	got, err := w.run(with(), "SHOW GRANTS")
	want := []string{
		"GRANT team TO ann", "GRANT INSERT ON app.l* TO ann\n", "GRANT SELECT ON app.l* TO ann WITH GRANT OPTION",
		"GRANT ALL ON CLUSTER TO ann",
	}
	for _, line := range want {
		if err != nil || !strings.Contains(got, line) {
			t.Errorf("%s is missing: %s, %v", line, got, err)
		}
	}
}

// TestShowAccess checks who has a privilege on a target, and by which grants.
func TestShowAccess(t *testing.T) {
	grant := func(privileges rights.Set, database, name string) *metapb.AccessGrant {
		return &metapb.AccessGrant{
			Kind: uint32(rights.Tables), Database: database, Name: name, Privileges: uint32(privileges),
		}
	}
	users := &fakeUsers{principals: []*metapb.AccessPrincipal{
		{Name: "ann", Roles: []string{"team"}, Grants: []*metapb.AccessGrant{grant(rights.Insert, "public", "l*")}},
		{Name: "boss", Roles: []string{rights.AdminRole}},
		{Name: "eve", Grants: []*metapb.AccessGrant{
			grant(rights.Select, "shop", "*"), {Kind: uint32(rights.Cluster), Privileges: uint32(rights.Audit)},
		}},
		{Name: "team", Role: true, Grants: []*metapb.AccessGrant{grant(rights.Select, "*", "*")}},
	}}
	w := newWorld(t, func(c *Config) { c.Accounts = users })
	keeper := with(rights.Grant{Target: rights.Target{Kind: rights.Cluster}, Privileges: rights.Access})
	for target, want := range map[string][]string{
		"logs": {
			"user ann SELECT, INSERT INSERT ON public.l*; role team", "user boss ALL role admin",
			"role team SELECT SELECT ON *.*", "role admin ALL built in", "role reader SELECT built in",
			"role writer INSERT, CREATE built in", "token ship SELECT SELECT ON public.logs",
		},
		"shop.*": {
			"user ann SELECT role team", "user boss ALL role admin", "user eve SELECT SELECT ON shop.*",
			"role team SELECT SELECT ON *.*", "role admin ALL built in", "role reader SELECT built in",
			"role writer INSERT, CREATE built in",
		},
		"svc_private.audit": {
			"user boss AUDIT role admin", "user eve AUDIT ", "role admin AUDIT built in",
		},
	} {
		_, rows, _, err := w.RunTexts(keeper, "SHOW ACCESS TO "+target)
		var got []string
		for _, row := range rows {
			got = append(got, strings.Join(row, " "))
		}
		if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %v\n%s", target, err, strings.Join(got, "\n"))
		}
	}
	for sql, code := range map[string]errs.Code{
		"SHOW ACCESS TO svc_private.*": errs.InvalidArguments, "SHOW ACCESS TO logs": 0,
	} {
		if _, _, _, err := w.RunTexts(keeper, sql); errs.CodeOf(err) != code {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, _, _, err := w.RunTexts(with(), "SHOW ACCESS TO logs"); errs.CodeOf(err) != errs.PermissionDenied {
		t.Errorf("without ACCESS: %v", err)
	}
}

// TestManyTargetsAndNames checks that repeated names and targets count once, and that a statement with too many of them
// is refused by the router.
func TestManyTargetsAndNames(t *testing.T) {
	list := func(prefix string, n int) string {
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint(prefix, i)
		}
		return strings.Join(names, ", ")
	}
	grantable := on(rights.Select, "public", "*")
	grantable.Grantable = rights.Select
	delegate, root := with(grantable), by("root", access.ReadWrite)
	for _, tt := range []struct {
		who  context.Context
		sql  string
		want string
	}{
		{root, "GRANT SELECT ON " + list("t", 100) + " TO " + list("u", 100), ""},
		{root, "GRANT SELECT ON " + list("t", 101) + " TO " + list("u", 100), "10100 pairs; at most 10000"},
		{root, "REVOKE SELECT ON " + list("t", 101) + " FROM " + list("u", 100), "10100 pairs; at most 10000"},
		{root, "GRANT " + list("r", 101) + " TO " + list("u", 100), "10100 pairs; at most 10000"},
		{root, "GRANT SELECT ON logs, logs TO ann, bob, ann" + strings.Repeat(", bob", 20_000), ""},
		{delegate, "GRANT SELECT ON " + list("t", 100) + " TO ann", ""},
		{delegate, "GRANT SELECT ON " + list("t", 101) + " TO ann", "at most 100 for each"},
		{delegate, "GRANT SELECT ON " + list("t", 51) + " TO " + list("u", 100), "5000 in all"},
		{delegate, "GRANT SELECT ON t TO ann" + strings.Repeat(", ann", 6000), ""},
	} {
		w := newWorld(t)
		_, err := w.run(tt.who, tt.sql)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60s: %v, want %q", tt.sql, err, tt.want)
		}
		if strings.Contains(tt.sql, "logs, logs") {
			changes := w.meta.proposed[0].GetChangeAccess().GetChanges()
			if len(changes) != 1 || strings.Join(changes[0].GetGrant().GetPrincipals(), " ") != "ann bob" {
				t.Errorf("%d changes, %v", len(changes), changes[0])
			}
		}
	}
}
