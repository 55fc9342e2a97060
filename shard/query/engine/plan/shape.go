package plan

import "cordwood/shard/query/engine/sql"

// Shape contains what reductions learn from the text of a statement alone.
type Shape struct {
	// Newest is set if it is a query for the newest or the oldest rows, otherwise nil.
	Newest *newest
	// unordered means that the statement aggregates the rows of one table and does not depend on
	// their order.
	unordered bool
	// times are the outermost expressions that may use a time index.
	times []sql.Node
	// truncs are the calls of date_trunc that may use a time index.
	truncs []truncCall
}

// newest describes a statement for rows of one table, each by itself, with the latest or the oldest
// first and a LIMIT.
type newest struct {
	Ref   int    // index in statement.tables
	order string // name of the column in ORDER BY
	rows  uint64 // LIMIT plus OFFSET; 0 means no LIMIT
	Limit uint64 // LIMIT alone
	// Oldest means that the oldest rows are requested, not the newest.
	Oldest bool
}

// An indistinct function reports whether a use of the time index gives the same result for all
// moments of a span in nanoseconds.
type indistinct func(times Span) bool

// truncCall is a call of date_trunc on the time index of a table, with a unit of fixed length.
// DuckDB's function spends most of its time on converting nanoseconds to a date and back. Ours
// divides, and only where another unit begins.
type truncCall struct {
	Ref            int // index in statement.tables
	column         sql.Node
	literal        string
	microseconds   int64
	name, argument sql.Edit
}
