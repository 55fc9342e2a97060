package logql

import (
	"math"

	"cordwood/proto/errs"
)

// rangeOps are the aggregations over a range. The value is true if the aggregation requires unwrap; rate allows it.
var rangeOps = map[string]bool{
	"count_over_time": false, "rate": false, "bytes_over_time": false, "bytes_rate": false, "absent_over_time": false,
	"sum_over_time": true, "avg_over_time": true, "min_over_time": true, "max_over_time": true, "stddev_over_time": true,
	"stdvar_over_time": true, "first_over_time": true, "last_over_time": true, "quantile_over_time": true,
}

// vectorOps are the aggregations over series. The value is true if the aggregation has a parameter.
var vectorOps = map[string]bool{
	"sum": false, "avg": false, "min": false, "max": false, "count": false, "stddev": false, "stdvar": false,
	"topk": true, "bottomk": true, "approx_topk": true,
}

// refused maps each unsupported function to what to use instead.
var refused = map[string]string{
	"rate_counter": "use rate(… | unwrap x [5m])",
	"count_values": "use sum by (label) (count_over_time(…))",
	"variants":     "send one request for each metric",
}

// precedence has the binary operators. An operator with a higher number binds more strongly.
var precedence = map[string]int{
	"or": 1, "and": 2, "unless": 2, "==": 3, "!=": 3, ">": 3, ">=": 3, "<": 3, "<=": 3, "+": 4, "-": 4, "*": 5, "/": 5,
	"%": 5, "^": 6,
}

// expr reads operands joined by operators whose precedence is at least least.
func (p *parser) expr(least int) (Metric, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		if err := p.refuseModifiers(); err != nil {
			return nil, err
		}
		op := t.value
		if t.kind == name {
			op = t.word()
		}
		prec, ok := precedence[op]
		if !ok || t.kind != sign && t.kind != name || prec < max(least, 1) {
			return left, nil
		}
		if p.stages++; p.stages > maxStages {
			return nil, errs.New(errs.InvalidArguments, "the query has more than %d stages and operators", maxStages)
		}
		p.at++
		b := &Binary{Op: op, L: left}
		if err := p.modifiers(b); err != nil {
			return nil, err
		}
		above := prec + 1
		if b.Op == "^" {
			above = prec
		}
		if b.R, err = p.expr(above); err != nil {
			return nil, err
		}
		if err := p.checkBinary(b, t.at); err != nil {
			return nil, err
		}
		left = b
	}
}

// refuseModifiers refuses what PromQL allows after an expression, and LogQL does not: a time, a range of results, and
// an offset.
func (p *parser) refuseModifiers() error {
	switch at := p.peek().at; {
	case p.is("@"):
		return unsupported(p.query, at, "the modifier @; set the time of the request")
	case p.is("["):
		return unsupported(p.query, at, "subqueries, a range of the results of an expression; use one range, as in "+
			"max_over_time({…} | unwrap x [1h])")
	case p.isWord("offset"):
		return syntaxError(p.query, at, "unexpected offset: it is only allowed after a range, such as [5m] offset 1h")
	}
	return nil
}

// modifiers reads bool, on, ignoring and group_left after an operator.
func (p *parser) modifiers(b *Binary) error {
	if at := p.peek().at; p.skipWord("bool") {
		if precedence[b.Op] != 3 {
			return syntaxError(p.query, at, "unexpected bool: it is only allowed after a comparison")
		}
		b.Bool = true
	}
	if !p.isWord("on", "ignoring") {
		return nil
	}
	m := &Matching{On: p.takeWord() == "on"}
	var err error
	if m.Names, err = p.names(); err != nil {
		return err
	}
	if at := p.peek().at; p.isWord("group_left", "group_right") {
		m.Group = p.takeWord()
		if precedence[b.Op] < 3 {
			return syntaxError(p.query, at, "unexpected %s: it is not allowed after and, or, unless", m.Group)
		}
		if p.is("(") {
			if m.Include, err = p.names(); err != nil {
				return err
			}
		}
	}
	b.Matching = m
	return nil
}

// checkBinary refuses operators that need series on both sides.
func (p *parser) checkBinary(b *Binary, at int) error {
	_, left := b.L.(*Number)
	_, right := b.R.(*Number)
	if (left || right) && (precedence[b.Op] < 3 || b.Matching != nil) {
		return syntaxError(p.query, at, "unexpected %s: it needs series on both sides, not a number", b.Op)
	}
	return nil
}

