package config

import (
	"cmp"
	"math"
	"os"
	"runtime/debug"

	"cordwood/proto/heap"
)

// Shares is the division of the memory of the process, in bytes. Each share is the value of its setting. If that is
// not set, it is a part of Memory.
type Shares struct {
	// Memory is the memory that the process may use: see MachineMemory.
	Memory int64
	// Queries limits the memory of all queries: by default a quarter.
	Queries int64
	// Bodies limits the memory of the bodies of all requests: by default an eighth.
	Bodies int64
	// Rows limits the rows of all shards that are not in segments yet: by default an eighth, at most four times the
	// flush size.
	Rows int64
	// Heap limits the Go heap: half. Rows and the query engine use memory outside the heap.
	Heap int64
}

// Shares returns the division of the memory of this machine.
func (c *Config) Shares() Shares { return c.sharesOf(MachineMemory()) }

func (c *Config) sharesOf(memory int64) Shares {
	return Shares{
		Memory: memory, Heap: memory / 2,
		Queries: cmp.Or(int64(c.Query.Memory), memory/4),
		Bodies:  cmp.Or(int64(c.HTTP.InflightLimit), memory/8),
		Rows:    cmp.Or(int64(c.Shard.Memory), min(memory/8, 4*int64(c.Shard.FlushBytes))),
	}
}

// leastHeap is the maximum of the size to which the Go heap grows before a garbage collection begins. A small heap
// would be collected some ten times a second under load.
const leastHeap = 64 << 20

// PaceHeap decides how often the garbage collector runs, unless GOMEMLIMIT or GOGC is set: not before the heap has a
// minimum size, and harder above a soft limit. Nothing else in the program sets that limit.
func (s Shares) PaceHeap() {
	heap.Grow(min(leastHeap, s.Heap/8))
	if os.Getenv("GOMEMLIMIT") == "" && s.Memory != math.MaxInt64 {
		debug.SetMemoryLimit(s.Heap)
	}
}
