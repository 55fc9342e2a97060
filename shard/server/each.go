package server

import (
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/shard/query"
	"cordwood/shard/server/distribute"
)

// shardByShard divides a part of a query into one request for each shard if its table merges rows and has several
// shards on this node. All rows of an identity are in one shard, and only within a shard do rows have an order.
// Otherwise it returns nil.
func shardByShard(req *shardpb.QueryRequest) []*shardpb.QueryRequest {
	if !req.Part || len(req.Tables) != 1 {
		return nil
	}
	t := req.Tables[0]
	if t.Name == nil || t.Table == nil || t.Inline {
		return nil
	}
	if len(t.MoreShards) == 0 {
		return nil
	}
	shards := distribute.ShardsOf(t)
	if len(shards) < 2 || query.MergeOf(schema.FromProto(t.Table)) == query.Append {
		return nil
	}
	out := make([]*shardpb.QueryRequest, len(shards))
	for i, id := range shards {
		out[i] = &shardpb.QueryRequest{
			Sql: req.Sql, Database: req.Database, Limit: req.Limit, Timezone: req.Timezone, Part: true, Share: req.Share,
			QueryId: req.QueryId, AllowPartial: req.AllowPartial, AnyReplica: req.AnyReplica,
			MaxStalenessNanos: req.MaxStalenessNanos, Unchecked: req.Unchecked, Nodes: req.Nodes,
			Tables: []*shardpb.QueryTable{{Name: t.Name, Table: t.Table, ShardId: id, ExpiredBefore: t.ExpiredBefore}},
		}
	}
	return out
}
