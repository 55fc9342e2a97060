package statement

import (
	"strings"

	"cordwood/proto/schema"
)

func (p *parser) alterDatabase() Statement {
	s := &AlterDatabase{Database: p.name("a database name")}
	switch {
	case p.accept("SET"):
		s.Set, s.Unset = p.changes()
	case p.accept("UNSET"):
		s.Unset = p.optionKeys()
	case p.tok.is("RENAME"):
		p.refuse("ALTER DATABASE … RENAME is not available: a database keeps its name")
	default:
		p.expected("SET or UNSET")
	}
	p.done()
	return s
}

// modifyColumn parses c TYPE, c SET kind INDEX [WITH (…)] or c UNSET kind INDEX.
func (p *parser) modifyColumn() *ModifyColumn {
	m := &ModifyColumn{Name: p.name("a column name")}
	isIndex := func() bool {
		if p.isIndexKind() && p.peek().is("INDEX") {
			return true
		}
		p.expected("FULLTEXT INDEX, INVERTED INDEX or SKIPPING INDEX")
		return false
	}
	switch {
	case p.err != nil:
	case p.accept("SET"):
		if isIndex() {
			m.SetIndex = p.index()
		}
	case p.accept("UNSET"):
		if isIndex() {
			m.UnsetIndex = p.tok.val
			p.advance()
			p.advance()
		}
	case p.fixed(m.Name):
	default:
		m.Type = p.columnType()
		p.fixed(m.Name)
	}
	return m
}

// fixed refuses changes of a column that ALTER TABLE does not support: whether it may be null, its default, its
// position.
func (p *parser) fixed(column string) bool {
	what := ""
	switch {
	case p.err != nil:
		return false
	case p.tok.is("NULL") || p.tok.is("NOT") && p.peek().is("NULL"):
		what = "whether column %s may be NULL; add another column"
	case p.tok.is("DEFAULT"):
		what = "the default of column %s; add another column"
	case p.tok.is("FIRST") || p.tok.is("AFTER"):
		what = "the position of column %s; a SELECT can list columns in any order"
	default:
		return false
	}
	p.stop(syntaxError(p.src, p.tok.from, "ALTER TABLE cannot change "+what, schema.QuoteIdent(column)))
	return true
}

// alterColumn parses c TYPE type or c SET DATA TYPE type, which other systems use.
func (p *parser) alterColumn() *ModifyColumn {
	m := &ModifyColumn{Name: p.name("a column name")}
	if p.err == nil && !p.accept("TYPE") && !p.accept("SET", "DATA", "TYPE") {
		if next := p.peek(); p.tok.is("SET") || p.tok.is("DROP") {
			if next.is("DEFAULT") || next.is("NOT") || next.is("NULL") {
				p.advance()
				p.fixed(m.Name)
				return m
			}
		}
		p.expected("TYPE and the new type of the column; its index is changed by MODIFY COLUMN")
		return m
	}
	m.Type = p.columnType()
	return m
}

func (p *parser) alter() Statement {
	if p.accept("DATABASE") || p.accept("SCHEMA") {
		return p.alterDatabase()
	}
	if p.accept("USER") {
		return p.alterUser()
	}
	if p.accept("ROLE") {
		return p.alterRole()
	}
	if p.accept("TOKEN") {
		return p.alterToken()
	}
	if !p.accept("TABLE") {
		p.refuseObject("ALTER", "TABLE, DATABASE, USER, ROLE or TOKEN")
		return nil
	}
	s := &AlterTable{Name: p.tableName()}
	switch {
	case p.accept("ADD"):
		if !p.accept("COLUMN") && p.refuseIndex() {
			break
		}
		s.AddIfNotExists = p.ifNotExists()
		c := p.column()
		s.Add = &c
	case p.accept("DROP"):
		p.accept("COLUMN")
		s.DropIfExists = p.ifExists()
		s.Drop = p.name("a column name")
	case p.accept("SET"):
		s.Set, s.Unset = p.changes()
	case p.accept("UNSET"):
		s.Unset = p.optionKeys()
	case p.accept("RENAME", "COLUMN"):
		s.RenameColumn = p.name("a column name")
		if p.err == nil && !p.accept("TO") {
			p.expected("TO and the new name of the column")
		}
		s.RenameColumnTo = p.name("the new name of the column")
	case p.accept("RENAME"):
		p.rename(s)
	case p.accept("MODIFY"):
		p.accept("COLUMN")
		s.Modify = p.modifyColumn()
	case p.accept("ALTER"):
		p.accept("COLUMN")
		s.Modify = p.alterColumn()
	default:
		p.expected("ADD COLUMN, DROP COLUMN, MODIFY COLUMN, RENAME COLUMN, SET, UNSET or RENAME TO")
	}
	if p.err == nil && p.tok.sym(",") {
		p.refuse("ALTER TABLE makes one change at a time; send a statement for each")
	}
	p.done()
	return s
}

// refuseIndex refuses [FULLTEXT] INDEX [name] (c), which other systems use in CREATE TABLE and ALTER TABLE … ADD. A
// column may have such a name, too.
func (p *parser) refuseIndex() bool {
	save, kind, said := *p, "FULLTEXT", ""
	if p.isIndexKind() {
		kind = strings.ToUpper(p.tok.val)
		said = kind
		p.advance()
	}
	if !p.accept("INDEX") && save.tok == p.tok {
		return false
	}
	name := ""
	if p.tok.kind == word || p.tok.kind == quoted {
		p.advance()
	}
	if p.tok.sym("(") {
		p.advance()
		if p.tok.kind == word || p.tok.kind == quoted {
			name = p.tok.val
		}
	}
	*p = save
	if name == "" {
		return false
	}
	p.refuse("%s (column) is not available: an index is part of its column; write %s STRING %s INDEX for a new column, "+
		"or ALTER TABLE … MODIFY COLUMN %s SET %s INDEX", strings.TrimSpace(said+" INDEX"), schema.QuoteIdent(name), kind,
		schema.QuoteIdent(name), kind)
	return true
}

// rename parses [TO] name, with which the statement ends, or column TO name.
func (p *parser) rename(s *AlterTable) {
	table := p.accept("TO")
	name := p.name("the new table name")
	switch {
	case p.err != nil || p.tok.kind == eof:
	case !table && p.accept("TO"):
		s.RenameColumn, s.RenameColumnTo = name, p.name("the new name of the column")
		return
	case p.tok.sym("."):
		p.stop(syntaxError(p.src, p.tok.from,
			"a table cannot be moved to another database; write the new name of the table alone"))
	default:
		p.expected("the end of the statement after the new table name")
	}
	s.RenameTo = name
}
