package sql

import (
	"slices"
	"strings"
	"unicode/utf8"

	"cordwood/proto/errs"
)

func (w *walker) statement(v any) error {
	stmt, _ := v.(Node)
	root, _ := stmt["node"].(Node)
	if root == nil {
		return errs.New(errs.Unsupported,
			"this kind of statement is not supported: only SELECT and EXPLAIN SELECT can be run here")
	}
	if _, ok := stmt["named_param_map"]; ok {
		return errs.New(errs.Unsupported, "parameters ($1, ?) are not supported; write the values into the statement")
	}
	if modifiers, ok := root["modifiers"].([]any); ok {
		for _, m := range modifiers {
			if m, ok := m.(Node); ok && strings.HasPrefix(Text(m, "type"), "LIMIT") {
				w.st.Limited = true
			}
		}
	}
	if err := w.walk(root, nil); err != nil {
		return err
	}
	slices.SortFunc(w.st.Tables, func(a, b TableRef) int { return a.at - b.at })
	for _, ref := range w.st.Tables {
		if !slices.Contains(w.st.Names, ref.Name) {
			w.st.Names = append(w.st.Names, ref.Name)
		}
	}
	return nil
}

// walk visits v, which may be any value of the tree.
func (w *walker) walk(v any, s *scope) error {
	switch v := v.(type) {
	case []any:
		if err := boundTerms(v); err != nil {
			return err
		}
		for _, child := range v {
			if err := w.walk(child, s); err != nil {
				return err
			}
		}
	case string:
		return w.name(v)
	case Node:
		if id, ok := v["id"].(string); ok {
			if err := w.typeOf(id, v); err != nil {
				return err
			}
		}
		if class, ok := v["class"].(string); ok {
			return w.expression(class, v, s)
		}
		if kind, ok := v["type"].(string); ok {
			return w.structure(kind, v, s)
		}
		return w.children(v, s)
	}
	return nil
}

// boundTerms limits the expressions of a list that are not literals. DuckDB compares the
// expressions of an AND or OR with each other, and makes a column of each expression of an ORDER
// BY.
func boundTerms(list []any) error {
	if len(list) <= MaxListed {
		return nil
	}
	terms := 0
	for _, v := range list {
		if n, ok := v.(Node); ok && Text(n, "class") != "CONSTANT" {
			terms++
		}
	}
	if terms > MaxListed {
		return errs.New(errs.Unsupported, "%d expressions in one list, or joined by AND or OR; "+
			"at most %d are allowed besides literals: to compare with many values, use IN (…)", terms, MaxListed)
	}
	return nil
}

// children visits all values of n, except those under the keys in skip.
func (w *walker) children(n Node, s *scope, skip ...string) error {
	for key, v := range n {
		switch v.(type) {
		case Node, []any, string:
			if slices.Contains(skip, key) {
				continue
			}
			if err := w.walk(v, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// name limits the length of a name.
func (w *walker) name(s string) error {
	if len(s) > maxName {
		return errs.New(errs.InvalidArguments, "the name %s has %d bytes; at most %d are "+
			"allowed", excerpt(s), len(s), maxName)
	}
	return nil
}

// typeOf checks a type that the statement names.
func (w *walker) typeOf(id string, n Node) error {
	if info, ok := n["type_info"].(Node); ok && id == "UNBOUND" {
		id = Text(info, "name")
	}
	switch id = strings.ToUpper(id); id {
	case "VARIANT":
		// DuckDB builds a VARIANT from JSON level by level, which could overflow the stack.
		return errs.New(errs.Unsupported,
			"the type VARIANT is not supported; keep the value as JSON, and read its parts with ->, ->> and json_extract")
	case "AGGREGATE_STATE", "POINTER":
		return errs.New(errs.Unsupported, "the type %s is not supported", id)
	}
	return nil
}

// nesting are the functions that return a type which is one level deeper than an argument's type.
var nesting = map[string]bool{
	"list_value": true, "list_pack": true, "array_value": true, "row": true, "struct_pack": true, "map": true,
	"union_value": true,
	"list":        true, "array_agg": true, "histogram": true, "histogram_exact": true, "map_from_entries": true,
	"struct_insert": true,
}

// likes are the functions whose macros use an operand more than once, so that each level multiplies
// the size of the plan.
var likes = map[string]bool{"~~": true, "!~~": true, "~~*": true, "!~~*": true}

// excerpt returns the beginning of a text of the client, for an error.
func excerpt(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}

// structure visits a query, a table reference or a modifier.
func (w *walker) structure(kind string, n Node, s *scope) error {
	switch kind {
	case "SELECT_NODE", "SET_OPERATION_NODE", "CTE_NODE":
		return w.query(n, s)
	case "RECURSIVE_CTE_NODE":
		return w.recursion(n, s)
	case "BASE_TABLE":
		return w.table(n, s)
	case "TABLE_FUNCTION":
		return w.tableFunction(n, s)
	case "SHOW_REF":
		// DESCRIBE and SUMMARIZE of a query or table have a query; SHOW TABLES and similar
		// statements have none.
		if n["query"] == nil {
			return errs.New(errs.Unsupported, "SHOW cannot be part of a SELECT; read information_schema instead")
		}
		return w.children(n, s)
	case "JOIN":
		if err := w.join(1); err != nil {
			return err
		}
		return w.children(n, s)
	case "EXPRESSION_LIST":
		rows, _ := n["values"].([]any)
		for _, v := range rows {
			row, _ := v.([]any)
			if err := w.boundSelected(len(row)); err != nil {
				return err
			}
		}
		return w.children(n, s)
	case "EMPTY", "EMPTY_FROM", "SUBQUERY", "PIVOT",
		"LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER", "DISTINCT_MODIFIER",
		"ORDER_DEFAULT", "ASCENDING", "DESCENDING":
		return w.children(n, s)
	}
	if strings.HasSuffix(kind, "_TYPE_INFO") {
		return w.children(n, s)
	}
	return errs.New(errs.Unsupported, "%s is not supported in a SELECT", kind)
}

// countStars returns the number of stars in a list of columns, including COLUMNS(…).
func countStars(v any) int {
	list, _ := v.([]any)
	stars := 0
	for _, column := range list {
		if n, ok := column.(Node); ok && Text(n, "class") == "STAR" {
			stars++
		}
	}
	return stars
}

// catalogName is allowed before the name of a database.
const catalogName = "cordwood"
