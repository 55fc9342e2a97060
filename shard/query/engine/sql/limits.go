package sql

import "cordwood/proto/errs"

// Statements beyond these limits take too much stack or time in DuckDB's planner. It cannot be
// interrupted, and some of its steps double with each level.
const (
	MaxTables          = 50     // tables read, counting those of a CTE for each use of the CTE
	maxJoins           = 64     // joins of tables and subqueries, counted like tables
	maxFilters         = 256    // aggregates with a FILTER; DuckDB compares each with the others
	MaxSelected        = 8192   // expressions in a SELECT list; DuckDB compares their names with one another
	MaxByName          = 1000   // the same in a UNION BY NAME, which compares them again for each SELECT
	MaxCombined        = 500    // queries that UNION, EXCEPT and INTERSECT combine; planning them takes quadratic time
	MaxListed          = 1000   // expressions other than literals in an AND, OR, IN, ORDER BY and so on
	MaxArguments       = 10_000 // arguments of a function, or elements of a list
	MaxCases           = 2000   // WHEN branches of all CASE expressions together
	MaxWindows         = 256    // window functions; each needs a sort
	maxWindowTerms     = 2000   // expressions in PARTITION BY and ORDER BY of all window functions
	MaxQueryDepth      = 50     // depth of nested queries
	MaxExpressionDepth = 250    // depth of nested expressions
	MaxSubqueryDepth   = 10     // depth of nested subqueries in expressions
	MaxLambdaDepth     = 10     // depth of nested lambda functions
	MaxLikeDepth       = 3      // depth of nested LIKE, ILIKE and GLOB; see likeSQL
	maxGroupingSets    = 64     // grouping sets of a GROUP BY
	maxStars           = 64     // how often * may repeat the columns of a subquery
	maxNested          = 32     // depth of nested lists and structs, and of such types
	maxNestedSum       = 64     // the sum of these depths over the queries of the statement
	maxParts           = 36     // parts of a name such as a.b.c; DuckDB recurses for each
	maxName            = 1024   // bytes of a name; DuckDB compares unknown names with all that it knows
)

var errTooDeep = errs.New(errs.Unsupported,
	"the statement is nested too deeply; at most %d queries, %d expressions, %d subqueries in expressions "+
		"and %d lambda functions may be nested",
	MaxQueryDepth, MaxExpressionDepth, MaxSubqueryDepth, MaxLambdaDepth)

var errTypeTooDeep = errs.New(errs.Unsupported,
	"the statement nests lists and structs too deeply; at most %d levels are allowed, and %d over all its queries",
	maxNested, maxNestedSum)

// boundSelected limits the columns of a SELECT or VALUES.
func (w *walker) boundSelected(columns int) error {
	most := MaxSelected
	if w.byName > 0 {
		most = MaxByName
	}
	if columns > most {
		return errs.New(errs.Unsupported, "a SELECT of %d expressions; at most %d are allowed, and %d in a UNION BY NAME",
			columns, MaxSelected, MaxByName)
	}
	return nil
}

// repeat records that the columns of the query below are repeated n times.
func (w *walker) repeat(times int) error {
	w.stars = max(w.stars, 1) * max(times, 1)
	w.maxStars = max(w.maxStars, w.stars)
	if w.stars > maxStars {
		return errs.New(errs.Unsupported, "the statement copies the columns of a subquery more than %d times by repeated *",
			maxStars)
	}
	return nil
}

// read counts tables that are read.
func (w *walker) read(tables int) error {
	for range w.likes {
		tables *= 3
	}
	if w.weight += tables; w.weight > MaxTables {
		return errs.New(errs.Unsupported,
			"the statement reads more than %d tables, counting those of a CTE wherever it is named", MaxTables)
	}
	return nil
}

// join counts joins. The joins of a CTE count wherever it is named.
func (w *walker) join(joins int) error {
	if w.joins += joins; w.joins > maxJoins {
		return errs.New(errs.Unsupported,
			"the statement has more than %d joins, counting those of a CTE wherever it is named", maxJoins)
	}
	return nil
}

// nest counts a list or struct around the following expressions.
func (w *walker) nest() error {
	w.nested++
	w.deepest = max(w.deepest, w.nested)
	if w.nested > maxNested {
		return errTypeTooDeep
	}
	return nil
}
