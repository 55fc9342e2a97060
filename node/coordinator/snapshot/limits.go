package snapshot

import (
	"cmp"
	"time"
)

// Limits are the time limits and thresholds of the rules.
type Limits struct {
	// ReplaceAfter is how long a node must be silent before its replicas and its vote in the metadata group are
	// replaced. The default value is 15 minutes.
	ReplaceAfter time.Duration
	// DownAfter is how long a member of the metadata group may be silent. The default value is 10
	// s.
	DownAfter time.Duration
	// GiveUpAfter is how long a node that should get a replica may be silent before the change is
	// undone. The default value is 1 minute.
	GiveUpAfter time.Duration
	// PairLimit is how long a shard of one replica may have two voters while it is moved, since both have to be alive
	// for writes. The default value is 30 s.
	PairLimit time.Duration
	// Settle is the time without joining or leaving nodes after which shards are created for the
	// present nodes. The default value is 3 s.
	Settle time.Duration
	// FinaliseAfter is how long all nodes must have answered and supported a newer version before
	// the cluster uses it. The default value is 1 minute.
	FinaliseAfter time.Duration
	// RebalanceRest is the minimum time between a rebalance, or a change of nodes, and the next rebalance that no
	// user requests. The default value is 10 minutes.
	RebalanceRest time.Duration
	// TableRest is the minimum time between two moves of a table. The default value is 5 minutes.
	TableRest time.Duration
	// HotBytes is the maximum ingest rate of one table on one shard, in bytes a second. The default
	// value is 16 MiB/s.
	HotBytes float64
	// HotFor is how long a table with partitions=auto must exceed HotBytes before it gets another
	// shard. The default value is 5 minutes.
	HotFor time.Duration
	// ShardsPerNode is the number of shards for each node up to which shards are created for new nodes. The default
	// value is 4.
	ShardsPerNode int
}

// WithDefaults returns the limits with default values for unset fields.
func (l Limits) WithDefaults() Limits {
	l.ReplaceAfter = cmp.Or(l.ReplaceAfter, 15*time.Minute)
	l.DownAfter = cmp.Or(l.DownAfter, 10*time.Second)
	l.GiveUpAfter = cmp.Or(l.GiveUpAfter, time.Minute)
	l.PairLimit = cmp.Or(l.PairLimit, 30*time.Second)
	l.Settle = cmp.Or(l.Settle, 3*time.Second)
	l.FinaliseAfter = cmp.Or(l.FinaliseAfter, time.Minute)
	l.RebalanceRest = cmp.Or(l.RebalanceRest, 10*time.Minute)
	l.TableRest = cmp.Or(l.TableRest, 5*time.Minute)
	l.HotFor = cmp.Or(l.HotFor, 5*time.Minute)
	l.HotBytes = cmp.Or(l.HotBytes, 16<<20)
	l.ShardsPerNode = cmp.Or(l.ShardsPerNode, 4)
	return l
}
