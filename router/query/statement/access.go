package statement

import (
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
)

// CreateUser is the statement CREATE USER u [PASSWORD 'p'] [CERTIFICATE 'c'] [VALID UNTIL 't'] [DISABLED]
// [DEFAULT DATABASE d].
type CreateUser struct {
	Name        string
	IfNotExists bool
	UserOptions
}

// AlterUser is the statement ALTER USER u with options. Own is set for ALTER USER CURRENT_USER PASSWORD 'new' OLD
// 'old'.
type AlterUser struct {
	Name string
	UserOptions
	Own bool
	Old string
}

// UserOptions are the options of a user. Nil values stay as they are.
type UserOptions struct {
	Password *string
	// ValidUntil is a time as written; empty: forever.
	ValidUntil *string
	Disabled   *bool
	// Certificate is the name in the user's certificates; empty: the name of the user.
	Certificate *string
	// Database is the database of requests that name none; empty: public.
	Database *string
}

// CreateRole is the statement CREATE ROLE r.
type CreateRole struct {
	Name        string
	IfNotExists bool
}

// AlterRole is the statement ALTER ROLE r SET GROUPS ('g', …) or ALTER ROLE r UNSET GROUPS.
type AlterRole struct {
	Name string
	// Groups replace the groups of the role.
	Groups []string
}

// DropPrincipal is the statement DROP USER or DROP ROLE.
type DropPrincipal struct {
	Name           string
	Role, IfExists bool
}

// Grant is the statement GRANT or REVOKE of privileges.
type Grant struct {
	Revoke bool
	// Grants have the privileges and their targets. For ALL, Privileges is 0.
	Privileges rights.Set
	Targets    []rights.Target
	// Names are the users and roles that get or lose the privileges.
	Names []string
	// Option is WITH GRANT OPTION, or GRANT OPTION FOR.
	Option, Cascade bool
}

// GrantRole is the statement GRANT or REVOKE of roles.
type GrantRole struct {
	Revoke       bool
	Roles, Names []string
}

// Rows implements Statement.
func (*CreateUser) Rows() bool { return false }

// Rows implements Statement.
func (*AlterUser) Rows() bool { return false }

// Rows implements Statement.
func (*CreateRole) Rows() bool { return false }

// Rows implements Statement.
func (*AlterRole) Rows() bool { return false }

// Rows implements Statement.
func (*DropPrincipal) Rows() bool { return false }

// Rows implements Statement.
func (*Grant) Rows() bool { return false }

// Rows implements Statement.
func (*GrantRole) Rows() bool { return false }

func (p *parser) createUser() Statement {
	s := &CreateUser{IfNotExists: p.ifNotExists()}
	s.Name = p.principal("the name of a user")
	p.accept("WITH")
	p.userOptions(&s.UserOptions)
	p.done()
	return s
}

func (p *parser) createRole() Statement {
	s := &CreateRole{IfNotExists: p.ifNotExists()}
	s.Name = p.name("the name of a role")
	p.done()
	return s
}

func (p *parser) alterRole() Statement {
	s := &AlterRole{Name: p.name("the name of a role")}
	if p.accept("UNSET", "GROUPS") {
		p.done()
		return s
	}
	if !p.accept("SET", "GROUPS") {
		p.expected("SET GROUPS or UNSET GROUPS")
	}
	p.expectSym("(")
	for p.err == nil {
		s.Groups = append(s.Groups, p.textLiteral("the name of a group in quotes"))
		if !p.acceptSym(",") {
			break
		}
	}
	p.expectSym(")")
	p.done()
	return s
}

func (p *parser) dropPrincipal(role bool) Statement {
	s := &DropPrincipal{Role: role, IfExists: p.ifExists()}
	s.Name = p.principal("a name")
	p.done()
	return s
}

