package rights

import (
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// IdentityPipeline is the pipeline that everybody may use.
const IdentityPipeline = "svc_identity"

// The limits of one change of grants: of the pairs of a target, or a role, and a user or role, and of what a maker of
// grants without the privilege ACCESS may have granted to one user or role, and in all.
const (
	MaxPairs            = 10_000
	MaxGrantsOfDelegate = 100
	MaxGrantsByDelegate = 5_000
)

// Authority is what a principal may do with users, roles, grants and tokens. Routers ask it before they propose a
// change, and the metadata group asks it again when it applies the change, each with its own state. All errors of its
// methods have code PermissionDenied.
type Authority struct {
	// User is the name of the principal.
	User  string
	Index *Index
	// Token is set if the principal has a token, and IngestOnly if the token is for ingestion only.
	Token, IngestOnly bool
	// Find returns a stored user or role, or nil; FindToken a token.
	Find      func(name string) *metapb.AccessPrincipal
	FindToken func(name string) *metapb.AccessToken
}

// Keeper reports whether the principal has the privilege ACCESS.
func (a *Authority) Keeper() bool { return !a.IngestOnly && a.Index.OnCluster()&Access != 0 }

// Check returns an error if the principal may not make a change. A user, role or token that does not exist is no error
// here.
func (a *Authority) Check(c *metapb.AccessChange) error {
	if a.IngestOnly {
		return errs.New(errs.PermissionDenied, "%s may only ingest, and not change users, roles, grants or tokens", a.User)
	}
	switch c := c.GetChange().(type) {
	case *metapb.AccessChange_Create:
		return a.keep(c.Create.GetPrincipal().GetName())
	case *metapb.AccessChange_Alter:
		if own(c.Alter) && c.Alter.Name == a.User {
			return nil
		}
		return a.keep(c.Alter.GetName())
	case *metapb.AccessChange_AlterRole:
		return a.keep(c.AlterRole.GetName())
	case *metapb.AccessChange_Drop:
		return a.keep(c.Drop.GetName())
	case *metapb.AccessChange_Grant:
		return a.mayChangeGrant(c.Grant)
	case *metapb.AccessChange_Revoke:
		return a.mayChangeGrant(c.Revoke)
	case *metapb.AccessChange_GrantRole:
		return a.mayChangeRole(c.GrantRole)
	case *metapb.AccessChange_RevokeRole:
		return a.mayChangeRole(c.RevokeRole)
	case *metapb.AccessChange_CreateToken:
		return a.mayRenew(c.CreateToken.GetToken())
	case *metapb.AccessChange_AlterToken:
		return a.mayRenew(a.FindToken(c.AlterToken.GetName()))
	case *metapb.AccessChange_DropToken:
		return a.mayDropToken(a.FindToken(c.DropToken.GetName()))
	}
	return errs.New(errs.PermissionDenied, "%s may not make this change: it is not allowed to any user", a.User)
}

// own reports whether a change replaces only a password. Users may do that for themselves: the router has checked the
// old password.
func own(c *metapb.AlterUser) bool {
	return c.Verifier != nil && c.Disabled == nil && c.ValidUntilUnixNano == nil && c.Certificate == nil &&
		c.DefaultDatabase == nil
}

// keep returns an error if the principal may not create, change or drop a user or role.
func (a *Authority) keep(name string) error {
	if !a.Keeper() {
		return errs.New(errs.PermissionDenied, "%s may not create, change or drop the user or role %s: that needs the "+
			"privilege ACCESS", a.User, name)
	}
	return a.MayChange(name)
}

// MayChange returns an error if a user or role has more privileges than the principal may grant.
func (a *Authority) MayChange(name string) error {
	p := a.Find(name)
	if p == nil || a.Index.Admin() {
		return nil
	}
	return a.MayGive(name, IndexOf(p, a.Find))
}

// MayGive returns an error if the principal may not grant everything in the index of a user or role.
func (a *Authority) MayGive(name string, x *Index) error {
	if x.Admin() && !a.Index.Admin() {
		return errs.New(errs.PermissionDenied, "%s may do everything, so only an administrator can change or grant it", name)
	}
	for _, g := range x.Grants() {
		if err := a.MayGrant(g.Privileges, g.Target); err != nil {
			return errs.Wrap(errs.PermissionDenied, err, "%s has %s on %s", name, g.Privileges, g.Target)
		}
	}
	return nil
}

// MayGrant returns an error if the principal may not grant privileges on a target.
func (a *Authority) MayGrant(privileges Set, t Target) error {
	if a.Index.MayGrant(privileges, t) {
		return nil
	}
	return errs.New(errs.PermissionDenied, "%s may not grant or revoke %s on %s: that needs the same privileges WITH "+
		"GRANT OPTION, or the privilege ACCESS", a.User, privileges, t)
}

func (a *Authority) mayChangeGrant(c *metapb.ChangeGrant) error {
	g := FromProto(c.GetGrant())
	if err := a.MayGrant(g.Privileges, g.Target); err != nil || a.Index.MayDelegate(g.Privileges, g.Target) {
		return err
	}
	for _, name := range c.GetPrincipals() { // with ACCESS alone, only users and roles without reserved privileges
		if err := a.MayChange(name); err != nil {
			return err
		}
	}
	return nil
}

func (a *Authority) mayChangeRole(c *metapb.ChangeRole) error {
	for _, name := range c.GetPrincipals() {
		if err := a.keep(name); err != nil {
			return err
		}
	}
	for _, role := range c.GetRoles() {
		x := NewIndex(nil, []string{role})
		if p := a.Find(role); p != nil {
			x = IndexOf(p, a.Find)
		}
		if err := a.MayGive(role, x); err != nil {
			return err
		}
	}
	return nil
}

// MayTake returns an error if the principal may not have a token with the rights of a user. A token is no proof that
// the user wants another one.
func (a *Authority) MayTake(user string) error {
	if user == a.User && !a.Token {
		return nil
	}
	if !a.Keeper() {
		return errs.New(errs.PermissionDenied, "%s may not create or change tokens for the user %s: that needs the "+
			"privilege ACCESS", a.User, user)
	}
	return a.MayChange(user)
}

// MayScope returns an error if the principal may not give a token the rights. To use pipelines, the principal's own
// right is enough.
func (a *Authority) MayScope(grants []*metapb.AccessGrant) error {
	for _, one := range grants {
		g := FromProto(one)
		if g.Kind == Pipelines && g.Privileges == Use && !a.Token &&
			(g.Name == IdentityPipeline || a.Index.Holds(Use, g.Target)) {
			continue
		}
		if err := a.MayGrant(g.Privileges, g.Target); err != nil {
			return err
		}
	}
	return nil
}

// mayRenew returns an error if the principal may not create a token, give it a new secret, or change it.
func (a *Authority) mayRenew(t *metapb.AccessToken) error {
	switch {
	case t == nil:
		return nil
	case t.User != "":
		return a.MayTake(t.User)
	}
	return a.MayScope(t.Grants)
}

// mayDropToken returns an error if the principal may not drop a token. Its creator, its user, and whoever could create
// it may do so.
func (a *Authority) mayDropToken(t *metapb.AccessToken) error {
	if t == nil || t.CreatedBy == a.User || t.User == a.User {
		return nil
	}
	return a.mayRenew(t)
}
