package meta

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// accessCommand returns a command with changes.
func accessCommand(actor string, changes ...*metapb.AccessChange) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_ChangeAccess{ChangeAccess: &metapb.ChangeAccess{
		Actor: &metapb.AccessActor{Principal: actor}, Changes: changes,
	}}}
}

// createOne creates a role, or a user with a password.
func createOne(name string, role bool) *metapb.AccessChange {
	p := &metapb.AccessPrincipal{Name: name, Role: role}
	if !role {
		p.Verifier = "v"
	}
	return &metapb.AccessChange{Change: &metapb.AccessChange_Create{Create: &metapb.CreatePrincipal{Principal: p}}}
}

func createWithoutPassword(name string) *metapb.AccessChange {
	c := createOne(name, false)
	c.GetCreate().Principal.Verifier = ""
	return c
}

func expire(name string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_Alter{
		Alter: &metapb.AlterUser{Name: name, ValidUntilUnixNano: proto.Int64(1 << 60)},
	}}
}

func roleFrom(role string, names ...string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_RevokeRole{
		RevokeRole: &metapb.ChangeRole{Roles: []string{role}, Principals: names},
	}}
}

func onCluster(privileges rights.Set) *metapb.AccessGrant {
	return &metapb.AccessGrant{Kind: uint32(rights.Cluster), Privileges: uint32(privileges)}
}

func accessGrant(privileges, grantable rights.Set, database, name string) *metapb.AccessGrant {
	return &metapb.AccessGrant{
		Kind: uint32(rights.Tables), Database: database, Name: name, Privileges: uint32(privileges),
		Grantable: uint32(grantable),
	}
}

func grantTo(g *metapb.AccessGrant, names ...string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_Grant{
		Grant: &metapb.ChangeGrant{Principals: names, Grant: g},
	}}
}

func revokeFrom(g *metapb.AccessGrant, cascade bool, names ...string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_Revoke{
		Revoke: &metapb.ChangeGrant{Principals: names, Grant: g, Cascade: cascade},
	}}
}

func roleTo(role string, names ...string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_GrantRole{
		GrantRole: &metapb.ChangeRole{Roles: []string{role}, Principals: names},
	}}
}

func dropOne(name string, role bool) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_Drop{Drop: &metapb.DropPrincipal{Name: name, Role: role}}}
}

func disable(name string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_Alter{
		Alter: &metapb.AlterUser{Name: name, Disabled: proto.Bool(true)},
	}}
}

func groupsOf(role string, groups ...string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_AlterRole{
		AlterRole: &metapb.AlterRole{Name: role, Groups: groups},
	}}
}

func databaseOf(name, database string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_Alter{
		Alter: &metapb.AlterUser{Name: name, DefaultDatabase: &database},
	}}
}

func certificateOf(name, certificate string) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_Alter{
		Alter: &metapb.AlterUser{Name: name, Certificate: &certificate},
	}}
}

func bootstrap(name string) *metapb.AccessChange {
	c := createOne(name, false)
	c.GetCreate().Bootstrap = true
	return c
}

