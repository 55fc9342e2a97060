package statement

import "strings"

// conflict parses CONFLICT [(columns) | ON CONSTRAINT name] DO NOTHING, or DO UPDATE SET c = EXCLUDED.c, ….
func (p *parser) conflict() *Conflict {
	if !p.tok.is("CONFLICT") {
		p.refuse("INSERT … ON %s is not available; use ON CONFLICT", p.tok.val)
		return nil
	}
	p.advance()
	c := &Conflict{}
	switch {
	case p.tok.sym("("):
		c.Target = p.names("a column of the key")
	case p.accept("ON", "CONSTRAINT"):
		c.Constraint = p.name("the name of the key")
	}
	if p.tok.is("WHERE") {
		p.refuse("ON CONFLICT … WHERE is not available; name the columns of the key only")
	}
	p.expect("DO")
	if p.accept("NOTHING") {
		return c
	}
	at := p.tok
	p.expect("UPDATE", "SET")
	for p.err == nil {
		c.Set = append(c.Set, p.newValue())
		if !p.acceptSym(",") {
			break
		}
	}
	switch {
	case p.tok.is("WHERE"):
		p.refuse("ON CONFLICT DO UPDATE … WHERE is not available; the new row always replaces the older one")
	case p.err == nil && c.Target == nil && c.Constraint == "":
		p.stop(syntaxError(p.src, at.from, "ON CONFLICT DO UPDATE needs the columns of the key: ON CONFLICT (…) DO UPDATE "+
			"SET … %s", near(p.src, at)))
	}
	return c
}

// newValue parses c = EXCLUDED.c, and returns c.
func (p *parser) newValue() string {
	if p.tok.sym("(") {
		p.refuse("SET (…) = (…) is not available; set each column: SET c = EXCLUDED.c")
	}
	name := p.name("a column to set")
	p.expectSym("=")
	if p.err != nil {
		return ""
	}
	excluded := (p.tok.kind == word || p.tok.kind == quoted) && strings.EqualFold(p.tok.val, "excluded")
	if p.advance(); excluded && p.acceptSym(".") {
		if from := p.name("a column of EXCLUDED"); from == name {
			return name
		}
	}
	if p.err == nil {
		p.refuse("ON CONFLICT DO UPDATE can only replace the older row by the new one; write SET %[1]s = EXCLUDED.%[1]s",
			name)
	}
	return ""
}

// returning returns the text of the list after RETURNING, up to the end of the statement. Afterwards, prev is the first
// token of the list. The engine checks the expressions.
func (p *parser) returning() string {
	first, end := p.tok, p.tok
	for depth := 0; p.tok.kind != eof; p.advance() {
		switch t := p.tok; {
		case t.sym("("), t.sym("["):
			depth++
		case t.sym(")"), t.sym("]"):
			if depth--; depth < 0 {
				p.stop(syntaxError(p.src, t.from, "the list after RETURNING has a bracket too many %s", near(p.src, t)))
			}
		case depth == 0 && p.endsReturning():
			p.stop(syntaxError(p.src, t.from, "expected the end of the list after RETURNING %s", near(p.src, t)))
		}
		end = p.tok
	}
	if p.err != nil {
		return ""
	}
	if end.kind == eof {
		p.expected("columns after RETURNING")
		return ""
	}
	p.prev = first
	return p.src[first.from:end.to]
}

// endsReturning reports whether tok is a word that may follow the list of a SELECT, or precede it.
func (p *parser) endsReturning() bool {
	if p.tok.kind != word || p.prev.sym(".") || p.prev.is("AS") {
		return false
	}
	switch strings.ToUpper(p.tok.val) {
	case "FROM":
		return !p.prev.is("DISTINCT")
	case "DISTINCT", "ALL":
		return p.prev.is("RETURNING")
	case "WHERE", "GROUP", "ORDER", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "HAVING", "WINDOW", "OFFSET", "FETCH",
		"QUALIFY", "USING", "SELECT", "INTO":
		return true
	}
	return false
}
