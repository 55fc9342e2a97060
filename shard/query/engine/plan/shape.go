package plan

import "cordwood/shard/query/engine/sql"

// Shape is what the reductions conclude from the text of a statement alone.
type Shape struct {
	// Newest is what makes it a query for the newest or the oldest rows, or nil.
	Newest *newest
	// unordered means that it adds up the rows of one table, in whatever order they come.
	unordered bool
	// times are the expressions that may be about a time index, the outermost ones.
	times []sql.Node
	// truncs are the calls of date_trunc that may be about a time index.
	truncs []truncCall
}

// newest is the form that a statement must have: its rows are the rows of one table, each by
// itself, the latest or the oldest first, and at most so many.
type newest struct {
	Ref   int    // in statement.tables
	order string // the name by which it orders
	rows  uint64 // LIMIT and OFFSET together; 0: no LIMIT
	Limit uint64 // LIMIT alone
	// Oldest means that the oldest rows are asked for, not the newest.
	Oldest bool
}

// An indistinct reports whether all moments of a span, in nanoseconds, are the same to a use of
// the time index.
type indistinct func(times Span) bool

// truncCall is a call of date_trunc that may be about the time index of a table, by a unit
// of one length. Most of what the engine's own takes is the way of a time in nanoseconds
// to a date and back; ours divides, and that only where another unit begins.
type truncCall struct {
	Ref            int // in statement.tables
	column         sql.Node
	literal        string
	microseconds   int64
	name, argument sql.Edit
}
