package meta

import (
	"fmt"
	"testing"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// TestForgottenUser drops a user and creates one of the same name. The new user gets neither the private nor the shared
// saved values of the old one, nor the tokens. Before all members know this, they remain as they were.
func TestForgottenUser(t *testing.T) {
	for _, tt := range []struct {
		version uint32
		want    string // the creator of the token, and the owners of the saved values
	}{
		{metapb.ProtocolForget - 1, "ann; private of ann, private of bob, shared of ann"},
		{metapb.ProtocolForget, "ann (dropped); private of bob, shared of ann (dropped)"},
	} {
		r := newRunner(t)
		r.do(fmt.Sprintf("bootstrap c1 shards=1 version=%d", tt.version))
		all := accessGrant(rights.Select, rights.Select, "d", "*")
		for i, cmd := range []*metapb.Command{
			accessCommand("root", createOne("ann", false), createOne("bob", false), grantTo(all, "ann")),
			accessCommand("ann", tokenChange("t", "", accessGrant(rights.Select, 0, "d", "x"))),
			putSaved("search", "mine", "ann", `1`, false, false, 0), putSaved("search", "ours", "ann", `2`, true, false, 0),
			putSaved("search", "mine", "bob", `3`, false, false, 0),
			accessCommand("root", dropOne("ann", false)),
			accessCommand("root", createOne("ann", false)),
		} {
			if got := r.proposed(cmd, int64(i+1)); got.ErrorCode != 0 {
				t.Fatalf("version %d, step %d: %s", tt.version, i, got.ErrorMessage)
			}
		}
		err := r.machine.catalog.View(func(tx *catalog.Tx) error {
			one, err := tx.Tokens.Get("t")
			if err != nil {
				return err
			}
			got := one.GetCreatedBy() + ";"
			if own := len(tx.Tokens.OfCreator("ann")) > 0; own != (one.GetCreatedBy() == "ann") {
				t.Errorf("version %d: tokens of ann: %v", tt.version, own)
			}
			saved, err := tx.Saved.From("", nil, 10)
			for i, s := range saved {
				if i > 0 {
					got += ","
				}
				got += map[bool]string{true: " shared of ", false: " private of "}[s.Shared] + s.Owner
			}
			if got != tt.want {
				t.Errorf("version %d: %s, want %s", tt.version, got, tt.want)
			}
			if n := tx.Saved.Totals().Count; n != uint64(len(saved)) {
				t.Errorf("version %d: %d values are counted, and there are %d", tt.version, n, len(saved))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
