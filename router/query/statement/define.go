package statement

import (
	"cmp"
	"strings"

	"cordwood/proto/schema"
)

// refuseObject stops at CREATE, DROP or ALTER of something that does not exist here.
func (p *parser) refuseObject(verb, wanted string) {
	if p.tok.is("INDEX") || p.isIndexKind() && p.peek().is("INDEX") || p.tok.is("UNIQUE") {
		change := "SET"
		if verb == "DROP" {
			change = "UNSET"
		}
		p.refuse("%s INDEX is not available: an index is part of its column; write ALTER TABLE t MODIFY COLUMN c %s FULLTEXT INDEX (or SKIPPING INDEX, INVERTED INDEX)", verb, change)
		return
	}
	if p.tok.kind == word {
		switch strings.ToUpper(p.tok.val) {
		case "VIEW", "SEQUENCE", "FUNCTION", "MACRO", "TYPE", "TRIGGER", "SECRET", "PERSISTENT",
			"TEMP", "TEMPORARY", "OR", "EXTERNAL", "MATERIALIZED", "RECURSIVE", "ROLE", "USER", "FLOW", "SERVER",
			"EXTENSION", "AGGREGATE", "PROCEDURE":
			p.refuse("%s %s is not available; there are databases and tables only", verb, strings.ToUpper(p.tok.val))
			return
		}
	}
	p.expected(wanted)
}

// isIndexKind reports whether the next token is a kind of index.
func (p *parser) isIndexKind() bool {
	return p.tok.is("FULLTEXT") || p.tok.is("INVERTED") || p.tok.is("SKIPPING")
}

// refuseAddIndex stops at ADD [FULLTEXT] INDEX [name] (c), as other systems say it; a column may have these names, too.
func (p *parser) refuseAddIndex() bool {
	save, kind := *p, "FULLTEXT"
	if p.isIndexKind() {
		kind = strings.ToUpper(p.tok.val)
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
	p.refuse("ADD INDEX is not available: an index is part of its column; write MODIFY COLUMN %s SET %s INDEX", schema.QuoteIdent(name), kind)
	return true
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
	}
	p.refuseObject("CREATE", "TABLE or DATABASE")
	return nil
}

func (p *parser) createTable() Statement {
	s := &CreateTable{IfNotExists: p.ifNotExists(), Name: p.tableName()}
	if p.tok.is("AS") || p.tok.is("LIKE") {
		p.refuse("CREATE TABLE … %s is not available; list the columns", strings.ToUpper(p.tok.val))
	}
	p.expectSym("(")
	for p.err == nil {
		p.tableElement(s)
		if p.acceptSym(")") {
			break
		}
		if !p.acceptSym(",") {
			p.expected("`,` or `)`")
		}
	}
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

// tableElement reads one column, or a TIME INDEX or PRIMARY KEY clause. A column
// may be called time or primary, so the clauses are known by what follows.
func (p *parser) tableElement(s *CreateTable) {
	at := p.tok
	switch {
	case p.accept("TIME", "INDEX"):
		if s.TimeIndex != nil {
			p.stop(syntaxError(p.src, at.from, "TIME INDEX is given twice"))
			return
		}
		s.TimeIndex = p.names("the name of the time index column")
	case p.accept("PRIMARY", "KEY"):
		if s.PrimaryKey != nil {
			p.stop(syntaxError(p.src, at.from, "PRIMARY KEY is given twice"))
			return
		}
		if p.acceptSym("(") {
			if p.acceptSym(")") {
				return
			}
			s.PrimaryKey = p.namesAfterParenthesis("the name of a primary key column")
			return
		}
		p.expectSym("(")
	case p.tok.is("CONSTRAINT"), p.tok.is("CHECK") && p.peek().sym("("), p.tok.is("UNIQUE") && p.peek().sym("("),
		p.tok.is("FOREIGN") && p.peek().is("KEY"):
		p.refuse("%s is not available in CREATE TABLE", strings.ToUpper(p.tok.val))
	default:
		s.Columns = append(s.Columns, p.column())
	}
}

// namesAfterParenthesis is names with the opening parenthesis taken.
func (p *parser) namesAfterParenthesis(what string) []string {
	var names []string
	for p.err == nil {
		names = append(names, p.name(what))
		if p.acceptSym(")") {
			break
		}
		if !p.acceptSym(",") {
			p.expected("`,` or `)`")
		}
	}
	return names
}

// peek returns the token after tok.
func (p *parser) peek() token {
	l := p.lex
	t, err := l.next()
	if err != nil {
		return token{kind: eof}
	}
	return t
}

// column reads name type [constraints].
func (p *parser) column() ColumnDef {
	c := ColumnDef{Name: p.name("a column name")}
	c.Type = p.columnType()
	for p.err == nil {
		switch {
		case p.accept("NULL"):
			c.Null = true
		case p.accept("NOT", "NULL"):
			c.NotNull = true
		case p.accept("DEFAULT"):
			l := p.literal()
			if l.Kind == Default {
				p.expected("a literal after DEFAULT")
			}
			c.Default = &l
		case p.accept("TIME", "INDEX"):
			c.TimeIndex = true
		case p.accept("PRIMARY", "KEY"):
			c.PrimaryKey = true
		case p.isIndexKind() && p.peek().is("INDEX"):
			if c.Index != nil {
				p.stop(syntaxError(p.src, p.tok.from, "column %s is given two indexes", schema.QuoteIdent(c.Name)))
				return c
			}
			c.Index = p.index()
		case p.tok.kind == eof || p.tok.sym(",") || p.tok.sym(")"):
			return c
		case p.tok.is("COMMENT") ||
			p.tok.is("REFERENCES") || p.tok.is("CHECK") || p.tok.is("COLLATE") || p.tok.is("GENERATED") || p.tok.is("AS") ||
			p.tok.is("UNIQUE") || p.tok.is("FIRST") || p.tok.is("AFTER"):
			p.refuse("column %s: %s is not available", schema.QuoteIdent(c.Name), strings.ToUpper(p.tok.val))
		default:
			p.expected("NULL, NOT NULL, DEFAULT, TIME INDEX, PRIMARY KEY, FULLTEXT, SKIPPING or INVERTED INDEX, `,` or `)`")
		}
	}
	return c
}

// index reads FULLTEXT INDEX [WITH (…)], or another kind.
func (p *parser) index() *IndexDef {
	x := &IndexDef{Kind: p.tok.val}
	p.advance()
	p.advance()
	if p.accept("WITH") {
		x.Options = p.options()
	}
	return x
}

// typeWords are the words that a type of several words goes on with.
var typeWords = map[string]bool{
	"UNSIGNED": true, "SIGNED": true, "PRECISION": true, "VARYING": true, "WITH": true, "WITHOUT": true, "ZONE": true, "LOCAL": true,
}

// columnType reads a type and returns it with single spaces, as TINYINT UNSIGNED.
func (p *parser) columnType() string {
	if p.tok.kind != word {
		p.expected("a column type")
		return ""
	}
	var b strings.Builder
	b.WriteString(p.tok.val)
	p.advance()
	if p.acceptSym("(") {
		b.WriteByte('(')
		for p.tok.kind == number {
			b.WriteString(p.tok.val)
			p.advance()
			if !p.acceptSym(",") {
				break
			}
			b.WriteByte(',')
		}
		p.expectSym(")")
		b.WriteByte(')')
	}
	for p.tok.kind == word {
		w := strings.ToUpper(p.tok.val)
		zone := w == "TIME" && p.peek().is("ZONE")
		if !typeWords[w] && !zone {
			break
		}
		b.WriteString(" " + w)
		p.advance()
	}
	return b.String()
}

// options reads ('k'='v', k=v, …).
func (p *parser) options() []Option {
	options := []Option{}
	p.expectSym("(")
	if p.acceptSym(")") {
		return options
	}
	for p.err == nil {
		options = append(options, p.option())
		if p.acceptSym(")") {
			break
		}
		if !p.acceptSym(",") {
			p.expected("`,` or `)`")
		}
	}
	return options
}

func (p *parser) optionKey() string {
	switch p.tok.kind {
	case text:
		return p.textLiteral("an option name")
	default:
		return p.name("an option name")
	}
}

// option reads k = v, where v may be quoted or not.
func (p *parser) option() Option {
	o := Option{Key: p.optionKey()}
	p.expectSym("=")
	switch p.tok.kind {
	case text, quoted, word, number:
		o.Value = p.tok.val
		p.advance()
	default:
		p.expected("the value of the option")
	}
	return o
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
		p.done()
		return s
	}
	p.refuseObject("DROP", "TABLE or DATABASE")
	return nil
}

