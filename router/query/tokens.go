package query

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/access/token"
	"cordwood/router/query/statement"
)

// Statements about tokens. The secrets are made here, and only their hashes leave the router.

const (
	// tokenLife is how long a token is valid by default.
	tokenLife = 365 * 24 * time.Hour
	// tokenOverlap is how long the old secret of a token is accepted by default after a rotation, and maxOverlap the
	// longest time.
	tokenOverlap = 24 * time.Hour
	maxOverlap   = 30 * 24 * time.Hour
	// mostTokens is how many tokens a user without the privilege ACCESS may have created.
	mostTokens = 1000
)

// manageTokens returns a manager for the caller in ctx, unless the caller may only ingest.
func (s *Service) manageTokens(ctx context.Context) (*manager, error) {
	m, err := s.manage(ctx)
	if err == nil && (m.caller.IngestOnly || m.caller.Grants == nil && m.caller.Right == access.WriteOnly) {
		err = errs.New(errs.PermissionDenied, "%s may only ingest, and not see or change tokens", m.caller.User)
	}
	return m, err
}

// mayTake returns an error if the caller may not have a token with the rights of a user.
func (m *manager) mayTake(user string) error {
	if user != m.caller.User || m.caller.Token != "" {
		if err := m.caller.Require(access.Need{
			Privilege: access.ManageAccess, Action: "create or change tokens for the user", Object: access.Object{Name: user},
		}); err != nil {
			return err
		}
	}
	if m.s.cfg.Accounts.Listed(user) {
		return m.mayChange(user)
	}
	return m.may.MayTake(user)
}

