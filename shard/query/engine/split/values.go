package split

import (
	"strings"

	"cordwood/shard/query/engine/sql"
)

// A subquery in an expression that does not depend on the rows around it is run first. This file replaces it by the
// values that it returned.

// Use is how an expression uses a subquery.
type Use uint8

const (
	// UseNone is any other use.
	UseNone Use = iota
	// UseValue is a subquery that is a single value.
	UseValue
	// UseList is the list behind IN.
	UseList
	// UseExists is EXISTS.
	UseExists
)

// Values are the values that a subquery returned.
type Values struct {
	// Type is their type, as the engine writes it.
	Type  string
	Texts []string
	// Null means that there is a null among the values, or that a single value has no row.
	Null bool
	// Exists means that there are rows.
	Exists bool
	// Plain reports whether a column takes literals of the type as they are, without a cast.
	Plain func(column string) bool
}

// uses are the types of subqueries.
var uses = map[string]Use{"SCALAR": UseValue, "ANY": UseList, "EXISTS": UseExists, "NOT_EXISTS": UseExists}

// SubqueryKey returns how a subquery is used, and a key that is equal for all subqueries with the same text and
// use.
func SubqueryKey(n sql.Node) (key string, use Use) {
	use = uses[sql.Text(n, "subquery_type")]
	if compared := sql.Text(n, "comparison_type"); use == UseList && compared != "COMPARE_EQUAL" {
		return "", UseNone
	}
	return string('0'+rune(use)) + keyOf(n["subquery"]), use
}

func keyOf(v any) string {
	var b strings.Builder
	writeKey(&b, v, false)
	return b.String()
}

// SameQuery reports whether the query of a subquery in an expression is the query with the tree root.
func SameQuery(n, root sql.Node) bool {
	of, _ := n["subquery"].(sql.Node)
	return keyOf(of["node"]) == keyOf(root)
}

// HasAggregate reports whether an expression has an aggregate or a window.
func HasAggregate(v any) bool { return hasAggregate(v) || sql.HasClass(v, "WINDOW") }

// Subquery returns the error for a statement with a subquery in an expression that cannot be run first.
func Subquery(reason string) error { return notSplit(causeSubquery, "%s", reason) }

// subquery returns what replaces a subquery in an expression.
func (b *block) subquery(n sql.Node) (sql.Node, error) {
	key, use := SubqueryKey(n)
	v, ok := b.Values[key]
	if !ok || use == UseNone {
		return nil, notSplit(causeSubquery, "it has a subquery in an expression")
	}
	switch use {
	case UseExists:
		return truth(v.Exists != (sql.Text(n, "subquery_type") == "NOT_EXISTS")), nil
	case UseValue:
		return rawOf(v.literals("")[0]), nil
	}
	child, _ := n["child"].(sql.Node)
	child, err := expression(child, b.ownNode)
	if err != nil {
		return nil, err
	}
	column, _ := bareColumn(child)
	list := []any{child}
	for _, s := range v.literals(column) {
		list = append(list, rawOf(s))
	}
	if len(list) == 1 {
		return truth(false), nil // x IN () is false, even if x is null
	}
	return sql.Node{"class": "OPERATOR", "type": "COMPARE_IN", "children": list}, nil
}

func truth(is bool) sql.Node {
	if is {
		return rawOf("true")
	}
	return rawOf("false")
}

// literals returns the values as text. column is the column with which they are compared, or "".
func (v *Values) literals(column string) []string {
	plain := column != "" && v.Plain != nil && v.Plain(column)
	var out []string
	for _, s := range v.Texts {
		switch {
		case plain && v.Type == "VARCHAR":
			out = append(out, sql.QuoteText(s))
		case plain:
			out = append(out, "("+s+")")
		default:
			out = append(out, "CAST("+sql.QuoteText(s)+" AS "+v.Type+")")
		}
	}
	if v.Null {
		out = append(out, "CAST(NULL AS "+v.Type+")")
	}
	return out
}
