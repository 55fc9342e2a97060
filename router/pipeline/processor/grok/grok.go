// Package grok compiles grok expressions: regular expressions in which %{NAME} stands for a named pattern, and
// %{NAME:field} also stores the matched text in a field. Library has the usual patterns.
//
// An expression becomes one RE2 expression, so the time of matching is proportional to the length of the text.
// Syntax of other engines that RE2 lacks is refused if ignoring it would change the meaning: look-around and back
// references. Atomic groups and possessive repetitions become ordinary ones, and groups without a name do not
// capture.
//
// A Pattern is immutable; any number of goroutines may use it.
package grok

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"cordwood/router/vrl/pattern/quick"
)

// The limits of an expression.
const (
	// MaxExpanded limits the number of bytes of an expression after all names are replaced.
	MaxExpanded = 64 << 10
	// MaxInstructions limits the size of the compiled expression.
	MaxInstructions = 20_000

	maxDepth = 32 // of names inside names
)

// Type is the type to which the text of a field is converted.
type Type uint8

// The types of fields.
const (
	String Type = iota
	Int
	Float
	Bool
)

var types = map[string]Type{
	"string": String,
	"int":    Int, "integer": Int, "long": Int,
	"float": Float, "double": Float,
	"bool": Bool, "boolean": Bool,
}

// Field is a field of an expression.
type Field struct {
	Name string
	Type Type

	groups []int
}

// Pattern is a compiled expression.
type Pattern struct {
	re     *regexp.Regexp
	quick  *quick.Program // nil if the expression is not supported
	fields []Field
	size   int
}

// UnknownPatternError is the error for a name that is neither in the definitions nor in Library.
type UnknownPatternError struct{ Name string }

func (e *UnknownPatternError) Error() string { return "unknown pattern %{" + e.Name + "}" }

// Compile compiles an expression. Names are looked up in definitions, and then in
// Library.
func Compile(expression string, definitions map[string]string) (*Pattern, error) {
	x := expander{definitions: definitions}
	if err := x.expand(expression); err != nil {
		return nil, err
	}
	text := x.out.String()
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, regexError(err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, regexError(err)
	}
	if len(prog.Inst) > MaxInstructions {
		return nil, fmt.Errorf("the pattern compiles to %d instructions, at most %d are allowed", len(prog.Inst),
			MaxInstructions)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, regexError(err)
	}
	if re.NumSubexp() != x.groups {
		return nil, errors.New("the pattern has capture groups other than %{NAME:field} and (?<field>…)")
	}
	return &Pattern{re, quick.Compile(text), x.fields, len(prog.Inst)}, nil
}

func regexError(err error) error {
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		shown := e.Expr
		if len(shown) > 64 {
			shown = strings.ToValidUTF8(shown[:64], "") + "…"
		}
		return fmt.Errorf("invalid regular expression: %s: %s", e.Code, shown)
	}
	return err
}

// Fields returns the fields of the expression, in the order of their first occurrence. The slice must not be
// changed.
func (p *Pattern) Fields() []Field { return p.fields }

// Size returns the number of instructions of the compiled expression, which is the maximum number of steps for each
// byte of the text.
func (p *Pattern) Size() int { return p.size }

// Match searches s for the expression. It returns the positions of the groups for Text; nil if there is no match.
// It uses room for them if it is large enough.
func (p *Pattern) Match(s string, room []int) []int {
	if p.quick != nil {
		n := 2 * p.quick.Groups()
		if n > len(room) {
			room = make([]int, n)
		}
		if matched, decided := p.quick.Match(s, room[:n]); decided {
			if matched {
				return room[:n]
			}
			return nil
		}
	}
	return p.re.FindStringSubmatchIndex(s)
}

// Text returns the text of field f in a match of s. It returns false if no group of the field matched. If several
// groups have the name of the field, the first group that matched is used.
func (f *Field) Text(s string, match []int) (string, bool) {
	for _, g := range f.groups {
		if match[2*g] >= 0 {
			return s[match[2*g]:match[2*g+1]], true
		}
	}
	return "", false
}

// expander replaces the names in an expression.
type expander struct {
	definitions map[string]string
	out         strings.Builder
	fields      []Field
	groups      int
	depth       int
}

// capture starts a group whose text becomes a field.
func (x *expander) capture(name string, t Type) error {
	x.groups++
	x.out.WriteByte('(')
	for i := range x.fields {
		f := &x.fields[i]
		if f.Name == name {
			if f.Type != t {
				return fmt.Errorf("the field %q has two types", name)
			}
			f.groups = append(f.groups, x.groups)
			return nil
		}
	}
	x.fields = append(x.fields, Field{name, t, []int{x.groups}})
	return nil
}

// reference replaces the text between %{ and }.
func (x *expander) reference(text string) error {
	name, rest, named := strings.Cut(text, ":")
	field, typeName, typed := strings.Cut(rest, ":")
	if name == "" {
		return fmt.Errorf("%%{%s} does not name a pattern", text)
	}
	body, ok := x.definitions[name]
	if !ok {
		if body, ok = Library[name]; !ok {
			return &UnknownPatternError{name}
		}
	}
	if x.depth++; x.depth > maxDepth {
		return fmt.Errorf("the patterns refer to each other more than %d deep, as at %%{%s}", maxDepth, name)
	}
	t := String
	if typed {
		if t, ok = types[strings.ToLower(typeName)]; !ok {
			return fmt.Errorf("unknown type %q in %%{%s}, expected int, float, bool or string", typeName, text)
		}
	}
	if !named {
		x.out.WriteString("(?:")
	} else if field = fieldName(field); field == "" {
		return fmt.Errorf("%%{%s} has an empty field name", text)
	} else if err := x.capture(field, t); err != nil {
		return err
	}
	if err := x.expand(body); err != nil {
		return err
	}
	x.out.WriteByte(')')
	x.depth--
	return nil
}

// fieldName converts [a][b] to a.b.
func fieldName(s string) string {
	if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		return strings.ReplaceAll(s[1:len(s)-1], "][", ".")
	}
	return s
}
