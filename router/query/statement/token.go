package statement

import (
	"cordwood/proto/rights"
)

// CreateToken is the statement CREATE TOKEN t FOR scope with options.
type CreateToken struct {
	Name  string
	Scope TokenScope
	// Pipeline is the pipeline of an INGEST scope; empty: all that the creator may use.
	Pipeline string
	TokenOptions
}

// TokenScope is what a token is for: one of its parts is set.
type TokenScope struct {
	// Ingest is the target of INGEST INTO, and Query the target of QUERY ON.
	Ingest, Query *rights.Target
	// User is the user whose rights the token has.
	User string
	// Grants are privileges on targets. For ALL, Privileges is 0.
	Grants []TokenGrant
}

// TokenGrant are privileges on targets.
type TokenGrant struct {
	Privileges rights.Set
	Targets    []rights.Target
}

// TokenOptions are the options of a token. Nil values stay as they are.
type TokenOptions struct {
	From    []string
	HasFrom bool
	Expires *Expiry
	Note    *string
}

// Expiry says when a token expires: at a time, after a duration, or never if both are empty.
type Expiry struct{ At, In string }

// AlterToken is the statement ALTER TOKEN t ROTATE [OVERLAP '24h'], or SET with options.
type AlterToken struct {
	Name   string
	Rotate bool
	// Overlap is how long the old secret is accepted; empty: the default.
	Overlap string
	TokenOptions
}

// DropToken is the statement DROP TOKEN [IF EXISTS] t.
type DropToken struct {
	Name     string
	IfExists bool
}

// ShowTokens is the statement SHOW TOKENS.
type ShowTokens struct {
	Like *string
	Page Page
}

// Rows implements Statement.
func (*CreateToken) Rows() bool { return true }

// Rows implements Statement.
func (s *AlterToken) Rows() bool { return s.Rotate }

// Rows implements Statement.
func (*DropToken) Rows() bool { return false }

// Rows implements Statement.
func (*ShowTokens) Rows() bool { return true }

// ShowsSecret reports whether the answer to a statement has a new secret, which is shown only once. Running the
// statement again makes another one.
func ShowsSecret(st Statement) bool {
	switch st := st.(type) {
	case *CreateToken:
		return true
	case *AlterToken:
		return st.Rotate
	}
	return false
}

func (p *parser) createToken() Statement {
	s := &CreateToken{Name: p.name("the name of a token")}
	p.expect("FOR")
	p.tokenScope(&s.Scope)
	if s.Scope.Ingest != nil && p.accept("PIPELINE") {
		s.Pipeline = p.name("the name of a pipeline")
	}
	p.tokenOptions(&s.TokenOptions)
	p.done()
	return s
}

func (p *parser) tokenScope(s *TokenScope) {
	// The words are also names of tables, but privileges come first in a scope.
	switch {
	case p.accept("INGEST", "INTO"):
		t := p.target()
		s.Ingest = &t
	case p.accept("QUERY", "ON"):
		t := p.target()
		s.Query = &t
	case p.accept("USER"):
		s.User = p.name("the name of a user")
	default:
		p.tokenGrants(s)
	}
}

// tokenGrants parses privileges ON target[, …][, privileges ON …].
func (p *parser) tokenGrants(s *TokenScope) {
	for p.err == nil {
		one, ok := p.tokenPrivileges()
		if !ok {
			p.expected("INGEST INTO, QUERY ON, USER, or privileges such as SELECT ON")
			return
		}
		g := TokenGrant{Privileges: one}
		for p.err == nil {
			g.Targets = append(g.Targets, p.target())
			if !p.acceptSym(",") {
				s.Grants = append(s.Grants, g)
				return
			}
			ahead := *p
			if _, more := ahead.tokenPrivileges(); more {
				break
			}
		}
		s.Grants = append(s.Grants, g)
	}
}

// tokenPrivileges parses privileges ON. ok is false if there are none.
func (p *parser) tokenPrivileges() (rights.Set, bool) {
	g := &Grant{}
	if !p.privileges(g) || p.err != nil || !p.accept("ON") {
		return 0, false
	}
	return g.Privileges, true
}

func (p *parser) alterToken() Statement {
	s := &AlterToken{Name: p.name("the name of a token")}
	switch {
	case p.accept("ROTATE"):
		s.Rotate = true
		if p.accept("OVERLAP") {
			s.Overlap = p.textLiteral("a duration in quotes, such as '24h'")
		}
	case p.accept("SET"):
		if p.tok.kind == eof {
			p.expected("FROM, EXPIRES or NOTE")
		}
		p.tokenOptions(&s.TokenOptions)
	default:
		p.expected("ROTATE or SET")
	}
	p.done()
	return s
}

func (p *parser) dropToken() Statement {
	s := &DropToken{IfExists: p.ifExists()}
	s.Name = p.name("the name of a token")
	p.done()
	return s
}

func (p *parser) showTokens() Statement {
	s := &ShowTokens{Like: p.like(), Page: p.page()}
	p.done()
	return s
}

// tokenOptions parses options up to the end of the statement. Each may be given once.
func (p *parser) tokenOptions(o *TokenOptions) {
	once := func(again bool) {
		if again {
			p.expected("each option once")
		}
	}
	for p.err == nil && p.tok.kind != eof {
		switch {
		case p.accept("FROM"):
			once(o.HasFrom)
			o.HasFrom = true
			if p.accept("ANYWHERE") {
				continue
			}
			for p.err == nil {
				o.From = append(o.From, p.textLiteral("an address range in quotes, such as '192.0.2.0/24', or ANYWHERE"))
				if !p.acceptSym(",") {
					break
				}
			}
		case p.accept("EXPIRES"):
			once(o.Expires != nil)
			o.Expires = &Expiry{}
			switch {
			case p.accept("NEVER"):
			case p.accept("IN"):
				o.Expires.In = p.textLiteral("a duration in quotes, such as '90d'")
			default:
				o.Expires.At = p.textLiteral("a time in quotes, IN or NEVER")
			}
		case p.accept("NOTE"):
			once(o.Note != nil)
			text := p.textLiteral("a text in quotes")
			o.Note = &text
		default:
			p.expected("FROM, EXPIRES, NOTE or the end of the statement")
		}
	}
}
