package meta

import (
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
