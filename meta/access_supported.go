package meta

import (
	"slices"

	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// This file decides which grants are backed by the authority of their makers.

// grantKey identifies a grant: a holder has one grant of a target by each maker.
type grantKey struct {
	holder, maker string
	target        rights.Target
}

func keyOfGrant(holder string, g *metapb.AccessGrant) grantKey {
	return grantKey{holder, g.GrantedBy, rights.FromProto(g).Target}
}

// support finds the grants whose makers still have the authority to make them. The authority must come from other
// supported grants, and not from the grant itself or from a circle of grants. A maker that is not stored, such as a
// user of a user file, always has the authority.
type support struct {
	all map[string]*metapb.AccessPrincipal
	// open are the grants by maker that are not known to be supported, and members the holders of each role.
	open    map[string][]made
	members map[string][]string
	// queue has the makers whose authority may have grown.
	queue  []string
	queued map[string]bool

	found map[grantKey]bool
	// indexed counts the computed indexes.
	indexed int
}

// made is a grant that a maker made.
type made struct {
	holder string
	grant  *metapb.AccessGrant
}

// supported returns the supported grants. The order of the makers does not matter, since authority only grows.
func supported(all map[string]*metapb.AccessPrincipal) map[grantKey]bool { return supportOf(all).found }

func supportOf(all map[string]*metapb.AccessPrincipal) *support {
	s := &support{
		all: all, open: map[string][]made{}, members: map[string][]string{}, queued: map[string]bool{},
		found: map[grantKey]bool{},
	}
	for name, p := range all {
		for _, role := range p.Roles {
			s.members[role] = append(s.members[role], name)
		}
		for _, g := range p.Grants {
			if all[g.GrantedBy] == nil {
				s.found[keyOfGrant(name, g)] = true
			} else {
				s.open[g.GrantedBy] = append(s.open[g.GrantedBy], made{name, g})
			}
		}
	}
	for maker := range s.open {
		s.enqueue(maker)
	}
	for len(s.queue) > 0 {
		maker := s.queue[0]
		s.queue = s.queue[1:]
		delete(s.queued, maker)
		s.check(maker)
	}
	return s
}

func (s *support) enqueue(maker string) {
	if len(s.open[maker]) > 0 && !s.queued[maker] {
		s.queued[maker] = true
		s.queue = append(s.queue, maker)
	}
}

// check finds the grants of a maker that its present authority supports. The authority of their holders, and of those
// who have them as roles, may grow then.
func (s *support) check(maker string) {
	x := indexBy(s.all, maker, s.found)
	s.indexed++
	grown := map[string]bool{}
	s.open[maker] = slices.DeleteFunc(s.open[maker], func(m made) bool {
		g := rights.FromProto(m.grant)
		if !x.MayGrant(g.Privileges, g.Target) {
			return false
		}
		s.found[keyOfGrant(m.holder, m.grant)] = true
		grown[m.holder] = true
		return true
	})
	var next []string
	for holder := range grown {
		next = append(next, holder)
	}
	for len(next) > 0 {
		name := next[len(next)-1]
		next = next[:len(next)-1]
		s.enqueue(name)
		if !s.all[name].GetRole() {
			continue
		}
		for _, member := range s.members[name] {
			if !grown[member] {
				grown[member] = true
				next = append(next, member)
			}
		}
	}
}
