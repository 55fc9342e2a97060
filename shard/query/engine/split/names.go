package split

import (
	"strings"

	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// This file resolves names: it qualifies columns with the name of their table, replaces aliases by
// their expressions, and now() by a literal.

// own returns a copy of an expression in which columns have the table's names, now() is the moment
// of the request, and operators that the check of statements rewrites as text are calls.
func (b *block) own(n sql.Node) (sql.Node, error) {
	n, _ = clone(n).(sql.Node)
	alias := sql.Text(n, "alias")
	n, err := expression(n, b.ownNode)
	if err != nil {
		return nil, err
	}
	if alias != "" {
		n["alias"] = alias
	}
	return n, nil
}

func (b *block) ownNode(n sql.Node) (sql.Node, error) {
	switch sql.Text(n, "class") {
	case "COLUMN_REF":
		return b.ownColumn(n)
	case "FUNCTION":
		return b.ownFunction(n)
	case "OPERATOR":
		at, known := sql.Position(n)
		if known && strings.HasPrefix(b.SQL[at:], "!~") && sql.Text(n, "type") == "OPERATOR_NOT" {
			args := sql.Args(n)
			if len(args) == 1 {
				if inner, ok := args[0].(sql.Node); ok && sql.Text(inner, "function_name") == "regexp_full_match" {
					search, err := b.search(inner, "")
					if err != nil {
						return nil, err
					}
					return sql.Node{"class": "OPERATOR", "type": "OPERATOR_NOT", "children": []any{search}}, nil
				}
			}
			return nil, notSplit(causeFunction, "the operator !~ inside an expression")
		}
	case "LAMBDA":
		if right, _ := n["expr"].(sql.Node); sql.Text(right, "class") != "CONSTANT" { // otherwise it is a JSON path
			return nil, notSplit(causeFunction, "%s", unknownClass("LAMBDA"))
		}
	case "SUBQUERY":
		return b.subquery(n)
	case "WINDOW":
		return nil, notSplit(causeWindow,
			"it has window functions over rows of the table; if a subquery groups or limits the rows first, only its "+
				"result is sent")
	}
	return nil, nil
}

// ownColumn returns the column's name without the table's name before it.
func (b *block) ownColumn(n sql.Node) (sql.Node, error) {
	path, _ := n["column_names"].([]any)
	var names []string
	for _, v := range path {
		s, _ := v.(string)
		names = append(names, s)
	}
	switch {
	case len(names) == 2 && strings.EqualFold(names[0], b.alias):
		names = names[1:]
	case len(names) == 3 && strings.EqualFold(names[0], b.Database) && strings.EqualFold(names[1], b.Table):
		names = names[2:]
	}
	if len(names) != 1 {
		return nil, notSplit(causeNames, "%s is not the name of a column of its table", strings.Join(names, "."))
	}
	if own, ok := b.columns[sql.LowerASCII(names[0])]; ok {
		return columnOf(own), nil
	}
	if moment := b.moment(names[0]); moment != nil && b.aliases[sql.LowerASCII(names[0])] == nil {
		return moment, nil
	}
	return columnOf(names[0]), nil
}

// volatile are the functions whose value differs from call to call.
var volatile = map[string]bool{
	"get_current_time":  true,
	"current_localtime": true, "current_localtimestamp": true, "nextval": true, "error": true, "sleep_ms": true,
	"age": true, "ago": true,
}

// moment returns the literal for the present moment or day, nil for other names.
func (b *block) moment(name string) sql.Node {
	switch sql.LowerASCII(name) {
	case "now", "get_current_timestamp", "transaction_timestamp", "current_timestamp":
		b.usesNow = true
		return rawOf(query.Moment(b.Now))
	case "current_date", "today":
		b.usesDay = true
		return rawOf("CAST(" + sql.QuoteText(b.Now.UTC().Format("2006-01-02")) + " AS DATE)")
	}
	return nil
}

// repeating are the functions that return several rows for each row.
var repeating = map[string]bool{
	"unnest": true, "unlist": true, "generate_subscripts": true, "regexp_split_to_table": true,
}

func (b *block) ownFunction(n sql.Node) (sql.Node, error) {
	name := sql.LowerASCII(sql.Text(n, "function_name"))
	b.repeats = b.repeats || repeating[name]
	if drawn[name] {
		b.draws = true // splitting decides
	} else if volatile[name] {
		return nil, notSplit(causeVolatile, "the function %s may have another value on each node", name)
	}
	if len(sql.Args(n)) == 0 {
		if moment := b.moment(name); moment != nil {
			return moment, nil
		}
	}
	switch at, known := sql.Position(n); {
	case name == "~*" || name == "!~*":
		search, err := b.search(n, "i")
		if err != nil || name == "~*" {
			return search, err
		}
		return sql.Node{"class": "OPERATOR", "type": "OPERATOR_NOT", "children": []any{search}}, nil
	case name == "regexp_full_match" && known && strings.HasPrefix(b.SQL[at:], "~"):
		return b.search(n, "")
	}
	return nil, nil
}

// search returns the operator ~ as a call: the pattern is looked for anywhere in the text.
func (b *block) search(n sql.Node, flags string) (sql.Node, error) {
	args := sql.Args(n)
	if len(args) != 2 {
		return nil, notSplit(causeFunction, "a search by a regular expression")
	}
	pattern, _ := args[1].(sql.Node)
	given, isText := sql.TextLiteral(pattern)
	if !isText {
		return nil, notSplit(causeFunction,
			"it searches by a regular expression that is no literal; write the pattern as a literal")
	}
	first, _ := args[0].(sql.Node)
	subject, err := expression(first, b.ownNode)
	if err != nil {
		return nil, err
	}
	literal, _ := clone(pattern).(sql.Node)
	value, _ := literal["value"].(sql.Node)
	value["value"] = "(?s:.*)(?" + flags + ":" + given + ")(?s:.*)"
	return sql.Node{
		"class":         "FUNCTION",
		"type":          "FUNCTION",
		"function_name": "regexp_full_match",
		"children":      []any{subject, literal},
	}, nil
}

// maxResolved limits how often aliases are replaced.
const maxResolved = 200

// resolve replaces aliases by their expressions. A column with the same name takes precedence.
func (b *block) resolve(n sql.Node) (sql.Node, error) {
	alias := sql.Text(n, "alias")
	count := 0
	var put func(n sql.Node) (sql.Node, error)
	put = func(n sql.Node) (sql.Node, error) {
		name, ok := bareColumn(n)
		if !ok {
			return nil, nil
		}
		if _, ok := b.columns[sql.LowerASCII(name)]; ok {
			return n, nil
		}
		of := b.aliases[sql.LowerASCII(name)]
		if of == nil {
			return nil, notSplit(causeNames, "%s is neither a column of its table nor an alias", name)
		}
		if count++; count > maxResolved {
			return nil, notSplit(causeNames, "aliases are used in one expression more than %d times", maxResolved)
		}
		out, err := expression(of, put)
		if err != nil {
			return nil, err
		}
		if _, same := out["alias"]; same {
			out, _ = clone(out).(sql.Node)
			delete(out, "alias")
		}
		return out, nil
	}
	out, err := expression(n, put)
	if err != nil {
		return nil, err
	}
	if alias != "" {
		out["alias"] = alias
	}
	return out, nil
}

// bareColumn returns the column's name if the expression is just a column.
func bareColumn(n sql.Node) (string, bool) {
	list, _ := n["column_names"].([]any)
	if sql.Text(n, "class") != "COLUMN_REF" || len(list) != 1 {
		return "", false
	}
	name, ok := list[0].(string)
	return name, ok
}

// clashes reports whether a name is both a column of the table and the alias of something else.
func (b *block) clashes(name string) bool {
	column, isColumn := b.columns[sql.LowerASCII(name)]
	item := b.aliases[sql.LowerASCII(name)]
	if !isColumn || item == nil {
		return false
	}
	own, bare := bareColumn(item)
	return !bare || own != column
}