// scopeOf sets the rights of a token.
func (m *manager) scopeOf(
	ctx context.Context, st *statement.CreateToken, database string, t *metapb.AccessToken,
) error {
	add := func(privileges rights.Set, target rights.Target) error {
		if err := m.s.MeantDatabase(ctx, target, database); err != nil {
			return err
		}
		if target.Kind == rights.Tables {
			target.Database = cmp.Or(target.Database, database)
		}
		if privileges == 0 {
			privileges = target.Kind.All()
		}
		if err := target.Check(privileges); err != nil {
			return err
		}
		t.Grants = append(t.Grants, &metapb.AccessGrant{
			Kind: uint32(target.Kind), Database: target.Database, Name: target.Name, Privileges: uint32(privileges),
		})
		return nil
	}
	table := func(what string, privileges rights.Set, target rights.Target) error {
		if target.Kind != rights.Tables {
			return errs.New(errs.InvalidArguments, "CREATE TOKEN … FOR %s: name a table, or tables by a * at the end", what)
		}
		return add(privileges, target)
	}
	scope := &st.Scope
	switch {
	case scope.Query != nil:
		return table("QUERY ON", rights.Select, *scope.Query)
	case scope.Ingest != nil:
		t.IngestOnly = true
		if err := table("INGEST INTO", rights.Insert|rights.Create, *scope.Ingest); err != nil {
			return err
		}
		if strings.HasSuffix(st.Pipeline, "*") {
			return errs.New(errs.InvalidArguments, "PIPELINE %s: name one pipeline, without a *", st.Pipeline)
		}
		for _, name := range m.pipelinesOf(st.Pipeline) {
			if err := add(rights.Use, rights.Target{Kind: rights.Pipelines, Name: name}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, g := range scope.Grants {
		for _, target := range g.Targets {
			if err := add(g.Privileges, target); err != nil {
				return err
			}
		}
	}
	return nil
}

// pipelinesOf returns the patterns of the pipelines that an INGEST token may use: the named one, or all that its
// creator may use.
func (m *manager) pipelinesOf(named string) (out []string) {
	switch {
	case named != "":
		return []string{named}
	case m.caller.Grants == nil || m.caller.Grants.Admin():
		return []string{"*"}
	}
	for _, g := range m.caller.Grants.Grants() {
		if g.Kind == rights.Pipelines && g.Privileges&rights.Use != 0 && !slices.Contains(out, g.Name) {
			out = append(out, g.Name)
		}
	}
	return out
}

// expiry returns the time of an expiry.
func (m *manager) expiry(e *statement.Expiry) (int64, error) {
	now := m.s.cfg.Now()
	switch {
	case e == nil:
		return now.Add(tokenLife).UnixNano(), nil
	case e.In != "":
		d, err := tokenDuration("EXPIRES IN", e.In)
		if err == nil && now.Add(d).Year() > lastYear {
			err = errs.New(errs.InvalidArguments, "EXPIRES IN: the token must expire by the year %d, "+
				"or never: EXPIRES NEVER", lastYear)
		}
		return now.Add(d).UnixNano(), err
	case e.At == "":
		return 0, nil
	}
	at, err := parseTime("EXPIRES", e.At)
	if err == nil && at <= now.UnixNano() {
		err = errs.New(errs.InvalidArguments, "EXPIRES '%.40s': the time has passed", e.At)
	}
	return at, err
}

// tokenDuration parses a duration such as 90d.
func tokenDuration(what, text string) (time.Duration, error) {
	ttl, err := schema.ParseTTL(text)
	if err != nil || ttl.D <= 0 {
		return 0, errs.New(errs.InvalidArguments, "%s %.40q: write a duration such as '90d' or '24h'", what, text)
	}
	return ttl.D, nil
}

// ranges returns address ranges in their normal form.
func ranges(texts []string) (out []string, err error) {
	for _, text := range texts {
		p, err := token.ParseRange(text)
		if err != nil {
			return nil, errs.New(errs.InvalidArguments, "FROM %.60q: write address ranges such as '192.0.2.0/24' or "+
				"'2001:db8::/32'", text)
		}
		out = append(out, p.String())
	}
	return out, nil
}

func createToken(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
	create := st.(*statement.CreateToken)
	m, err := s.manageTokens(ctx)
	if err != nil {
		return err
	}
	t := &metapb.AccessToken{Name: create.Name, User: create.Scope.User}
	if t.User != "" {
		err = m.mayTake(t.User)
	} else if err = m.scopeOf(ctx, create, req.Database, t); err == nil {
		err = m.may.MayScope(t.Grants)
	}
	if err != nil {
		return err
	}
	if t.ExpiresUnixNano, err = m.expiry(create.Expires); err != nil {
		return err
	}
	if t.From, err = ranges(create.From); err != nil {
		return err
	}
	if create.Note != nil {
		t.Note = token.Hide(*create.Note)
	}
	text, id := token.New()
	hash := token.Hash(text)
	t.Id, t.Hash = id, hash[:]
	c := &metapb.CreateToken{Token: t}
	if !m.may.Keeper() {
		c.MostOfCreator = mostTokens
	}
	change := &metapb.AccessChange{Change: &metapb.AccessChange_CreateToken{CreateToken: c}}
	if _, err := m.propose(ctx, req, change); err != nil {
		return err
	}
	return shownOnce(ctx, t, text, each)
}

// SecretColumns lists the columns of an answer with a new secret.
func SecretColumns() []string { return []string{"Name", "Id", "Token", "Expires"} }

// shownOnce returns a new secret, which nobody can see again.
func shownOnce(ctx context.Context, t *metapb.AccessToken, text string, each resultFunc) error {
	rows := textRows(SecretColumns(), [][]string{
		{t.Name, t.Id, text, dateOf(t.ExpiresUnixNano)},
	})
	defer rows.Release()
	return each(ctx, Result{Rows: rows})
}

// findToken returns a token that the caller sees.
func (m *manager) findToken(name string) (*metapb.AccessToken, error) {
	for _, t := range m.s.cfg.Accounts.StoredTokens() {
		if t.Name == name && m.seesToken(t) {
			return t, nil
		}
	}
	return nil, errs.New(errs.InvalidArguments, "There is no token %q", name)
}

// seesToken reports whether a token exists for the caller: with ACCESS all do, otherwise one's own.
func (m *manager) seesToken(t *metapb.AccessToken) bool {
	return m.may.Keeper() || t.CreatedBy == m.caller.User || t.User == m.caller.User || t.Id == m.caller.Token
}

// mayRenew returns an error if the caller may not give a token a new secret, or make it valid for longer.
func (m *manager) mayRenew(t *metapb.AccessToken) error {
	if t.User != "" {
		return m.mayTake(t.User)
	}
	return m.may.MayScope(t.Grants)
}

func alterToken(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
	alter := st.(*statement.AlterToken)
	m, err := s.manageTokens(ctx)
	if err != nil {
		return err
	}
	t, err := m.findToken(alter.Name)
	if err == nil {
		err = m.mayRenew(t)
	}
	if err != nil {
		return err
	}
	a := &metapb.AlterToken{Name: t.Name, Id: t.Id, SetFrom: alter.HasFrom}
	if a.From, err = ranges(alter.From); err != nil {
		return err
	}
	if alter.Note != nil {
		note := token.Hide(*alter.Note)
		a.Note = &note
	}
	if alter.Expires != nil {
		at, err := m.expiry(alter.Expires)
		if err != nil {
			return err
		}
		a.ExpiresUnixNano = &at
	}
	text := ""
	if alter.Rotate {
		if at := t.ExpiresUnixNano; at != 0 && at <= m.s.cfg.Now().UnixNano() {
			return errs.New(errs.InvalidArguments, "The token %q expired at %s, so a new secret would not be accepted: first "+
				"make it valid for longer, as in ALTER TOKEN %s SET EXPIRES IN '90d'", t.Name, dateOf(at), rights.QuoteName(t.Name))
		}
		overlap := tokenOverlap
		if alter.Overlap != "" && !schema.ZeroTTL(alter.Overlap) {
			if overlap, err = tokenDuration("OVERLAP", alter.Overlap); err != nil {
				return err
			}
		} else if alter.Overlap != "" {
			overlap = 0
		}
		if overlap > maxOverlap {
			return errs.New(errs.InvalidArguments, "OVERLAP %.40q: at most 30d are possible", alter.Overlap)
		}
		text = token.Rotate(t.Id)
		hash := token.Hash(text)
		a.Hash, a.OldUntilUnixNano = hash[:], m.s.cfg.Now().Add(overlap).UnixNano()
	}
	res, err := m.propose(ctx, req, &metapb.AccessChange{Change: &metapb.AccessChange_AlterToken{AlterToken: a}})
	if err != nil {
		return err
	}
	if alter.Rotate {
		return shownOnce(ctx, t, text, each)
	}
	return each(ctx, res)
}

// dropToken revokes a token. Its creator, its user, and whoever could create it may do so.
func (s *Service) dropToken(ctx context.Context, st *statement.DropToken, req *Request) (Result, error) {
	m, err := s.manageTokens(ctx)
	if err != nil {
		return Result{}, err
	}
	c := &metapb.DropToken{Name: st.Name, IfExists: st.IfExists}
	t, err := m.findToken(st.Name)
	switch {
	case err != nil && st.IfExists:
		return Result{}, nil
	case err != nil:
		return Result{}, err
	case t.CreatedBy != m.caller.User && t.User != m.caller.User:
		if err := m.mayRenew(t); err != nil {
			return Result{}, err
		}
	}
	c.Id = t.Id
	return m.propose(ctx, req, &metapb.AccessChange{Change: &metapb.AccessChange_DropToken{DropToken: c}})
}

// showTokens lists the tokens without their secrets.
func showTokens(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
	show := st.(*statement.ShowTokens)
	m, err := s.manageTokens(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, t := range s.cfg.Accounts.StoredTokens() {
		if m.seesToken(t) && like(show.Like, t.Name) {
			scope, pipelines := describeScope(t)
			rows = append(rows, []string{
				t.Name, t.Id, scope, pipelines, t.CreatedBy, dateOf(t.CreatedUnixNano), dateOf(t.ExpiresUnixNano),
				dateOf(t.UsedUnixNano), t.UsedAddress, strings.Join(t.From, ", "), t.Note, m.tokenState(t),
			})
		}
	}
	out := textRows([]string{
		"Token", "Id", "Scope", "Pipeline", "Created by", "Created", "Expires", "Last used", "Last address", "From", "Note",
		"State",
	}, page(rows, show.Page))
	defer out.Release()
	if req.Limited {
		return each(ctx, Result{Rows: &limited{Rows: out, left: req.Limit}})
	}
	return each(ctx, Result{Rows: out})
}

// describeScope returns the scope of a token as CREATE TOKEN writes it, and the pipelines of an INGEST scope.
func describeScope(t *metapb.AccessToken) (scope, pipelines string) {
	if t.User != "" {
		return "USER " + rights.QuoteName(t.User), ""
	}
	var parts, names []string
	for _, one := range t.Grants {
		g := rights.FromProto(one)
		switch {
		case t.IngestOnly && g.Kind == rights.Pipelines:
			names = append(names, g.Name)
		case t.IngestOnly:
			parts = append(parts, "INGEST INTO "+g.Target.String())
		case len(t.Grants) == 1 && g.Privileges == rights.Select:
			parts = append(parts, "QUERY ON "+g.Target.String())
		default:
			parts = append(parts, g.Privileges.String()+" ON "+g.Target.String())
		}
	}
	return strings.Join(parts, ", "), strings.Join(names, ", ")
}

func (m *manager) tokenState(t *metapb.AccessToken) string {
	now := m.s.cfg.Now().UnixNano()
	switch {
	case t.ExpiresUnixNano != 0 && t.ExpiresUnixNano <= now:
		return "expired"
	case t.User != "" && m.s.cfg.Accounts.Listed(t.User):
		return "its user is hidden by the list of users of this router"
	case t.User != "" && m.all[t.User] != nil && m.all[t.User].Disabled:
		return "its user is disabled"
	case len(t.OldHash) > 0 && t.OldUntilUnixNano > now:
		return "valid, the old secret until " + dateOf(t.OldUntilUnixNano)
	}
	return "valid"
}
