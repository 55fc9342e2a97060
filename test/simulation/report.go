package simulation

import (
	"fmt"
	"strings"
	"time"
)

// Report is the result of a run.
type Report struct {
	Options Options
	// Violations lists broken guarantees; there must be none.
	Violations []string
	// Stuck lists tables that accepted no rows within maxRecovery after everything was repaired.
	Stuck []string
	// Recovery is the time until the slowest table accepted rows.
	Recovery time.Duration
	// Acked is the number of acknowledged rows. Longest is the longest time for which a writer got no
	// acknowledgement.
	Acked   int
	Longest time.Duration
	Events  []string
	// Logs is the number of shards that were compared with their complete log.
	Logs int
	// Queries is the number of queries of whole tables that were answered, and Parts the number of parts of queries that
	// nodes ran.
	Queries, Parts int64
	// Taken is the number of segments that followers took from their leaders.
	Taken int64
	// Joined is the number of cuts that have been joined in object storage.
	Joined int

	schemas *schemaHistory
}

// Failed reports whether there is any fault.
func (r *Report) Failed() bool { return len(r.Violations) > 0 || len(r.Stuck) > 0 }

func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d rows acknowledged, longest gap %s, writable %s after the end of the faults\n", r.Options,
		r.Acked, r.Longest, r.Recovery)
	for _, v := range r.Violations[:min(len(r.Violations), 20)] {
		fmt.Fprintf(&b, "VIOLATION: %s\n", v)
	}
	for _, name := range r.Stuck {
		fmt.Fprintf(&b, "STUCK: table %s accepts no rows\n", name)
	}
	for _, e := range r.Events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}
