// Package shardpb has the messages and the service of shards, generated from shard.proto.
package shardpb

// These are the values of SegmentStats.Location.
const (
	LocationLocal  = "local"
	LocationBucket = "bucket"
	LocationBoth   = "both"
)