func (p *parser) alterUser() Statement {
	if p.accept("CURRENT_USER") {
		s := &AlterUser{Own: true}
		p.expect("PASSWORD")
		password := p.password("the new password in single quotes")
		p.expect("OLD")
		s.Password, s.Old = &password, p.password("the present password in single quotes")
		p.done()
		return s
	}
	s := &AlterUser{Name: p.principal("the name of a user")}
	p.accept("WITH")
	if p.tok.kind == eof {
		p.expected("PASSWORD, CERTIFICATE, NO CERTIFICATE, VALID UNTIL, ENABLED, DISABLED or DEFAULT DATABASE")
	}
	p.userOptions(&s.UserOptions)
	p.done()
	return s
}

// password parses 'text'. Other forms of texts are refused, because logs hide only this form.
func (p *parser) password(what string) string {
	p.secret = true
	if p.tok.kind == text && p.src[p.tok.from] != '\'' {
		p.expected(what)
	}
	return p.textLiteral(what)
}

// userOptions parses options up to the end of the statement. Each option may be given once.
func (p *parser) userOptions(o *UserOptions) {
	once := func(again bool) {
		if again {
			p.expected("each option once")
		}
	}
	for p.err == nil && p.tok.kind != eof {
		switch {
		case p.accept("PASSWORD"):
			once(o.Password != nil)
			text := p.password("a password in single quotes")
			o.Password = &text
		case p.accept("VALID"):
			once(o.ValidUntil != nil)
			text := ""
			if !p.accept("FOREVER") {
				p.expect("UNTIL")
				text = p.textLiteral("a time in quotes")
			}
			o.ValidUntil = &text
		case p.tok.is("CERTIFICATE"), p.tok.is("NO") && p.peek().is("CERTIFICATE"):
			once(o.Certificate != nil)
			name := ""
			if !p.accept("NO", "CERTIFICATE") {
				p.expect("CERTIFICATE")
				name = p.textLiteral("the name in the certificate in quotes")
			}
			o.Certificate = &name
		case p.tok.is("DISABLED"), p.tok.is("ENABLED"):
			once(o.Disabled != nil)
			disabled := p.accept("DISABLED") || !p.accept("ENABLED")
			o.Disabled = &disabled
		case p.tok.is("DEFAULT"), p.tok.is("NO") && p.peek().is("DEFAULT"):
			once(o.Database != nil)
			name := ""
			if !p.accept("NO", "DEFAULT", "DATABASE") {
				p.advance()
				p.expect("DATABASE")
				name = p.name("a database name")
			}
			o.Database = &name
		default:
			p.expected("PASSWORD, CERTIFICATE, NO CERTIFICATE, VALID UNTIL, ENABLED, DISABLED, DEFAULT DATABASE, NO DEFAULT " +
				"DATABASE or the end of the statement")
		}
	}
}

// grant parses GRANT and REVOKE.
func (p *parser) grant(revoke bool) Statement {
	s := &Grant{Revoke: revoke}
	if revoke {
		s.Option = p.accept("GRANT", "OPTION", "FOR")
	}
	first := *p
	if !p.privileges(s) {
		*p = first
		return p.grantRole(revoke)
	}
	if p.err == nil && (p.tok.is("TO") || p.tok.is("FROM")) {
		object := "app.*"
		if s.Privileges&rights.OfCluster != 0 {
			object = "CLUSTER"
		}
		p.stop(syntaxError(p.src, p.tok.from, "the statement does not say on what: write ON and an object after the "+
			"privileges, such as ON %s", object))
	}
	p.expect("ON")
	for p.err == nil {
		s.Targets = append(s.Targets, p.target())
		if !p.acceptSym(",") {
			break
		}
	}
	s.Targets = unique(s.Targets)
	s.Names = p.members(revoke)
	if !revoke {
		s.Option = p.accept("WITH", "GRANT", "OPTION")
	}
	s.Cascade = revoke && p.accept("CASCADE")
	p.done()
	return s
}

// privileges parses the privileges before ON. It returns false if there are none, because roles are granted.
func (p *parser) privileges(s *Grant) bool {
	if p.accept("ALL") {
		p.accept("PRIVILEGES")
		return true
	}
	for p.err == nil {
		one, known := rights.Parse(p.tok.val)
		if p.tok.kind != word || !known {
			return false
		}
		p.advance()
		if p.tok.sym("(") {
			p.stop(errs.New(errs.InvalidArguments, "rights apply to whole tables, and not to columns: use a pipeline that "+
				"drops or hashes a field, or that sends rows to different tables"))
			return true
		}
		s.Privileges |= one
		if !p.acceptSym(",") {
			break
		}
	}
	return true
}

