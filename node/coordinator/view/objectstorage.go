package view

import (
	"maps"
	"slices"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/clusterapi"
)

// objectStorageOf describes the object storage of the nodes that answer, or returns nil if they use none.
func objectStorageOf(snap *snapshot.Snapshot) *clusterapi.ObjectStorage {
	out := &clusterapi.ObjectStorage{State: "ok", Nodes: []string{}, Shards: []clusterapi.StorageLag{}}
	locations, bad := map[string]bool{}, map[string][]string{}
	stored := int64(0)
	for _, n := range snap.Status.Nodes {
		id, use := n.GetNode().GetId(), n.GetReport().GetObjects()
		if use == nil || !snap.Alive(id) {
			continue
		}
		locations[use.Location] = true
		stored = max(stored, use.StoredUnixNano)
		if use.State != "ok" {
			bad[use.State] = append(bad[use.State], snap.Label(id))
		}
	}
	if len(locations) == 0 {
		return nil
	}
	out.Locations = slices.Sorted(maps.Keys(locations))
	for _, state := range []string{"unchecked", "failing"} { // the worst one is the last one
		if nodes := bad[state]; len(nodes) > 0 {
			out.State, out.Nodes = state, slices.Sorted(slices.Values(nodes))
		}
	}
	if stored > 0 {
		since := max(snap.Now.Sub(time.Unix(0, stored)), 0).Seconds()
		out.LastUploadSeconds = &since
	}
	for _, s := range snap.Status.Shards {
		if lag := lagOf(snap, s); lag != nil {
			out.Shards = append(out.Shards, *lag)
		}
	}
	slices.SortFunc(out.Shards, func(a, b clusterapi.StorageLag) int { return int(a.Shard) - int(b.Shard) })
	return out
}

// lagOf returns how far object storage is behind a shard, or nil if its leader does not say so.
func lagOf(snap *snapshot.Snapshot, s *metapb.Shard) *clusterapi.StorageLag {
	for _, id := range s.Replicas {
		r := snap.Replica(id, s)
		lag := r.GetLag()
		if lag == nil || r.State != snapshot.StateLeader || !snap.Alive(id) {
			continue
		}
		out := &clusterapi.StorageLag{
			Shard: s.Id, RowsSeconds: time.Duration(lag.RowsNanos).Seconds(),
			StateSeconds: time.Duration(lag.StateNanos).Seconds(),
		}
		if lag.ShipsLog {
			log := time.Duration(lag.LogNanos).Seconds()
			out.LogSeconds = &log
		}
		return out
	}
	return nil
}

const adviceObjects = "run 'cordwood object-storage check' with the settings of this node (docs/object-storage.md)"

// objectStorage reports what is wrong with object storage: once for nodes with the same fault.
func (d *diagnosis) objectStorage() {
	by := map[string][]string{}
	for _, n := range d.snap.Status.Nodes {
		if id := n.GetNode().GetId(); d.snap.Alive(id) && n.GetReport().GetObjectStorage() != "" {
			by[n.Report.ObjectStorage] = append(by[n.Report.ObjectStorage], id)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(by)) {
		d.add(warning, adviceObjects, "%s: %s", d.snap.Labels(by[text]), text)
	}
}
