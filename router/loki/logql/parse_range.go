package logql

import (
	"strings"
	"time"
)

func (p *parser) rangeAgg() (Metric, error) {
	t := p.take()
	r := &Range{Op: t.word()}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	if r.Op == "quantile_over_time" {
		at := p.peek().at
		as, q, _, err := p.literal("the quantile")
		if err != nil {
			return nil, err
		}
		if as != PlainNumber || !(q >= 0 && q <= 1) {
			return nil, syntaxError(p.query, at, "invalid quantile %v: it must be from 0 to 1", q)
		}
		r.Param = q
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
	open := 0
	for p.skip("(") {
		open++
	}
	if err := p.ranged(r, &open); err != nil {
		return nil, err
	}
	for ; open > 0; open-- {
		if err := p.expect(")"); err != nil {
			return nil, err
		}
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	var err error
	if r.Grouping, err = p.grouping(); err != nil {
		return nil, err
	}
	return r, p.checkRange(r, t.at)
}

// ranged reads a selector, its pipeline and its range, which may stand before or after the pipeline. open is the number
// of parentheses around the selector, which may end before the range.
func (p *parser) ranged(r *Range, open *int) error {
	r.Log = &Log{}
	var err error
	if !p.is("{") {
		return p.noSelector(r)
	}
	if r.Log.Matchers, err = p.selector(); err != nil {
		return err
	}
	had := false
	for {
		switch {
		case p.is("@"):
			return p.refuseModifiers()
		case p.is("[") && !had:
			had = true
			if err := p.span(r); err != nil {
				return err
			}
		case r.Unwrap == nil && p.is("|") && p.after(1).word() == "unwrap":
			p.at += 2
			if r.Unwrap, err = p.unwrap(); err != nil {
				return err
			}
		case p.startsStage() && r.Unwrap == nil:
			s, err := p.stage()
			if err != nil {
				return err
			}
			r.Log.Stages = append(r.Log.Stages, s)
		case p.startsStage():
			at := p.peek().at
			s, err := p.stage()
			if err != nil {
				return err
			}
			f, ok := s.(*LabelFilter)
			if !ok {
				return syntaxError(p.query, at, "only label filters may follow unwrap")
			}
			r.Unwrap.Filters = append(r.Unwrap.Filters, f)
		case had:
			return nil
		case *open > 0 && p.skip(")"):
			*open--
		default:
			return p.unexpected("a range, such as [5m]")
		}
	}
}

// noSelector returns the error for a range aggregation without a selector. If there is a metric instead of the
// selector, the error says that subqueries are not supported.
func (p *parser) noSelector(r *Range) error {
	t := p.peek()
	_, ranged := rangeOps[t.word()]
	_, vector := vectorOps[t.word()]
	if ranged || vector || t.word() == "label_replace" || t.word() == "vector" {
		return unsupported(p.query, t.at, "subqueries, such as %s(%s(…)[…]); a range aggregation reads the entries of a "+
			"selector, as in %s({app=\"web\"} [5m])", r.Op, t.value, r.Op)
	}
	return p.unexpected("a selector, such as {app=\"web\"}")
}

// span reads a range such as [5m], and an optional offset.
func (p *parser) span(r *Range) error {
	p.at++
	at := p.peek().at
	var err error
	if r.Range, err = p.duration(); err != nil {
		return err
	}
	if r.Range <= 0 {
		return syntaxError(p.query, at, "a range must be longer than 0")
	}
	if p.is(":") {
		return unsupported(p.query, p.peek().at, "subqueries, a range with a step; use one range")
	}
	if err := p.expect("]"); err != nil {
		return err
	}
	if !p.skipWord("offset") {
		return nil
	}
	negative := p.skip("-")
	if r.Offset, err = p.duration(); err != nil {
		return err
	}
	if negative {
		r.Offset = -r.Offset
	}
	return nil
}

// maxSpan is the maximum length of ranges and offsets.
const maxSpan = 100 * 365 * 24 * time.Hour

func (p *parser) duration() (time.Duration, error) {
	if p.peek().kind != number {
		return 0, p.unexpected("a duration, such as 5m")
	}
	d, ok := ParseDuration(p.peek().value)
	if !ok || d > maxSpan {
		return 0, p.unexpected("a duration of up to 100 years, such as 5m")
	}
	p.at++
	return d, nil
}

func (p *parser) unwrap() (*Unwrap, error) {
	n, err := p.name("a label")
	if err != nil {
		return nil, err
	}
	if !p.skip("(") {
		return &Unwrap{Name: n}, nil
	}
	u := &Unwrap{Convert: strings.ToLower(n)}
	if u.Convert != "duration" && u.Convert != "duration_seconds" && u.Convert != "bytes" {
		return nil, syntaxError(p.query, p.tokens[p.at-2].at, "unexpected %q: unwrap converts by duration, duration_seconds "+
			"or bytes", n)
	}
	if u.Name, err = p.name("a label"); err != nil {
		return nil, err
	}
	return u, p.expect(")")
}

func (p *parser) checkRange(r *Range, at int) error {
	needs := rangeOps[r.Op]
	switch {
	case needs && r.Unwrap == nil:
		return syntaxError(p.query, at, "invalid aggregation %s without unwrap", r.Op)
	case !needs && r.Unwrap != nil && r.Op != "rate" && r.Op != "absent_over_time":
		return syntaxError(p.query, at, "invalid aggregation %s with unwrap", r.Op)
	case r.Grouping != nil && (!needs || r.Op == "sum_over_time"):
		return syntaxError(p.query, at, "grouping not allowed for %s aggregation", r.Op)
	}
	return nil
}
