package query

import (
	"context"
	"slices"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// showAccess lists the users, roles and tokens that have a privilege on a target, and the grants that give it.
func showAccess(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
	show := st.(*statement.ShowAccess)
	m, err := s.manage(ctx)
	if err != nil {
		return err
	}
	t := show.Target
	if t.Kind == rights.Tables && t.Database == "" {
		t.Database = req.Database
	}
	check := t.Kind.All()
	if t.Kind == rights.Tables && t.Database == rights.PrivateDatabase {
		check = rights.Select
	}
	if err := t.Check(check); err != nil {
		return err
	}
	var rows [][]string
	add := func(kind, name string, x *rights.Index, by []string) {
		if has := privilegesOn(x, t); has != 0 {
			rows = append(rows, []string{kind, name, has.String(), strings.Join(by, "; ")})
		}
	}
	for _, p := range s.cfg.Accounts.Principals() {
		kind := "user"
		if p.Role {
			kind = "role"
		}
		add(kind, p.Name, rights.IndexOf(p, m.find), m.grantsBehind(p, t))
	}
	for _, role := range rights.BuiltInRoles() {
		add("role", role, rights.NewIndex(nil, []string{role}), []string{"built in"})
	}
	for _, one := range s.cfg.Accounts.StoredTokens() {
		if one.User != "" || m.tokenState(one) == "expired" {
			continue // it has the rights of a user, who is listed, or none
		}
		x := rights.NewIndex(grantsOf(one.Grants), nil)
		add("token", one.Name, x, covering(x.Grants(), t))
	}
	out := textRows([]string{"Kind", "Name", "Privileges", "By"}, page(rows, show.Page))
	defer out.Release()
	if req.Limited {
		return each(ctx, Result{Rows: &limited{Rows: out, left: req.Limit}})
	}
	return each(ctx, Result{Rows: out})
}

func grantsOf(stored []*metapb.AccessGrant) []rights.Grant {
	out := make([]rights.Grant, len(stored))
	for i, g := range stored {
		out[i] = rights.FromProto(g)
	}
	return out
}

// privilegesOn returns the privileges that an index gives on all that a target covers.
func privilegesOn(x *rights.Index, t rights.Target) (out rights.Set) {
	switch {
	case t.Kind == rights.Cluster:
		return x.OnCluster()
	case access.IsAudit(t.Database, t.Name): // grants of SELECT are not enough
		return x.OnCluster() & rights.Audit
	case t.Kind == rights.Pipelines && !strings.HasSuffix(t.Name, "*"):
		return x.OnPipeline(t.Name)
	case t.Kind == rights.Tables && !strings.HasSuffix(t.Name, "*") && !strings.HasSuffix(t.Database, "*"):
		return x.OnTable(t.Database, t.Name)
	}
	for bit := rights.Set(1); bit != 0; bit <<= 1 {
		if t.Kind.All()&bit != 0 && (x.Admin() || x.Holds(bit, t)) {
			out |= bit
		}
	}
	return out
}

// grantsBehind lists what gives a user or role its privileges on a target: its own grants, and roles.
func (m *manager) grantsBehind(p *metapb.AccessPrincipal, t rights.Target) []string {
	out := covering(grantsOf(p.Grants), t)
	roles, _ := rights.Flatten(p, m.find)
	slices.Sort(roles)
	for _, role := range roles {
		var own []rights.Grant
		if one := m.find(role); one != nil {
			own = grantsOf(one.Grants)
		} else {
			own = rights.NewIndex(nil, []string{role}).Grants()
		}
		if role == rights.AdminRole || len(covering(own, t)) > 0 {
			out = append(out, "role "+rights.QuoteName(role))
		}
	}
	return out
}

// covering lists the grants that cover a target.
func covering(grants []rights.Grant, t rights.Target) (out []string) {
	for _, g := range grants {
		if g.Covers(t) {
			out = append(out, g.Privileges.String()+" ON "+g.Target.String())
		}
	}
	return out
}
