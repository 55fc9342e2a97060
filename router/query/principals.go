package query

import (
	"context"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/access/scram"
	"cordwood/router/audit"
	"cordwood/router/query/statement"
)

// Statements about users, roles and grants. The sender's authority is checked here; the metadata group checks what
// depends on its state.

// manager makes the changes of one statement.
type manager struct {
	s      *Service
	caller *access.Caller
	all    map[string]*metapb.AccessPrincipal
	// may is what the caller may do. The metadata group asks the same rules again.
	may *rights.Authority
}

// manage returns a manager for the caller in ctx.
func (s *Service) manage(ctx context.Context) (*manager, error) {
	if s.cfg.Accounts == nil {
		return nil, errs.New(errs.Unsupported, "this server does not authenticate its users: start it with --auth=on, or "+
			"with --user-file")
	}
	m := &manager{s: s, caller: access.From(ctx), all: map[string]*metapb.AccessPrincipal{}}
	for _, p := range s.cfg.Accounts.Principals() {
		m.all[p.Name] = p
	}
	m.may = &rights.Authority{
		User: m.caller.User, Index: m.caller.Grants, Token: m.caller.Token != "", IngestOnly: m.caller.IngestOnly,
		Find: m.find,
	}
	switch {
	case m.may.Index != nil:
	case m.caller.Right == access.ReadWrite:
		m.may.Index = rights.NewIndex(nil, []string{rights.AdminRole})
	default: // other rights of the list of users permit no change
		m.may.Index = rights.NewIndex(nil, nil)
	}
	return m, nil
}

func (m *manager) find(name string) *metapb.AccessPrincipal { return m.all[name] }

// mayChange returns an error if the caller may not change a user or role, because it has more privileges than the
// caller may grant, or because it comes from the list of users of this router.
func (m *manager) mayChange(name string) error {
	if m.s.cfg.Accounts.Listed(name) {
		return errs.New(errs.InvalidArguments, "%s comes from the list of users of this router (--user-file or "+
			"--user-provider): change it there", name)
	}
	return m.may.MayChange(name)
}

// propose sends changes as one command.
func (m *manager) propose(ctx context.Context, req *Request, changes ...*metapb.AccessChange) (Result, error) {
	actor := &metapb.AccessActor{Principal: m.caller.User, RequestId: m.caller.RequestID}
	if m.caller.Address.IsValid() {
		actor.Address = m.caller.Address.String()
	}
	if req.statement < len(req.Texts) {
		actor.Statement = audit.StatementText(req.Texts[req.statement])
	}
	result, err := m.s.cfg.Meta.Propose(ctx, &metapb.Command{
		TimeUnixNano: m.s.cfg.Now().UnixNano(),
		Op: &metapb.Command_ChangeAccess{
			ChangeAccess: &metapb.ChangeAccess{Actor: actor, Changes: changes, Conditions: req.conditions},
		},
	})
	return Result{AffectedRows: int64(result.GetAccessChanges())}, err
}

// verifier returns the stored form of a password. The password may be given in this form.
func verifier(password string) (string, error) {
	keys, err := scram.ForUser(password)
	if err != nil {
		return "", errs.New(errs.InvalidArguments, "PASSWORD: %s", err)
	}
	return keys.String(), nil
}

// validUntil parses a time, in UTC if it has no zone. An empty text is 0, which means forever.
func validUntil(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	return parseTime("VALID UNTIL", text)
}

// pastEnd adds a warning to the result of a change that ends the time of a user at once.
func pastEnd(res Result, until int64) Result {
	if until != 0 && until <= time.Now().UnixNano() {
		res.Warnings = append(res.Warnings, "the time of VALID UNTIL is in the past: the user cannot sign in")
	}
	return res
}

// lastYear is the last year whose times all fit into 64 bits of nanoseconds.
const lastYear = 2261

// parseTime parses a time, in UTC if it has no zone.
func parseTime(what, text string) (int64, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			if at.Year() < 1970 || at.Year() > lastYear {
				return 0, errs.New(errs.InvalidArguments, "%s %.60q: the year must be from 1970 to %d", what, text, lastYear)
			}
			return at.UnixNano(), nil
		}
	}
	return 0, errs.New(errs.InvalidArguments, "%s %.60q: write a time such as '2027-01-31' or "+
		"'2027-01-31T12:00:00Z'", what, text)
}

