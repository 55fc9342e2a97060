package statement

import (
	"strings"
)

// refuseObject stops at CREATE, DROP or ALTER of something that does not exist here.
func (p *parser) refuseObject(verb, wanted string) {
	if p.tok.is("INDEX") || p.isIndexKind() && p.peek().is("INDEX") || p.tok.is("UNIQUE") {
		change := "SET"
		if verb == "DROP" {
			change = "UNSET"
		}
		p.refuse("%s INDEX is not available: an index is part of its column; write ALTER TABLE t MODIFY COLUMN c %s "+
			"FULLTEXT INDEX (or SKIPPING INDEX, INVERTED INDEX)", verb, change)
		return
	}
	if p.tok.kind == word {
		switch strings.ToUpper(p.tok.val) {
		case "VIEW", "SEQUENCE", "FUNCTION", "MACRO", "TYPE", "TRIGGER", "SECRET", "PERSISTENT",
			"TEMP", "TEMPORARY", "OR", "EXTERNAL", "MATERIALIZED", "RECURSIVE", "FLOW", "SERVER",
			"EXTENSION", "AGGREGATE", "PROCEDURE":
			p.refuse("%s %s is not available; there are only databases and tables", verb, strings.ToUpper(p.tok.val))
			return
		}
	}
	p.expected(wanted)
}

func (p *parser) create() Statement {
	switch {
	case p.accept("DATABASE") || p.accept("SCHEMA"):
		s := &CreateDatabase{IfNotExists: p.ifNotExists()}
		s.Database = p.name("a database name")
		if p.accept("WITH") {
			s.Options = p.options()
		}
		p.done()
		return s
	case p.accept("TABLE"):
		return p.createTable()
	case p.accept("USER"):
		return p.createUser()
	case p.accept("ROLE"):
		return p.createRole()
	case p.accept("TOKEN"):
		return p.createToken()
	}
	p.refuseObject("CREATE", "TABLE, DATABASE, USER, ROLE or TOKEN")
	return nil
}

func (p *parser) createTable() Statement {
	s := &CreateTable{IfNotExists: p.ifNotExists(), Name: p.tableName()}
	if p.tok.is("AS") || p.tok.is("LIKE") {
		p.refuse("CREATE TABLE … %s is not available; list the columns", strings.ToUpper(p.tok.val))
	}
	p.expectSym("(")
	if p.atLikeTable() {
		p.refuse("CREATE TABLE (LIKE …) is not available; SHOW CREATE TABLE %s has the columns to write", p.peek().val)
	}
	p.list(func() { p.tableElement(s) })
	if p.accept("ENGINE") {
		p.acceptSym("=")
		if p.tok.kind == text {
			p.advance()
		} else {
			p.name("the name of an engine")
		}
	}
	if p.tok.is("AS") || p.tok.is("PARTITION") {
		p.refuse("%s is not available in CREATE TABLE", strings.ToUpper(p.tok.val))
	}
	if p.accept("WITH") {
		s.Options = p.options()
	}
	p.done()
	return s
}

// atLikeTable reports whether (LIKE table …) begins at tok. A column may also be called like.
func (p *parser) atLikeTable() bool {
	if !p.tok.is("LIKE") {
		return false
	}
	l := p.lex
	if _, err := l.next(); err != nil {
		return false
	}
	t, err := l.next()
	return err == nil && (t.sym(")") || t.sym(".") || t.is("INCLUDING") || t.is("EXCLUDING"))
}

func (p *parser) drop() Statement {
	switch {
	case p.accept("DATABASE") || p.accept("SCHEMA"):
		s := &DropDatabase{IfExists: p.ifExists()}
		s.Database = p.name("a database name")
		s.Cascade = p.accept("CASCADE")
		if !s.Cascade {
			p.accept("RESTRICT")
		}
		p.done()
		return s
	case p.accept("TABLE"):
		s := &DropTable{IfExists: p.ifExists(), Name: p.tableName()}
		if p.err == nil && p.tok.sym(",") {
			p.refuse("DROP TABLE takes one table; send a statement for each")
		}
		if !p.accept("CASCADE") { // nothing depends on a table
			p.accept("RESTRICT")
		}
		p.done()
		return s
	}
	if p.tok.is("USER") || p.tok.is("ROLE") {
		role := p.tok.is("ROLE")
		p.advance()
		return p.dropPrincipal(role)
	}
	if p.accept("TOKEN") {
		return p.dropToken()
	}
	p.refuseObject("DROP", "TABLE, DATABASE, USER, ROLE or TOKEN")
	return nil
}

func (p *parser) truncate() Statement {
	p.accept("TABLE")
	s := &TruncateTable{Name: p.tableName()}
	if p.err == nil && p.tok.sym(",") {
		p.refuse("TRUNCATE takes one table; send a statement for each")
	}
	// There are no sequences and no references to other tables, so that these words of PostgreSQL change nothing.
	if !p.accept("RESTART", "IDENTITY") {
		p.accept("CONTINUE", "IDENTITY")
	}
	if !p.accept("CASCADE") {
		p.accept("RESTRICT")
	}
	p.done()
	return s
}
