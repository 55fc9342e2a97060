package query

import (
	"context"
	"strings"

	"cordwood/proto/errs"
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
	return declared.Plan(have, want)
}
