package meta

import (
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
)

// This file prepares commands about users, roles and grants. Routers check whether a sender may make the changes.

const (
	// maxAccessChanges bounds the changes of one command.
	maxAccessChanges = 1000
	// maxVerifier bounds the length of a verifier in bytes.
	maxVerifier = 1 << 10
)

// prepareChangeAccess refuses changes that can be refused without the state.
func prepareChangeAccess(cmd *metapb.ChangeAccess) error {
	if n := len(cmd.GetChanges()); n == 0 || n > maxAccessChanges {
		return errs.New(errs.InvalidArguments, "Change access: %d changes; 1 to %d are possible in one command", n,
			maxAccessChanges)
	}
	if cmd.GetActor().GetPrincipal() == "" {
		return errs.New(errs.InvalidArguments, "Change access: the command does not name its user")
	}
	if n := len(cmd.GetConditions()); n > maxConditions {
		return errs.New(errs.InvalidArguments, "Change access: %d conditions; at most %d are possible", n, maxConditions)
	}
	pairs := 0
	for _, c := range cmd.Changes {
		if err := checkAccessChange(c); err != nil {
			return err
		}
		pairs += len(c.GetGrant().GetPrincipals()) + len(c.GetRevoke().GetPrincipals())
		for _, r := range []*metapb.ChangeRole{c.GetGrantRole(), c.GetRevokeRole()} {
			pairs += len(r.GetRoles()) * len(r.GetPrincipals())
		}
	}
	if pairs > rights.MaxPairs {
		return errs.New(errs.InvalidArguments, "Change access: %d pairs of a grant or role and a user; at most %d are "+
			"possible in one command", pairs, rights.MaxPairs)
	}
	return nil
}

func checkAccessChange(c *metapb.AccessChange) error {
	switch c := c.GetChange().(type) {
	case *metapb.AccessChange_Create:
		p := c.Create.GetPrincipal()
		if len(p.GetVerifier()) > maxVerifier || p.GetRole() && p.GetVerifier() != "" {
			return errs.New(errs.InvalidArguments, "Create %s: the password is not valid", p.GetName())
		}
		if len(p.GetGrants())+len(p.GetRoles()) > 0 {
			return errs.New(errs.InvalidArguments, "Create %s: grants are separate changes", p.GetName())
		}
		return checkCreate(p)
	case *metapb.AccessChange_Alter:
		if len(c.Alter.GetVerifier()) > maxVerifier {
			return errs.New(errs.InvalidArguments, "Alter user %s: the password is not valid", c.Alter.GetName())
		}
		if err := checkUserDatabase(c.Alter.GetDefaultDatabase()); err != nil {
			return err
		}
		return checkSignIn(c.Alter.GetName(), c.Alter.GetVerifier(), c.Alter.GetCertificate())
	case *metapb.AccessChange_AlterRole:
		return rights.CheckGroups(c.AlterRole.GetGroups())
	case *metapb.AccessChange_ResetAdmin:
		if v := c.ResetAdmin.GetVerifier(); v == "" || len(v) > maxVerifier {
			return errs.New(errs.InvalidArguments, "Reset the administrator %s: the password is missing or not valid",
				c.ResetAdmin.GetName())
		}
		return rights.CheckName(c.ResetAdmin.GetName())
	case *metapb.AccessChange_Drop:
		return nil
	case *metapb.AccessChange_Grant:
		return checkChangeGrant(c.Grant)
	case *metapb.AccessChange_Revoke:
		return checkChangeGrant(c.Revoke)
	case *metapb.AccessChange_GrantRole:
		return checkChangeRole(c.GrantRole)
	case *metapb.AccessChange_RevokeRole:
		return checkChangeRole(c.RevokeRole)
	}
	return checkTokenChange(c)
}

// checkCreate checks the name of a new user or role, and how the user signs in.
func checkCreate(p *metapb.AccessPrincipal) error {
	if p.GetRole() {
		if p.GetCertificate()+p.GetDefaultDatabase() != "" {
			return errs.New(errs.InvalidArguments, "Create %s: a role has no certificate and no database", p.GetName())
		}
		return rights.CheckName(p.GetName())
	}
	if len(p.GetGroups()) > 0 {
		return errs.New(errs.InvalidArguments, "Create %s: only roles have groups", p.GetName())
	}
	if err := checkUserDatabase(p.GetDefaultDatabase()); err != nil {
		return err
	}
	if err := checkSignIn(p.GetName(), p.GetVerifier(), p.GetCertificate()); err != nil {
		return err
	}
	return rights.CheckUserName(p.GetName())
}

// checkUserDatabase checks the database of a user for requests that name none. It need not exist.
func checkUserDatabase(name string) error {
	if name == "" {
		return nil
	}
	return schema.CheckDatabaseName(name)
}

// checkSignIn checks the password and the name in the certificate that a user gets. A person whom an OIDC provider
// authenticates has neither.
func checkSignIn(name, verifier, certificate string) error {
	switch {
	case rights.IsPerson(name) && verifier+certificate != "":
		return errs.New(errs.InvalidArguments, "%s signs in with the OIDC provider, and can have no password and no "+
			"certificate", name)
	case certificate == "":
		return nil
	}
	return rights.CheckCertificate(certificate)
}

func checkChangeGrant(c *metapb.ChangeGrant) error {
	if len(c.GetPrincipals()) == 0 {
		return errs.New(errs.InvalidArguments, "Change access: a grant names no user")
	}
	g := rights.FromProto(c.GetGrant())
	if g.Grantable&^g.Privileges != 0 {
		return errs.New(errs.InvalidArguments, "Change access: grantable privileges that are not granted")
	}
	return g.Check(g.Privileges)
}

func checkChangeRole(c *metapb.ChangeRole) error {
	if len(c.GetPrincipals()) == 0 || len(c.GetRoles()) == 0 {
		return errs.New(errs.InvalidArguments, "Change access: a role or a user is missing")
	}
	return nil
}
