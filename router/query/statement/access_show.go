package statement

import "cordwood/proto/rights"

// ShowPrincipals is the statement SHOW USERS or SHOW ROLES.
type ShowPrincipals struct {
	Role bool
	Like *string
	Page Page
}

// ShowGrants is the statement SHOW GRANTS [FOR p]. If there is no name, the sender is meant.
type ShowGrants struct{ Name string }

// ShowAccess is the statement SHOW ACCESS TO target.
type ShowAccess struct {
	// Target has no database if the statement names none.
	Target rights.Target
	Page   Page
}

// Rows implements Statement.
func (*ShowAccess) Rows() bool { return true }

// Rows implements Statement.
func (*ShowPrincipals) Rows() bool { return true }

// Rows implements Statement.
func (*ShowGrants) Rows() bool { return true }

// showPrincipals parses SHOW USERS and SHOW ROLES.
func (p *parser) showPrincipals(role bool) Statement {
	s := &ShowPrincipals{Role: role, Like: p.like(), Page: p.page()}
	p.done()
	return s
}

func (p *parser) showAccess() Statement {
	s := &ShowAccess{Target: p.target()}
	s.Page = p.page()
	p.done()
	return s
}

func (p *parser) showGrants() Statement {
	s := &ShowGrants{}
	if p.accept("FOR") {
		s.Name = p.name("the name of a user or role")
	}
	p.done()
	return s
}
