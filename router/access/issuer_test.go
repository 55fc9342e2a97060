package access

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// TestIssuer checks what a command says about each kind of sender, and that it says nothing about those whose rights
// are not in the metadata.
func TestIssuer(t *testing.T) {
	x := rights.NewIndex(nil, nil)
	table := Object{Kind: Table, Database: "app", Name: "web"}
	for _, tt := range []struct {
		name   string
		sender Sender
		needs  []Need
		want   *metapb.Issuer
	}{
		{"authentication is off", Everybody(), nil, nil},
		{"list of users", Sender{User: "ann", Right: ReadWrite, Proof: "password", Version: 7}, nil, nil},
		{
			"password",
			Sender{User: "ann", Grants: x, Proof: "session", Version: StoredVersion | 7},
			[]Need{{Privilege: Drop, Object: table}, {Privilege: SignedIn}},
			&metapb.Issuer{Principal: "ann", PasswordVersion: 7, Needs: []*metapb.IssuerNeed{{
				Kind: uint32(rights.Tables), Database: "app", Name: "web", Privileges: uint32(rights.Drop),
			}}},
		},
		{
			"certificate",
			Sender{User: "ann", Grants: x, Version: StoredVersion, Certificate: "a.example.org"},
			[]Need{{Privilege: Create, Object: Object{Kind: Database, Database: "new"}}},
			&metapb.Issuer{Principal: "ann", Certificate: "a.example.org", Needs: []*metapb.IssuerNeed{{
				Kind: uint32(rights.Tables), Database: "*", Name: "*", Privileges: uint32(rights.Create),
			}}},
		},
		{
			"token",
			Sender{User: "cw_id", Grants: x, Token: "id", TokenName: "bot", Version: 1 << 63},
			[]Need{{Privilege: Alter, Object: Object{Kind: Database, Database: "app"}}},
			&metapb.Issuer{
				Principal: "cw_id", Token: "bot", TokenId: "id", TokenVersion: 1 << 63, Needs: []*metapb.IssuerNeed{{
					Kind: uint32(rights.Tables), Database: "app", Name: "*", Privileges: uint32(rights.Alter),
				}},
			},
		},
		{
			"person",
			Sender{User: "oidc:eve", Grants: x, Person: &Person{Groups: []string{"staff"}}, Version: StoredVersion},
			[]Need{{Privilege: PipelineWrite, Object: Object{Kind: Pipeline, Name: "p"}}, {Privilege: Operate}},
			&metapb.Issuer{Principal: "oidc:eve", Groups: []string{"staff"}, Needs: []*metapb.IssuerNeed{
				{Kind: uint32(rights.Pipelines), Name: "p", Privileges: uint32(rights.Write)},
				{Kind: uint32(rights.Cluster), Privileges: uint32(rights.Operate)},
			}},
		},
	} {
		if got := tt.sender.Issuer(tt.needs...); !proto.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
