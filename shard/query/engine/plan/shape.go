package plan

import "cordwood/shard/query/engine/sql"

// Shape is what the reductions conclude from the text of a statement alone.
type Shape struct {
	// Newest is what makes it a query for the newest rows, or nil.
	Newest *newest
	// unordered tells that it adds up the rows of one table, in whatever order they come.
	unordered bool
	// times are the expressions that may be about a time index, the outermost ones.
	times []sql.Node
	// truncs are the calls of date_trunc that may be about a time index.
	truncs []truncCall
}

// Study returns the shape of a statement, whose tree is root.
func Study(st *sql.Statement, root sql.Node) *Shape {
	return &Shape{Newest: findNewest(st, root), unordered: unordered(st, root), times: findTimes(root), truncs: truncs(st, root)}
}
