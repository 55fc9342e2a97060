package config

import (
	"math"
	"os"
	"runtime/debug"
)

// Shares divides the memory of the process. Each share is what is set or, if nothing is, a part
// of Memory, in bytes.
type Shares struct {
	// Memory is what the process may use: see MachineMemory.
	Memory int64
	// Queries bounds the memory of all queries: by default a quarter.
	Queries int64
	// Bodies bounds the memory of the bodies of all requests: by default an eighth.
	Bodies int64
	// Rows bounds the rows that are not in segments yet, of all shards: by default an eighth, at
	// most four times the flush size.
	Rows int64
	// Heap bounds the heap of Go: half. Rows and the query engine lie outside of it.
	Heap int64
}

// Shares divides the memory of this machine.
func (c *Config) Shares() Shares { return c.sharesOf(MachineMemory()) }

func (c *Config) sharesOf(memory int64) Shares {
	either := func(set ByteSize, part int64) int64 {
		if set > 0 {
			return int64(set)
		}
		return part
	}
	return Shares{
		Memory: memory, Heap: memory / 2,
		Queries: either(c.Query.Memory, memory/4),
		Bodies:  either(c.HTTP.InflightLimit, memory/8),
		Rows:    either(c.Shard.Memory, min(memory/8, 4*int64(c.Shard.FlushBytes))),
	}
}

// LimitHeap makes the garbage collector work harder before the heap outgrows its share, unless
// GOMEMLIMIT says otherwise. Nothing else in the program sets that limit.
func (s Shares) LimitHeap() {
	if os.Getenv("GOMEMLIMIT") == "" && s.Memory != math.MaxInt64 {
		debug.SetMemoryLimit(s.Heap)
	}
}