// TestChangeAccess makes changes one after another, and checks which are refused.
func TestChangeAccess(t *testing.T) {
	all := rights.Select | rights.Insert
	for _, tt := range []struct {
		name  string
		steps []*metapb.Command
		fault string // of the last step
	}{
		{"a name for a user and a role", []*metapb.Command{
			accessCommand("r", createOne("a", false)), accessCommand("r", createOne("a", true)),
		}, `There is a user "a" already`},
		{"all or nothing", []*metapb.Command{
			accessCommand("r", createOne("a", false), grantTo(accessGrant(all, 0, "d", "t"), "b")),
		}, `There is no user or role "b"`},
		{"a part of a grant", []*metapb.Command{
			accessCommand("r", createOne("a", false), grantTo(accessGrant(all, 0, "d", "*"), "a")),
			accessCommand("r", revokeFrom(accessGrant(rights.Select, 0, "d", "t"), false, "a")),
		}, "a has SELECT, INSERT on d.*: a part of a grant cannot be revoked"},
		{"a wider revocation", []*metapb.Command{
			accessCommand("r", createOne("a", false), grantTo(accessGrant(all, 0, "d", "t"), "a")),
			accessCommand("r", revokeFrom(accessGrant(rights.Select, 0, "*", "*"), false, "a")),
		}, ""},
		{"the last administrator is disabled", []*metapb.Command{
			accessCommand("a", bootstrap("a")), accessCommand("r", disable("a")),
		}, "no administrator who can sign in"},
		{"the last administrator is dropped", []*metapb.Command{
			accessCommand("a", bootstrap("a"), createOne("b", false), roleTo(rights.AdminRole, "b")),
			accessCommand("r", dropOne("a", false)), accessCommand("r", dropOne("b", false)),
		}, "no administrator who can sign in"},
		{"the last administrator who can sign in", []*metapb.Command{
			accessCommand("a", bootstrap("a"), createWithoutPassword("b"), roleTo(rights.AdminRole, "b")),
			accessCommand("a", disable("a")),
		}, "no administrator who can sign in"},
		{"the last administrator expires", []*metapb.Command{
			accessCommand("a", bootstrap("a")), accessCommand("a", expire("a")),
		}, "no administrator who can sign in"},
		{"two first administrators", []*metapb.Command{
			accessCommand("a", bootstrap("a")), accessCommand("b", bootstrap("b")),
		}, "There is an administrator already"},
		{"a cycle of roles", []*metapb.Command{
			accessCommand("r", createOne("x", true), createOne("y", true), roleTo("x", "y"), roleTo("y", "x")),
		}, "cycle"},
		{"an unknown role", []*metapb.Command{
			accessCommand("r", createOne("a", false), roleTo("x", "a")),
		}, `There is no role "x"`},
		{"a user as a role", []*metapb.Command{
			accessCommand("r", createOne("a", false), createOne("b", false), roleTo("b", "a")),
		}, `There is no role "b"`},
		{"a built-in role", []*metapb.Command{
			accessCommand("r", grantTo(accessGrant(all, 0, "d", "t"), rights.ReaderRole)),
		}, "built in"},
		{"a used grant option", []*metapb.Command{
			accessCommand("r", createOne("a", false), createOne("b", false),
				grantTo(accessGrant(all, all, "d", "*"), "a")),
			accessCommand("a", grantTo(accessGrant(rights.Select, 0, "d", "t"), "b")),
			accessCommand("r", revokeFrom(accessGrant(all, 0, "d", "*"), false, "a")),
		}, "use CASCADE"},
		{"a used grant option with CASCADE", []*metapb.Command{
			accessCommand("r", createOne("a", false), createOne("b", false),
				grantTo(accessGrant(all, all, "d", "*"), "a")),
			accessCommand("a", grantTo(accessGrant(rights.Select, 0, "d", "t"), "b")),
			accessCommand("r", revokeFrom(accessGrant(all, 0, "d", "*"), true, "a")),
		}, ""},
		{"a reserved name", []*metapb.Command{accessCommand("r", createOne("svc", false))}, "reserved"},
		{"a password of a role", []*metapb.Command{accessCommand("r", &metapb.AccessChange{
			Change: &metapb.AccessChange_Create{Create: &metapb.CreatePrincipal{
				Principal: &metapb.AccessPrincipal{Name: "x", Role: true, Verifier: "v"},
			}},
		})}, "password"},
		{"nothing", []*metapb.Command{accessCommand("r")}, "0 changes"},
		{"groups of a role", []*metapb.Command{
			accessCommand("r", createOne("a", true), groupsOf("a", "devs", "ops")), accessCommand("r", groupsOf("a")),
		}, ""},
		{
			"groups of a user",
			[]*metapb.Command{accessCommand("r", createOne("a", false), groupsOf("a", "devs"))},
			`"a" is a user`,
		},
		{"groups of a built-in role", []*metapb.Command{accessCommand("r", groupsOf("admin", "devs"))}, "built in"},
		{"a group twice", []*metapb.Command{accessCommand("r", createOne("a", true), groupsOf("a", "g", "g"))}, "twice"},
		{"an empty group", []*metapb.Command{accessCommand("r", createOne("a", true), groupsOf("a", ""))}, "1 to 255"},
		{"many groups", []*metapb.Command{
			accessCommand("r", createOne("a", true), groupsOf("a", strings.Split(strings.Repeat("g", 101), "")...)),
		}, "at most 100 groups"},
		{"a person", []*metapb.Command{accessCommand("r", createWithoutPassword("oidc:auth0|ann Ö"))}, ""},
		{"a person with a password", []*metapb.Command{accessCommand("r", createOne("oidc:ann", false))}, "no password"},
		{"a person with a certificate", []*metapb.Command{
			accessCommand("r", createWithoutPassword("oidc:ann"), certificateOf("oidc:ann", "x")),
		}, "no certificate"},
		{"a role with the name of a person", []*metapb.Command{accessCommand("r", createOne("oidc:a", true))}, "reserved"},
		{"a person with a newline", []*metapb.Command{accessCommand("r", createWithoutPassword("oidc:a\n"))}, "printed"},
		{"a database", []*metapb.Command{
			accessCommand("r", createOne("a", false), databaseOf("a", "none")), accessCommand("r", databaseOf("a", "")),
		}, ""},
		{"a database that cannot exist", []*metapb.Command{
			accessCommand("r", createOne("a", false), databaseOf("a", strings.Repeat("d", 300))),
		}, "dddd"},
		{"the database of a role", []*metapb.Command{
			accessCommand("r", createOne("a", true), databaseOf("a", "app")),
		}, "is a role"},
		{"names in certificates", []*metapb.Command{
			accessCommand("r", createOne("a", false), createOne("b", false), certificateOf("a", "x"), certificateOf("b", "b")),
			accessCommand("r", certificateOf("a", ""), certificateOf("b", "x")),
		}, ""},
		{"one name in two certificates", []*metapb.Command{
			accessCommand("r", createOne("a", false), createOne("b", false), certificateOf("a", "x")),
			accessCommand("r", certificateOf("b", "x")),
		}, "a and b would have the same name"},
		{"the name of another user in a certificate", []*metapb.Command{
			accessCommand("r", createOne("a", false), createOne("b", false), certificateOf("b", "a")),
		}, `would be "a", which is another user`},
		{"a user with the name in another certificate", []*metapb.Command{
			accessCommand("r", createOne("b", false), certificateOf("b", "a")), accessCommand("r", createOne("a", false)),
		}, `would be "a", which is another user`},
	} {
		r := newRunner(t)
		r.do("bootstrap c1 shards=1")
		for i, cmd := range tt.steps {
			result := r.proposed(cmd, int64(i+1))
			last := i == len(tt.steps)-1
			if !last && result.ErrorCode != 0 || last && (result.ErrorCode != 0) != (tt.fault != "") ||
				last && !strings.Contains(result.ErrorMessage, tt.fault) {
				t.Errorf("%s, step %d: %d %s", tt.name, i, result.ErrorCode, result.ErrorMessage)
			}
		}
	}
}

