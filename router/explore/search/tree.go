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

// A node is all, any, not, text or field.
type node interface{}

// all holds if each of its nodes does; without nodes it always does.
type all []node

// anyOf holds if one of its nodes does.
type anyOf []node

// not holds if its node does not.
type not struct{ of node }

// text is searched for in the message.
type text struct {
	span
	value
}

// field is a condition on one field: any of its values.
type field struct {
	span
	// name is empty for every field (*).
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

// A value is a value with which a field is compared.
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

// Without returns the query without its conditions on a field, as far as they are at the top level, where all of
// them must hold. The field has the name of its column, but the query may use another name.
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

// isOn reports whether n is a condition on a field, or the opposite of one.
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
