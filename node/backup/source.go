package backup

import (
	"context"
	"io"

	"cordwood/proto/backuppb"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// Source is a cluster to back up. *Cluster implements it.
type Source interface {
	// ClusterID and Shards describe the cluster.
	ClusterID() string
	Shards() []*metapb.Shard
	// Pin flushes a shard and keeps its present segments.
	Pin(ctx context.Context, shard uint32) (Pin, error)
	// Metadata calls f with the present databases, tables, pipelines and saved objects. The order
	// is the same for the same state.
	Metadata(ctx context.Context, f func(*backuppb.Record) error) error
}

// Pin is the content of a shard at one index of its log. It is kept until Close.
type Pin interface {
	Index() uint64
	// Segments returns the segments in ascending Order.
	Segments() []*shardpb.PinnedSegment
	// Expired returns which rows of the segments have expired.
	Expired() []*shardpb.ExpiredRows
	// Merging returns the merge rules of the merging tables in the segments.
	Merging() []*shardpb.TableMerging
	// Read reads the file of a segment from an offset.
	Read(ctx context.Context, segment uint64, offset int64) (io.ReadCloser, error)
	// Lost returns a channel that is closed when the shard no longer keeps the segments.
	Lost() <-chan struct{}
	Close()
}
