package logql

import (
	"fmt"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
)

// startsStage reports whether the next token begins a stage.
func (p *parser) startsStage() bool { return p.is("|", "|=", "!=", "|~", "!~", "|>", "!>") }

// stage reads a stage with the operator before it.
func (p *parser) stage() (Stage, error) {
	if p.stages++; p.stages > maxStages {
		return nil, errs.New(errs.InvalidArguments, "the query has more than %d stages", maxStages)
	}
	if !p.skip("|") {
		return p.lineFilter()
	}
	if p.peek().kind == name && !p.startsComparison() {
		if read, ok := stages[p.peek().word()]; ok {
			p.at++
			return read(p)
		}
	}
	c, err := p.labelFilter()
	if err != nil {
		return nil, err
	}
	return &LabelFilter{c}, nil
}

// startsComparison reports whether the next tokens compare a label with a value. After a parser, which takes no value,
// != and !~ filter lines, as in Loki: | json != "debug".
func (p *parser) startsComparison() bool {
	op := p.after(1)
	if op.kind != sign || !comparison(op.value) {
		return false
	}
	return !filtersLines(p.peek().word(), op.value)
}

// filtersLines reports whether an operator after the name of a stage filters lines, and does not compare a label of
// that name.
func filtersLines(stage, op string) bool {
	switch stage {
	case "json", "logfmt", "unpack", "decolorize":
		return op == "!=" || op == "!~"
	}
	return false
}

// startsCondition reports whether the next tokens compare a label with a value.
func (p *parser) startsCondition() bool {
	op := p.after(1)
	return p.peek().kind == name && op.kind == sign && comparison(op.value)
}

// comparison reports whether an operator compares a label with a value.
func comparison(s string) bool {
	switch s {
	case "=", "!=", "=~", "!~", ">", ">=", "<", "<=", "==":
		return true
	}
	return false
}

// stages maps the first word of a stage to the function that reads the stage.
var stages map[string]func(p *parser) (Stage, error)

func init() {
	stages = map[string]func(p *parser) (Stage, error){
		"json": func(p *parser) (Stage, error) {
			list, err := p.extracts(CheckPath)
			return &JSON{list}, err
		},
		"logfmt": (*parser).logfmt,
		"regexp": (*parser).regexp, "pattern": (*parser).pattern,
		"unpack":      func(*parser) (Stage, error) { return &Unpack{}, nil },
		"decolorize":  func(*parser) (Stage, error) { return &Decolorize{}, nil },
		"line_format": (*parser).lineFormat, "label_format": (*parser).labelFormat,
		"drop": func(p *parser) (Stage, error) {
			list, err := p.nameMatches()
			return &Drop{list}, err
		},
		"keep": func(p *parser) (Stage, error) {
			list, err := p.nameMatches()
			return &Keep{list}, err
		},
		"distinct": func(p *parser) (Stage, error) {
			return nil, unsupported(p.query, p.tokens[p.at-1].at,
				"distinct; use count by (label) (count_over_time(…)) instead")
		},
	}
}

func (p *parser) lineFilter() (Stage, error) {
	f := &LineFilter{Op: p.take().value}
	for {
		if p.isWord("ip") && p.after(1).value == "(" {
			return nil, unsupported(p.query, p.peek().at, "ip(…); use a regular expression, such as |~ `10\\.0\\.`")
		}
		at := p.peek().at
		text, err := p.text("a string")
		if err != nil {
			return nil, err
		}
		switch f.Op[1] {
		case '~':
			re, err := p.compile(at, text, text)
			if err != nil {
				return nil, err
			}
			f.Res = append(f.Res, re)
		case '>':
			pattern, err := ParseLinePattern(text)
			if err != nil {
				return nil, syntaxError(p.query, at, "%s", err)
			}
			loose, exact := pattern.Expressions()
			for _, expression := range []string{"^(?s:" + loose + ")$", exact} {
				if _, err := p.compile(at, expression, expression); err != nil { // counts its instructions
					return nil, err
				}
			}
			f.Patterns = append(f.Patterns, pattern)
		}
		f.Texts = append(f.Texts, text)
		if !p.skipWord("or") {
			return f, nil
		}
	}
}

// extracts reads label names, each with an optional path or key. check validates a path.
func (p *parser) extracts(check func(path string) error) ([]Extract, error) {
	var out []Extract
	for p.peek().kind == name {
		e := Extract{Name: p.take().value}
		e.From = e.Name
		if p.skip("=") {
			at := p.peek().at
			var err error
			if e.From, err = p.text("a string"); err != nil {
				return nil, err
			}
			if err := check(e.From); err != nil {
				return nil, syntaxError(p.query, at, "%s", err)
			}
		}
		out = append(out, e)
		if !p.skip(",") {
			return out, nil
		}
		if p.peek().kind != name {
			return nil, p.unexpected("a name")
		}
	}
	return out, nil
}

func (p *parser) logfmt() (Stage, error) {
	s := &Logfmt{}
	for p.peek().kind == flag {
		switch p.peek().value {
		case "--strict":
			s.Strict = true
		case "--keep-empty":
			s.KeepEmpty = true
		default:
			return nil, p.unexpected("--strict or --keep-empty")
		}
		p.at++
	}
	var err error
	s.List, err = p.extracts(checkKey)
	return s, err
}

