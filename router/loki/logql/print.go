package logql

import (
	"math"
	"strconv"
	"strings"
	"time"
)

type printer struct{ strings.Builder }

func written(write func(p *printer)) string {
	var p printer
	write(&p)
	return p.String()
}

func (p *printer) add(parts ...string) {
	for _, s := range parts {
		p.WriteString(s)
	}
}

// list writes items with a comma between them.
func list[T any](p *printer, items []T, write func(T)) {
	for i, item := range items {
		if i > 0 {
			p.add(", ")
		}
		write(item)
	}
}

// String implements Expr.
func (l *Log) String() string { return written(l.write) }

func (l *Log) write(p *printer) {
	p.add("{")
	list(p, l.Matchers, func(m Matcher) { m.write(p) })
	p.add("}")
	for _, s := range l.Stages {
		p.add(" ")
		s.write(p)
	}
}

func (m *Matcher) write(p *printer) { p.add(m.Name, m.Op, strconv.Quote(m.Value)) }

func (f *LineFilter) write(p *printer) {
	p.add(f.Op)
	for i, t := range f.Texts {
		if i > 0 {
			p.add(" or")
		}
		p.add(" ", strconv.Quote(t))
	}
}

func extracts(p *printer, items []Extract) {
	if len(items) > 0 {
		p.add(" ")
	}
	list(p, items, func(e Extract) { p.add(e.Name, "=", strconv.Quote(e.From)) })
}

func (s *JSON) write(p *printer) {
	p.add("| json")
	extracts(p, s.List)
}

func (s *Logfmt) write(p *printer) {
	p.add("| logfmt")
	if s.Strict {
		p.add(" --strict")
	}
	if s.KeepEmpty {
		p.add(" --keep-empty")
	}
	extracts(p, s.List)
}

func (s *Regexp) write(p *printer)     { p.add("| regexp ", strconv.Quote(s.Re.String())) }
func (s *Pattern) write(p *printer)    { p.add("| pattern ", strconv.Quote(s.Text)) }
func (s *Unpack) write(p *printer)     { p.add("| unpack") }
func (s *Decolorize) write(p *printer) { p.add("| decolorize") }

func (s *LabelFilter) write(p *printer) {
	p.add("| ")
	inner(p, s.Cond, looksLikeStage(s.Cond))
}

// looksLikeStage reports whether a condition without parentheses begins like a parser before a line filter.
func looksLikeStage(c Cond) bool {
	switch c := c.(type) {
	case *And:
		return looksLikeStage(c.A)
	case *Or:
		return looksLikeStage(c.A)
	case *Text:
		return filtersLines(c.Name, c.Op)
	case *Compare:
		return filtersLines(c.Name, c.Op)
	}
	return false
}

func (c *And) write(p *printer) {
	_, or := c.A.(*Or)
	inner(p, c.A, or)
	p.add(" and ")
	_, plain := c.B.(*Text)
	_, number := c.B.(*Compare)
	inner(p, c.B, !plain && !number)
}

func (c *Or) write(p *printer) {
	c.A.write(p)
	p.add(" or ")
	_, or := c.B.(*Or)
	inner(p, c.B, or)
}

// inner writes a condition, in brackets if brackets is set and the condition needs them.
func inner(p *printer, c Cond, brackets bool) {
	if !brackets {
		c.write(p)
		return
	}
	p.add("(")
	c.write(p)
	p.add(")")
}

func (c *Text) write(p *printer)    { c.Matcher.write(p) }
func (c *Compare) write(p *printer) { p.add(c.Name, " ", c.Op, " ", c.Literal) }

func (s *LineFormat) write(p *printer) { p.add("| line_format ", strconv.Quote(s.Template.Source)) }

func (s *LabelFormat) write(p *printer) {
	p.add("| label_format ")
	list(p, s.Sets, func(set LabelSet) {
		p.add(set.Name, "=")
		if set.Template != nil {
			p.add(strconv.Quote(set.Template.Source))
		} else {
			p.add(set.From)
		}
	})
}

func nameMatches(p *printer, items []NameMatch) {
	list(p, items, func(n NameMatch) {
		if n.Match != nil {
			n.Match.write(p)
		} else {
			p.add(n.Name)
		}
	})
}

