package simulation

import (
	"fmt"
	"strings"
	"time"
)

// Report is what a run found.
type Report struct {
	Options Options
	// Violations are broken promises; there must be none.
	Violations []string
	// Stuck are tables that did not take rows within maxRecovery after everything was mended.
	Stuck []string
	// Recovery is how long the slowest table took until it did.
	Recovery time.Duration
	// Acked is how many rows were acknowledged, Longest the longest time in which a
	// writer got no acknowledgement.
	Acked   int
	Longest time.Duration
	Events  []string
	// Logs is how many shards were compared with the whole of their log.
	Logs int

	schemas *schemaHistory
}

// Failed reports whether anything was wrong.
func (r *Report) Failed() bool { return len(r.Violations) > 0 || len(r.Stuck) > 0 }

func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%d rows acknowledged, longest gap %s, writable %s after the end of the faults\n", r.Options,
		r.Acked, r.Longest, r.Recovery)
	for _, v := range r.Violations[:min(len(r.Violations), 20)] {
		fmt.Fprintf(&b, "VIOLATION: %s\n", v)
	}
	for _, name := range r.Stuck {
		fmt.Fprintf(&b, "STUCK: table %s takes no rows\n", name)
	}
	for _, e := range r.Events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}
