package sql

import (
	"strings"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

// query visits a query. Each CTE of it sees the CTEs before it.
func (w *walker) query(n Node, s *scope) error {
	if w.queries++; w.queries > MaxQueryDepth {
		return errTooDeep
	}
	nested, deepest := w.nested, w.deepest
	w.nested, w.deepest = 0, 0
	defer func() {
		w.queries--
		w.levels += w.deepest
		w.nested, w.deepest = nested, deepest
	}()
	if ctes, ok := n["cte_map"].(Node); ok {
		list, _ := ctes["map"].([]any)
		for _, v := range list {
			cte, _ := v.(Node)
			weight, joins, stars, most := w.weight, w.joins, w.stars, w.maxStars
			w.weight, w.joins, w.stars, w.maxStars = 0, 0, 1, 1
			if err := w.walk(cte["value"], s); err != nil {
				return err
			}
			s = &scope{name: strings.ToLower(Text(cte, "key")), weight: w.weight, joins: w.joins, stars: w.maxStars, outer: s}
			w.weight, w.joins, w.stars, w.maxStars = weight, joins, stars, most
		}
	}
	selected, _ := n["select_list"].([]any)
	if err := w.boundSelected(len(selected)); err != nil {
		return err
	}
	if err := w.combine(n); err != nil {
		return err
	}
	if Text(n, "setop_type") == "UNION_BY_NAME" {
		w.byName++
		defer func() { w.byName-- }()
	}
	if err := aliases(n); err != nil {
		return err
	}
	before := w.stars
	if err := w.repeat(countStars(n["select_list"])); err != nil {
		return err
	}
	defer func() { w.stars = before }()
	if sets, ok := n["group_sets"].([]any); ok && len(sets) > maxGroupingSets {
		return errs.New(errs.Unsupported, "GROUP BY makes %d grouping sets; at most %d are "+
			"allowed", len(sets), maxGroupingSets)
	}
	for _, v := range selected {
		if err := w.walk(v, s); err != nil {
			return err
		}
	}
	if err := w.children(n, s, "cte_map", "group_sets", "select_list"); err != nil {
		return err
	}
	if w.levels+w.deepest > maxNestedSum {
		return errTypeTooDeep
	}
	return nil
}

// combine counts the queries that a set operation combines.
func (w *walker) combine(n Node) error {
	if Text(n, "setop_type") == "" {
		return nil
	}
	operands, _ := n["children"].([]any)
	if w.combined += max(len(operands), 2) - 1; w.combined >= MaxCombined {
		return errs.New(errs.Unsupported, "UNION, EXCEPT and INTERSECT combine more than %d queries of the statement; write "+
			"rows of constants as VALUES", MaxCombined)
	}
	return nil
}

// recursion visits the two parts of a recursive CTE. Only the second part sees the CTE.
func (w *walker) recursion(n Node, s *scope) error {
	if err := w.children(n, s, "right"); err != nil {
		return err
	}
	return w.walk(n["right"], &scope{name: strings.ToLower(Text(n, "cte_name")), outer: s})
}

// table records a reference to a table, unless the name is a CTE.
func (w *walker) table(n Node, s *scope) error {
	catalog, database, name := Text(n, "catalog_name"), Text(n, "schema_name"), Text(n, "table_name")
	if n["at_clause"] != nil {
		return errs.New(errs.Unsupported, "AT (VERSION or TIMESTAMP) is not supported: tables do not keep earlier states")
	}
	parts := 1
	switch {
	case catalog != "" && !strings.EqualFold(catalog, catalogName):
		return errs.New(errs.Unsupported, "table %s.%s.%s: names have the form table or database.table",
			catalog, database, name)
	case catalog != "":
		parts = 3
	case database != "":
		parts = 2
	case s.find(strings.ToLower(name)) != nil:
		return w.cte(n, s, s.find(strings.ToLower(name)))
	default:
		database = w.database
	}
	at, ok := Position(n)
	if !ok {
		return errs.New(errs.Unexpected, "table %s.%s: the parser reports no position", database, name)
	}
	ref := TableRef{Name: query.TableName{Database: database, Name: name}, at: at, parts: parts, aliased: Text(n,
		"alias") != "", Given: Text(n, "alias")}
	if err := w.read(1); err != nil {
		return err
	}
	w.st.Tables = append(w.st.Tables, ref)
	return w.children(n, s)
}

// cte counts what a use of a CTE adds.
func (w *walker) cte(n Node, s, cte *scope) error {
	before := w.stars
	defer func() { w.stars = before }()
	if err := w.repeat(cte.stars); err != nil {
		return err
	}
	if err := w.read(cte.weight); err != nil {
		return err
	}
	if err := w.join(cte.joins); err != nil {
		return err
	}
	return w.children(n, s)
}

// tableFunction checks a table function and its arguments.
func (w *walker) tableFunction(n Node, s *scope) error {
	f, _ := n["function"].(Node)
	name := strings.ToLower(Text(f, "function_name"))
	if Text(f, "class") != "FUNCTION" || !allowedTableFunctions[name] {
		return errs.New(errs.Unsupported, "the table function %s is not allowed in queries", excerpt(name))
	}
	if name == "unnest" {
		if err := w.unnest(name, Args(f)); err != nil {
			return err
		}
	}
	if err := w.paths(name, f); err != nil {
		return err
	}
	if err := w.children(f, s); err != nil {
		return err
	}
	return w.children(n, s, "function")
}
