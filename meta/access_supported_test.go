package meta

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// supportedSlowly finds the supported grants by trying all of them until nothing changes.
func supportedSlowly(all map[string]*metapb.AccessPrincipal) map[grantKey]bool {
	out := map[grantKey]bool{}
	for before := -1; before != len(out); {
		before = len(out)
		for name, p := range all {
			for _, g := range p.Grants {
				made := rights.FromProto(g)
				if all[g.GrantedBy] == nil || indexBy(all, g.GrantedBy, out).MayGrant(made.Privileges, made.Target) {
					out[keyOfGrant(name, g)] = true
				}
			}
		}
	}
	return out
}

// TestSupported compares the supported grants of random users and roles with those of the slow search.
func TestSupported(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, seed))
	supports, refuses := 0, 0
	for round := range 300 {
		all := map[string]*metapb.AccessPrincipal{}
		name := func(n int) string { return fmt.Sprintf("p%d", random.IntN(n)) }
		for i := range 8 {
			p := &metapb.AccessPrincipal{Name: fmt.Sprintf("p%d", i), Role: i < 3}
			if role := random.IntN(6); role < i && role < 3 {
				p.Roles = []string{fmt.Sprintf("p%d", role)}
			}
			had := map[grantKey]bool{}
			for range random.IntN(3) {
				g := accessGrant(rights.Select, rights.Set(random.IntN(2)), "d", []string{"*", "x*", "xy"}[random.IntN(3)])
				if g.GrantedBy = name(9); !had[keyOfGrant(p.Name, g)] { // p8 is not stored
					p.Grants = append(p.Grants, g)
				}
				had[keyOfGrant(p.Name, g)] = true
			}
			all[p.Name] = p
		}
		got, want := supported(all), supportedSlowly(all)
		if !maps.Equal(got, want) {
			t.Fatalf("round %d: %v, want %v", round, got, want)
		}
		supports += len(got)
		for _, p := range all {
			refuses += len(p.Grants)
		}
	}
	if refuses -= supports; supports < 300 || refuses < 300 {
		t.Errorf("%d grants are supported and %d are not: the test compares too little", supports, refuses)
	}
}

// TestSupportedChain checks the work for a long chain of users who pass a privilege on: it grows with the number of
// users, and not with its square. Otherwise, one REVOKE stops the metadata group for minutes.
func TestSupportedChain(t *testing.T) {
	const n = 5000
	all := map[string]*metapb.AccessPrincipal{}
	for i := range n {
		g := accessGrant(rights.Select, rights.Select, "d", "*")
		g.GrantedBy = fmt.Sprintf("u%d", i-1)
		name := fmt.Sprintf("u%d", i)
		all[name] = &metapb.AccessPrincipal{Name: name, Grants: []*metapb.AccessGrant{g}}
	}
	s := supportOf(all)
	if len(s.found) != n || s.indexed > 2*n {
		t.Errorf("%d of %d grants are supported, and %d indexes were computed, want at most %d", len(s.found), n, s.indexed,
			2*n)
	}
}
