package sql

import "cordwood/proto/errs"

// Statements beyond these bounds take the engine's planner too much stack, or too
// long: it cannot be interrupted, and some of its steps double with each level.
const (
	MaxTables          = 50     // tables read, with CTEs put in wherever they are named
	maxJoins           = 64     // joins, of tables and of queries, counted like tables
	maxFilters         = 256    // aggregates with a FILTER; each is compared with the others
	MaxSelected        = 8192   // expressions in the list of a SELECT; the engine compares their names with one another
	MaxByName          = 1000   // the same in a UNION BY NAME, which does it again for each
	MaxListed          = 1000   // expressions, literals not counted, of an AND, OR, IN, ORDER BY and so on
	MaxArguments       = 10_000 // arguments of a function, elements of a list
	MaxCases           = 2000   // WHEN of all CASE together
	MaxWindows         = 256    // window functions; one sort for each
	maxWindowTerms     = 2000   // of all their PARTITION BY and ORDER BY
	MaxQueryDepth      = 50     // queries in one another
	MaxExpressionDepth = 250    // expressions in one another
	MaxSubqueryDepth   = 10     // queries that are expressions, in one another
	MaxLambdaDepth     = 10     // lambda functions in one another
	MaxLikeDepth       = 3      // LIKE and its kind in one another; see likeSQL
	maxGroupingSets    = 64     // of a GROUP BY
	maxStars           = 64     // how often * may repeat the columns of an inner query
	maxNested          = 32     // lists and structs in one another, and in types
	maxNestedSum       = 64     // the same, added up over the queries of the statement
	maxParts           = 36     // parts of a name, a.b.c: the engine calls itself for each
	maxName            = 1024   // bytes of a name; the engine compares wrong ones with all it knows
)

var errTooDeep = errs.New(errs.Unsupported,
	"the statement is nested too deeply; there may be %d queries, %d expressions, %d queries as expressions, "+
		"and %d lambda functions in one another",
	MaxQueryDepth, MaxExpressionDepth, MaxSubqueryDepth, MaxLambdaDepth)

var errTypeTooDeep = errs.New(errs.Unsupported,
	"the statement nests lists and structs too deeply; there may be %d in one another, %d over all its queries",
	maxNested, maxNestedSum)

// boundSelected bounds the columns of a SELECT or VALUES.
func (w *walker) boundSelected(columns int) error {
	most := MaxSelected
	if w.byName > 0 {
		most = MaxByName
	}
	if columns > most {
		return errs.New(errs.Unsupported, "a SELECT of %d expressions; %d are allowed, and %d in a UNION BY NAME",
			columns, MaxSelected, MaxByName)
	}
	return nil
}

// repeat notes that the columns of what lies below are taken so many times.
func (w *walker) repeat(times int) error {
	w.stars = max(w.stars, 1) * max(times, 1)
	w.maxStars = max(w.maxStars, w.stars)
	if w.stars > maxStars {
		return errs.New(errs.Unsupported, "the statement repeats the columns of a query by * more than %d times", maxStars)
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

// nest counts a list or struct around what follows.
func (w *walker) nest() error {
	w.nested++
	w.deepest = max(w.deepest, w.nested)
	if w.nested > maxNested {
		return errTypeTooDeep
	}
	return nil
}
