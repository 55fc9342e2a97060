package meta

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// TestConsequencesAreRecorded checks that the audit record and the result of a command list the grants and tokens that
// it takes away besides what it names, if the whole cluster knows such records.
func TestConsequencesAreRecorded(t *testing.T) {
	all := accessGrant(rights.Select, rights.Select, "d", "*")
	for _, tt := range []struct {
		name string
		cmd  *metapb.Command
		want []string
	}{
		{"cascade", accessCommand("file", revokeFrom(all, true, "a")), []string{
			"revoked SELECT ON d.* from b, granted by a", "dropped the token t (idt)",
		}},
		{"a user", accessCommand("file", dropOne("b", false)), []string{"dropped the token own (idown)"}},
		{"a database", dropDatabase("d"), []string{
			"revoked SELECT ON d.* from a, granted by file", "revoked SELECT ON d.* from b, granted by a",
			"dropped the token t (idt)",
		}},
		{"nothing else", accessCommand("file", createOne("c", false)), nil},
	} {
		for _, known := range []bool{true, false} {
			r := newRunner(t)
			r.do("bootstrap c1 shards=1")
			token := tokenChange("t", "", accessGrant(rights.Select, 0, "d", "*"))
			for i, cmd := range []*metapb.Command{
				{Op: &metapb.Command_CreateDatabase{CreateDatabase: &metapb.CreateDatabase{Name: "d"}}},
				accessCommand("file", createOne("a", false), createOne("b", false), grantTo(all, "a")),
				accessCommand("a", grantTo(all, "b"), token), accessCommand("b", tokenChange("own", "b")),
			} {
				if result := r.proposed(cmd, int64(i+1)); result.ErrorCode != 0 {
					t.Fatalf("%s, step %d: %s", tt.name, i, result.ErrorMessage)
				}
			}
			cmd := proto.CloneOf(tt.cmd)
			cmd.Audit = &metapb.AuditRecord{Action: "x", Consequences: known}
			result, want := r.proposed(cmd, 9), strings.Join(tt.want, "; ")
			if !known {
				want = ""
			}
			var message string
			if err := r.machine.catalog.View(func(tx *catalog.Tx) error {
				entries, err := tx.Audit.First(10)
				if len(entries) == 1 {
					message = entries[0].Record.Message
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if result.ErrorCode != 0 || result.Consequences != want || message != want {
				t.Errorf("%s, known %t: %s%q, record %q, want %q", tt.name, known, result.ErrorMessage, result.Consequences,
					message, want)
			}
		}
	}
	var c consequences
	for range 1000 {
		c.add("%s", strings.Repeat("x", 99))
	}
	if text := c.String(); len(text) > maxConsequences+100 || !strings.HasSuffix(text, "; and 960 more") {
		t.Errorf("%d bytes: …%s", len(text), text[len(text)-20:])
	}
}

// TestAccessConditions checks that a command is refused as a whole if a user, role or token was changed meanwhile.
func TestAccessConditions(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	step := int64(0)
	do := func(conditions []*metapb.AccessCondition, changes ...*metapb.AccessChange) errs.Code {
		step++
		cmd := accessCommand("file", changes...)
		cmd.GetChangeAccess().Conditions = conditions
		return errs.Code(r.proposed(cmd, step).ErrorCode)
	}
	version := func(token bool, name string) (c *metapb.AccessCondition) {
		c = &metapb.AccessCondition{Token: token, Name: name}
		if err := r.machine.catalog.View(func(tx *catalog.Tx) error {
			if token {
				one, err := tx.Tokens.Get(name)
				c.Version = rights.VersionOfToken(one)
				return err
			}
			p, err := tx.Principals.Get(name)
			c.Version = rights.VersionOf(p)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	all := accessGrant(rights.Select, 0, "d", "*")
	do(nil, createOne("a", false), createOne("r", true), tokenChange("t", "", all))
	for _, tt := range []struct {
		name   string
		token  bool
		object string
		change *metapb.AccessChange
	}{
		{"a grant", false, "a", grantTo(all, "a")},
		{"a revocation", false, "a", revokeFrom(all, false, "a")},
		{"a role", false, "a", roleTo("r", "a")},
		{"a grant to a role", false, "r", grantTo(all, "r")},
		{"a note", true, "t", alterToken(&metapb.AlterToken{Name: "t", Note: proto.String("n")})},
		{"a rotation", true, "t", alterToken(&metapb.AlterToken{
			Name: "t", Hash: bytes.Repeat([]byte{7}, 32), OldUntilUnixNano: 5,
		})},
	} {
		seen := []*metapb.AccessCondition{version(tt.token, tt.object)}
		if code := do(seen, tt.change); code != 0 {
			t.Errorf("%s on the present version: %d", tt.name, code)
		}
		if code := do(seen, createOne("late", false), tt.change); code != errs.IllegalState {
			t.Errorf("%s again on the old version: %d", tt.name, code)
		}
		if r.grantsOf("late") != 0 ||
			do([]*metapb.AccessCondition{{Name: "late"}}, dropOne("late", false)) != errs.IllegalState {
			t.Errorf("%s: a refused command created a user", tt.name)
		}
	}
	seen := []*metapb.AccessCondition{version(true, "t")}
	r.proposed(touchToken("t", "idt", 1<<60), 99)
	if code := do(seen, dropToken("t")); code != 0 {
		t.Errorf("the use of a token changes its version: %d", code)
	}
	exists, gone := []*metapb.AccessCondition{{Name: "a"}}, []*metapb.AccessCondition{{Token: true, Name: "t"}}
	if do(exists, grantTo(all, "a")) != 0 || do(gone, dropToken("t")) != errs.IllegalState {
		t.Error("conditions on existence")
	}
	if err := prepareChangeAccess(&metapb.ChangeAccess{
		Actor: &metapb.AccessActor{Principal: "x"}, Changes: []*metapb.AccessChange{createOne("a", false)},
		Conditions: make([]*metapb.AccessCondition, maxConditions+1),
	}); errs.CodeOf(err) != errs.InvalidArguments {
		t.Error(err)
	}
}

// TestResetAdmin checks that a user becomes an administrator who can sign in, whatever the user was before.
func TestResetAdmin(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	reset := func(name string) *metapb.AccessChange {
		return &metapb.AccessChange{Change: &metapb.AccessChange_ResetAdmin{
			ResetAdmin: &metapb.ResetAdmin{Name: name, Verifier: "v2"},
		}}
	}
	disabled := createOne("ann", false)
	p := disabled.GetCreate().Principal
	p.Disabled, p.ValidUntilUnixNano, p.Verifier = true, 5, "v1"
	for i, changes := range [][]*metapb.AccessChange{
		{disabled, createOne("team", true)}, {reset("ann")}, {reset("new")}, {reset("ann")},
	} {
		if result := r.proposed(accessCommand("socket", changes...), int64(i+1)); result.ErrorCode != 0 {
			t.Fatal(result.ErrorMessage)
		}
	}
	if err := r.machine.catalog.View(func(tx *catalog.Tx) error {
		for _, name := range []string{"ann", "new"} {
			p, err := tx.Principals.Get(name)
			if err != nil {
				return err
			}
			if p.Disabled || p.ValidUntilUnixNano != 0 || p.Verifier != "v2" || p.PasswordVersion == 0 ||
				!slices.Equal(p.Roles, []string{rights.AdminRole}) {
				t.Errorf("%v", p)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]errs.Code{"team": errs.InvalidArguments, rights.AdminRole: errs.InvalidArguments} {
		if result := r.proposed(accessCommand("socket", reset(name)), 9); errs.Code(result.ErrorCode) != code {
			t.Errorf("%s: %d %s", name, result.ErrorCode, result.ErrorMessage)
		}
	}
}
