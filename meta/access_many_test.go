package meta

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// TestRevokeFromManyTargets revokes with many targets in one command. It ends what depended on them once, and has the
// same effect as in members of earlier versions, which did it for each target.
func TestRevokeFromManyTargets(t *testing.T) {
	const targets = 20
	var revoke []*metapb.AccessChange
	for i := range targets {
		revoke = append(revoke, revokeFrom(accessGrant(rights.Select, 0, "d", fmt.Sprint("t", i)), true, "ann"))
	}
	states := map[uint32]string{}
	for version, want := range map[uint32]int{metapb.ProtocolIssuer - 1: targets, metapb.ProtocolIssuer: 1} {
		r := newRunner(t)
		r.do(fmt.Sprintf("bootstrap c1 shards=1 version=%d", version))
		setup := []*metapb.AccessChange{createOne("ann", false), createOne("bob", false)}
		for i := range targets {
			setup = append(setup, grantTo(accessGrant(rights.Select, rights.Select, "d", fmt.Sprint("t", i)), "ann"))
		}
		var passed []*metapb.AccessChange
		for i := range targets {
			passed = append(passed, grantTo(accessGrant(rights.Select, 0, "d", fmt.Sprint("t", i)), "bob"))
		}
		passed = append(passed, tokenChange("t", "", accessGrant(rights.Select, 0, "d", "t7")))
		for i, cmd := range []*metapb.Command{accessCommand("root", setup...), accessCommand("ann", passed...)} {
			if got := r.proposed(cmd, int64(i+1)); got.ErrorCode != 0 {
				t.Fatal(got.ErrorMessage)
			}
		}
		err := r.machine.catalog.View(func(tx *catalog.Tx) error {
			s := newPrincipals(tx, 9, 9)
			all, err := tx.Principals.All()
			for _, p := range all {
				s.byName[p.Name] = p
			}
			if s.before = maps.Clone(s.byName); err != nil {
				return err
			}
			if err := s.applyAll(accessCommand("root", revoke...).GetChangeAccess()); err != nil {
				return err
			}
			if s.ended != want {
				t.Errorf("version %d: looked for consequences %d times, want %d", version, s.ended, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		kept := revokeFrom(accessGrant(rights.Select, 0, "d", "t3"), false, "ann")
		if got := r.proposed(accessCommand("root", kept), 8); !strings.Contains(got.ErrorMessage, "use CASCADE") {
			t.Errorf("version %d: %q", version, got.ErrorMessage)
		}
		got := r.proposed(accessCommand("root", revoke...), 9)
		if got.ErrorCode != 0 {
			t.Fatal(got.ErrorMessage)
		}
		states[version] = fmt.Sprint(got.AccessChanges, principalsOf(t, r))
	}
	if old := states[metapb.ProtocolIssuer-1]; old != states[metapb.ProtocolIssuer] || strings.Contains(old, "grants:") {
		t.Errorf("version %d:\n%s\nversion %d:\n%s", metapb.ProtocolIssuer-1, old, metapb.ProtocolIssuer,
			states[metapb.ProtocolIssuer])
	}
}

// TestTooManyPairs refuses a command with too many pairs of a grant and a user before it enters the log.
func TestTooManyPairs(t *testing.T) {
	names := make([]string, rights.MaxPairs/2)
	one := grantTo(accessGrant(rights.Select, 0, "d", "t"), names...)
	for n, want := range map[int]string{2: "", 3: "15000 pairs"} {
		cmd := accessCommand("ann")
		for range n {
			cmd.GetChangeAccess().Changes = append(cmd.GetChangeAccess().Changes, one)
		}
		if err := prepare(cmd); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d changes: %v", n, err)
		}
	}
	role := accessCommand("ann", &metapb.AccessChange{Change: &metapb.AccessChange_GrantRole{
		GrantRole: &metapb.ChangeRole{Roles: []string{"a", "b", "c"}, Principals: names},
	}})
	if err := prepare(role); err == nil || !strings.Contains(err.Error(), "15000 pairs") {
		t.Error(err)
	}
}