// names reads label names in brackets.
func (p *parser) names() ([]string, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	out := []string{}
	for !p.is(")") {
		n, err := p.name("a label or \")\"")
		if err != nil {
			return nil, err
		}
		out = append(out, n)
		if !p.skip(",") && !p.is(")") {
			return nil, p.unexpected("\",\" or \")\"")
		}
	}
	return out, p.expect(")")
}

// operand reads a metric without an operator.
func (p *parser) operand() (Metric, error) {
	t := p.peek()
	switch {
	case p.skip("("):
		m, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		return m, p.expect(")")
	case t.kind == number || p.is("+", "-"):
		return p.number()
	case t.kind != name:
		return nil, p.unexpected("a selector, a function or a number")
	}
	word := t.word()
	if instead, ok := refused[word]; ok {
		return nil, unsupported(p.query, t.at, "%s; %s", word, instead)
	}
	if _, ok := rangeOps[word]; ok {
		return p.rangeAgg()
	}
	if _, ok := vectorOps[word]; ok {
		return p.vectorAgg()
	}
	switch word {
	case "inf", "nan":
		return p.number()
	case "vector":
		return p.constant()
	case "label_replace":
		return p.labelReplace()
	case "sort", "sort_desc":
		p.at++
		of, err := p.inBrackets()
		return &Sort{Desc: word == "sort_desc", Of: of}, err
	}
	if next := p.after(1); next.kind == sign && comparison(next.value) {
		return nil, syntaxError(p.query, t.at, "unexpected %s: write a selector in braces, such as {app=\"web\"}", t)
	}
	return nil, syntaxError(p.query, t.at, "unexpected %s: there is no such function", t)
}

func (p *parser) number() (Metric, error) {
	at := p.peek().at
	as, v, _, err := p.literal("a number")
	if err == nil && as != PlainNumber {
		return nil, syntaxError(p.query, at, "unexpected unit: this number cannot have a unit")
	}
	return &Number{v}, err
}

// inBrackets reads a metric in brackets.
func (p *parser) inBrackets() (Metric, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	m, err := p.expr(0)
	if err != nil {
		return nil, err
	}
	return m, p.expect(")")
}

func (p *parser) constant() (Metric, error) {
	p.at++
	if err := p.expect("("); err != nil {
		return nil, err
	}
	n, err := p.number()
	if err != nil {
		return nil, err
	}
	return &Constant{n.(*Number).Value}, p.expect(")")
}

func (p *parser) labelReplace() (Metric, error) {
	p.at++
	if err := p.expect("("); err != nil {
		return nil, err
	}
	of, err := p.expr(0)
	if err != nil {
		return nil, err
	}
	l := &LabelReplace{Of: of}
	at := 0
	for _, to := range []*string{&l.Dst, &l.Replacement, &l.Src, &l.Expression} {
		if err := p.expect(","); err != nil {
			return nil, err
		}
		at = p.peek().at
		if *to, err = p.text("a string"); err != nil {
			return nil, err
		}
	}
	if !plainName.MatchString(l.Dst) {
		return nil, syntaxError(p.query, at, "invalid destination label name: %q", clip(l.Dst))
	}
	if l.Re, err = p.compile(at, l.Expression, "^(?s:"+l.Expression+")$"); err != nil {
		return nil, err
	}
	return l, p.expect(")")
}

func (p *parser) grouping() (*Grouping, error) {
	if !p.isWord("by", "without") {
		return nil, nil
	}
	g := &Grouping{Without: p.takeWord() == "without"}
	var err error
	g.Names, err = p.names()
	return g, err
}

func (p *parser) vectorAgg() (Metric, error) {
	t := p.take()
	v := &Vector{Op: t.word()}
	var err error
	if v.Grouping, err = p.grouping(); err != nil {
		return nil, err
	}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	if vectorOps[v.Op] {
		at := p.peek().at
		as, k, _, err := p.literal("the number of series")
		if err != nil {
			return nil, err
		}
		if as != PlainNumber || k != math.Trunc(k) || k < 1 || k > 1e6 {
			return nil, syntaxError(p.query, at, "invalid parameter %s(%v,", v.Op, k)
		}
		v.Param = int(k)
		if err := p.expect(","); err != nil {
			return nil, err
		}
	}
	if v.Of, err = p.expr(0); err != nil {
		return nil, err
	}
	if _, ok := v.Of.(*Number); ok {
		return nil, syntaxError(p.query, t.at, "%s needs series, not a number", v.Op)
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if v.Grouping == nil {
		v.Grouping, err = p.grouping()
	}
	return v, err
}
