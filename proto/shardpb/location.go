package shardpb

// These are the values of SegmentStats.Location.
const (
	LocationLocal  = "local"
	LocationBucket = "bucket"
	LocationBoth   = "both"
)
