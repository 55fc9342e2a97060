package sql

// walker checks a syntax tree and collects what it refers to. Whatever kind of node
// it does not know, it refuses.
type walker struct {
	st       *Statement
	database string
	// growth is the product of the sizes that the statement asks for.
	growth int64
	// weight is how many tables have been read so far if every CTE is put in wherever
	// it is named, as the engine may do.
	weight int
	// joins is the same for joins.
	joins int
	// filters is how many aggregates have a FILTER, windows how many functions have a window, cases
	// how many branches all CASE have.
	filters, windows, windowTerms, cases int
	// byName is how many UNION BY NAME are around the node at hand.
	byName int
	// stars is the product of the numbers of stars in the lists of columns of the queries
	// around the node at hand, maxStars the largest one met.
	stars, maxStars int
	// deepest is the most lists and structs in one another in the query at hand, levels the sum of
	// these over the queries that have been left.
	deepest, levels int
	around
}

// around is what the node at hand stands in.
type around struct {
	// These are how many of each are around the node.
	queries, expressions, subqueries, lambdas, likes int
	// nested are the lists and structs around the node, in its query.
	nested int
	// notAt is the position of the NOT whose operand the node is, else -1.
	notAt int
}

// scope holds the names of the CTEs that are visible at a place, in lower case.
type scope struct {
	name string
	// weight is how many tables the CTE reads, joins how many joins it has, stars how often it may
	// repeat their columns.
	weight, joins, stars int
	outer                *scope
}

// find returns the innermost CTE of that name, or nil.
func (s *scope) find(name string) *scope {
	for s != nil && s.name != name {
		s = s.outer
	}
	return s
}
