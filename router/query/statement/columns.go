package statement

import (
	"slices"
	"strings"

	"cordwood/proto/schema"
)

// isIndexKind reports whether the next token is a kind of index.
func (p *parser) isIndexKind() bool {
	return p.tok.is("FULLTEXT") || p.tok.is("INVERTED") || p.tok.is("SKIPPING")
}

// tableElement parses one column, or a TIME INDEX or PRIMARY KEY clause. A column may be named time or primary, so
// the next tokens decide.
func (p *parser) tableElement(s *CreateTable) {
	at := p.tok
	p.keyName()
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
			s.PrimaryKey = p.namesAfterParenthesis("the name of a primary key column")
			return
		}
		p.expectSym("(")
	case p.tok.is("CONSTRAINT"), p.tok.is("CHECK") && p.peek().sym("("), p.tok.is("UNIQUE") && p.peek().sym("("),
		p.tok.is("FOREIGN") && p.peek().is("KEY"):
		p.refuse("%s is not available in CREATE TABLE", strings.ToUpper(p.tok.val))
	case p.refuseIndex():
	default:
		s.Columns = append(s.Columns, p.column())
	}
}

// keyName skips CONSTRAINT name before PRIMARY KEY. The name has no effect.
func (p *parser) keyName() {
	if !p.tok.is("CONSTRAINT") {
		return
	}
	save := *p
	if p.advance(); p.tok.kind == word || p.tok.kind == quoted {
		p.advance()
	}
	if !p.tok.is("PRIMARY") {
		*p = save
	}
}

// noConstraints are the words that start a column constraint in other systems.
var noConstraints = []string{"COMMENT", "REFERENCES", "CHECK", "COLLATE", "GENERATED", "AS", "UNIQUE", "FIRST", "AFTER"}

// column parses name type [constraints].
func (p *parser) column() ColumnDef {
	c := ColumnDef{Name: p.name("a column name")}
	c.Type = p.columnType()
	for p.err == nil {
		at := p.tok.from
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
			if c.Default != nil {
				p.stop(syntaxError(p.src, at, "column %s is given two defaults", schema.QuoteIdent(c.Name)))
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
		case p.isIndexKind():
			p.advance()
			p.expected("INDEX")
		case p.tok.kind == eof || p.tok.sym(",") || p.tok.sym(")"):
			return c
		case slices.ContainsFunc(noConstraints, p.tok.is):
			p.refuse("column %s: %s is not available", schema.QuoteIdent(c.Name), strings.ToUpper(p.tok.val))
		default:
			p.expected("NULL, NOT NULL, DEFAULT, TIME INDEX, PRIMARY KEY, FULLTEXT, SKIPPING or INVERTED INDEX, `,` or `)`")
		}
	}
	return c
}

// index parses FULLTEXT INDEX [WITH (…)], or another kind of index.
func (p *parser) index() *IndexDef {
	x := &IndexDef{Kind: p.tok.val}
	p.advance()
	p.advance()
	if p.accept("WITH") {
		x.Options = p.options()
	}
	return x
}

// typeWords are the words that may follow the first word of a type's name.
var typeWords = map[string]bool{
	"UNSIGNED": true, "SIGNED": true, "PRECISION": true, "VARYING": true, "WITH": true, "WITHOUT": true, "ZONE": true,
	"LOCAL": true,
}

// columnType parses a type and returns it with single spaces, for example TINYINT UNSIGNED.
func (p *parser) columnType() string {
	if p.tok.kind != word {
		p.expected("a column type")
		return ""
	}
	var b strings.Builder
	b.WriteString(p.tok.val)
	p.advance()
	p.typeLength(&b)
	for p.tok.kind == word {
		w := strings.ToUpper(p.tok.val)
		zone := w == "TIME" && p.peek().is("ZONE")
		if !typeWords[w] && !zone {
			break
		}
		b.WriteString(" " + w)
		p.advance()
		if w == "VARYING" {
			p.typeLength(&b)
		}
	}
	if p.tok.sym("[") || p.tok.is("ARRAY") {
		p.refuse("a column cannot have the type %s[], because tables store no arrays; use JSON", b.String())
	}
	return b.String()
}

// typeLength parses the numbers in brackets after the name of a type, if there are any.
func (p *parser) typeLength(b *strings.Builder) {
	if !p.acceptSym("(") {
		return
	}
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
