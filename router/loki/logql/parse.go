package logql

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// The limits of a query: its size in bytes, its nesting depth, the number of its stages and matchers, and the number of
// instructions in its regular expressions: a short expression such as a{1000} becomes a large program.
const (
	maxBytes        = 128 << 10
	maxDepth        = 64
	maxStages       = 100
	maxMatchers     = 100
	maxInstructions = 200_000
)

// Parse parses a query.
func Parse(query string) (Expr, error) {
	p, err := newParser(query)
	if err != nil {
		return nil, err
	}
	var out Expr
	if p.startsLog() {
		out, err = p.logInBrackets()
	} else {
		out, err = p.expr(0)
	}
	if err != nil {
		return nil, err
	}
	if p.is("[") {
		return nil, syntaxError(p.query, p.peek().at, "unexpected \"[\": a range is only allowed in an aggregation, such as "+
			"count_over_time({…} [5m])")
	}
	if p.peek().kind != end {
		return nil, p.unexpected("an operator, or the end of the query")
	}
	if n, ok := out.(*Log); ok && n == nil {
		return nil, errs.New(errs.Internal, "the parser returned no query")
	}
	return out, nil
}

// startsLog reports whether the query is a log query, which may be in parentheses.
func (p *parser) startsLog() bool {
	n := 0
	for p.after(n).kind == sign && p.after(n).value == "(" {
		n++
	}
	return p.after(n).kind == sign && p.after(n).value == "{"
}

func (p *parser) logInBrackets() (Expr, error) {
	open := 0
	for p.skip("(") {
		open++
	}
	out, err := p.log()
	for ; open > 0 && err == nil; open-- {
		err = p.expect(")")
	}
	return out, err
}

// ParseLog parses a log query. An empty query selects everything.
func ParseLog(query string) (*Log, error) {
	if strings.TrimSpace(query) == "" {
		return &Log{}, nil
	}
	e, err := Parse(query)
	if err != nil {
		return nil, err
	}
	log, ok := e.(*Log)
	if !ok {
		return nil, errs.New(errs.InvalidArguments, "only a log query is possible here, such as {app=\"web\"}, not a "+
			"metric")
	}
	return log, nil
}

// RequireMatcher returns an error if a selector has no condition that excludes the empty value, so that it would
// select everything.
func (l *Log) RequireMatcher() error {
	for i := range l.Matchers {
		if !l.Matchers[i].Matches("") {
			return nil
		}
	}
	return errs.New(errs.InvalidArguments, "queries require at least one regexp or equality matcher that does not have "+
		"an empty-compatible value. For instance, app=~\".*\" does not meet this requirement, but app=~\".+\" will")
}

type parser struct {
	query    string
	tokens   []token
	at       int
	depth    int
	stages   int
	matchers int
	// instructions is the size of the regular expressions so far.
	instructions int
}

