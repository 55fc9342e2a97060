package query

import (
	"encoding/json"
	"slices"
	"strings"

	"cordwood/proto/errs"
)

// walker checks a syntax tree and collects what it refers to. Whatever kind of node
// it does not know, it refuses.
type walker struct {
	st       *statement
	database string
	// growth is the product of the sizes that the statement asks for.
	growth int64
	// queries and expressions are how many of them are around the node at hand.
	queries, expressions int
}

// Nesting beyond these costs the engine's planner too much stack.
const (
	maxQueryDepth      = 50
	maxExpressionDepth = 500
)

var errTooDeep = errs.New(errs.Unsupported, "the statement is nested too deeply: %d queries or %d expressions in one another",
	maxQueryDepth, maxExpressionDepth)

// node is an object of the tree.
type node = map[string]any

// scope holds the names of the CTEs that are visible at a place, in lower case.
type scope struct {
	name  string
	outer *scope
}

func (s *scope) has(name string) bool {
	for ; s != nil; s = s.outer {
		if s.name == name {
			return true
		}
	}
	return false
}

func (w *walker) statement(v any) error {
	stmt, _ := v.(node)
	root, _ := stmt["node"].(node)
	if root == nil {
		return errs.New(errs.Unsupported, "this kind of statement is not supported: only SELECT, and EXPLAIN of it, can be run here")
	}
	if _, ok := stmt["named_param_map"]; ok {
		return errs.New(errs.Unsupported, "parameters ($1, ?) are not supported; write the values into the statement")
	}
	if modifiers, ok := root["modifiers"].([]any); ok {
		for _, m := range modifiers {
			if m, ok := m.(node); ok && strings.HasPrefix(text(m, "type"), "LIMIT") {
				w.st.limited = true
			}
		}
	}
	return w.walk(root, nil)
}

// walk visits v, which may be any value of the tree.
func (w *walker) walk(v any, s *scope) error {
	switch v := v.(type) {
	case []any:
		for _, child := range v {
			if err := w.walk(child, s); err != nil {
				return err
			}
		}
	case node:
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

// children visits all values of n, except those under the keys in skip.
func (w *walker) children(n node, s *scope, skip ...string) error {
	for key, v := range n {
		switch v.(type) {
		case node, []any:
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

// structure visits a query, a table reference or a modifier.
func (w *walker) structure(kind string, n node, s *scope) error {
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
		// DESCRIBE and SUMMARIZE of a query or table; not SHOW TABLES and the like.
		if n["query"] == nil {
			return errs.New(errs.Unsupported, "SHOW cannot be part of a SELECT; read information_schema instead")
		}
		return w.children(n, s)
	case "EMPTY", "EMPTY_FROM", "SUBQUERY", "JOIN", "EXPRESSION_LIST", "PIVOT",
		"LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER", "ORDER_MODIFIER", "DISTINCT_MODIFIER",
		"ORDER_DEFAULT", "ASCENDING", "DESCENDING":
		return w.children(n, s)
	}
	if strings.HasSuffix(kind, "_TYPE_INFO") {
		return w.children(n, s)
	}
	return errs.New(errs.Unsupported, "%s is not supported in a SELECT", kind)
}

// query visits a query whose CTEs each see those before them.
func (w *walker) query(n node, s *scope) error {
	if w.queries++; w.queries > maxQueryDepth {
		return errTooDeep
	}
	defer func() { w.queries-- }()
	if ctes, ok := n["cte_map"].(node); ok {
		list, _ := ctes["map"].([]any)
		for _, v := range list {
			cte, _ := v.(node)
			if err := w.walk(cte["value"], s); err != nil {
				return err
			}
			s = &scope{name: strings.ToLower(text(cte, "key")), outer: s}
		}
	}
	return w.children(n, s, "cte_map")
}

// recursion visits the two parts of a recursive CTE; only the second sees the CTE.
func (w *walker) recursion(n node, s *scope) error {
	if err := w.children(n, s, "right"); err != nil {
		return err
	}
	return w.walk(n["right"], &scope{name: strings.ToLower(text(n, "cte_name")), outer: s})
}

// table notes a reference to a table, unless it is one to a CTE.
func (w *walker) table(n node, s *scope) error {
	catalog, database, name := text(n, "catalog_name"), text(n, "schema_name"), text(n, "table_name")
	if n["at_clause"] != nil {
		return errs.New(errs.Unsupported, "AT (VERSION or TIMESTAMP) is not supported: a table has only its present state")
	}
	parts := 1
	switch {
	case catalog != "" && !strings.EqualFold(catalog, catalogName):
		return errs.New(errs.Unsupported, "table %s.%s.%s: names have the form table or database.table", catalog, database, name)
	case catalog != "":
		parts = 3
	case database != "":
		parts = 2
	case s.has(strings.ToLower(name)):
		return w.children(n, s)
	default:
		database = w.database
	}
	at, ok := position(n)
	if !ok {
		return errs.New(errs.Unexpected, "table %s.%s: the parser reports no position", database, name)
	}
	ref := tableRef{name: TableName{Database: database, Name: name}, at: at, parts: parts}
	if len(w.st.tables) == maxTables {
		return errs.New(errs.Unsupported, "the statement names tables in more than %d places", maxTables)
	}
	w.st.tables = append(w.st.tables, ref)
	if !slices.Contains(w.st.names, ref.name) {
		w.st.names = append(w.st.names, ref.name)
	}
	return w.children(n, s)
}

// catalogName may stand in front of a database's name.
const catalogName = "cordwood"

func (w *walker) tableFunction(n node, s *scope) error {
	f, _ := n["function"].(node)
	name := strings.ToLower(text(f, "function_name"))
	if text(f, "class") != "FUNCTION" || !allowedTableFunctions[name] {
		return errs.New(errs.Unsupported, "the table function %s is not allowed in queries", name)
	}
	if err := w.children(f, s); err != nil {
		return err
	}
	return w.children(n, s, "function")
}

// expression visits an expression.
func (w *walker) expression(class string, n node, s *scope) error {
	if w.expressions++; w.expressions > maxExpressionDepth {
		return errTooDeep
	}
	defer func() { w.expressions-- }()
	switch class {
	case "CONSTANT":
		return nil
	case "COLUMN_REF":
		w.column(n)
		return nil
	case "FUNCTION", "WINDOW":
		if err := w.call(n); err != nil {
			return err
		}
	case "OPERATOR", "COMPARISON", "CONJUNCTION", "CAST", "CASE", "STAR", "SUBQUERY", "LAMBDA", "LAMBDA_REF",
		"COLLATE", "BETWEEN", "POSITIONAL_REFERENCE", "TYPE":
	default:
		return errs.New(errs.Unsupported, "%s is not supported in an expression", class)
	}
	return w.children(n, s)
}

// column notes a reference that names the database as well.
func (w *walker) column(n node) {
	list, _ := n["column_names"].([]any)
	at, ok := position(n)
	if len(list) < 3 || !ok {
		return
	}
	ref := columnRef{at: at}
	for _, p := range list {
		p, _ := p.(string)
		ref.path = append(ref.path, p)
	}
	w.st.columns = append(w.st.columns, ref)
}

// text returns the text under key, or "".
func text(n node, key string) string {
	s, _ := n[key].(string)
	return s
}

// position returns where in the text the node begins.
func position(n node) (int, bool) {
	number, ok := n["query_location"].(json.Number)
	if !ok {
		return 0, false
	}
	at, err := number.Int64()
	return int(at), err == nil && at >= 0
}
