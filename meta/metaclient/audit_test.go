package metaclient

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/metapb"
)

// TestCommandsOfChange checks that each command of a change says who makes it, with what the change needs and what the
// command needs besides. Commands of ingestion, and those of nobody, say nothing.
func TestCommandsOfChange(t *testing.T) {
	need := func(name string) *metapb.IssuerNeed { return &metapb.IssuerNeed{Name: name} }
	a := &Audited{
		Record: func() *metapb.AuditRecord { return &metapb.AuditRecord{Principal: "ann"} },
		Issuer: func() *metapb.Issuer {
			return &metapb.Issuer{Principal: "ann", Needs: []*metapb.IssuerNeed{need("a")}}
		},
	}
	drop := &metapb.Command{
		Issuer: &metapb.Issuer{Needs: []*metapb.IssuerNeed{need("b")}},
		Op:     &metapb.Command_DropTable{DropTable: &metapb.DropTable{}},
	}
	got := a.withRecord(drop)
	want := &metapb.Issuer{Principal: "ann", Needs: []*metapb.IssuerNeed{need("a"), need("b")}}
	if !proto.Equal(got.Issuer, want) || got.Audit.GetPrincipal() != "ann" || drop.Audit != nil {
		t.Errorf("%v", got)
	}
	ensure := &metapb.Command{Op: &metapb.Command_EnsureSchema{EnsureSchema: &metapb.EnsureSchema{}}}
	if got := a.withRecord(ensure); got.Issuer != nil || got.Audit != nil {
		t.Errorf("%v", got)
	}
	none := &Audited{Issuer: func() *metapb.Issuer { return nil }}
	if got := none.withRecord(drop); got.Issuer != nil || got.Audit != nil {
		t.Errorf("%v", got)
	}
}
