package plan

// Settings is what all plans of an engine have in common.
type Settings struct {
	// Filters has what footers of segments say.
	Filters *FilterCache
	// Threads is how many goroutines may read segments for one statement.
	Threads int
	// MinAttempt is the constant of that name; tests of small tables lower it.
	MinAttempt int64
	// MinKept is how many rows a segment has at least of which partials are kept, and MinByParts how many rows all
	// segments of a table that is asked as if it lay on several nodes; tests lower both.
	MinKept, MinByParts int64
	// Off names the reductions and executors that are not tried; tests and benchmarks compare.
	Off map[string]bool
}

const (
	// MinKept is that of Settings: to read less takes no more than to add up what is known of it.
	MinKept = 16_384
	// MinByParts is that of Settings: a last step takes a millisecond or two of CPU, as much as to read some 100,000 rows.
	MinByParts = 500_000
)