func newParser(query string) (*parser, error) {
	if len(query) > maxBytes {
		return nil, errs.New(errs.InvalidArguments, "the query has %d bytes, and at most %d are allowed", len(query),
			maxBytes)
	}
	tokens, err := lex(query)
	if err != nil {
		return nil, err
	}
	return &parser{query: query, tokens: tokens}, nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

// after returns the token n places after the next one.
func (p *parser) after(n int) token { return p.tokens[min(p.at+n, len(p.tokens)-1)] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// is reports whether the next token is one of the operators or brackets in signs.
func (p *parser) is(signs ...string) bool {
	t := p.peek()
	return t.kind == sign && slices.Contains(signs, t.value)
}

// isWord reports whether the next token is one of the words.
func (p *parser) isWord(words ...string) bool { return slices.Contains(words, p.peek().word()) }

// takeWord takes the next token, which isWord has found to be a word.
func (p *parser) takeWord() string { return p.take().word() }

func (p *parser) skip(s string) bool {
	if p.is(s) {
		p.at++
		return true
	}
	return false
}

func (p *parser) skipWord(word string) bool {
	if p.isWord(word) {
		p.at++
		return true
	}
	return false
}

// unexpected returns a syntax error about the next token.
func (p *parser) unexpected(want string) error {
	return syntaxError(p.query, p.peek().at, "unexpected %s, expecting %s", p.peek(), want)
}

func (p *parser) expect(s string) error {
	if !p.skip(s) {
		return p.unexpected(strconv.Quote(s))
	}
	return nil
}

func (p *parser) name(what string) (string, error) {
	if p.peek().kind != name {
		return "", p.unexpected(what)
	}
	return p.take().value, nil
}

func (p *parser) text(what string) (string, error) {
	if t := p.peek(); t.kind != text {
		if t.kind == name {
			what += " in quotes, such as " + strconv.Quote(clip(t.value))
		}
		return "", p.unexpected(what)
	}
	return p.take().value, nil
}

// enter counts a level of nesting, and fails if there are too many.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return errs.New(errs.InvalidArguments, "the query at %s is nested deeper than %d levels",
			position(p.query, p.peek().at), maxDepth)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// log reads a selector and a pipeline without a range.
func (p *parser) log() (*Log, error) {
	l := &Log{}
	var err error
	if l.Matchers, err = p.selector(); err != nil {
		return nil, err
	}
	for p.startsStage() {
		if p.is("|") && p.after(1).word() == "unwrap" {
			return nil, syntaxError(p.query, p.after(1).at, "unexpected unwrap: it is only allowed in an aggregation over a "+
				"range, such as sum_over_time({…} | unwrap x [5m])")
		}
		s, err := p.stage()
		if err != nil {
			return nil, err
		}
		l.Stages = append(l.Stages, s)
	}
	l.Instructions = p.instructions
	return l, nil
}

// selector reads the matchers in braces.
func (p *parser) selector() ([]Matcher, error) {
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	var out []Matcher
	for !p.is("}") {
		label, err := p.name("a label or \"}\"")
		if err != nil {
			return nil, err
		}
		m, err := p.matcher(label)
		if err != nil {
			return nil, err
		}
		if p.matchers++; p.matchers > maxMatchers {
			return nil, errs.New(errs.InvalidArguments, "the query has more than %d matchers", maxMatchers)
		}
		out = append(out, *m)
		if !p.skip(",") && !p.is("}") {
			return nil, p.unexpected("\",\" or \"}\"")
		}
	}
	return out, p.expect("}")
}

// matcher reads the operator and the value of a condition on the text of a label.
func (p *parser) matcher(label string) (*Matcher, error) {
	if !p.is("=", "!=", "=~", "!~") {
		return nil, p.unexpected("=, !=, =~ or !~")
	}
	m := &Matcher{Name: label, Op: p.take().value}
	at := p.peek().at
	var err error
	if m.Value, err = p.text("a string"); err != nil {
		return nil, err
	}
	if m.Op == "=~" || m.Op == "!~" {
		m.Re, err = p.compile(at, m.Value, "^(?s:"+m.Value+")$")
	}
	return m, err
}

// compile compiles a regular expression. shown is the expression as written in the query.
func (p *parser) compile(at int, shown, expression string) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(shown, syntax.Perl)
	if err != nil {
		return nil, errs.New(errs.InvalidSyntax, "parse error at %s: %s", position(p.query, at), err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, errs.New(errs.InvalidSyntax, "parse error at %s: %s", position(p.query, at), err)
	}
	if p.instructions += len(program.Inst); p.instructions > maxInstructions {
		return nil, errs.New(errs.InvalidArguments, "the regular expressions of the query up to %s are too large: use "+
			"smaller numbers of repetitions, or fewer expressions", position(p.query, at))
	}
	re, err := regexp.Compile(expression)
	if err != nil {
		return nil, errs.New(errs.InvalidSyntax, "parse error at %s: %s", position(p.query, at), err)
	}
	return re, nil
}

// literal reads a number with an optional sign and unit. shown is the number as written in the query.
func (p *parser) literal(what string) (as Kind, value float64, shown string, err error) {
	negative := false
	for p.is("-", "+") {
		negative = negative != (p.take().value == "-")
	}
	t := p.peek()
	if t.kind == name && (strings.EqualFold(t.value, "inf") || strings.EqualFold(t.value, "nan")) {
		v, _ := strconv.ParseFloat(t.value, 64)
		t.kind = number
		t.value = strconv.FormatFloat(v, 'g', -1, 64)
		p.at++
		if negative {
			v = -v
		}
		return PlainNumber, v, t.value, nil
	}
	if t.kind != number {
		return 0, 0, "", p.unexpected(what)
	}
	as, value, ok := literal(t.value)
	if !ok {
		return 0, 0, "", p.unexpected(what)
	}
	p.at++
	shown = t.value
	if negative {
		value, shown = -value, "-"+shown
	}
	return as, value, shown, nil
}