func (s *Drop) write(p *printer) {
	p.add("| drop ")
	nameMatches(p, s.Names)
}

func (s *Keep) write(p *printer) {
	p.add("| keep ")
	nameMatches(p, s.Names)
}

func (u *Unwrap) write(p *printer) {
	p.add(" | unwrap ")
	if u.Convert != "" {
		p.add(u.Convert, "(", u.Name, ")")
	} else {
		p.add(u.Name)
	}
	for _, f := range u.Filters {
		p.add(" ")
		f.write(p)
	}
}

func (g *Grouping) write(p *printer) {
	if g.Without {
		p.add(" without (")
	} else {
		p.add(" by (")
	}
	p.add(strings.Join(g.Names, ", "), ")")
}

// String implements Expr.
func (r *Range) String() string {
	return written(func(p *printer) {
		p.add(r.Op, "(")
		if r.Op == "quantile_over_time" {
			p.add(number64(r.Param), ", ")
		}
		r.Log.write(p)
		if r.Unwrap != nil {
			r.Unwrap.write(p)
		}
		p.add(" [", FormatDuration(r.Range), "]")
		if r.Offset != 0 {
			p.add(" offset ", FormatDuration(r.Offset))
		}
		p.add(")")
		if r.Grouping != nil {
			r.Grouping.write(p)
		}
	})
}

// String implements Expr.
func (v *Vector) String() string {
	return written(func(p *printer) {
		p.add(v.Op)
		if v.Grouping != nil {
			v.Grouping.write(p)
			p.add(" ")
		}
		p.add("(")
		if vectorOps[v.Op] {
			p.add(strconv.Itoa(v.Param), ", ")
		}
		p.add(v.Of.String(), ")")
	})
}

// String implements Expr.
func (b *Binary) String() string {
	return written(func(p *printer) {
		prec, right := precedence[b.Op], b.Op == "^"
		operand(p, b.L, prec, right)
		p.add(" ", b.Op)
		if b.Bool {
			p.add(" bool")
		}
		if m := b.Matching; m != nil {
			word := " ignoring ("
			if m.On {
				word = " on ("
			}
			p.add(word, strings.Join(m.Names, ", "), ")")
			if m.Group != "" {
				p.add(" ", m.Group, " (", strings.Join(m.Include, ", "), ")")
			}
		}
		p.add(" ")
		operand(p, b.R, prec, !right)
	})
}

// operand writes an operand in brackets if its operator binds less strongly than prec or, if equal is set, equally
// strongly.
func operand(p *printer, m Metric, prec int, equal bool) {
	b, ok := m.(*Binary)
	if !ok || precedence[b.Op] > prec || precedence[b.Op] == prec && !equal {
		p.add(m.String())
		return
	}
	p.add("(", m.String(), ")")
}

// String implements Expr.
func (n *Number) String() string { return number64(n.Value) }

// String implements Expr.
func (c *Constant) String() string { return "vector(" + number64(c.Value) + ")" }

// String implements Expr.
func (l *LabelReplace) String() string {
	return "label_replace(" + l.Of.String() + ", " + strconv.Quote(l.Dst) + ", " + strconv.Quote(l.Replacement) + ", " +
		strconv.Quote(l.Src) + ", " + strconv.Quote(l.Expression) + ")"
}

// String implements Expr.
func (s *Sort) String() string {
	if s.Desc {
		return "sort_desc(" + s.Of.String() + ")"
	}
	return "sort(" + s.Of.String() + ")"
}

func number64(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return strings.ToLower(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// FormatDuration formats a duration as in queries: 1h30m, 250ms.
func FormatDuration(d time.Duration) string {
	if d < 0 {
		return "-" + FormatDuration(-d)
	}
	var b strings.Builder
	for _, u := range []struct {
		name string
		of   time.Duration
	}{
		{"h", time.Hour},
		{"m", time.Minute},
		{"s", time.Second},
		{"ms", time.Millisecond},
		{"us", time.Microsecond},
		{"ns", 1},
	} {
		if n := d / u.of; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + u.name)
			d -= n * u.of
		}
	}
	if b.Len() == 0 {
		return "0s"
	}
	return b.String()
}
