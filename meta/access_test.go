package meta

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// accessCommand returns a command with changes.
func accessCommand(actor string, changes ...*metapb.AccessChange) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_ChangeAccess{ChangeAccess: &metapb.ChangeAccess{
		Actor: &metapb.AccessActor{Principal: actor}, Changes: changes,
	}}}
}

func createOne(name string, role bool) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_Create{Create: &metapb.CreatePrincipal{
		Principal: &metapb.AccessPrincipal{Name: name, Role: role},
	}}}
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
		}, "no enabled administrator"},
		{"the last administrator is dropped", []*metapb.Command{
			accessCommand("a", bootstrap("a"), createOne("b", false), roleTo(rights.AdminRole, "b")),
			accessCommand("r", dropOne("a", false)), accessCommand("r", dropOne("b", false)),
		}, "no enabled administrator"},
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
	changes := []*metapb.AccessChange{bootstrap("a")}
	for level := range rights.MaxRoleDepth {
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
	}
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	top := name(rights.MaxRoleDepth-1, 0)
	for i, tt := range []struct {
		changes []*metapb.AccessChange
		fault   string
	}{
		{changes, ""},
		{[]*metapb.AccessChange{roleTo(top, "a"), dropOne(name(0, 0), true)}, ""},
		// The chain that becomes too long is that of a, which the change does not name.
		{[]*metapb.AccessChange{createOne("x", true), roleTo("x", name(0, 1))}, "The roles of a would form"},
	} {
		result := r.proposed(accessCommand("a", tt.changes...), int64(i+1))
		if (result.ErrorCode != 0) != (tt.fault != "") || !strings.Contains(result.ErrorMessage, tt.fault) {
			t.Errorf("step %d: %d %s", i, result.ErrorCode, result.ErrorMessage)
		}
	}
}
