// Package placement holds the rules by which tables get their shard and shards their replicas. They are pure
// functions of their arguments: the metadata state machine calls them on every member and must get the same result.
package placement

import (
	"encoding/binary"
	"hash/fnv"

	"cordwood/proto/metapb"
)

// Load is the number of tables that write to a shard.
type Load struct {
	ShardID uint32
	Tables  uint64
}

// Pick chooses the shard of a new table: the one with the fewest tables, and of several the one
// that a hash of the table's name prefers, so that the choice is distributed and stable. It returns
// false if there is no shard.
func Pick(loads []Load, database, table string) (uint32, bool) {
	best, found := Load{}, false
	var bestHash uint64
	for _, l := range loads {
		if found && l.Tables > best.Tables {
			continue
		}
		h := affinity(l.ShardID, database, table)
		if !found || l.Tables < best.Tables || h > bestHash || h == bestHash && l.ShardID < best.ShardID {
			best, bestHash, found = l, h, true
		}
	}
	return best.ShardID, found
}

// affinity returns how much a shard is preferred for a table. It is part of the
// replicated state machine: changing it needs a new command.
func affinity(shard uint32, database, table string) uint64 {
	h := fnv.New64a()
	var b [4]byte
	binary.LittleEndian.PutUint32(b[:], shard)
	_, _ = h.Write([]byte(database))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(table))
	_, _ = h.Write(b[:])
	x := h.Sum64() // FNV leaves the last bytes in the low bits, so mix them
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// Initial returns the shards of a new cluster: 1 to n, each with its one replica on node.
func Initial(n uint32, node string) []*metapb.Shard {
	shards := make([]*metapb.Shard, 0, n)
	for id := uint32(1); id <= n; id++ {
		shards = append(shards, &metapb.Shard{Id: id, Incarnation: 1, Replicas: []string{node}})
	}
	return shards
}