// TestRolesOfRoles checks that a state in which each role has many roles, which have the same roles, is changed without
// following each chain.
func TestRolesOfRoles(t *testing.T) {
	const width = 50
	name := func(level, i int) string { return fmt.Sprintf("r%d_%d", level, i) }
	type step struct {
		changes []*metapb.AccessChange
		fault   string
	}
	steps := []step{{[]*metapb.AccessChange{bootstrap("a")}, ""}}
	for level := range rights.MaxRoleDepth { // one command for each, because the pairs of a command are limited
		var changes []*metapb.AccessChange
		var here, below []string
		for i := range width {
			changes = append(changes, createOne(name(level, i), true))
			here, below = append(here, name(level, i)), append(below, name(level-1, i))
		}
		if level > 0 {
			changes = append(changes, &metapb.AccessChange{Change: &metapb.AccessChange_GrantRole{
				GrantRole: &metapb.ChangeRole{Roles: below, Principals: here},
			}})
		}
		steps = append(steps, step{changes, ""})
	}
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	top := name(rights.MaxRoleDepth-1, 0)
	steps = append(steps,
		step{[]*metapb.AccessChange{roleTo(top, "a"), dropOne(name(0, 0), true)}, ""},
		// The chain that becomes too long is that of a, which the change does not name.
		step{[]*metapb.AccessChange{createOne("x", true), roleTo("x", name(0, 1))}, "The roles of a would form"},
	)
	for i, tt := range steps {
		result := r.proposed(accessCommand("a", tt.changes...), int64(i+1))
		if (result.ErrorCode != 0) != (tt.fault != "") || !strings.Contains(result.ErrorMessage, tt.fault) {
			t.Errorf("step %d: %d %s", i, result.ErrorCode, result.ErrorMessage)
		}
	}
}

