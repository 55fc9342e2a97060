package meta

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// This file applies commands about users, roles and grants.

// principals is the state of all users and roles while a command changes it. Nothing is written before all changes
// have been made.
type principals struct {
	byName  map[string]*metapb.AccessPrincipal
	before  map[string]*metapb.AccessPrincipal
	touched map[string]bool
	index   uint64 // of the command
	now     int64
	changes uint32
	// delegate is a maker of new grants without the privilege ACCESS, or empty. delegates are the makers that were looked
	// at, and whether they have not ACCESS: a command of such a maker cannot change that.
	delegate  string
	delegates map[string]bool
	// revoking is set after revocations whose consequences are still to come, and cascade if they may have some.
	revoking, cascade bool
	// ended counts how often the consequences of revocations were looked for.
	ended int
	// also is what the command takes away besides what it names.
	also *consequences
	// forgotten are the users who are dropped.
	forgotten []string

	tx     *catalog.Tx
	tokens *tokens
}

func newPrincipals(tx *catalog.Tx, index uint64, now int64) *principals {
	return &principals{
		byName: map[string]*metapb.AccessPrincipal{}, touched: map[string]bool{}, index: index, now: now,
		tx: tx, tokens: newTokens(tx), also: &consequences{}, delegates: map[string]bool{},
	}
}

// applyChangeAccess makes all changes of a command, or none.
func applyChangeAccess(tx *catalog.Tx, cmd *metapb.ChangeAccess, now int64, c *change) (*metapb.Result, error) {
	s := newPrincipals(tx, c.Index, now)
	if !onlyTokens(cmd) {
		all, err := tx.Principals.All()
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			s.byName[p.Name] = p
		}
	}
	s.before = maps.Clone(s.byName)
	for _, c := range cmd.Conditions {
		if err := s.require(c); err != nil {
			return nil, err
		}
	}
	if err := s.applyAll(cmd); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.tokens.check(); err != nil {
		return nil, err
	}
	if err := s.write(tx, c); err != nil {
		return nil, err
	}
	if err := forgetSaved(tx, s.forgotten); err != nil {
		return nil, err
	}
	return &metapb.Result{AccessChanges: s.changes, Consequences: s.also.String()}, s.tokens.write(c)
}

// applyAll makes all changes of a command.
func (s *principals) applyAll(cmd *metapb.ChangeAccess) error {
	for _, one := range cmd.Changes {
		if one.GetRevoke() == nil {
			if err := s.endRevocations(); err != nil {
				return err
			}
		}
		if err := s.apply(one, cmd.GetActor().GetPrincipal()); err != nil {
			return err
		}
	}
	return s.endRevocations()
}

// onlyTokens reports whether a command changes only tokens. Then the users and roles need not be read.
func onlyTokens(cmd *metapb.ChangeAccess) bool {
	return !slices.ContainsFunc(cmd.Changes, func(c *metapb.AccessChange) bool { return !isTokenChange(c) })
}

func isTokenChange(c *metapb.AccessChange) bool {
	return c.GetCreateToken() != nil || c.GetAlterToken() != nil || c.GetDropToken() != nil
}

// user returns a user or role as it is after the changes so far, or nil.
func (s *principals) user(name string) (*metapb.AccessPrincipal, error) {
	if p := s.byName[name]; p != nil || s.touched[name] {
		return p, nil
	}
	return s.tx.Principals.Get(name)
}

func (s *principals) apply(c *metapb.AccessChange, actor string) error {
	switch c := c.GetChange().(type) {
	case *metapb.AccessChange_Create:
		return s.create(c.Create)
	case *metapb.AccessChange_Alter:
		return s.alter(c.Alter)
	case *metapb.AccessChange_AlterRole:
		return s.alterRole(c.AlterRole)
	case *metapb.AccessChange_Drop:
		return s.drop(c.Drop)
	case *metapb.AccessChange_ResetAdmin:
		return s.resetAdmin(c.ResetAdmin)
	case *metapb.AccessChange_Grant:
		return s.grant(c.Grant, actor)
	case *metapb.AccessChange_Revoke:
		return s.revoke(c.Revoke)
	case *metapb.AccessChange_GrantRole:
		return s.eachMember(c.GrantRole, func(p *metapb.AccessPrincipal, role string) {
			if !slices.Contains(p.Roles, role) {
				p.Roles = append(p.Roles, role)
				s.changes++
			}
		})
	case *metapb.AccessChange_RevokeRole:
		err := s.eachMember(c.RevokeRole, func(p *metapb.AccessPrincipal, role string) {
			if i := slices.Index(p.Roles, role); i >= 0 {
				p.Roles = slices.Delete(p.Roles, i, i+1)
				s.changes++
			}
		})
		if err != nil {
			return err
		}
		return s.dependents(true)
	case *metapb.AccessChange_CreateToken:
		s.changes++
		return s.tokens.create(c.CreateToken, actor, s.now, s.user)
	case *metapb.AccessChange_AlterToken:
		s.changes++
		return s.tokens.alter(c.AlterToken)
	case *metapb.AccessChange_DropToken:
		dropped, err := s.tokens.drop(c.DropToken)
		if dropped {
			s.changes++
		}
		return err
	}
	return errs.New(errs.InvalidArguments, "Change access: a change is empty")
}

