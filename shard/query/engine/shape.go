package engine

// shape is what the reductions conclude from the text of a statement alone.
type shape struct {
	// newest is what makes it a query for the newest rows, or nil.
	newest *newest
	// unordered tells that it adds up the rows of one table, in whatever order they come.
	unordered bool
	// times are the expressions that may be about a time index, the outermost ones.
	times []node
	// truncs are the calls of date_trunc that may be about a time index.
	truncs []truncCall
}

// study returns the shape of a statement, whose tree is root.
func study(st *statement, root node) *shape {
	return &shape{newest: findNewest(st, root), unordered: unordered(st, root), times: findTimes(root), truncs: truncs(st, root)}
}
