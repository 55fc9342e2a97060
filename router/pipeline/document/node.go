package document

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Node is a value in a document: a map, a list or a scalar.
type Node struct {
	y    *yaml.Node
	path string
	out  *Error
}

// Err returns an *Error with all faults noted so far in the whole document, sorted by line, or nil.
func (n *Node) Err() error {
	if len(n.out.Faults) == 0 {
		return nil
	}
	slices.SortStableFunc(n.out.Faults, func(a, b Fault) int { return a.Line - b.Line })
	return n.out
}

// Path returns the position of the node in the document; "" for the root.
func (n *Node) Path() string { return n.path }

// Line returns the line of the node, from 1.
func (n *Node) Line() int { return n.y.Line }

// Fault notes a fault of the node.
func (n *Node) Fault(format string, args ...any) {
	n.out.add(Fault{Span: n.span(), Path: n.path, Message: fmt.Sprintf(format, args...)})
}

// FaultAt notes a fault in a part of the node's text. If possible, the fault gets the position in the document: for
// block texts after |, and for texts written on one line without escapes.
func (n *Node) FaultAt(at Span, message, excerpt string) {
	n.out.add(Fault{Span: n.Within(at), Path: n.path, Message: message, Excerpt: excerpt})
}

// span returns the position of the node's value. For maps, lists and texts with several lines, only the start is
// known.
func (n *Node) span() Span {
	s := Span{Line: n.y.Line, Column: n.y.Column}
	if n.y.Kind == yaml.ScalarNode && n.y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
		if width := n.width(); width > 0 {
			s.EndLine, s.EndColumn = s.Line, s.Column+width
		}
	}
	return s
}

// width returns how many characters a scalar takes on its line; 0 if it is not known.
func (n *Node) width() int {
	quotes := 0
	if n.y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		quotes = 1
	}
	if !n.verbatim(quotes) {
		return 0
	}
	return utf8.RuneCountInString(n.y.Value) + 2*quotes
}

// verbatim reports whether the node's text is in the document without escapes, after the given number of quotes.
func (n *Node) verbatim(quotes int) bool {
	line := []rune(n.line(n.y.Line))
	from := n.y.Column - 1 + quotes
	return from >= 0 && from <= len(line) && strings.HasPrefix(string(line[from:]), n.y.Value)
}

// line returns a line of the document, counted from 1.
func (n *Node) line(i int) string {
	if i < 1 || i > len(n.out.lines) {
		return ""
	}
	return n.out.lines[i-1]
}

// Within returns the position in the document of a part of the node's text, or the position of the node if that is
// not known.
func (n *Node) Within(at Span) Span {
	if at.Line <= 0 {
		return n.span()
	}
	var down, right int
	switch quoted := n.y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0; {
	case n.y.Style&yaml.LiteralStyle != 0:
		down, right = n.y.Line, n.indent(at.Line)
	case n.y.Style&yaml.FoldedStyle != 0 || strings.Contains(n.y.Value, "\n"):
		return n.span()
	case quoted && n.verbatim(1):
		down, right = n.y.Line-1, n.y.Column
	case !quoted && n.verbatim(0):
		down, right = n.y.Line-1, n.y.Column-1
	default:
		return n.span()
	}
	move := func(line, column int) (int, int) {
		if line > 0 {
			line += down
		}
		if column > 0 && right >= 0 {
			return line, column + right
		}
		return line, 0
	}
	var s Span
	s.Line, s.Column = move(at.Line, at.Column)
	s.EndLine, s.EndColumn = move(at.EndLine, at.EndColumn)
	return s
}

// indent returns the indentation in the document of a line of a block text after |; -1 if it is not known.
func (n *Node) indent(line int) int {
	lines := strings.Split(n.y.Value, "\n")
	if line > len(lines) {
		return -1
	}
	rest, ok := strings.CutSuffix(strings.TrimSuffix(n.line(n.y.Line+line), "\r"), strings.TrimSuffix(lines[line-1], "\r"))
	if !ok || strings.Trim(rest, " ") != "" {
		return -1
	}
	return len(rest)
}

// Warn notes something that is allowed but probably not intended.
func (n *Node) Warn(format string, args ...any) {
	if len(n.out.warnings) < maxWarnings {
		n.out.warnings = append(n.out.warnings,
			Fault{Span: n.span(), Path: n.path, Message: fmt.Sprintf(format, args...)})
	}
}

// Warnings returns all warnings noted in the document, sorted by line.
func (n *Node) Warnings() []string {
	slices.SortStableFunc(n.out.warnings, func(a, b Fault) int { return a.Line - b.Line })
	var texts []string
	for _, w := range n.out.warnings {
		texts = append(texts, w.String())
	}
	return texts
}

// Faults returns the number of faults noted so far in the whole document. Comparing it before and after reading a
// part shows whether the part has faults.
func (n *Node) Faults() int { return len(n.out.Faults) + n.out.More }

