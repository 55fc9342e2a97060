package coordinator

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/schema"
)

// icebergID is the id of commits of Iceberg tables among the coordinator's calls.
const icebergID = math.MaxUint64 - 1

// Iceberg commits tables that are shown as Apache Iceberg.
type Iceberg interface {
	// Run commits tables that have changed. It is not called concurrently. tables are all tables, and leaders the nodes
	// that lead the shards.
	Run(ctx context.Context, tables []*schema.Table, leaders map[uint32]string)
	// Resign is called when the node no longer coordinates.
	Resign()
}

// commitIceberg starts commits of Iceberg tables if they are due.
func (l *leading) commitIceberg(ctx context.Context, snap *snapshot.Snapshot) {
	if l.cfg.Iceberg == nil || l.busy[icebergID] || snap.Now.Before(l.nextIceberg) {
		return
	}
	l.nextIceberg = snap.Now.Add(l.cfg.IcebergEvery)
	leaders := make(map[uint32]string, len(snap.Status.Shards))
	for _, s := range snap.Status.Shards {
		leaders[s.Id] = snap.Groups[s.Id].Leader
	}
	tables := slices.SortedFunc(maps.Values(snap.Tables), func(a, b *schema.Table) int { return cmp.Compare(a.ID, b.ID) })
	l.busy[icebergID] = true
	l.wg.Go(func() {
		l.cfg.Iceberg.Run(ctx, tables, leaders)
		select {
		case l.outcomes <- outcome{id: icebergID}:
		case <-ctx.Done():
		}
	})
}