func (p *parser) truncate() Statement {
	p.accept("TABLE")
	s := &TruncateTable{Name: p.tableName()}
	p.done()
	return s
}

// changes reads k=v, … of SET. The word NULL for a value unsets the option; one statement either
// sets or unsets.
func (p *parser) changes() (set []Option, unset []string) {
	for p.err == nil {
		o := p.option()
		if p.prev.is("NULL") {
			unset = append(unset, o.Key)
		} else {
			set = append(set, o)
		}
		if !p.acceptSym(",") {
			break
		}
	}
	if set != nil && unset != nil {
		p.refuse("SET of some options and NULL for others is not available in one statement; send a statement for each")
	}
	return set, unset
}

// optionKeys reads k, …
func (p *parser) optionKeys() (list []string) {
	for p.err == nil {
		list = append(list, p.optionKey())
		if !p.acceptSym(",") {
			break
		}
	}
	return list
}

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

// modifyColumn reads c TYPE, c SET kind INDEX [WITH (…)] or c UNSET kind INDEX.
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
	default:
		m.Type = p.columnType()
	}
	return m
}

// alterColumn reads c TYPE type or c SET DATA TYPE type, as other systems say it.
func (p *parser) alterColumn() *ModifyColumn {
	m := &ModifyColumn{Name: p.name("a column name")}
	if p.err == nil && !p.accept("TYPE") && !p.accept("SET", "DATA", "TYPE") {
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
	if !p.accept("TABLE") {
		p.refuseObject("ALTER", "TABLE or DATABASE")
		return nil
	}
	s := &AlterTable{Name: p.tableName()}
	switch {
	case p.accept("ADD"):
		if !p.accept("COLUMN") && p.refuseAddIndex() {
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
	case p.accept("RENAME"):
		if p.accept("COLUMN") {
			s.RenameColumn = p.name("a column name")
			if p.err == nil && !p.accept("TO") {
				p.expected("TO and the new name of the column")
			}
			s.RenameColumnTo = p.name("the new name of the column")
			break
		}
		p.accept("TO")
		s.RenameTo = p.name("the new table name")
		switch {
		case p.err != nil || p.tok.kind == eof:
		case p.tok.is("TO"):
			p.stop(syntaxError(p.src, p.tok.from, "RENAME gives the table another name; for a column write RENAME COLUMN %s TO %s", schema.QuoteIdent(s.RenameTo), cmp.Or(p.peek().val, "newname")))
		case p.tok.sym("."):
			p.stop(syntaxError(p.src, p.tok.from, "a table cannot be moved to another database; write the new name of the table alone"))
		default:
			p.expected("the end of the statement behind the new table name")
		}
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
