package meta

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// grant adds privileges to the grant of the same target that the same user made, or makes one.
func (s *principals) grant(c *metapb.ChangeGrant, actor string) error {
	for _, name := range c.Principals {
		p, err := s.edit(name)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(p.Grants, func(g *metapb.AccessGrant) bool {
			return g.GrantedBy == actor && g.Kind == c.Grant.Kind && g.Database == c.Grant.Database && g.Name == c.Grant.Name
		})
		if at < 0 {
			g := proto.CloneOf(c.Grant)
			g.GrantedBy = actor
			p.Grants = append(p.Grants, g)
			if err := s.checkDelegated(p, actor); err != nil {
				return err
			}
		} else {
			p.Grants[at].Privileges |= c.Grant.Privileges
			p.Grants[at].Grantable |= c.Grant.Grantable
		}
		s.changes++
	}
	return nil
}

// checkDelegated returns an error if makers without the privilege ACCESS have made too many grants of a user or role.
// They can leave no room for the grants of others otherwise.
func (s *principals) checkDelegated(p *metapb.AccessPrincipal, actor string) error {
	isDelegate := func(name string) bool {
		is, known := s.delegates[name]
		if !known {
			maker := s.byName[name]
			switch {
			case rights.IsPerson(name):
				is = true // the metadata group does not know the groups of people
			case maker != nil:
				x := rights.IndexOf(maker, func(name string) *metapb.AccessPrincipal { return s.byName[name] })
				is = !x.Admin() && x.OnCluster()&rights.Access == 0
			}
			s.delegates[name] = is
		}
		return is
	}
	if !isDelegate(actor) {
		return nil
	}
	s.delegate = actor
	own, all := 0, 0
	for _, g := range p.Grants {
		if g.GrantedBy == actor {
			own++
		}
		if isDelegate(g.GrantedBy) {
			all++
		}
	}
	if own > catalog.MaxGrantsOfDelegate || all > catalog.MaxDelegatedGrants {
		return errs.New(errs.InvalidArguments, "%s would have %d grants made by %s, and %d made by users without the "+
			"privilege ACCESS; at most %d and %d are allowed: use a pattern such as web_*, or revoke some", p.Name, own, actor,
			all, catalog.MaxGrantsOfDelegate, catalog.MaxDelegatedGrants)
	}
	return nil
}

// revoke takes privileges on a target from all grants that the target covers. A part of a wider grant cannot be
// taken.
func (s *principals) revoke(c *metapb.ChangeGrant) error {
	from := rights.FromProto(c.Grant)
	for _, name := range c.Principals {
		p, err := s.edit(name)
		if err != nil {
			return err
		}
		for _, g := range p.Grants {
			if !from.Covers(rights.FromProto(g).Target) {
				continue
			}
			if g.Grantable&c.Grant.Privileges != 0 || !c.OptionOnly && g.Privileges&c.Grant.Privileges != 0 {
				s.changes++
			}
			g.Grantable &^= c.Grant.Privileges
			if !c.OptionOnly {
				g.Privileges &^= c.Grant.Privileges
			}
		}
		p.Grants = slices.DeleteFunc(p.Grants, func(g *metapb.AccessGrant) bool { return g.Privileges == 0 })
		for _, g := range p.Grants {
			wide := rights.FromProto(g)
			if wide.Target != from.Target && wide.Covers(from.Target) && !c.OptionOnly && wide.Privileges&from.Privileges != 0 {
				return errs.New(errs.InvalidArguments, "%s has %s on %s: a part of a grant cannot be revoked; revoke all of it, "+
					"and grant what should remain", name, wide.Privileges, wide.Target)
			}
		}
	}
	if s.tx.ClusterVersion() < metapb.ProtocolIssuer {
		return s.dependents(c.Cascade)
	}
	if s.revoking && s.cascade != c.Cascade {
		if err := s.endRevocations(); err != nil {
			return err
		}
	}
	s.revoking, s.cascade = true, c.Cascade
	return nil
}

// endRevocations ends what depended on the privileges that the last changes revoked. To do this after each change would
// take seconds if a statement has many targets; members of earlier versions do.
func (s *principals) endRevocations() error {
	if !s.revoking {
		return nil
	}
	s.revoking = false
	return s.dependents(s.cascade)
}

// dependents removes grants and tokens whose makers may not make them any more. If there are any and cascade is not
// set, it refuses the command. It ignores grants that had lost their maker's authority before the command.
func (s *principals) dependents(cascade bool) error {
	s.ended++
	before, now := supported(s.before), supported(s.byName)
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		var lost []*metapb.AccessGrant
		for _, g := range s.byName[name].Grants {
			k := keyOfGrant(name, g)
			if !now[k] && before[k] {
				lost = append(lost, g)
			}
		}
		if len(lost) == 0 {
			continue
		}
		if g := lost[0]; !cascade {
			return errs.New(errs.InvalidArguments, "%s has granted %s on %s to %s with this privilege: use CASCADE to revoke "+
				"that too", g.GrantedBy, rights.Set(g.Privileges), rights.FromProto(g).Target, name)
		}
		p, err := s.edit(name)
		if err != nil {
			return err
		}
		n := len(p.Grants)
		p.Grants = slices.DeleteFunc(p.Grants, func(g *metapb.AccessGrant) bool {
			k := keyOfGrant(name, g)
			return !now[k] && before[k]
		})
		for _, g := range lost {
			s.also.grant(name, g)
		}
		s.changes += uint32(n - len(p.Grants))
	}
	return s.dependentTokens(cascade, before, now)
}

// indexBy returns the index of a user or role by its roles and by the grants that are supported.
func indexBy(all map[string]*metapb.AccessPrincipal, name string, supported map[grantKey]bool) *rights.Index {
	only := func(name string) *metapb.AccessPrincipal {
		p := all[name]
		if p == nil {
			return nil
		}
		return &metapb.AccessPrincipal{
			Name: name, Role: p.Role, Roles: p.Roles,
			Grants: slices.DeleteFunc(slices.Clone(p.Grants), func(g *metapb.AccessGrant) bool {
				return !supported[keyOfGrant(name, g)]
			}),
		}
	}
	return rights.IndexOf(only(name), only)
}

// dropGrantsIn removes the grants on a database that is dropped, unless their pattern of databases has a wildcard.
func dropGrantsIn(tx *catalog.Tx, database string, c *change, also *consequences) error {
	all, err := tx.Principals.All()
	if err != nil {
		return err
	}
	for _, p := range all {
		n := len(p.Grants)
		p.Grants = slices.DeleteFunc(p.Grants, func(g *metapb.AccessGrant) bool {
			gone := rights.Kind(g.Kind) == rights.Tables && g.Database == database
			if gone {
				also.grant(p.Name, g)
			}
			return gone
		})
		if len(p.Grants) == n {
			continue
		}
		if err := tx.Principals.Put(p); err != nil {
			return err
		}
		c.Principals = append(c.Principals, p)
	}
	return nil
}
