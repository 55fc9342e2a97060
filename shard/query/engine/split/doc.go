// Package split splits a SELECT over one table, so that the nodes that have the rows do most of the
// work. The result is a statement W that each node runs over its rows, and a final statement F that
// runs over the answers of all nodes, the partial results.
//
// It works only on syntax trees: it runs nothing and needs no database. It knows lists of
// functions, aggregates and kinds of syntax nodes. For a statement with anything else it returns a
// reason, and the router fetches the rows instead.
package split
