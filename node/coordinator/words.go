package coordinator

import (
	"strconv"
	"strings"
)

func shardNames(ids []uint32) string {
	if len(ids) == 0 {
		return "none"
	}
	var out []string
	for _, id := range ids {
		out = append(out, strconv.FormatUint(uint64(id), 10))
	}
	if len(ids) == 1 {
		return "shard " + out[0]
	}
	return "shards " + strings.Join(out, ", ")
}

// shardsTake and shardsHave return the shards with the verb in the matching number. takeOf returns only the verb.
func shardsTake(ids []uint32) string { return shardNames(ids) + " " + takeOf(ids) }

func shardsHave(ids []uint32) string {
	if len(ids) == 1 {
		return shardNames(ids) + " has"
	}
	return shardNames(ids) + " have"
}

func takeOf(ids []uint32) string {
	if len(ids) == 1 {
		return "takes"
	}
	return "take"
}
