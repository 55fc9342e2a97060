// Package split takes a SELECT over one table apart, so that the nodes that have the rows do most of the work:
// a statement W that each node runs over its rows, and a statement F over what all W return, the partials.
//
// It works on syntax trees alone: it runs nothing, and needs no engine. It knows lists of nodes, functions and
// aggregates; for a statement with anything else it returns a reason, and the rows are fetched instead.
package split
