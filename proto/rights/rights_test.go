package rights

import (
	"fmt"
	"strings"
	"testing"
)

func on(privileges Set, database, name string) Grant {
	return Grant{Target: Target{Kind: Tables, Database: database, Name: name}, Privileges: privileges}
}

// TestOnTable checks that a privilege applies to exactly the tables that the patterns cover.
func TestOnTable(t *testing.T) {
	x := NewIndex([]Grant{
		on(Select, "app", "logs"), on(Insert, "app", "logs_*"), on(Alter, "team_*", "*"), on(Drop, "a*", "b"),
		on(Delete, "app", "*"), on(Select, PrivateDatabase, "rejects"),
	}, nil)
	for name, want := range map[string]Set{
		"app.logs": Select | Delete, "app.logs_": Insert | Delete, "app.logs_x": Insert | Delete, "app.log": Delete,
		"app.b": Drop | Delete, "a.b": Drop, "b.b": 0, "team_.x": Alter, "team_a.b": Alter, "team.x": 0, "App.logs": 0,
		"svc_private.rejects": Select, "svc_private.audit": 0, ".": 0, "a.": 0,
	} {
		database, table, _ := strings.Cut(name, ".")
		if got := x.OnTable(database, table); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := x.InDatabase("app"); got != Select|Insert|Drop|Delete {
		t.Errorf("in app: %s", got)
	}
	if got := x.OnDatabase("app"); got != Delete {
		t.Errorf("on app: %s", got)
	}
	if got := x.OnAllTables(); got != 0 {
		t.Errorf("on all tables: %s", got)
	}
	if got := x.OnAnyTable(); got != OfTables&^Create {
		t.Errorf("on any table: %s", got)
	}
}

// TestPrivateDatabase checks that patterns do not cover the tables of the server. A user who may read all tables
// may read them.
func TestPrivateDatabase(t *testing.T) {
	some := NewIndex([]Grant{on(OfTables, "svc*", "*"), on(OfTables, "*", "r*")}, nil)
	all := NewIndex(nil, []string{ReaderRole})
	if some.OnTable(PrivateDatabase, "rejects") != 0 || all.OnTable(PrivateDatabase, "rejects") != Select ||
		some.InDatabase(PrivateDatabase) != 0 {
		t.Error(some.OnTable(PrivateDatabase, "rejects"), all.OnTable(PrivateDatabase, "rejects"))
	}
}

// TestBuiltInRoles checks that the built-in roles have the privileges of the documentation.
func TestBuiltInRoles(t *testing.T) {
	for role, want := range map[string][3]Set{
		AdminRole: {OfTables, OfPipelines, OfCluster}, OperatorRole: {0, 0, Monitor | Operate},
		ReaderRole: {Select, Read, 0}, WriterRole: {Insert | Create, Use, 0},
	} {
		x := NewIndex(nil, []string{role})
		if got := [3]Set{x.OnTable("d", "t"), x.OnPipeline("p"), x.OnCluster()}; got != want {
			t.Errorf("%s: %v, want %v", role, got, want)
		}
	}
}

// TestMayGrant checks that no user grants more privileges than the user may grant.
func TestMayGrant(t *testing.T) {
	grantable := on(Select|Insert, "app", "*")
	grantable.Grantable = Select
	ann := NewIndex([]Grant{grantable}, nil)
	keeper := NewIndex([]Grant{{Target: Target{Kind: Cluster}, Privileges: Access}}, nil)
	table, cluster := Target{Kind: Tables, Database: "app", Name: "l*"}, Target{Kind: Cluster}
	for _, tt := range []struct {
		who        *Index
		privileges Set
		target     Target
		want       bool
	}{
		{ann, Select, table, true},
		{ann, Insert, table, false},
		{ann, Select, everyTable, false},
		{ann, Select, Target{Kind: Tables, Database: "*", Name: "l"}, false},
		{keeper, OfTables, everyTable, true},
		{keeper, Monitor | Access, cluster, true},
		{keeper, Operate, cluster, false},
		{NewIndex(nil, []string{AdminRole}), OfCluster, cluster, true},
		{NewIndex(nil, nil), Select, table, false},
	} {
		if got := tt.who.MayGrant(tt.privileges, tt.target); got != tt.want {
			t.Errorf("%s on %s: %t", tt.privileges, tt.target, got)
		}
	}
}

// TestTargets checks that targets print as SQL, and that invalid ones are refused.
func TestTargets(t *testing.T) {
	for target, want := range map[Target]string{
		{Kind: Tables, Database: "app", Name: "logs_*"}: "app.logs_*", everyTable: "*.*", {Kind: Cluster}: "CLUSTER",
		{Kind: Tables, Database: "a-b", Name: `x"*`}: `"a-b"."x""*"`, {Kind: Pipelines, Name: "nginx*"}: "PIPELINE nginx*",
	} {
		if got := target.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, bad := range []Grant{
		on(Select, "a*b", "t"), on(Select, "a", "*t"), on(Select, "", "t"), on(Select, "a", ""), on(Use, "a", "t"),
		on(0, "a", "t"), on(Insert, PrivateDatabase, "rejects"), on(Select, PrivateDatabase, "*"), on(Select, "a", "b\n"),
		{Target: Target{Kind: Cluster}, Privileges: Select},
		{Target: Target{Kind: Pipelines}, Privileges: Use},
	} {
		if err := bad.Check(bad.Privileges); err == nil {
			t.Errorf("%s on %s is accepted", bad.Privileges, bad.Target)
		}
	}
	for _, good := range []Grant{on(OfTables, "*", "*"), on(Select, PrivateDatabase, "rejects")} {
		if err := good.Check(good.Privileges); err != nil {
			t.Error(err)
		}
	}
}

// TestNames checks which names a user or role may have.
func TestNames(t *testing.T) {
	for _, name := range []string{"ann", "_x", "ann.b@example.org", "A-1", strings.Repeat("a", 63)} {
		if err := CheckName(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{
		"", "1a", "@a", "svc", "svc_x", "cw_a", "oidc:a", "token", "public", "admin", "reader", "a b", "ä", "a\n", "a:b",
		strings.Repeat("a", 64),
	} {
		if err := CheckName(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

// TestLookUpsDoNotAllocate checks that a check of privileges allocates nothing.
func TestLookUpsDoNotAllocate(t *testing.T) {
	x := thousand()
	if n := testing.AllocsPerRun(100, func() { _ = x.OnTable("db17", "logs_17") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// thousand returns an index of 1,000 grants.
func thousand() *Index {
	var grants []Grant
	for i := range 500 {
		grants = append(grants, on(Select, fmt.Sprintf("db%d", i%50), fmt.Sprintf("t%d", i)),
			on(Insert, fmt.Sprintf("db%d", i%50), fmt.Sprintf("logs_%d*", i)))
	}
	return NewIndex(grants, nil)
}

func BenchmarkOnTable(b *testing.B) {
	x := thousand()
	for b.Loop() {
		if x.OnTable("db17", "logs_17") != Insert {
			b.Fatal("no right")
		}
	}
}
