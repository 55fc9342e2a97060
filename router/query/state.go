package query

import (
	"context"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/query/declared"
)

// AccessState returns the description of all users and roles, and of the quotas if the caller in ctx may see them.
func (s *Service) AccessState(ctx context.Context) (*declared.State, error) {
	m, err := s.manage(ctx)
	if err != nil {
		return nil, err
	}
	if err := m.caller.Require(access.Need{Privilege: access.ManageAccess, Action: "show users"}); err != nil {
		return nil, err
	}
	if _, err := s.names.fresh(ctx, freshSoon); err != nil {
		return nil, err
	}
	out := declared.Of(s.cfg.Accounts.Principals())
	if !m.caller.May(access.Need{Privilege: access.Monitor}) {
		return out, nil
	}
	out.Quotas = map[string]map[string]string{}
	for _, def := range s.cfg.Meta.Databases() {
		for _, key := range schema.QuotaNames() {
			if value, ok := def.GetOptions()[key]; ok {
				if out.Quotas[def.GetName()] == nil {
					out.Quotas[def.GetName()] = map[string]string{}
				}
				out.Quotas[def.GetName()][strings.TrimPrefix(key, schema.QuotaPrefix)] = value
			}
		}
	}
	return out, nil
}

// PlanAccess returns the statements that turn the users, roles and quotas into what a file says.
func (s *Service) PlanAccess(ctx context.Context, file []byte) ([]string, error) {
	want, err := declared.Parse(file)
	if err != nil {
		return nil, err
	}
	for name, u := range want.Users {
		until, err := validUntil(u.ValidUntil)
		if err != nil {
			return nil, errs.Wrap(errs.InvalidArguments, err, "the user %s", name)
		}
		u.ValidUntil = dateOf(until)
	}
	have, err := s.AccessState(ctx)
	if err != nil {
		return nil, err
	}
	if want.Quotas != nil {
		if err := access.From(ctx).Require(access.Need{Privilege: access.Monitor, Action: "show quotas"}); err != nil {
			return nil, err
		}
	}
	if err := keepsAdministrator(s.cfg.Accounts.Principals(), want); err != nil {
		return nil, err
	}
	return declared.Plan(have, want)
}

// keepsAdministrator returns an error if a file leaves no administrator. The metadata group refuses the statement that
// would do it, but those before it would have dropped other users.
func keepsAdministrator(stored []*metapb.AccessPrincipal, want *declared.State) error {
	before, after := map[string]*metapb.AccessPrincipal{}, map[string]*metapb.AccessPrincipal{}
	for _, p := range stored {
		before[p.Name] = p
		in := want.Users
		if p.Role {
			in = want.Roles
		}
		now := in[p.Name]
		switch {
		case in == nil:
			after[p.Name] = p
		case now != nil:
			one := &metapb.AccessPrincipal{
				Name: p.Name, Role: p.Role, Roles: now.Roles, Verifier: p.Verifier, Disabled: now.Disabled,
			}
			if now.ValidUntil != "" {
				one.ValidUntilUnixNano = 1 // any time ends it
			}
			after[p.Name] = one
		}
	}
	for name, r := range want.Roles {
		if before[name] == nil {
			after[name] = &metapb.AccessPrincipal{Name: name, Role: true, Roles: r.Roles}
		}
	}
	if rights.Administrators(before) > 0 && rights.Administrators(after) == 0 {
		return errs.New(errs.InvalidArguments, "the file leaves no administrator who can sign in, so nothing was changed: "+
			"give the role %s to a user who exists, is enabled, has a password, and does not expire", rights.AdminRole)
	}
	return nil
}
