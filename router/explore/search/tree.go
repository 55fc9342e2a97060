package search

// A Query is a text that was parsed. It is immutable.
type Query struct {
	// Text is the original text.
	Text string
	// Tokens are the parts of the text in order, without white space.
	Tokens []Token
	root   node
}

// Kind is the kind of a part of a text, for highlighting.
type Kind string

// The kinds of tokens.
const (
	KindWord     Kind = "word"
	KindPhrase   Kind = "phrase"
	KindRegex    Kind = "regex"
	KindField    Kind = "field"
	KindOperator Kind = "operator" // : and =, and the operator before the bound of a comparison
	KindValue    Kind = "value"
	KindKeyword  Kind = "keyword" // AND, OR, NOT and the hyphen
	KindParen    Kind = "paren"
)

// A Token is a part of the text: Length bytes from Offset on. Field is the field to which a value belongs, as it
// was typed.
type Token struct {
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	Kind   Kind   `json:"kind"`
	Field  string `json:"field,omitempty"`
}

// A span is a part of the text, in bytes.
type span struct{ from, to int }

// A node is an all, anyOf, not, text or field.
type node interface{}

// all matches if each of its nodes matches. Without nodes it always matches.
type all []node

// anyOf matches if one of its nodes matches.
type anyOf []node

// not matches if its node does not match.
type not struct{ of node }

// text is searched in the message.
type text struct {
	span
	value
}

// field is a condition on one field, which matches any of its values.
type field struct {
	span
	// name is empty for all fields (*).
	name   string
	at     span // of the name
	exact  bool // by =, not :
	values []value
	raw    string // the whole condition as typed
}

// form is how a value is compared.
type form uint8

const (
	plain   form = iota // a word
	quoted              // in double quotes
	pattern             // with a star
	regex
	compare // by op, with lower
	between // lower and upper, both included
	present // * alone
)

// A value is a value for comparison with a field.
type value struct {
	span
	form form
	// text is a plain, quoted or regex value, or a pattern with its stars.
	text string
	// op and lower are the operator and the bound of a comparison; lower and upper the ends of a range.
	op    string
	lower string
	upper string
}

// Without returns the query without its top-level conditions on a field, all of which must hold. field is the
// name of its column, but the query may use another name.
func (q *Query) Without(c *Columns, field string) *Query {
	list, several := q.root.(all)
	if !several {
		list = all{q.root}
	}
	var kept all
	for _, n := range list {
		if !c.isOn(n, field) {
			kept = append(kept, n)
		}
	}
	return &Query{Text: q.Text, Tokens: q.Tokens, root: kept}
}

// isOn reports whether n is a condition on a field or its negation.
func (c *Columns) isOn(n node, name string) bool {
	if opposite, ok := n.(not); ok {
		n = opposite.of
	}
	f, ok := n.(field)
	if !ok || f.name == "" {
		return false
	}
	if f.name == name {
		return true
	}
	t, found, err := c.find(f.name, f.at)
	same, also, otherErr := c.find(name, f.at)
	return err == nil && otherErr == nil && found && also && t.expr == same.expr
}
