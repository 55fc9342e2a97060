package meta

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// asIssuer returns cmd on behalf of i.
func asIssuer(i *metapb.Issuer, cmd *metapb.Command) *metapb.Command {
	cmd.Issuer = i
	return cmd
}

func changeUser(a *metapb.AlterUser) *metapb.AccessChange {
	return &metapb.AccessChange{Change: &metapb.AccessChange_Alter{Alter: a}}
}

// TestIssuerLosesRights applies a command of a principal before and after another command that takes away what the
// principal needs, as if the principal's router did not know of it. Before it is accepted, and after it refused. In a
// cluster with older programs, commands carry no issuer and are accepted.
func TestIssuerLosesRights(t *testing.T) {
	const created = 2 // the index of the command that created the users
	all := rights.Select | rights.Insert
	ann := &metapb.Issuer{Principal: "ann", PasswordVersion: created}
	needs := func(i *metapb.Issuer, privileges rights.Set, database, name string) *metapb.Issuer {
		i = proto.CloneOf(i)
		i.Needs = []*metapb.IssuerNeed{{
			Kind: uint32(rights.Tables), Database: database, Name: name, Privileges: uint32(privileges),
		}}
		return i
	}
	token := &metapb.Issuer{Principal: "cw_idbot", Token: "bot", TokenId: "idbot"}
	token.TokenVersion = rights.SecretVersion(someHash)
	person := &metapb.Issuer{Principal: "oidc:eve", Groups: []string{"staff"}}
	drop := &metapb.Command{Op: &metapb.Command_DropTable{DropTable: &metapb.DropTable{Database: "d", Name: "t"}}}
	for _, tt := range []struct {
		name   string
		issuer *metapb.Issuer
		cmd    *metapb.Command
		setup  []*metapb.AccessChange
		taken  *metapb.AccessChange
		want   string
	}{
		{
			"CREATE TOKEN against REVOKE … CASCADE", ann,
			accessCommand("ann", tokenChange("t", "", accessGrant(rights.Select, 0, "d", "x"))),
			[]*metapb.AccessChange{grantTo(accessGrant(rights.Select, rights.Select, "d", "*"), "ann")},
			revokeFrom(accessGrant(all, 0, "d", "*"), true, "ann"), "WITH GRANT OPTION",
		},
		{
			"GRANT against REVOKE … CASCADE", ann,
			accessCommand("ann", grantTo(accessGrant(rights.Select, 0, "d", "x"), "bob")),
			[]*metapb.AccessChange{grantTo(accessGrant(rights.Select, rights.Select, "d", "*"), "ann")},
			revokeFrom(accessGrant(all, 0, "d", "*"), true, "ann"), "WITH GRANT OPTION",
		},
		{
			"GRANT admin against REVOKE admin", ann, accessCommand("ann", roleTo(rights.AdminRole, "ann")),
			[]*metapb.AccessChange{roleTo(rights.AdminRole, "ann")},
			roleFrom(rights.AdminRole, "ann"), "privilege ACCESS",
		},
		{
			"ENABLED against DISABLED", ann,
			accessCommand("ann", changeUser(&metapb.AlterUser{Name: "ann", Disabled: proto.Bool(false)})),
			[]*metapb.AccessChange{roleTo(rights.AdminRole, "ann")},
			disable("ann"), "was disabled",
		},
		{
			"VALID UNTIL", ann, accessCommand("ann", createOne("new", false)),
			[]*metapb.AccessChange{roleTo(rights.AdminRole, "ann")},
			changeUser(&metapb.AlterUser{Name: "ann", ValidUntilUnixNano: proto.Int64(1)}), "time of the user has ended",
		},
		{
			"CREATE USER against DROP USER", ann, accessCommand("ann", createOne("new", false)),
			[]*metapb.AccessChange{roleTo(rights.AdminRole, "ann")},
			dropOne("ann", false), "was dropped",
		},
		{
			"own password against a new one", ann,
			accessCommand("ann", changeUser(&metapb.AlterUser{Name: "ann", Verifier: proto.String("w")})), nil,
			changeUser(&metapb.AlterUser{Name: "ann", Verifier: proto.String("x")}), "password was changed",
		},
		{
			"by a role", ann, accessCommand("ann", roleTo("r", "bob")),
			[]*metapb.AccessChange{createOne("r", true), grantTo(onCluster(rights.Access), "r"), roleTo("r", "ann")},
			dropOne("r", true), "privilege ACCESS",
		},
		{
			"DROP TABLE", needs(ann, rights.Drop, "d", "t"), drop,
			[]*metapb.AccessChange{grantTo(accessGrant(rights.Drop, 0, "d", "*"), "ann")},
			revokeFrom(accessGrant(rights.Drop, 0, "d", "*"), true, "ann"), "needs DROP on d.t",
		},
		{
			"DROP TABLE by a token", needs(token, rights.Drop, "d", "t"), drop,
			[]*metapb.AccessChange{tokenChange("bot", "", accessGrant(rights.Drop, 0, "d", "*"))},
			dropToken("bot"), "token was dropped",
		},
		{
			"DROP TABLE by a person", needs(person, rights.Drop, "d", "t"), drop,
			[]*metapb.AccessChange{
				createOne("r", true), grantTo(accessGrant(rights.Drop, 0, "d", "*"), "r"), groupsOf("r", "staff"),
			},
			groupsOf("r", "others"), "needs DROP on d.t",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, taken := range []bool{false, true} {
				for _, version := range []uint32{metapb.ProtocolIssuer, metapb.ProtocolIssuer - 1} {
					r := newRunner(t)
					step := int64(2)
					do := func(cmd *metapb.Command) *metapb.Result {
						t.Helper()
						step++
						cmd = proto.CloneOf(cmd)
						if err := prepareIssuer(cmd, version); err != nil {
							t.Fatal(err)
						}
						return r.proposed(cmd, step)
					}
					must := func(cmd *metapb.Command) {
						t.Helper()
						if got := do(cmd); got.ErrorCode != 0 {
							t.Fatal(got.ErrorMessage)
						}
					}
					r.do("bootstrap c1 shards=1 version=20")
					must(accessCommand("r", append([]*metapb.AccessChange{
						createOne("ann", false), createOne("bob", false), createOne("boss", false),
						roleTo(rights.AdminRole, "boss"),
					}, tt.setup...)...))
					r.do("create-db d")
					r.do("create d.t time:ts9! append_mode=true")
					if taken {
						must(accessCommand("boss", tt.taken))
					}
					before := principalsOf(t, r)
					got := do(asIssuer(tt.issuer, tt.cmd))
					switch refused := errs.Code(got.ErrorCode) == errs.AccessDenied; {
					case refused != (taken && version == metapb.ProtocolIssuer), got.ErrorCode != 0 && !refused &&
						version == metapb.ProtocolIssuer:
						t.Errorf("taken: %v, version %d: %d %s", taken, version, got.ErrorCode, got.ErrorMessage)
					case refused && !strings.Contains(got.ErrorMessage, tt.want):
						t.Errorf("%q, want %q", got.ErrorMessage, tt.want)
					case refused && principalsOf(t, r) != before:
						t.Error("the refused command changed users")
					}
				}
			}
		})
	}
}

// principalsOf describes all users, roles and tokens.
func principalsOf(t *testing.T, r *runner) (out string) {
	t.Helper()
	if err := r.machine.catalog.View(func(tx *catalog.Tx) error {
		all, err := tx.Principals.All()
		for _, p := range all {
			out += p.String() + "\n"
		}
		if err != nil {
			return err
		}
		tokens, err := tx.Tokens.All()
		for _, one := range tokens {
			out += one.String() + "\n"
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}
