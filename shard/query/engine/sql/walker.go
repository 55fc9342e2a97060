package sql

// walker checks a syntax tree and collects its references. It refuses every unknown kind of node.
type walker struct {
	st       *Statement
	database string
	// growth is the product of the sizes that the statement requests.
	growth int64
	// weight is the number of tables read so far. A CTE counts for each use, because DuckDB may
	// copy it.
	weight int
	// joins counts joins in the same way.
	joins int
	// filters counts aggregates with a FILTER, windows counts window functions, cases counts the
	// WHEN branches.
	filters, windows, windowTerms, cases int
	// combined counts the queries that set operations combine, besides the first of each.
	combined int
	// byName is the number of UNION BY NAME around the current node.
	byName int
	// stars is the product of the numbers of stars in the column lists of the queries around the
	// current node. maxStars is its largest value so far.
	stars, maxStars int
	// deepest is the maximum nesting of lists and structs in the current query. levels is the sum
	// of these over the queries that have been left.
	deepest, levels int
	around
}

// around describes what surrounds the current node.
type around struct {
	// The number of each kind of node around the current one.
	queries, expressions, subqueries, lambdas, likes int
	// nested is the number of lists and structs around the node, within its query.
	nested int
	// notAt is the position of the NOT whose operand is the node, or -1.
	notAt int
}

// scope holds the names of the visible CTEs, in lower case.
type scope struct {
	name string
	// weight is the number of tables that the CTE reads, joins is the number of its joins, and
	// stars is how often it may repeat their columns.
	weight, joins, stars int
	outer                *scope
}

// find returns the innermost CTE with this name, or nil.
func (s *scope) find(name string) *scope {
	for s != nil && s.name != name {
		s = s.outer
	}
	return s
}