// checkKey returns an error if a text is not a key that logfmt can be asked for.
func checkKey(key string) error {
	if !plainName.MatchString(key) {
		return fmt.Errorf("cannot parse expression [%s]: a key of logfmt has letters, digits and underscores", key)
	}
	return nil
}

func (p *parser) regexp() (Stage, error) {
	at := p.peek().at
	text, err := p.text("a string")
	if err != nil {
		return nil, err
	}
	re, err := p.compile(at, text, text)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, n := range re.SubexpNames() {
		if n == "" {
			continue
		}
		if !plainName.MatchString(n) || seen[n] {
			return nil, syntaxError(p.query, at, "the group %q has an invalid name, or one that is used twice", n)
		}
		seen[n] = true
	}
	if len(seen) == 0 {
		return nil, syntaxError(p.query, at, "at least one named group must be supplied, such as (?P<name>…)")
	}
	return &Regexp{re}, nil
}

var plainName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (p *parser) pattern() (Stage, error) {
	at := p.peek().at
	text, err := p.text("a string")
	if err != nil {
		return nil, err
	}
	parts, err := patternParts(text)
	if err != nil {
		return nil, syntaxError(p.query, at, "%s", err)
	}
	return &Pattern{text, parts}, nil
}

func (p *parser) lineFormat() (Stage, error) {
	t, err := p.template()
	return &LineFormat{t}, err
}

func (p *parser) template() (*Template, error) {
	at := p.peek().at
	text, err := p.text("a string")
	if err != nil {
		return nil, err
	}
	t, err := parseTemplate(text)
	if err != nil {
		return nil, unsupported(p.query, at, "%s", err)
	}
	return t, nil
}

func (p *parser) labelFormat() (Stage, error) {
	s := &LabelFormat{}
	seen := map[string]bool{}
	for {
		at := p.peek().at
		label, err := p.name("a label")
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(label, "__error") {
			return nil, syntaxError(p.query, at, "label %q cannot be set", label)
		}
		if seen[label] {
			return nil, syntaxError(p.query, at, "label %q is set twice by one label_format", label)
		}
		seen[label] = true
		if err := p.expect("="); err != nil {
			return nil, err
		}
		set := LabelSet{Name: label}
		if p.peek().kind == name {
			set.From = p.take().value
		} else if set.Template, err = p.template(); err != nil {
			return nil, err
		}
		s.Sets = append(s.Sets, set)
		if !p.skip(",") {
			return s, nil
		}
	}
}

func (p *parser) nameMatches() ([]NameMatch, error) {
	var out []NameMatch
	for {
		label, err := p.name("a label")
		if err != nil {
			return nil, err
		}
		n := NameMatch{Name: label}
		if p.is("=", "!=", "=~", "!~") {
			if n.Match, err = p.matcher(label); err != nil {
				return nil, err
			}
		}
		out = append(out, n)
		if !p.skip(",") {
			return out, nil
		}
	}
}

// labelFilter reads conditions joined by or.
func (p *parser) labelFilter() (Cond, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	c, err := p.allOf()
	for err == nil && p.skipWord("or") {
		var b Cond
		if b, err = p.allOf(); err == nil {
			c = &Or{c, b}
		}
	}
	return c, err
}

// allOf reads conditions joined by and, or by a comma, or that follow each other.
func (p *parser) allOf() (Cond, error) {
	c, err := p.condition()
	for err == nil && (p.skipWord("and") || p.skip(",") || p.startsCondition()) {
		if p.stages++; p.stages > maxStages {
			return nil, errs.New(errs.InvalidArguments, "the query has more than %d stages and conditions", maxStages)
		}
		var b Cond
		if b, err = p.condition(); err == nil {
			c = &And{c, b}
		}
	}
	return c, err
}

func (p *parser) condition() (Cond, error) {
	if p.skip("(") {
		c, err := p.labelFilter()
		if err != nil {
			return nil, err
		}
		return c, p.expect(")")
	}
	at := p.peek().at
	label, err := p.name("a stage or a label")
	if err != nil {
		return nil, err
	}
	if !p.is("=", "!=", "=~", "!~", ">", ">=", "<", "<=", "==") {
		return nil, syntaxError(p.query, at, "unexpected %s: it is not a stage, and no comparison follows it",
			token{kind: name, value: label})
	}
	if p.after(1).word() == "ip" && p.after(2).value == "(" {
		return nil, unsupported(p.query, p.after(1).at, "ip(…); use a regular expression, such as addr=~`10\\.0\\..*`")
	}
	if p.after(1).kind == text && !p.is("=", "!=", "=~", "!~") {
		return nil, syntaxError(p.query, p.peek().at, "unexpected %s: a string is compared by =, !=, =~ or !~; write a "+
			"number without quotes", p.peek())
	}
	if p.after(1).kind == text {
		m, err := p.matcher(label)
		if err != nil {
			return nil, err
		}
		return &Text{*m}, nil
	}
	if p.is("=~", "!~") {
		p.at++
		return nil, p.unexpected("a string")
	}
	c := &Compare{Name: label, Op: strings.Replace(p.take().value, "==", "=", 1)}
	c.Kind, c.Value, c.Literal, err = p.literal("a string, number, duration or size")
	return c, err
}
