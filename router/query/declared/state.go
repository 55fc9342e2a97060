// Package declared describes users, roles, grants and quotas as a whole, as a file declares them: it reads such a file,
// and computes the statements that turn one description into another. It has no passwords and no tokens.
package declared

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/pipeline/document"
	"cordwood/router/query/statement"
)

// State describes users, roles and quotas by their names. A nil map means that a file says nothing about its kind of
// objects; an empty one means that there are none.
type State struct {
	Users map[string]*Principal `json:"users,omitempty"`
	Roles map[string]*Principal `json:"roles,omitempty"`
	// Quotas are the quotas of databases, such as tables: "100".
	Quotas map[string]map[string]string `json:"quotas,omitempty"`
}

// Principal is a user or a role.
type Principal struct {
	// Roles are the roles that it has.
	Roles []string `json:"roles,omitempty"`
	// Grants are such as SELECT, INSERT ON app.* WITH GRANT OPTION.
	Grants []string `json:"grants,omitempty"`

	// Groups are those of a role.
	Groups []string `json:"groups,omitempty"`

	// The others are those of a user. ValidUntil is a time in RFC 3339, or empty.
	Disabled    bool   `json:"disabled,omitempty"`
	ValidUntil  string `json:"valid_until,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	Database    string `json:"database,omitempty"`
}

// grantOption ends a grant that may be passed on.
const grantOption = " WITH GRANT OPTION"

// held are the privileges on a target.
type held struct{ privileges, grantable rights.Set }

// Of returns the description of users and roles. Grants of one target by several makers are one.
func Of(principals []*metapb.AccessPrincipal) *State {
	s := &State{Users: map[string]*Principal{}, Roles: map[string]*Principal{}}
	for _, p := range principals {
		one := &Principal{Roles: slices.Sorted(slices.Values(p.Roles))}
		all := map[rights.Target]held{}
		for _, stored := range p.Grants {
			g := rights.FromProto(stored)
			h := all[g.Target]
			all[g.Target] = held{h.privileges | g.Privileges, h.grantable | g.Grantable}
		}
		one.Grants = texts(all)
		if p.Role {
			one.Groups = slices.Sorted(slices.Values(p.Groups))
			s.Roles[p.Name] = one
			continue
		}
		one.Disabled, one.Certificate, one.Database = p.Disabled, p.Certificate, p.DefaultDatabase
		if p.ValidUntilUnixNano != 0 {
			one.ValidUntil = time.Unix(0, p.ValidUntilUnixNano).UTC().Format(time.RFC3339)
		}
		s.Users[p.Name] = one
	}
	return s
}

// texts returns grants as a file has them.
func texts(all map[rights.Target]held) (out []string) {
	for _, t := range sorted(all) {
		h := all[t]
		if plain := h.privileges &^ h.grantable; plain != 0 {
			out = append(out, plain.String()+" ON "+t.String())
		}
		if h.grantable != 0 {
			out = append(out, h.grantable.String()+" ON "+t.String()+grantOption)
		}
	}
	return out
}

// sorted returns targets in an order in which each one is before those that it covers.
func sorted(all map[rights.Target]held) []rights.Target {
	// narrow is larger for what is covered.
	narrow := func(t rights.Target) (n int) {
		for _, pattern := range []string{t.Database, t.Name} {
			prefix, wild := strings.CutSuffix(pattern, "*")
			if n += 2 * len(prefix); !wild {
				n++
			}
		}
		return n
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b rights.Target) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(narrow(a), narrow(b)),
			strings.Compare(a.Database, b.Database), strings.Compare(a.Name, b.Name))
	})
}

// parseGrants returns the grants that texts say.
func parseGrants(list []string) (map[rights.Target]held, error) {
	all := map[rights.Target]held{}
	for _, text := range list {
		rest, option := text, false
		if n := len(text) - len(grantOption); n > 0 && strings.EqualFold(text[n:], grantOption) {
			rest, option = text[:n], true
		}
		parsed, err := statement.Parse("GRANT " + rest + " TO x")
		if err != nil {
			return nil, errs.Wrap(errs.InvalidArguments, err, "the grant %.80q", text)
		}
		g, ok := (*statement.Grant)(nil), false
		if len(parsed) == 1 {
			g, ok = parsed[0].(*statement.Grant)
		}
		if !ok || len(g.Names) != 1 || g.Names[0] != "x" || g.Option {
			return nil, errs.New(errs.InvalidArguments, "the grant %.80q: write privileges and targets, such as SELECT ON app.*",
				text)
		}
		for _, t := range g.Targets {
			if t.Kind == rights.Tables && t.Database == "" {
				return nil, errs.New(errs.InvalidArguments, "the grant %.80q: name the database of the table, as in public.%s",
					text, t.Name)
			}
			privileges := g.Privileges
			switch {
			case privileges != 0:
			case t.Kind == rights.Tables && t.Database == rights.PrivateDatabase:
				privileges = rights.Select
			default:
				privileges = t.Kind.All()
			}
			if err := t.Check(privileges); err != nil {
				return nil, err
			}
			h := all[t]
			if h.privileges |= privileges; option {
				h.grantable |= privileges
			}
			all[t] = h
		}
	}
	return all, nil
}

// Parse reads a file of YAML or JSON. Its errors have code InvalidArguments.
func Parse(src []byte) (*State, error) {
	root, err := document.Parse(src)
	if err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "the file of users and roles cannot be read")
	}
	m, s := root.Map(), &State{}
	if n := m.Get("users"); n != nil {
		s.Users = map[string]*Principal{}
		for _, e := range n.Map().Entries() {
			u := e.Value.Map()
			s.Users[e.Key] = &Principal{
				Roles: u.Strings("roles"), Grants: u.Strings("grants"), Disabled: u.Bool("disabled", false),
				ValidUntil: scalar(u, "valid_until"), Certificate: u.String("certificate", ""), Database: u.String("database", ""),
			}
			u.Done()
		}
	}
	if n := m.Get("roles"); n != nil {
		s.Roles = map[string]*Principal{}
		for _, e := range n.Map().Entries() {
			r := e.Value.Map()
			s.Roles[e.Key] = &Principal{
				Roles: r.Strings("roles"), Grants: r.Strings("grants"), Groups: r.Strings("groups"),
			}
			r.Done()
		}
	}
	if n := m.Get("quotas"); n != nil {
		s.Quotas = map[string]map[string]string{}
		for _, e := range n.Map().Entries() {
			quotas := map[string]string{}
			for _, q := range e.Value.Map().Entries() {
				quotas[q.Key], _ = q.Value.Text()
			}
			s.Quotas[e.Key] = quotas
		}
	}
	m.Done()
	if err := root.Err(); err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "the file of users and roles cannot be read")
	}
	if s.Users == nil && s.Roles == nil && s.Quotas == nil {
		return nil, errs.New(errs.InvalidArguments, "the file of users and roles has none of the keys users, roles and "+
			"quotas")
	}
	return s, nil
}

// scalar returns the text of a value, which YAML may take for a time.
func scalar(m *document.Map, key string) string {
	n := m.Get(key)
	if n == nil {
		return ""
	}
	text, _ := n.Text()
	return text
}
