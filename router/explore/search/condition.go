package search

import (
	"strings"

	"cordwood/proto/schema"
)

// Condition returns an SQL condition for the rows of c that match q. It uses only columns and literals. If q
// matches all rows, it is "TRUE". among has the tables that are searched together with c. A field that only they
// have is null in the rows of c.
//
// The error is an *errs.Error of code ColumnNotFound or InvalidSyntax. Its cause, an *Error, has the position in
// the text.
func (q *Query) Condition(c *Columns, among ...*Columns) (string, error) {
	k := compiler{columns: c, among: append([]*Columns{c}, among...)}
	sql, err := k.node(q.root, false)
	if err != nil {
		return "", err
	}
	return string(sql), nil
}

type compiler struct {
	columns *Columns
	among   []*Columns
	// written counts the bytes of conditions on texts, because a word may become a condition on each of thousands
	// of columns.
	written int
}

// maxSQL limits the length of the conditions for the words of a text, in bytes.
const maxSQL = 256 << 10

// expr is an SQL condition. An OR is in parentheses.
type expr string

const (
	always expr = "TRUE"
	never  expr = "FALSE"
)

// node compiles n or its negation. The negation is passed down to the leaves, which handle nulls correctly.
func (k *compiler) node(n node, negate bool) (expr, error) {
	switch n := n.(type) {
	case all:
		return k.join(n, negate, !negate)
	case anyOf:
		return k.join(n, negate, negate)
	case not:
		return k.node(n.of, !negate)
	case text:
		return k.text(n.value, k.columns.texts, negate)
	case field:
		return k.field(n, negate)
	}
	panic("search: unknown kind of node")
}

func (k *compiler) join(list []node, negate, and bool) (expr, error) {
	parts := make([]expr, 0, len(list))
	for _, n := range list {
		e, err := k.node(n, negate)
		if err != nil {
			return "", err
		}
		parts = append(parts, e)
	}
	return joined(parts, and), nil
}

// joined returns the condition that all parts are true, or that at least one part is true.
func joined(parts []expr, and bool) expr {
	if and {
		return conjoin(parts)
	}
	return disjoin(parts)
}

func conjoin(parts []expr) expr { return combine(parts, " AND ", always, never) }

func disjoin(parts []expr) expr {
	e := combine(parts, " OR ", never, always)
	if strings.Contains(string(e), " OR ") && len(parts) > 1 && e != always {
		return "(" + e + ")"
	}
	return e
}

// combine joins conditions. Conditions equal to neutral are left out. If a condition equals decides, the result
// is decides.
func combine(parts []expr, operator string, neutral, decides expr) expr {
	var kept []string
	for _, e := range parts {
		switch e {
		case decides:
			return decides
		case neutral:
		default:
			kept = append(kept, string(e))
		}
	}
	if len(kept) == 0 {
		return neutral
	}
	return expr(strings.Join(kept, operator))
}

// leaf returns the condition yes, or its negation, which also holds if value is null.
func leaf(yes, value string, negate bool) expr {
	if !negate {
		return expr(yes)
	}
	return expr("(NOT " + yes + " OR " + value + " IS NULL)")
}

// text compiles a text that may occur in any of the columns.
func (k *compiler) text(v value, columns []*schema.Column, negate bool) (expr, error) {
	if v.form == present {
		return constant(!negate), nil
	}
	if len(columns) > maxTexts {
		return "", tooManyTexts(v)
	}
	parts := make([]expr, 0, len(columns))
	for _, col := range columns {
		at := k.columns.of(col).expr
		yes, err := word(at, v)
		if err != nil {
			return "", err
		}
		part := leaf(yes, at, negate)
		if k.written += len(part); k.written > maxSQL {
			return "", tooManyTexts(v)
		}
		parts = append(parts, part)
	}
	return joined(parts, negate), nil
}

// maxTexts limits the columns in which one word is searched, because the engine limits the number of conditions
// in one list.
const maxTexts = 1000

func tooManyTexts(v value) error {
	return wrong(v.span, "the search has too many words for the number of columns: name fields, for example host:a, "+
		"or use fewer words")
}

func constant(b bool) expr {
	if b {
		return always
	}
	return never
}

// field compiles a condition on a field.
func (k *compiler) field(f field, negate bool) (expr, error) {
	if f.name == "" {
		return k.anyField(f, negate)
	}
	t, found, err := k.columns.find(f.name, f.at)
	if err != nil {
		return "", err
	}
	if !found {
		return k.absent(f, negate)
	}
	var parts []expr
	values := f.values
	if t.levels != nil && !f.exact {
		yes, others, err := levelCondition(t, f)
		if err != nil {
			return "", err
		}
		if yes != "" {
			parts = append(parts, leaf(yes, nullness(t, yes), negate))
		}
		values = others
	}
	if e, ok := equalities(t, f, values, negate); ok {
		return joined(append(parts, e), negate), nil
	}
	for _, v := range values {
		e, err := t.condition(f, v, negate)
		if err != nil {
			return "", err
		}
		parts = append(parts, e)
	}
	return joined(parts, negate), nil
}

// absent compiles a condition on a field that the table does not have. The field is either null in this table or
// unknown.
func (k *compiler) absent(f field, negate bool) (expr, error) {
	for _, c := range k.among {
		if _, found, _ := c.find(f.name, f.at); found {
			return constant(negate), nil
		}
	}
	if f.exact && len(f.values) == 1 {
		return k.text(asWord(f), k.columns.texts, negate)
	}
	return "", unknown(f.name, f.at, k.among)
}

// asWord returns the original text of a condition, because in a line of key-value pairs, user=ann is a word.
func asWord(f field) value {
	return value{span: f.span, form: quoted, text: f.raw}
}

// anyField compiles a condition on every field with text.
func (k *compiler) anyField(f field, negate bool) (expr, error) {
	var columns []*schema.Column
	for i := range k.columns.table.Columns {
		if t := k.columns.table.Columns[i].Type; t == schema.String || t == schema.JSON {
			columns = append(columns, &k.columns.table.Columns[i])
		}
	}
	parts := make([]expr, 0, len(f.values))
	for _, v := range f.values {
		if v.form == compare || v.form == between {
			return "", wrong(v.span, "*: searches for text in every field; a comparison needs the name of a field")
		}
		e, err := k.text(v, columns, negate)
		if err != nil {
			return "", err
		}
		parts = append(parts, e)
	}
	return joined(parts, negate), nil
}
