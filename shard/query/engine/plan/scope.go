package plan

import (
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
)

// predicate returns the predicate of a condition, or nil if nothing can be concluded. If negated is
// set, it returns the predicate of the negated condition.
func (p *Scope) predicate(v any, negated bool) predicate {
	n, _ := v.(sql.Node)
	kind := sql.Text(n, "type")
	switch sql.Text(n, "class") {
	case "CONJUNCTION":
		var parts []predicate
		for _, child := range sql.Args(n) {
			parts = append(parts, p.predicate(child, negated))
		}
		if (kind == "CONJUNCTION_AND") != negated {
			return every(parts)
		}
		return either(parts)
	case "OPERATOR":
		switch {
		case kind == "OPERATOR_NOT" && len(sql.Args(n)) == 1:
			return p.predicate(sql.Args(n)[0], !negated)
		case kind == "COMPARE_IN" && !negated && len(sql.Args(n)) > 1:
			list := sql.Args(n)
			var parts []predicate
			for _, value := range list[1:] {
				parts = append(parts, p.comparison("COMPARE_EQUAL", list[0], value))
			}
			return either(parts)
		}
	case "COMPARISON":
		if negated {
			kind = Opposite[kind]
		}
		return p.comparison(kind, n["left"], n["right"])
	case "FUNCTION":
		if name := sql.Text(n, "function_name"); !negated &&
			(strings.EqualFold(name, "matches") || strings.EqualFold(name, "matches_term")) {
			return p.search(n)
		}
	case "BETWEEN":
		if !negated {
			return every([]predicate{
				p.comparison("COMPARE_GREATERTHANOREQUALTO", n["input"], n["lower"]),
				p.comparison("COMPARE_LESSTHANOREQUALTO", n["input"], n["upper"]),
			})
		}
	}
	return nil
}

// probe describes what is known about a set of rows: of a file, a row group or a batch.
type probe struct {
	// times bounds their time index, in nanoseconds.
	times Span
	// identity means that rows of one identity have yet to be merged. Then only conditions on
	// columns of the identity exclude anything: a row that fails another condition may replace a
	// row that meets it.
	identity bool
	// value reports whether a column may have a value. It is nil if that is not known.
	value func(column uint32, value *literal) bool
	// tokens reports whether a text of a column may have all words of a text, if analyzer a
	// separates the words. It is nil if that is not known.
	tokens func(column uint32, a sql.Analyzer, text string) bool
	// bounds are the least and the greatest value of a column of doubles in a file that has it in a
	// narrower type. It is nil if they are not known.
	bounds func(column uint32) (lo, hi float64, ok bool)
}

// reasons lists which kinds of knowledge a predicate uses.
type reasons struct{ time, value, tokens, bounds bool }

// Scope turns the conditions of one table into predicates.
type Scope struct {
	Constants
	Schema *schema.Table
	Names  []string // the names under which DuckDB knows the columns
	Alias  string
	Alone  bool
	// searches are the search calls of the statement.
	searches []sql.Search
	// used records which kinds of knowledge the predicates use.
	used reasons
}
