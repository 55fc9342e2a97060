package parse

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/grok"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// groksRule is a compiled rule of parse_groks.
type groksRule struct {
	re     *grok.Pattern
	fields []groksField // by the index of the field in the names for grok.Build
	index  []int        // by the number of the group: the index of the field, or -1
}

// groksField says where the text of an element is stored, and in which form.
type groksField struct {
	path    value.Path // if it is empty, an object's fields are merged into the result
	filters []groksFilter
}

// groksFilter converts a value. If it returns false, the value is dropped.
type groksFilter func(f *fn.Frame, v value.Value) (value.Value, bool)

// call is a name with arguments, for example date("HH:mm").
type call struct {
	name string
	args []groksArg
}

// groksArg is an argument: a text, or a call, for example the name of a filter.
type groksArg struct {
	text   string
	quoted bool
	nested *call
}

// text returns argument i, or def if it is missing.
func (c *call) text(i int, def string) string {
	if i < len(c.args) {
		return c.args[i].text
	}
	return def
}

// groksParser parses an element between %{ and }.
type groksParser struct {
	s   string
	pos int
}

func (p *groksParser) space() {
	for p.pos < len(p.s) && ascii.IsSpace(p.s[p.pos]) {
		p.pos++
	}
}

func (p *groksParser) accept(c byte) bool {
	p.space()
	if p.pos < len(p.s) && p.s[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *groksParser) name() string {
	p.space()
	start := p.pos
	for p.pos < len(p.s) && (ascii.IsWord(p.s[p.pos]) || p.s[p.pos] == '.' || p.s[p.pos] == '-' || p.s[p.pos] == '@' ||
		p.s[p.pos] == '+') {
		p.pos++
	}
	return p.s[start:p.pos]
}

// call reads a name and its arguments.
func (p *groksParser) call(depth int) (*call, error) {
	if depth > 8 {
		return nil, fmt.Errorf("arguments are nested too deep")
	}
	c := &call{name: p.name()}
	if c.name == "" {
		return nil, fmt.Errorf("expected a name in %q", p.s)
	}
	if !p.accept('(') {
		return c, nil
	}
	for !p.accept(')') {
		p.space()
		if p.pos == len(p.s) {
			return nil, fmt.Errorf("expected ) in %q", p.s)
		}
		if q := p.s[p.pos]; q == '"' || q == '\'' {
			end := ascii.Closing(p.s[p.pos:], q)
			if end < 0 {
				return nil, fmt.Errorf("a string without end in %q", p.s)
			}
			c.args = append(c.args, groksArg{text: groksString(p.s[p.pos+1 : p.pos+end]), quoted: true})
			p.pos += end + 1
		} else {
			nested, err := p.call(depth + 1)
			if err != nil {
				return nil, err
			}
			c.args = append(c.args, groksArg{text: nested.name, nested: nested})
		}
		p.accept(',')
	}
	return c, nil
}

// groksString resolves the escapes of quotes, backslashes and line ends in a string. Other backslashes stay,
// because most of these strings are regular expressions.
func groksString(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '"', '\'', '\\':
				i++
			case 'n':
				b = append(b, '\n')
				i++
				continue
			case 't':
				b = append(b, '\t')
				i++
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// groksElement is the text between %{ and }.
type groksElement struct {
	matcher *call
	field   string
	filters []*call
}

func parseElement(s string) (e groksElement, err error) {
	p := groksParser{s: s}
	if e.matcher, err = p.call(0); err != nil {
		return e, err
	}
	if p.accept(':') {
		start := p.pos
		for p.pos < len(p.s) && p.s[p.pos] != ':' {
			p.pos++
		}
		e.field = strings.TrimSpace(p.s[start:p.pos])
	}
	for p.accept(':') {
		f, err := p.call(0)
		if err != nil {
			return e, err
		}
		e.filters = append(e.filters, f)
	}
	if p.space(); p.pos < len(p.s) {
		return e, fmt.Errorf("unexpected text in %q", s)
	}
	return e, nil
}

// elementEnd returns the end of the element that starts before s; -1 if there is none. Braces in strings are
// ignored.
func elementEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '}':
			return i
		case '"', '\'':
			end := ascii.Closing(s[i:], s[i])
			if end < 0 {
				return -1
			}
			i += end
		}
	}
	return -1
}

// groksBuilder expands a rule.
type groksBuilder struct {
	aliases map[string]string
	rule    *groksRule
	size    int
}

const (
	maxGroksDepth = 32
	maxGroksRules = 256
)

// compileRule compiles a rule. It must match the whole text.
func compileRule(source string, aliases map[string]string) (*groksRule, error) {
	b := groksBuilder{aliases: aliases, rule: &groksRule{}}
	text, err := b.expand(source, 0)
	if err != nil {
		return nil, fmt.Errorf("failed to parse grok expression '(?m)\\A%s\\z': %w", source, err)
	}
	names := make([]string, len(b.rule.fields))
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	re, err := grok.Build(`(?s)\A(?:`+text+`)\z`, names)
	if err != nil {
		return nil, fmt.Errorf("failed to parse grok expression '(?m)\\A%s\\z': %w", source, err)
	}
	b.rule.re = re
	for _, name := range re.Fields() {
		i, err := strconv.Atoi(name)
		if err != nil {
			i = -1
			if name != "" { // a named group in the rule
				i = len(b.rule.fields)
				b.rule.fields = append(b.rule.fields, groksField{path: dottedPath(name)})
			}
		}
		b.rule.index = append(b.rule.index, i)
	}
	return b.rule, nil
}

func dottedPath(s string) value.Path {
	var p value.Path
	for _, part := range strings.Split(s, ".") {
		p = append(p, value.Name(strings.Trim(part, `"`)))
	}
	return p
}

