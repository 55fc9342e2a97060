package snapshot

import (
	"cmp"
	"time"
)

// Limits say how long the rules wait, and what is too much for them.
type Limits struct {
	// ReplaceAfter is how long a node must be silent until its replicas are replaced, and
	// it as a voter of the metadata group. The default value is 15 minutes.
	ReplaceAfter time.Duration
	// DownAfter is how long a member of the metadata group may be silent. The default
	// value is 10 s.
	DownAfter time.Duration
	// GiveUpAfter is how long a node that is to get a replica may be silent before the change is
	// undone. The default value is 1 minute.
	GiveUpAfter time.Duration
	// PairLimit is for how long a shard of one replica may have two voters while it is
	// moved; both have to live. The default value is 30 s.
	PairLimit time.Duration
	// Settle is how long no node must have come or gone before shards are made for the
	// nodes that are there. The default value is 3 s.
	Settle time.Duration
	// FinaliseAfter is how long all nodes must have answered, and known a newer version,
	// until the cluster uses it. The default value is 1 minute.
	FinaliseAfter time.Duration
	// RebalanceRest is how long after a rebalance, or a change of nodes, another one begins
	// by itself. The default value is 10 minutes.
	RebalanceRest time.Duration
	// TableRest is how long a table stays where it is after it was moved. The default value
	// is 5 minutes.
	TableRest time.Duration
	// HotBytes is how much one shard should take in of one table at most, in bytes a second. The
	// default value is 16 MiB/s.
	HotBytes float64
	// HotFor is how long a table with partitions=auto must exceed HotBytes until it gets another
	// shard. The default value is 5 minutes.
	HotFor time.Duration
	// ShardsPerNode bounds the shards that are made for nodes that come. The default
	// value is 4.
	ShardsPerNode int
}

// WithDefaults returns the limits with the default values where nothing is set.
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
