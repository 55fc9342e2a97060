package rights

import (
	"iter"
	"slices"

	"cordwood/proto/metapb"
)

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

// RolesOfGroups returns the names of the roles that have one of the groups, in order.
func RolesOfGroups(all iter.Seq[*metapb.AccessPrincipal], groups []string) (roles []string) {
	for p := range all {
		if p.Role && slices.ContainsFunc(p.Groups, func(g string) bool { return slices.Contains(groups, g) }) {
			roles = append(roles, p.Name)
		}
	}
	slices.Sort(roles)
	return roles
}

// OfPerson returns the user for a person with roles. stored is the user with the name of the person, or nil.
func OfPerson(stored *metapb.AccessPrincipal, name string, roles []string) *metapb.AccessPrincipal {
	all := slices.Concat(stored.GetRoles(), roles)
	slices.Sort(all)
	return &metapb.AccessPrincipal{Name: name, Roles: slices.Compact(all), Grants: stored.GetGrants()}
}

// Administrators counts the users with the role admin who can sign in, now and later: they are enabled, have a password
// and do not expire. all has the users and roles by name.
func Administrators(all map[string]*metapb.AccessPrincipal) int {
	admin := map[string]bool{AdminRole: true} // by name of a role that was looked at
	var isAdmin func(name string) bool
	isAdmin = func(name string) bool {
		is, known := admin[name]
		if !known {
			admin[name] = false // for a role that has itself
			is = slices.ContainsFunc(all[name].GetRoles(), isAdmin)
			admin[name] = is
		}
		return is
	}
	n := 0
	for _, p := range all {
		if !p.Role && !p.Disabled && p.Verifier != "" && p.ValidUntilUnixNano == 0 && slices.ContainsFunc(p.Roles, isAdmin) {
			n++
		}
	}
	return n
}