// Spend adds to the compilation cost of the whole document, in a unit of the caller's choice, and returns the
// total.
func (n *Node) Spend(cost int) int {
	n.out.cost += cost
	return n.out.cost
}

// IsNull reports whether the node is an empty value or null.
func (n *Node) IsNull() bool { return n.y.Kind == yaml.ScalarNode && n.y.ShortTag() == "!!null" }

// IsMap reports whether the node is a map.
func (n *Node) IsMap() bool { return n.y.Kind == yaml.MappingNode }

// IsList reports whether the node is a list.
func (n *Node) IsList() bool { return n.y.Kind == yaml.SequenceNode }

// IsString reports whether the node is a string: in quotes, or without another type.
func (n *Node) IsString() bool {
	if n.y.Kind != yaml.ScalarNode {
		return false
	}
	tag := n.y.ShortTag()
	return tag == "!!str" || tag == "!!timestamp" // a date without quotes counts as text
}

// What describes the node for an error message, for example "the integer 7".
func (n *Node) What() string {
	switch n.y.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	kind := "the value"
	switch n.y.ShortTag() {
	case "!!null":
		return "null"
	case "!!str", "!!timestamp":
		return "the string " + strconv.Quote(cut(n.y.Value))
	case "!!int":
		kind = "the integer"
	case "!!float":
		kind = "the number"
	case "!!bool":
		kind = "the boolean"
	}
	return kind + " " + cut(n.y.Value)
}

// cut shortens text of a document for an error message.
func cut(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// String returns the node's text, which must be a string.
func (n *Node) String() (string, bool) {
	if n.IsString() {
		return n.y.Value, true
	}
	n.Fault("expected a string, found %s", n.What())
	return "", false
}

// Text returns the text of any scalar, as written.
func (n *Node) Text() (string, bool) {
	if n.y.Kind == yaml.ScalarNode {
		return n.y.Value, true
	}
	n.Fault("expected a single value, found %s", n.What())
	return "", false
}

// Bool returns the node's value, which must be a boolean.
func (n *Node) Bool() (value, ok bool) {
	if n.y.Kind == yaml.ScalarNode && n.y.ShortTag() == "!!bool" && n.y.Decode(&value) == nil {
		return value, true
	}
	n.Fault("expected true or false, found %s", n.What())
	return false, false
}

// Int returns the node's value, which must be an integer.
func (n *Node) Int() (int64, bool) {
	var v int64
	if n.y.Kind == yaml.ScalarNode && n.y.ShortTag() == "!!int" && n.y.Decode(&v) == nil {
		return v, true
	}
	n.Fault("expected an integer, found %s", n.What())
	return 0, false
}

// Float returns the node's value, which must be a finite number.
func (n *Node) Float() (float64, bool) {
	if n.y.Kind == yaml.ScalarNode {
		var v float64
		if tag := n.y.ShortTag(); (tag == "!!int" || tag == "!!float") && n.y.Decode(&v) == nil && !math.IsNaN(v) &&
			!math.IsInf(v, 0) {
			return v, true
		}
	}
	n.Fault("expected a number, found %s", n.What())
	return 0, false
}

// Scalar returns the value of a node that must be a scalar but not null: a string, bool,
// int64, uint64 (beyond int64) or float64.
func (n *Node) Scalar() (any, bool) {
	switch {
	case n.IsString():
		return n.y.Value, true
	case n.y.Kind != yaml.ScalarNode:
	default:
		switch n.y.ShortTag() {
		case "!!bool":
			return n.Bool()
		case "!!int":
			var u uint64
			if v := int64(0); n.y.Decode(&v) == nil {
				return v, true
			} else if n.y.Decode(&u) == nil {
				return u, true
			}
			return n.Float()
		case "!!float":
			return n.Float()
		}
	}
	n.Fault("expected a single value, found %s", n.What())
	return nil, false
}

// List returns the node's elements. A null is an empty list.
func (n *Node) List() []*Node {
	if n.IsNull() {
		return nil
	}
	if !n.IsList() {
		n.Fault("expected a list, found %s", n.What())
		return nil
	}
	list := make([]*Node, len(n.y.Content))
	for i, y := range n.y.Content {
		list[i] = &Node{resolve(y), n.path + "[" + strconv.Itoa(i) + "]", n.out}
	}
	return list
}

// Strings returns the node's elements, which must be strings.
func (n *Node) Strings() []string {
	var out []string
	for _, e := range n.List() {
		if s, ok := e.String(); ok {
			out = append(out, s)
		}
	}
	return out
}

// Map returns the node's map. null is an empty map. If the node is not a map, this is a fault, and an empty map is
// returned.
func (n *Node) Map() *Map {
	m := &Map{node: n}
	if n.IsNull() {
		return m
	}
	if !n.IsMap() {
		n.Fault("expected a map, found %s", n.What())
		m.broken = true
		return m
	}
	m.read(n.y, 0)
	return m
}