func (b *groksBuilder) expand(source string, depth int) (string, error) {
	if depth > maxGroksDepth {
		return "", fmt.Errorf("circular reference: aliases refer to each other more than %d deep", maxGroksDepth)
	}
	var out strings.Builder
	for {
		i := strings.Index(source, "%{")
		if i < 0 {
			break
		}
		end := elementEnd(source[i+2:])
		if end < 0 {
			return "", fmt.Errorf("%%{ without a closing brace in %q", source[i:])
		}
		out.WriteString(source[:i])
		e, err := parseElement(source[i+2 : i+2+end])
		if err != nil {
			return "", err
		}
		source = source[i+end+3:]
		text, err := b.element(e, depth)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
		if b.size += len(text); b.size > pattern.MaxSource {
			return "", fmt.Errorf("the rule is longer than %d bytes with all that it refers to", pattern.MaxSource)
		}
	}
	out.WriteString(source)
	return out.String(), nil
}

// element returns the regular expression for an element.
func (b *groksBuilder) element(e groksElement, depth int) (string, error) {
	n := -1
	if e.field != "" || len(e.filters) > 0 {
		n = len(b.rule.fields)
		b.rule.fields = append(b.rule.fields, groksField{})
	}
	var text string
	var own groksFilter
	if alias, ok := b.aliases[e.matcher.name]; ok {
		var err error
		if text, err = b.expand(alias, depth+1); err != nil {
			return "", err
		}
	} else {
		var err error
		if text, own, err = groksMatcher(e.matcher); err != nil {
			return "", err
		}
		if strings.Contains(text, "%{") {
			if text, err = b.expand(text, depth+1); err != nil {
				return "", err
			}
		}
	}
	if n < 0 {
		return "(?:" + text + ")", nil
	}
	f := &b.rule.fields[n]
	if e.field != "" {
		f.path = dottedPath(e.field)
	}
	if own != nil {
		f.filters = append(f.filters, own)
	}
	for _, c := range e.filters {
		filter, err := newFilter(c)
		if err != nil {
			return "", err
		}
		f.filters = append(f.filters, filter)
	}
	return "(?P<" + grok.Group(n) + ">" + text + ")", nil
}

// groksTexts has the expressions of matchers without arguments. Their names are in lower case, and those of the
// library in capitals.
var groksTexts = map[string]string{
	"integer": `[+-]?\d+`, "integerStr": `[+-]?\d+`,
	"integerExt": `[+-]?\d+(?:[eE][+-]?\d+)?`, "integerExtStr": `[+-]?\d+(?:[eE][+-]?\d+)?`,
	"number": `[+-]?(?:\d+(?:\.\d*)?|\.\d+)`, "numberStr": `[+-]?(?:\d+(?:\.\d*)?|\.\d+)`,
	"numberExt":    `[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?`,
	"numberExtStr": `[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?`,
	"word":         `\b\w+\b`, "notSpace": `\S+`, "data": `.*?`, "greedyData": `.*`, "space": `\s+`,
	"doubleQuotedString": `"(?:\\.|[^\\"])*"`, "singleQuotedString": `'(?:\\.|[^\\'])*'`,
	"quotedString": `(?:"(?:\\.|[^\\"])*"|'(?:\\.|[^\\'])*')`, "qs": `%{quotedString}`,
	"uuid": `%{UUID}`, "mac": `%{MAC}`, "commonMac": `%{COMMONMAC}`, "windowsMac": `%{WINDOWSMAC}`,
	"ciscoMac": `%{CISCOMAC}`,
	"ip":       `%{IP}`, "ipv4": `%{IPV4}`, "ipv6": `%{IPV6}`, "hostname": `%{HOSTNAME}`, "host": `%{HOSTNAME}`,
	"ipOrHost": `%{IPORHOST}`, "hostPort": `%{HOSTPORT}`,
	"port": `0*(?:6553[0-5]|655[0-2]\d|65[0-4]\d{2}|6[0-4]\d{3}|[1-5]\d{4}|\d{1,4})`,
	"path": `%{PATH}`, "unixPath": `%{UNIXPATH}`, "winPath": `%{WINPATH}`, "tty": `%{TTY}`,
	"uri": `%{URI}`, "uriProto": `%{URIPROTO}`, "uriHost": `%{URIHOST}`, "uriPath": `%{URIPATH}`,
	"uriParam":     `%{URIPARAM}`,
	"uriPathParam": `%{URIPATHPARAM}`, "commonapachelog": `%{COMMONAPACHELOG}`,
}

// groksNumbers has the matchers whose text becomes a number.
var groksNumbers = map[string]groksFilter{
	"integer": toInteger, "integerExt": toInteger, "number": toNumber, "numberExt": toNumber,
}

// groksMatcher returns the expression of a matcher, and the conversion of its text if the result is not a string.
func groksMatcher(c *call) (string, groksFilter, error) {
	switch c.name {
	case "regex":
		if len(c.args) != 1 || !c.args[0].quoted {
			return "", nil, fmt.Errorf("regex takes one string")
		}
		return c.args[0].text, nil, nil
	case "date":
		return dateMatcher(c)
	case "boolean":
		yes, no := c.text(0, "true"), c.text(1, "false")
		text := "(?i:" + regexp.QuoteMeta(yes) + "|" + regexp.QuoteMeta(no) + ")"
		return text, func(_ *fn.Frame, v value.Value) (value.Value, bool) {
			return value.NewBool(strings.EqualFold(v.Str(), yes)), true
		}, nil
	}
	if text, ok := groksTexts[c.name]; ok {
		return text, groksNumbers[c.name], nil
	}
	if text, ok := grok.Library(c.name); ok {
		return text, nil, nil
	}
	return "", nil, &grok.UnknownError{Name: c.name}
}