func (s *Service) createUser(ctx context.Context, st *statement.CreateUser, req *Request) (Result, error) {
	m, err := s.manage(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := m.mayChange(st.Name); err != nil {
		return Result{}, err
	}
	p := &metapb.AccessPrincipal{Name: st.Name}
	if st.Password != nil {
		if p.Verifier, err = verifier(*st.Password); err != nil {
			return Result{}, err
		}
	}
	if st.ValidUntil != nil {
		if p.ValidUntilUnixNano, err = validUntil(*st.ValidUntil); err != nil {
			return Result{}, err
		}
	}
	p.Disabled = st.Disabled != nil && *st.Disabled
	if st.Certificate != nil {
		p.Certificate = *st.Certificate
	}
	if st.Database != nil {
		p.DefaultDatabase = *st.Database
	}
	res, err := m.propose(ctx, req, &metapb.AccessChange{Change: &metapb.AccessChange_Create{
		Create: &metapb.CreatePrincipal{Principal: p, IfNotExists: st.IfNotExists},
	}})
	return pastEnd(res, p.ValidUntilUnixNano), err
}

func (s *Service) alterUser(ctx context.Context, st *statement.AlterUser, req *Request) (Result, error) {
	m, err := s.manage(ctx)
	if err != nil {
		return Result{}, err
	}
	a := &metapb.AlterUser{Name: st.Name, Disabled: st.Disabled, Certificate: st.Certificate, DefaultDatabase: st.Database}
	if st.Own {
		a.Name = m.caller.User
		_, err := s.cfg.Accounts.Check(ctx, a.Name, st.Old, m.caller.Address)
		switch {
		case errs.CodeOf(err) == errs.RateLimited: // the present password may be right
			return Result{}, err
		case err != nil:
			return Result{}, errs.New(errs.PermissionDenied, "the present password is wrong").
				WithRetryAfter(errs.From(err).RetryAfter)
		}
		if s.cfg.Accounts.Listed(a.Name) {
			return Result{}, m.mayChange(a.Name)
		}
	} else {
		if err := m.caller.Require(access.Need{
			Privilege: access.ManageAccess, Action: "alter user", Object: access.Object{Name: st.Name},
		}); err != nil {
			if st.Name == m.caller.User && st.Password != nil {
				err = errs.New(errs.PermissionDenied, "%s may not change users: to change your own password, write "+
					"ALTER USER CURRENT_USER PASSWORD '…' OLD '…'", st.Name)
			}
			return Result{}, err
		}
		if err := m.mayChange(st.Name); err != nil {
			return Result{}, err
		}
	}
	if st.Password != nil {
		text, err := verifier(*st.Password)
		if err != nil {
			return Result{}, err
		}
		a.Verifier = &text
	}
	if st.ValidUntil != nil {
		until, err := validUntil(*st.ValidUntil)
		if err != nil {
			return Result{}, err
		}
		a.ValidUntilUnixNano = &until
	}
	res, err := m.propose(ctx, req, &metapb.AccessChange{Change: &metapb.AccessChange_Alter{Alter: a}})
	return pastEnd(res, a.GetValidUntilUnixNano()), err
}

func (s *Service) createRole(ctx context.Context, st *statement.CreateRole, req *Request) (Result, error) {
	m, err := s.manage(ctx)
	if err == nil {
		err = m.mayChange(st.Name)
	}
	if err != nil {
		return Result{}, err
	}
	return m.propose(ctx, req, &metapb.AccessChange{Change: &metapb.AccessChange_Create{
		Create: &metapb.CreatePrincipal{
			Principal: &metapb.AccessPrincipal{Name: st.Name, Role: true}, IfNotExists: st.IfNotExists,
		},
	}})
}

// alterRole replaces the groups of a role. This grants the role to people, so it needs the same authority as GRANT.
func (s *Service) alterRole(ctx context.Context, st *statement.AlterRole, req *Request) (Result, error) {
	m, err := s.manage(ctx)
	if err == nil {
		err = m.mayChange(st.Name)
	}
	if err != nil {
		return Result{}, err
	}
	return m.propose(ctx, req, &metapb.AccessChange{Change: &metapb.AccessChange_AlterRole{
		AlterRole: &metapb.AlterRole{Name: st.Name, Groups: st.Groups},
	}})
}

func (s *Service) dropPrincipal(ctx context.Context, st *statement.DropPrincipal, req *Request) (Result, error) {
	m, err := s.manage(ctx)
	if err == nil {
		err = m.mayChange(st.Name)
	}
	if err != nil {
		return Result{}, err
	}
	return m.propose(ctx, req, &metapb.AccessChange{Change: &metapb.AccessChange_Drop{
		Drop: &metapb.DropPrincipal{Name: st.Name, Role: st.Role, IfExists: st.IfExists},
	}})
}

func (s *Service) grant(ctx context.Context, st *statement.Grant, req *Request) (Result, error) {
	m, err := s.manage(ctx)
	if err != nil {
		return Result{}, err
	}
	for _, name := range st.Names {
		if s.cfg.Accounts.Listed(name) {
			return Result{}, m.mayChange(name)
		}
	}
	if err := m.checkCount(st); err != nil {
		return Result{}, err
	}
	var changes []*metapb.AccessChange
	for _, t := range st.Targets {
		if !st.Revoke {
			if err := s.MeantDatabase(ctx, t, req.Database); err != nil {
				return Result{}, err
			}
		}
		if t.Kind == rights.Tables && t.Database == "" {
			t.Database = req.Database
		}
		privileges := st.Privileges
		if privileges == 0 {
			privileges = t.Kind.All()
			if t.Kind == rights.Tables && t.Database == rights.PrivateDatabase {
				privileges = rights.Select
			}
		}
		if err := t.Check(privileges); err != nil {
			return Result{}, err
		}
		g := &metapb.AccessGrant{
			Kind: uint32(t.Kind), Database: t.Database, Name: t.Name, Privileges: uint32(privileges),
		}
		if st.Option && !st.Revoke {
			g.Grantable = g.Privileges
		}
		c := &metapb.ChangeGrant{
			Principals: st.Names, Grant: g, OptionOnly: st.Revoke && st.Option, Cascade: st.Cascade,
		}
		change := &metapb.AccessChange{Change: &metapb.AccessChange_Grant{Grant: c}}
		if st.Revoke {
			change.Change = &metapb.AccessChange_Revoke{Revoke: c}
		}
		if err := m.may.Check(change); err != nil {
			return Result{}, err
		}
		changes = append(changes, change)
	}
	return m.propose(ctx, req, changes...)
}

// checkCount returns an error if a statement names too many pairs of a target and a user. The metadata group would need
// long to find out that it must refuse them.
func (m *manager) checkCount(st *statement.Grant) error {
	targets, names := len(st.Targets), len(st.Names)
	switch {
	case targets*names > rights.MaxPairs:
		return tooManyPairs(targets, "targets", names)
	case st.Revoke || m.may.Keeper():
		return nil
	case targets > rights.MaxGrantsOfDelegate || targets*names > rights.MaxGrantsByDelegate:
		return errs.New(errs.InvalidArguments, "the statement would make %d grants for each of %d users and roles; without "+
			"the privilege ACCESS, a user can make at most %d for each, and %d in all: use patterns such as web_*, or roles",
			targets, names, rights.MaxGrantsOfDelegate, rights.MaxGrantsByDelegate)
	}
	return nil
}

func tooManyPairs(n int, what string, names int) error {
	return errs.New(errs.InvalidArguments, "the statement has %d %s and %d users and roles, which are %d pairs; at most "+
		"%d are possible: use several statements", n, what, names, n*names, rights.MaxPairs)
}

// MeantDatabase returns an error if a target without a database is the name of a database, and not of a table of the
// default database: who writes it means all tables of the database. A table that does not exist yet is named with its
// database.
func (s *Service) MeantDatabase(ctx context.Context, t rights.Target, database string) error {
	if t.Kind != rights.Tables || t.Database != "" || schema.ReservedDatabase(t.Name) {
		return nil
	}
	n, caller := s.names.of(ctx), access.From(ctx)
	// Who manages users may grant rights on all databases, and need not see their tables.
	if _, ok := n.meta.Database(t.Name); !ok || !caller.SeesDatabase(t.Name) && !caller.May(access.Need{
		Privilege: access.ManageAccess, Action: "grant",
	}) {
		return nil
	}
	if _, ok := n.meta.Table(database, t.Name); ok {
		return nil
	}
	return errs.New(errs.InvalidArguments, "%s is a database, and database %s has no table of this name: write %s.* for "+
		"the tables of the database, or %s.%s for a table", t.Name, database, rights.QuoteName(t.Name),
		rights.QuoteName(database), rights.QuoteName(t.Name))
}

func (s *Service) grantRole(ctx context.Context, st *statement.GrantRole, req *Request) (Result, error) {
	m, err := s.manage(ctx)
	if err == nil && len(st.Roles)*len(st.Names) > rights.MaxPairs {
		err = tooManyPairs(len(st.Roles), "roles", len(st.Names))
	}
	if err != nil {
		return Result{}, err
	}
	for _, name := range st.Names {
		if err := m.mayChange(name); err != nil {
			return Result{}, err
		}
	}
	c := &metapb.ChangeRole{Roles: st.Roles, Principals: st.Names}
	change := &metapb.AccessChange{Change: &metapb.AccessChange_GrantRole{GrantRole: c}}
	if st.Revoke {
		change.Change = &metapb.AccessChange_RevokeRole{RevokeRole: c}
	}
	if err := m.may.Check(change); err != nil {
		return Result{}, err
	}
	return m.propose(ctx, req, change)
}
