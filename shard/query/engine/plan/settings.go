package plan

// Settings is what all plans of an engine have in common.
type Settings struct {
	// Filters has what footers of segments say.
	Filters *FilterCache
	// Threads is how many goroutines may read segments for one statement.
	Threads int
	// MinAttempt is the constant of that name; tests of small tables lower it.
	MinAttempt int64
	// Off names the reductions and executors that are not tried; tests and benchmarks compare.
	Off map[string]bool
}