// TestDependentGrants checks that grants end with the authority of their makers. A grant by oneself, and grants in a
// circle, are no authority.
func TestDependentGrants(t *testing.T) {
	all := accessGrant(rights.Select, rights.Select, "d", "*")
	for name, tt := range map[string]struct {
		grants []*metapb.Command
		revoke *metapb.AccessChange
		left   string // of the users a, b and c: the number of their grants
	}{
		"a grant to oneself": {[]*metapb.Command{
			accessCommand("file", grantTo(onCluster(rights.Access), "a")), accessCommand("a", grantTo(all, "a")),
		}, revokeFrom(onCluster(rights.Access), true, "a"), "000"},
		"a circle": {[]*metapb.Command{
			accessCommand("file", grantTo(onCluster(rights.Access), "a")), accessCommand("a", grantTo(all, "b")),
			accessCommand("b", grantTo(all, "a")),
		}, revokeFrom(onCluster(rights.Access), true, "a"), "000"},
		"a chain": {[]*metapb.Command{
			accessCommand("file", grantTo(all, "a")), accessCommand("a", grantTo(all, "b")),
			accessCommand("b", grantTo(all, "c")),
		}, revokeFrom(all, true, "a"), "000"},
		"two makers": {[]*metapb.Command{
			accessCommand("file", grantTo(all, "a", "c")), accessCommand("a", grantTo(all, "b")),
			accessCommand("c", grantTo(all, "b")),
		}, revokeFrom(all, true, "a"), "011"},
		"a role is revoked": {[]*metapb.Command{
			accessCommand("file", createOne("r", true), grantTo(all, "r"), roleTo("r", "a")),
			accessCommand("a", grantTo(all, "b")),
		}, roleFrom("r", "a"), "000"},
		"a role is dropped": {[]*metapb.Command{
			accessCommand("file", createOne("r", true), grantTo(all, "r"), roleTo("r", "a")),
			accessCommand("a", grantTo(all, "b")),
		}, dropOne("r", true), "000"},
		"the maker is dropped": {[]*metapb.Command{
			accessCommand("file", grantTo(all, "a")), accessCommand("a", grantTo(all, "b")),
		}, dropOne("a", false), "010"},
	} {
		r := newRunner(t)
		r.do("bootstrap c1 shards=1")
		steps := append([]*metapb.Command{
			accessCommand("file", createOne("a", false), createOne("b", false), createOne("c", false)),
		}, tt.grants...)
		for i, cmd := range append(steps, accessCommand("file", tt.revoke)) {
			if result := r.proposed(cmd, int64(i+1)); result.ErrorCode != 0 {
				t.Errorf("%s, step %d: %s", name, i, result.ErrorMessage)
			}
		}
		left := ""
		for _, user := range []string{"a", "b", "c"} {
			left += strconv.Itoa(r.grantsOf(user))
		}
		if left != tt.left {
			t.Errorf("%s: a, b and c have %s grants, want %s", name, left, tt.left)
		}
	}
}

// grantsOf returns the number of grants of a user, or 0 if there is none.
func (r *runner) grantsOf(user string) (n int) {
	r.t.Helper()
	err := r.machine.catalog.View(func(tx *catalog.Tx) error {
		all, err := tx.Principals.All()
		for _, p := range all {
			if p.Name == user {
				n = len(p.Grants)
			}
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// TestGrantsByDelegates checks that users who may grant by the grant option cannot use up the grants of another user,
// so that an administrator can still grant, and that they can add privileges to grants that they have made.
func TestGrantsByDelegates(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	step := int64(0)
	do := func(actor string, changes ...*metapb.AccessChange) *metapb.Result {
		step++
		return r.proposed(accessCommand(actor, changes...), step)
	}
	all := accessGrant(rights.Select|rights.Insert, rights.Select|rights.Insert, "d", "*")
	many := func(maker string, n int) (out []*metapb.AccessChange) {
		for i := range n {
			out = append(out, grantTo(accessGrant(rights.Select, 0, "d", fmt.Sprint(maker, i)), "victim"))
		}
		return out
	}
	if result := do("r", createOne("victim", false)); result.ErrorCode != 0 {
		t.Fatal(result.ErrorMessage)
	}
	most := catalog.MaxDelegatedGrants / catalog.MaxGrantsOfDelegate
	for i := range most + 1 {
		maker := string(rune('a' + i))
		if result := do("r", createOne(maker, false), grantTo(all, maker)); result.ErrorCode != 0 {
			t.Fatal(result.ErrorMessage)
		}
		if i < most {
			if result := do(maker, many(maker, catalog.MaxGrantsOfDelegate+1)...); !strings.Contains(result.ErrorMessage,
				"made by users without the privilege ACCESS") {
				t.Errorf("%s: %q", maker, result.ErrorMessage)
			}
		}
		if result := do(maker, many(maker, catalog.MaxGrantsOfDelegate)...); (result.ErrorCode != 0) != (i == most) {
			t.Errorf("%s: %q", maker, result.ErrorMessage)
		}
	}
	if got := r.grantsOf("victim"); got != catalog.MaxDelegatedGrants {
		t.Errorf("%d grants", got)
	}
	for maker, change := range map[string]*metapb.AccessChange{
		"a": grantTo(accessGrant(rights.Insert, 0, "d", "a0"), "victim"),
		"r": grantTo(accessGrant(rights.Insert, 0, "d", "more"), "victim"),
	} {
		if result := do(maker, change); result.ErrorCode != 0 {
			t.Errorf("%s: %s", maker, result.ErrorMessage)
		}
	}
}
