package coordinator

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// gathered reports whether all nodes that may hold shards have joined: all seeds are known, those with the role shard
// have reported, and no other node has joined.
func (c *Coordinator) gathered(snap *snapshot.Snapshot) bool {
	if c.cfg.Holders == nil {
		return false
	}
	holders, ok := c.cfg.Holders()
	for _, id := range holders {
		ok = ok && snap.Nodes[id] != nil && snap.Nodes[id].Report != nil
	}
	for _, n := range snap.Status.Nodes {
		ok = ok && (!snapshot.HoldsShards(n.Node) || slices.Contains(holders, n.Node.Id))
	}
	return ok && len(holders) > 0
}

// snapshot makes a snapshot from a status and the observations of this leader.
func (l *leading) snapshot(status *metapb.StatusResponse) *snapshot.Snapshot {
	var tables []*schema.Table
	for _, d := range l.cfg.Meta.Databases() {
		tables = append(tables, l.cfg.Meta.Tables(d.Name)...)
	}
	now := time.Now()
	snap := snapshot.New(now, l.cfg.Limits, status, tables, l.answered)
	snap.Rates = l.meter.read(now, status)
	snap.Copies = map[uint64]map[uint32]snapshot.Copy{}
	for _, t := range tables {
		if t.Handoff != nil && l.copies[t.Handoff.ID] != nil {
			snap.Copies[t.Handoff.ID] = maps.Clone(l.copies[t.Handoff.ID])
		}
	}
	l.copies = maps.Clone(snap.Copies)
	l.countNodes(snap, now)
	snap.HotFor = l.hotFor(snap, tables, now)
	snap.ClosedFor, l.closedSince = ages(now, l.closedSince, func(yield func(version) bool) {
		for _, t := range tables {
			if w := t.Writable(); w.Closed && !yield(version{t.ID, w.Epoch}) {
				return
			}
		}
	})
	snap.EmptyFor, l.emptySince = emptyFor(snap, l.emptySince)
	snap.UnchangedFor, l.unchangedSince = ages(now, l.unchangedSince, func(yield func(version) bool) {
		for _, op := range snap.Running() {
			if !yield(version{op.Id, op.Version}) {
				return
			}
		}
	})
	snap.PairedFor, l.pairedSince = ages(now, l.pairedSince, func(yield func(version) bool) {
		for _, op := range snap.Running() {
			at := op.GetReplicas().GetPromotedUnixNano()
			promotion := uint32(at / int64(time.Millisecond)) //nolint:gosec // distinguishes promotions
			if at != 0 && !yield(version{op.Id, promotion}) {
				return
			}
		}
	})
	return snap
}

// countNodes records how long the set of nodes has not changed.
func (l *leading) countNodes(snap *snapshot.Snapshot, now time.Time) {
	var there []string
	for _, n := range snap.Status.Nodes {
		if snapshot.HoldsShards(n.Node) && snap.Alive(n.Node.GetId()) {
			there = append(there, n.Node.Id)
		}
	}
	slices.Sort(there)
	if text := strings.Join(there, ","); text != l.nodes || l.stableSince.IsZero() {
		l.nodes, l.stableSince = text, now
	}
	snap.StableFor, snap.MeasuredFor, snap.Gathered = now.Sub(l.stableSince), now.Sub(l.began),
		l.Coordinator.gathered(snap)
}

// hotFor returns how long the ingest of each table that may be spread has been above the limit of
// its shards.
func (l *leading) hotFor(snap *snapshot.Snapshot, tables []*schema.Table, now time.Time) map[uint64]time.Duration {
	hot := map[uint64]time.Duration{}
	hotSince := map[uint64]time.Time{}
	for _, t := range tables {
		if t.Options[schema.OptionPartitions] != schema.PartitionsAuto ||
			snap.Rates.Table[t.ID] <= l.cfg.HotBytes*float64(len(t.Writable().Shards())) {
			continue
		}
		since, known := l.hotSince[t.ID]
		if !known {
			since = now
		}
		hotSince[t.ID] = since
		hot[t.ID] = now.Sub(since)
	}
	l.hotSince = hotSince
	return hot
}

// ages returns the age of each version, as measured by this leader on its monotonic clock. It does not use times in
// the metadata, which come from other clocks. since is its previous result.
func ages(now time.Time, since map[version]time.Time,
	there iter.Seq[version],
) (map[uint64]time.Duration, map[version]time.Time) {
	out, next := map[uint64]time.Duration{}, map[version]time.Time{}
	for v := range there {
		at, known := since[v]
		if !known {
			at = now
		}
		next[v], out[v.id] = at, now.Sub(at)
	}
	return out, next
}

// emptyFor returns, by shard, how long retiring shards have had no table, and since when on this leader's clock. It
// adds the time that earlier leaders recorded. No table can have come in between, because the metadata assign no
// table to such a shard.
func emptyFor(snap *snapshot.Snapshot, since map[version]time.Time) (map[uint64]time.Duration, map[version]time.Time) {
	out, next := map[uint64]time.Duration{}, map[version]time.Time{}
	for _, op := range snap.Running() {
		p := op.GetShardRemove()
		s := snap.Shards[p.GetShardId()]
		if s == nil || !snap.Empty(s) {
			continue
		}
		v := version{op.Id, s.Id}
		at, known := since[v]
		if !known {
			at = snap.Now.Add(-time.Duration(p.EmptyNanos))
		}
		next[v], out[uint64(s.Id)] = at, snap.Now.Sub(at)
	}
	return out, next
}
