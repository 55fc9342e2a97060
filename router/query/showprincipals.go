package query

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// showPrincipals lists the users or roles of the metadata.
func showPrincipals(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
	show := st.(*statement.ShowPrincipals)
	m, err := s.manage(ctx)
	if err != nil {
		return err
	}
	head := []string{"User", "Roles", "State", "Valid until", "Created", "Certificate", "Database"}
	var rows [][]string
	if show.Role {
		head = []string{"Role", "Roles", "State", "Groups"}
		for _, name := range rights.BuiltInRoles() {
			if like(show.Like, name) {
				rows = append(rows, []string{name, "", "built in", ""})
			}
		}
	}
	for _, p := range s.cfg.Accounts.Principals() {
		if p.Role != show.Role || !like(show.Like, p.Name) {
			continue
		}
		row := []string{p.Name, strings.Join(p.Roles, ", "), m.state(p)}
		if p.Role {
			row = append(row, quotedTexts(p.Groups))
		} else {
			row = append(row, dateOf(p.ValidUntilUnixNano), dateOf(p.CreatedUnixNano), p.Certificate, p.DefaultDatabase)
		}
		rows = append(rows, row)
	}
	out := textRows(head, page(rows, show.Page))
	defer out.Release()
	if req.Limited {
		return each(ctx, Result{Rows: &limited{Rows: out, left: req.Limit}})
	}
	return each(ctx, Result{Rows: out})
}

// quotedTexts returns texts as a list in SQL.
func quotedTexts(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = rights.QuoteText(s)
	}
	return strings.Join(quoted, ", ")
}

// state describes whether a user may sign in.
func (m *manager) state(p *metapb.AccessPrincipal) string {
	switch {
	case p.Role:
		return ""
	case m.s.cfg.Accounts.Listed(p.Name):
		return "hidden by the list of users of this router"
	case p.Disabled:
		return "disabled"
	case p.ValidUntilUnixNano != 0 && p.ValidUntilUnixNano <= m.s.cfg.Now().UnixNano():
		return "expired"
	case p.Verifier == "" && !rights.IsPerson(p.Name):
		return "no password"
	}
	return "enabled"
}

func dateOf(nanos int64) string {
	if nanos == 0 {
		return ""
	}
	return time.Unix(0, nanos).UTC().Format(time.RFC3339)
}

// showGrants lists the grants and roles of a user or role as statements.
func showGrants(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
	m, err := s.manage(ctx)
	if err != nil {
		return err
	}
	name := st.(*statement.ShowGrants).Name
	if name != "" && name != m.caller.User {
		if err := m.caller.Require(access.Need{
			Privilege: access.ManageAccess, Action: "show the grants of", Object: access.Object{Name: name},
		}); err != nil {
			return err
		}
	} else {
		name = m.caller.User
	}
	rows, err := m.grantsOf(name)
	if err != nil {
		return err
	}
	out := textRows([]string{"Grants"}, rows)
	defer out.Release()
	if req.Limited {
		return each(ctx, Result{Rows: &limited{Rows: out, left: req.Limit}})
	}
	return each(ctx, Result{Rows: out})
}

// listedRoles are the roles that correspond to the rights in the list of users.
var listedRoles = map[access.Right]string{
	access.ReadWrite: rights.AdminRole, access.ReadOnly: rights.ReaderRole, access.WriteOnly: rights.WriterRole,
}

func (m *manager) grantsOf(name string) (rows [][]string, err error) {
	to := " TO " + rights.QuoteName(name)
	p := m.all[name]
	if person := m.caller.Person; person != nil && name == m.caller.User {
		p = rights.OfPerson(p, name, rights.RolesOfGroups(maps.Values(m.all), person.Groups))
	}
	if name == m.caller.User && m.caller.Grants == nil {
		return [][]string{{"GRANT " + listedRoles[m.caller.Right] + to}}, nil
	}
	if m.caller.Token != "" && p == nil && name == m.caller.User {
		for _, g := range m.caller.Grants.Grants() {
			rows = append(rows, []string{g.Privileges.String() + " ON " + g.Target.String()})
		}
		return rows, nil
	}
	if p == nil && rights.IsBuiltIn(name) {
		for _, g := range rights.NewIndex(nil, []string{name}).Grants() {
			rows = append(rows, []string{"GRANT " + g.Privileges.String() + " ON " + g.Target.String() + to})
		}
		return rows, nil
	}
	if p == nil {
		return nil, errs.New(errs.InvalidArguments, "there is no user or role %q in the metadata", name)
	}
	for _, role := range slices.Sorted(slices.Values(p.Roles)) {
		rows = append(rows, []string{"GRANT " + rights.QuoteName(role) + to})
	}
	for _, stored := range p.Grants {
		g := rights.FromProto(stored)
		for _, part := range []struct {
			set    rights.Set
			option string
		}{{g.Privileges &^ g.Grantable, ""}, {g.Grantable, " WITH GRANT OPTION"}} {
			if part.set != 0 {
				rows = append(rows, []string{"GRANT " + part.set.String() + " ON " + g.Target.String() + to + part.option})
			}
		}
	}
	return rows, nil
}
