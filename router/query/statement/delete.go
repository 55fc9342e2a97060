package statement

// delete parses FROM t WHERE condition.
func (p *parser) delete(at piece) Statement {
	p.expect("FROM")
	s := &Delete{Name: p.tableName()}
	switch {
	case p.err != nil:
		return nil
	case p.tok.kind == eof:
		p.refuse("DELETE without WHERE is not available; TRUNCATE TABLE removes all rows")
		return nil
	case p.tok.is("USING"):
		p.refuse("DELETE … USING is not available; use a condition on the key columns of the table")
		return nil
	}
	p.expect("WHERE")
	if p.err != nil {
		return nil
	}
	s.Where = p.src[p.tok.from:at.to]
	if returns(s.Where) {
		p.refuse("DELETE … RETURNING is not available, because DELETE reads only the keys of the rows; use SELECT before")
		return nil
	}
	if err := CheckCondition(s.Where); err != nil {
		p.stop(err)
		return nil
	}
	return s
}

// returns reports whether a condition is followed by RETURNING.
func returns(src string) bool {
	l := lexer{src: src}
	depth := 0
	for before := (token{}); ; {
		t, err := l.next()
		switch {
		case err != nil || t.kind == eof:
			return false
		case t.sym("("):
			depth++
		case t.sym(")"):
			depth--
		case depth == 0 && t.is("RETURNING") && !before.sym(".") && before.kind != eof:
			return true
		}
		before = t
	}
}
