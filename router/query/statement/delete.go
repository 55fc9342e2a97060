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
	if err := CheckCondition(s.Where); err != nil {
		p.stop(err)
		return nil
	}
	return s
}
