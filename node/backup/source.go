package backup

import (
	"context"
	"io"

	"cordwood/proto/backuppb"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
)

// Source is a cluster that is backed up. *Cluster is one.
type Source interface {
	// ClusterID and Shards describe the cluster.
	ClusterID() string
	Shards() []*metapb.Shard
	// Pin flushes a shard and keeps what it has.
	Pin(ctx context.Context, shard uint32) (Pin, error)
	// Metadata calls f with databases, tables, pipelines and what users have saved as they are now, in an
	// order that is the same for the same state.
	Metadata(ctx context.Context, f func(*backuppb.Record) error) error
}

// Pin is what a shard had at one index of its log, kept until Close.
type Pin interface {
	Index() uint64
	// Segments are in rising order of Order.
	Segments() []*shardpb.PinnedSegment
	// Expired is what has expired of the tables in them.
	Expired() []*shardpb.ExpiredRows
	// Merging is how the rows of merging tables in them merge.
	Merging() []*shardpb.TableMerging
	// Read reads a segment's file from an offset on.
	Read(ctx context.Context, segment uint64, offset int64) (io.ReadCloser, error)
	// Lost is closed when the shard keeps the segments no more.
	Lost() <-chan struct{}
	Close()
}
