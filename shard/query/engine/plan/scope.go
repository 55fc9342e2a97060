package plan

import (
	"strings"

	"cordwood/proto/schema"
	"cordwood/shard/query/engine/sql"
)

// predicate returns what can be concluded from a condition, or nil. negated: from its
// being false.
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

// probe is what is known of some rows: a file, a row group, a batch.
type probe struct {
	// times bounds their time index, in nanoseconds.
	times Span
	// identity means that rows of one identity are still to be merged: then only the
	// columns of the identity say something, because a row that does not meet the
	// condition may hide one that does.
	identity bool
	// value reports whether a column may have a value; nil: unknown.
	value func(column uint32, value *literal) bool
	// tokens reports whether a text of a column may have all tokens of a text, if words are separated
	// by a; nil: unknown.
	tokens func(column uint32, a sql.Analyzer, text string) bool
	// bounds are the least and the largest value of a column of doubles in a file that has
	// it in a narrower type; nil: unknown.
	bounds func(column uint32) (lo, hi float64, ok bool)
}

// verdict on what stopped a probe; see prune.go.
type reasons struct{ time, value, tokens, bounds bool }

// Scope turns conditions into predicates for one table.
type Scope struct {
	Constants
	Schema *schema.Table
	Names  []string // what the engine calls the columns
	Alias  string
	Alone  bool
	// searches are the statement's.
	searches []sql.Search
	// used reports what the predicates look at.
	used reasons
}