// edit returns a copy of a user or role that may be changed.
func (s *principals) edit(name string) (*metapb.AccessPrincipal, error) {
	p := s.byName[name]
	switch {
	case rights.IsBuiltIn(name):
		return nil, errs.New(errs.InvalidArguments, "The role %s is built in and cannot be changed", name)
	case p == nil:
		return nil, errs.New(errs.InvalidArguments, "There is no user or role %q", name)
	case !s.touched[name]:
		p = proto.CloneOf(p)
		s.byName[name], s.touched[name] = p, true
	}
	return p, nil
}

func kindOfPrincipal(role bool) string {
	if role {
		return "role"
	}
	return "user"
}

func (s *principals) create(c *metapb.CreatePrincipal) error {
	p := c.Principal
	if c.Bootstrap && rights.Administrators(s.byName) > 0 {
		return errs.New(errs.IllegalState, "There is an administrator already: ask one to create the user %s", p.Name)
	}
	if had := s.byName[p.Name]; had != nil {
		if c.IfNotExists && had.Role == p.Role {
			return nil
		}
		return errs.New(errs.InvalidArguments, "There is a %s %q already", kindOfPrincipal(had.Role), p.Name)
	}
	p = proto.CloneOf(p)
	p.CreatedUnixNano = s.now
	if p.Verifier != "" {
		p.PasswordVersion = s.index
	}
	if c.Bootstrap {
		p.Roles = []string{rights.AdminRole}
	}
	s.byName[p.Name], s.touched[p.Name] = p, true
	s.changes++
	return nil
}

func (s *principals) alter(c *metapb.AlterUser) error {
	p, err := s.edit(c.Name)
	if err != nil {
		return err
	}
	if p.Role {
		return errs.New(errs.InvalidArguments, "%q is a role, and not a user", c.Name)
	}
	if c.Verifier != nil {
		p.Verifier, p.PasswordVersion = *c.Verifier, s.index
	}
	if c.Disabled != nil {
		p.Disabled = *c.Disabled
	}
	if c.ValidUntilUnixNano != nil {
		p.ValidUntilUnixNano = *c.ValidUntilUnixNano
	}
	if c.Certificate != nil {
		p.Certificate = *c.Certificate
	}
	if c.DefaultDatabase != nil {
		p.DefaultDatabase = *c.DefaultDatabase
	}
	s.changes++
	return nil
}

// alterRole replaces the groups of a role. Grants and tokens that people made as members of a group stay.
func (s *principals) alterRole(c *metapb.AlterRole) error {
	p, err := s.edit(c.Name)
	if err != nil {
		return err
	}
	if !p.Role {
		return errs.New(errs.InvalidArguments, "%q is a user, and not a role", c.Name)
	}
	p.Groups = slices.Clone(c.Groups)
	s.changes++
	return nil
}

// resetAdmin makes a user an administrator who can sign in by the password, and creates the user if necessary.
func (s *principals) resetAdmin(c *metapb.ResetAdmin) error {
	if s.byName[c.Name] == nil {
		p := &metapb.AccessPrincipal{Name: c.Name, CreatedUnixNano: s.now}
		s.byName[c.Name], s.touched[c.Name] = p, true
	}
	p, err := s.edit(c.Name)
	if err != nil {
		return err
	}
	if p.Role {
		return errs.New(errs.InvalidArguments, "%q is a role, and not a user: choose another name", c.Name)
	}
	p.Verifier, p.PasswordVersion, p.Disabled, p.ValidUntilUnixNano = c.Verifier, s.index, false, 0
	if !slices.Contains(p.Roles, rights.AdminRole) {
		p.Roles = append(p.Roles, rights.AdminRole)
	}
	s.changes++
	return nil
}

func (s *principals) drop(c *metapb.DropPrincipal) error {
	p := s.byName[c.Name]
	switch {
	case rights.IsBuiltIn(c.Name):
		return errs.New(errs.InvalidArguments, "The role %s is built in and cannot be changed", c.Name)
	case p == nil && c.IfExists:
		return nil
	case p == nil:
		return errs.New(errs.InvalidArguments, "There is no %s %q", kindOfPrincipal(c.Role), c.Name)
	case p.Role != c.Role:
		return errs.New(errs.InvalidArguments, "%q is a %s: use DROP %s", c.Name, kindOfPrincipal(p.Role),
			strings.ToUpper(kindOfPrincipal(p.Role)))
	}
	if p.Role {
		for _, name := range slices.Sorted(maps.Keys(s.byName)) {
			if slices.Contains(s.byName[name].Roles, c.Name) {
				member, err := s.edit(name)
				if err != nil {
					return err
				}
				member.Roles = slices.DeleteFunc(member.Roles, func(r string) bool { return r == c.Name })
			}
		}
	}
	delete(s.byName, c.Name)
	s.touched[c.Name] = true
	s.changes++
	if p.Role {
		return s.dependents(true)
	}
	if err := s.tokens.dropUser(c.Name, s.also); err != nil {
		return err
	}
	return s.forget(c.Name)
}

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

// write stores what was changed.
func (s *principals) write(tx *catalog.Tx, c *change) error {
	for _, name := range slices.Sorted(maps.Keys(s.touched)) {
		p, old := s.byName[name], s.before[name]
		switch {
		case p == nil && old == nil:
		case p == nil:
			if err := tx.Principals.Delete(old); err != nil {
				return err
			}
			c.DroppedPrincipals = append(c.DroppedPrincipals, name)
		case !proto.Equal(p, old):
			if err := tx.Principals.Put(p); err != nil {
				return err
			}
			c.Principals = append(c.Principals, p)
		}
	}
	return nil
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
