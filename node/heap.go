package node

import (
	"math"
	"os"
	"runtime/debug"
)

// limitHeap makes the collector work harder before the process outgrows its limit,
// unless GOMEMLIMIT says otherwise. Memory outside the Go heap (rows in memory,
// the query engine) has the other share.
func limitHeap(limit int64) {
	if os.Getenv("GOMEMLIMIT") == "" && limit != math.MaxInt64 {
		debug.SetMemoryLimit(limit / 2)
	}
}
