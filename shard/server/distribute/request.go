package distribute

import (
	"slices"

	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
)

// BareTables returns tables of a request without rows.
func BareTables(tables ...*shardpb.QueryTable) []query.Table {
	out := make([]query.Table, 0, len(tables))
	for _, t := range tables {
		if t.Name != nil && t.Table != nil {
			out = append(out, query.Table{Database: t.Name.Database, Name: t.Name.Name, Schema: schema.FromProto(t.Table)})
		}
	}
	return out
}

// ShardsOf lists the shards of a table, each once.
func ShardsOf(t *shardpb.QueryTable) []uint32 {
	out := []uint32{t.ShardId}
	for _, id := range t.MoreShards {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
