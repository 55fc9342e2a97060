package plan

// Settings are common to all plans of an engine.
type Settings struct {
	// Filters caches the filters in the footers of segments.
	Filters *FilterCache
	// Threads is the maximum number of goroutines that read segments for one statement.
	Threads int
	// MinAttempt is the constant MinAttempt, unless a test of small tables lowers it.
	MinAttempt int64
	// MinKept is the minimum number of rows of a segment for which partial results are kept.
	// MinByParts is the minimum number of rows in segments of a table for which a statement is
	// split on one node. Tests lower both.
	MinKept, MinByParts int64
	// Off lists the names of reductions and executors that are not tried. Tests and benchmarks set
	// it to compare.
	Off map[string]bool
}

const (
	// MinKept is the default of Settings.MinKept: reading fewer rows takes no longer than merging
	// kept partial results.
	MinKept = 16_384
	// MinByParts is the default of Settings.MinByParts: combining partial results takes one to two
	// milliseconds of CPU time, as much as reading some 100,000 rows.
	MinByParts = 500_000
)