func (p *parser) grantRole(revoke bool) Statement {
	s := &GrantRole{Revoke: revoke}
	for p.err == nil {
		s.Roles = append(s.Roles, p.name("a privilege, ALL, or the name of a role"))
		if !p.acceptSym(",") {
			break
		}
	}
	if p.tok.is("ON") {
		p.stop(syntaxError(p.src, p.tok.from, "%q is not a privilege: use %s", s.Roles[0],
			strings.Join((rights.OfTables|rights.OfPipelines|rights.OfCluster).Names(), ", ")))
	}
	s.Roles, s.Names = unique(s.Roles), p.members(revoke)
	p.done()
	return s
}

// unique returns the values without repetitions, in the order in which they come first.
func unique[T comparable](list []T) (out []T) {
	seen := make(map[T]bool, len(list))
	for _, v := range list {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// members parses TO or FROM, and the names behind it.
func (p *parser) members(revoke bool) (names []string) {
	if revoke {
		p.expect("FROM")
	} else {
		p.expect("TO")
	}
	for p.err == nil {
		names = append(names, p.principal("the name of a user or role"))
		if !p.acceptSym(",") {
			break
		}
	}
	return unique(names)
}

// principal parses the name of a user or role. Names of machines and people often have characters that need quotes.
func (p *parser) principal(what string) string {
	from := p.tok.from
	name := p.name(what)
	if p.err == nil && p.tok.kind != eof && p.tok.from == p.prev.to && strings.IndexByte(".:@-", p.src[p.tok.from]) >= 0 {
		all := p.src[from:]
		if end := strings.IndexAny(all, " \t\r\n,;"); end >= 0 {
			all = all[:end]
		}
		p.stop(syntaxError(p.src, p.tok.from, "a name with a %c is written in double quotes, as in \"%.60s\"",
			p.src[p.tok.from], strings.ReplaceAll(all, `"`, "")))
	}
	return name
}

// target parses [TABLE] [db.]table, DATABASE db, PIPELINE name or CLUSTER. The database of a table without one stays
// empty.
func (p *parser) target() rights.Target {
	next := p.peek()
	follows := next.kind == word || next.kind == quoted || next.sym("*")
	switch {
	case p.tok.is("CLUSTER") && !next.sym("."):
		p.advance()
		return rights.Target{Kind: rights.Cluster}
	case p.tok.is("DATABASE") && follows && !next.is("TO") && !next.is("FROM"):
		p.advance()
		return rights.Target{Kind: rights.Tables, Database: p.pattern("a database name"), Name: "*"}
	case p.tok.is("PIPELINE") && follows && !next.is("TO") && !next.is("FROM"):
		p.advance()
		return rights.Target{Kind: rights.Pipelines, Name: p.pattern("the name of a pipeline")}
	case p.tok.is("TABLE") && follows && !next.is("TO") && !next.is("FROM"):
		p.advance()
	}
	t := rights.Target{Kind: rights.Tables, Name: p.pattern("a table name")}
	if p.acceptSym(".") {
		t.Database, t.Name = t.Name, p.pattern("a table name after `.`")
	}
	return t
}

// ParseTarget parses the target of a grant: [TABLE] [db.]table, DATABASE db, PIPELINE name or CLUSTER.
func ParseTarget(text string) (t rights.Target, err error) {
	p := &parser{cursor{src: text, end: len(text), lex: lexer{src: text}}}
	p.advance()
	t = p.target()
	p.done()
	return t, p.err
}

// pattern parses a name that may end with a star.
func (p *parser) pattern(what string) string {
	if p.acceptSym("*") {
		return "*"
	}
	name := p.name(what)
	if p.tok.sym("*") && p.tok.from == p.prev.to {
		p.advance()
		return name + "*"
	}
	return name
}
