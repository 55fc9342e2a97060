package syntax

import (
	"slices"

	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/value"
)

// suffix parses the path after an operand, if there is one.
func (p *parser) suffix(n Node, start int) Node {
	if !p.adjacent() || !p.is(".") && !p.is("[") {
		return n
	}
	q := &Query{Root: Result, Base: n}
	if v, ok := n.(*Variable); ok {
		q = &Query{Root: Named, Name: v.Name, NameSpan: v.Place}
	}
	return p.path(q, start)
}

// firstSegment parses the optional field directly after the prefix of a path.
func (p *parser) firstSegment(q *Query) {
	if t := p.tok(); p.adjacent() && (t.kind == field || t.kind == text) {
		p.fieldSegment(q)
	}
}

func (p *parser) fieldSegment(q *Query) {
	t := p.advance()
	name := t.text
	if t.kind == text && !slices.ContainsFunc(t.parts, func(x Part) bool { return x.IsName }) {
		name = ""
		if len(t.parts) > 0 {
			name = t.parts[0].Text
		}
	}
	q.Path = append(q.Path, value.Name(name))
	q.Segments = append(q.Segments, t.span)
}

func (p *parser) path(q *Query, start int) Node {
	for p.adjacent() {
		switch {
		case p.is(".") && (len(q.Path) > 0 || q.Root >= Named):
			dot := p.advance()
			if t := p.tok(); !p.adjacent() || t.kind != field && t.kind != text {
				p.throw(diag.New(203, "syntax error", dot.span, "unexpected end of query path").
					With(dot.span, "expected a field name or a quoted field name"))
			}
			p.fieldSegment(q)
			continue
		case p.is("["):
			open := p.advance()
			t := p.tok()
			if t.kind != literal || t.value.Kind() != value.Int {
				p.unexpected("an integer as index; other indices need get()")
			}
			p.i++
			if i := t.value.Int(); int64(int32(i)) != i {
				p.throw(diag.New(316, "index out of range", t.span, "array indices have at most 32 bits"))
			}
			p.expect("]", "] after the index")
			q.Path = append(q.Path, value.Index(int(t.value.Int())))
			q.Segments = append(q.Segments, diag.Span{Start: open.span.Start, End: p.end()})
			continue
		}
		break
	}
	if q.Place = p.since(start).Place; len(q.Path) > 1<<10 {
		p.throw(diag.New(202, "path too long", q.Place, "paths have at most 1024 segments"))
	}
	return q
}
