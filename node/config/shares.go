package config

// MemoryShares are the bounds of memory that the settings amount to on this machine, and
// what there is: queries, bodies of requests, rows not yet in segments.
func (c *Config) MemoryShares() (queries, bodies, rows, memory int64) {
	memory = MachineMemory()
	return OrQuarter(c.Query.Memory, memory), OrQuarter(c.HTTP.InflightLimit, memory), c.MemtableBudget(memory), memory
}

// MemtableBudget is the memory of all memtables of the node together: what is set,
// else an eighth of the machine's, at most four times the flush size.
func (c *Config) MemtableBudget(memory int64) int64 {
	if c.Shard.Memory > 0 {
		return int64(c.Shard.Memory)
	}
	return min(memory/8, 4*int64(c.Shard.FlushBytes))
}

// OrQuarter is the size that was set or, if none was, a quarter of the memory.
func OrQuarter(set ByteSize, memory int64) int64 {
	if set > 0 {
		return int64(set)
	}
	return memory / 4
}
