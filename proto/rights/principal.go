package rights

import "cordwood/proto/metapb"

// MaxRoleDepth is the maximum length of a chain of roles that have each other.
const MaxRoleDepth = 8

// FromProto returns a stored grant.
func FromProto(g *metapb.AccessGrant) Grant {
	return Grant{
		Target:     Target{Kind: Kind(g.GetKind()), Database: g.GetDatabase(), Name: g.GetName()},
		Privileges: Set(g.GetPrivileges()), Grantable: Set(g.GetGrantable()),
	}
}

// Flatten returns the roles of a user or role, with the roles of these roles, and the grants of all of them. find
// returns a stored user or role, or nil.
func Flatten(p *metapb.AccessPrincipal, find func(name string) *metapb.AccessPrincipal) (roles []string, all []Grant) {
	add := func(p *metapb.AccessPrincipal) {
		for _, g := range p.GetGrants() {
			all = append(all, FromProto(g))
		}
	}
	add(p)
	seen, next := map[string]bool{}, p.GetRoles()
	for depth := 0; len(next) > 0 && depth <= MaxRoleDepth; depth++ {
		var deeper []string
		for _, name := range next {
			if seen[name] {
				continue
			}
			seen[name] = true
			role := find(name)
			if role == nil && !IsBuiltIn(name) {
				continue
			}
			roles = append(roles, name)
			if role != nil {
				add(role)
				deeper = append(deeper, role.GetRoles()...)
			}
		}
		next = deeper
	}
	return roles, all
}

// IndexOf returns the index of a stored user or role.
func IndexOf(p *metapb.AccessPrincipal, find func(name string) *metapb.AccessPrincipal) *Index {
	roles, grants := Flatten(p, find)
	return NewIndex(grants, roles)
}
