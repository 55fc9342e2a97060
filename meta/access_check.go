package meta

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// eachMember calls f for each pair of a role and a user or role.
func (s *principals) eachMember(c *metapb.ChangeRole, f func(p *metapb.AccessPrincipal, role string)) error {
	for _, role := range c.Roles {
		if r := s.byName[role]; !rights.IsBuiltIn(role) && (r == nil || !r.Role) {
			return errs.New(errs.InvalidArguments, "There is no role %q", role)
		}
		for _, name := range c.Principals {
			p, err := s.edit(name)
			if err != nil {
				return err
			}
			f(p, role)
		}
	}
	return nil
}

// heights returns the length of the longest chain of roles below each user and role, which is 0 without roles. In a
// cycle, it is more than rights.MaxRoleDepth.
func (s *principals) heights() map[string]int {
	out := make(map[string]int, len(s.byName))
	var height func(name string) int
	height = func(name string) int {
		h, known := out[name]
		if known {
			return h
		}
		out[name] = rights.MaxRoleDepth + 1 // for a role that has itself
		for _, role := range s.byName[name].GetRoles() {
			h = max(h, 1+height(role))
		}
		out[name] = h
		return h
	}
	for name := range s.byName {
		height(name)
	}
	return out
}

// check checks the state after all changes.
func (s *principals) check() error {
	users, roles, grants, size := 0, 0, 0, 0
	if err := s.checkCertificates(); err != nil {
		return err
	}
	heights := s.heights()
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		p := s.byName[name]
		if p.Role {
			roles++
		} else {
			users++
		}
		grants, size = grants+len(p.Grants), size+proto.Size(p)
		switch {
		case len(p.Grants) > catalog.MaxGrantsOfPrincipal || len(p.Roles) > catalog.MaxRolesOfPrincipal:
			return errs.New(errs.InvalidArguments, "%s would have %d grants%s and %d roles; at most %d and %d are allowed", name,
				len(p.Grants), mostGranted(p), len(p.Roles), catalog.MaxGrantsOfPrincipal, catalog.MaxRolesOfPrincipal)
		case heights[name] > rights.MaxRoleDepth:
			return errs.New(errs.InvalidArguments, "The roles of %s would form a cycle, or a chain of more than %d", name,
				rights.MaxRoleDepth)
		}
	}
	switch {
	case users > catalog.MaxUsers || roles > catalog.MaxRoles || grants > catalog.MaxGrants:
		return errs.New(errs.InvalidArguments, "There would be %d users, %d roles and %d grants; at most %d, %d and %d are "+
			"allowed", users, roles, grants, catalog.MaxUsers, catalog.MaxRoles, catalog.MaxGrants)
	case size > catalog.MaxPrincipalBytes:
		return errs.New(errs.InvalidArguments, "The users, roles and grants would have %d bytes; at most %d are allowed",
			size, catalog.MaxPrincipalBytes)
	case rights.Administrators(s.before) > 0 && rights.Administrators(s.byName) == 0:
		return errs.New(errs.InvalidArguments, "This would leave no administrator who can sign in: first grant the role %s "+
			"to another user who is enabled, has a password, and does not expire", rights.AdminRole)
	}
	return s.checkDelegate()
}

// checkCertificates returns an error if the name in a certificate could stand for two users.
func (s *principals) checkCertificates() error {
	owner := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(s.byName)) {
		c := s.byName[name].Certificate
		if c == "" {
			continue
		}
		if other := owner[c]; other != "" {
			return errs.New(errs.InvalidArguments, "The users %s and %s would have the same name in their certificates, %q",
				other, name, c)
		}
		if other := s.byName[c]; c != name && other != nil && !other.Role {
			return errs.New(errs.InvalidArguments, "The name in the certificate of %s would be %q, which is another user", name,
				c)
		}
		owner[c] = name
	}
	return nil
}

// checkDelegate returns an error if a maker of new grants without the privilege ACCESS has made too many grants in all.
func (s *principals) checkDelegate() error {
	if s.delegate == "" {
		return nil
	}
	made := 0
	for _, p := range s.byName {
		for _, g := range p.Grants {
			if g.GrantedBy == s.delegate {
				made++
			}
		}
	}
	if made > catalog.MaxGrantsByDelegate {
		return errs.New(errs.InvalidArguments, "%s would have made %d grants; at most %d are allowed without the privilege "+
			"ACCESS: use patterns such as web_*, or roles", s.delegate, made, catalog.MaxGrantsByDelegate)
	}
	return nil
}

// mostGranted says who made most of the grants of a user or role, for a message.
func mostGranted(p *metapb.AccessPrincipal) string {
	by := map[string]int{}
	for _, g := range p.Grants {
		by[g.GrantedBy]++
	}
	most := ""
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if most == "" || by[name] > by[most] {
			most = name
		}
	}
	if most == "" {
		return ""
	}
	return fmt.Sprintf(" (%d of them granted by %s)", by[most], most)
}
