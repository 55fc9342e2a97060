package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// stepRecreate is a step that only shard-drop has.
const stepRecreate = "anew"

// dropShard implements shard-drop: it gives up the rows of a shard whose disks are lost. The shard
// is created again without rows on other nodes, so that its tables can be written and read again.
// The files of former replicas stay on their disks and are not used again.
func dropShard(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	p := op.GetShardDrop()
	s := snap.Shards[p.GetShardId()]
	if s == nil {
		return failed("end", "there is no shard %d", p.GetShardId())
	}
	if s.Incarnation > p.Incarnation {
		if snap.Groups[s.Id].Leader == "" {
			return wait(stepStart, "%s", snap.WhyLeaderless(s))
		}
		return finished("shard %d was created again without rows on %s; lost are %s", s.Id, snap.Names(s.Replicas), p.Loss)
	}
	if op.Cancel {
		return cancelled("shard %d was not given up", s.Id)
	}
	if why := whyKeepShard(snap, s); why != "" {
		return failed("end", "%s", why)
	}
	homes, why := newHomes(snap, s)
	if why != "" {
		return wait(stepRecreate, "%s", why)
	}
	return call(stepRecreate, fmt.Sprintf("shard %d is created again, without rows, on %s", s.Id, snap.Names(homes)),
		changeShard(snap, "create a shard again without rows", s, func(c *metapb.ChangeShard) {
			c.Change = &metapb.ChangeShard_MadeAnew{MadeAnew: &metapb.MadeAnew{NodeIds: homes}}
		}))
}

// whyKeepShard returns the reason why the rows of a shard must not be given up. It is empty if only nodes that do not
// answer have the rows.
func whyKeepShard(snap *snapshot.Snapshot, s *metapb.Shard) string {
	var open, silent []string
	for _, id := range s.Replicas {
		switch r := snap.Replica(id, s); {
		case snap.Silent(id):
			silent = append(silent, id)
		case snap.Alive(id) && r != nil && r.State != snapshot.StateFailed:
			open = append(open, id)
		}
	}
	switch g := snap.Groups[s.Id]; {
	case len(silent) > 0:
		return fmt.Sprintf("shard %d is not given up: node %s reported %s ago, and may be alive: try again in %s", s.Id,
			snap.Labels(silent), snapshot.Round(snap.SilentFor(silent[0])), snap.Limits.DownAfter)
	case g.Leader != "":
		return fmt.Sprintf("shard %d works: node %s leads it; nothing is lost", s.Id, snap.Label(g.Leader))
	case len(open) > 0:
		return fmt.Sprintf("shard %d still has a replica on %s, with its rows: start its other nodes again, "+
			"or continue with "+
			"the remaining one: see 'cordwood recover --help'", s.Id, snap.Labels(open))
	case snap.Status.ClusterVersion < metapb.ProtocolRecreate:
		return fmt.Sprintf("shard %d cannot be created again before the cluster uses protocol version %d; it uses %d: "+
			"upgrade all nodes first", s.Id, metapb.ProtocolRecreate, snap.Status.ClusterVersion)
	}
	return ""
}

// newHomes chooses the nodes for a shard that is created again: as many as the shard has replicas, or fewer if there
// are not enough. It takes a node with a former replica only if there is no other.
func newHomes(snap *snapshot.Snapshot, s *metapb.Shard) (nodes []string, why string) {
	for n := snapshot.Want(s); n > 0; n-- {
		nodes, why = snapshot.Homes(snap, n, "", slices.Concat(s.Replicas, s.Learners, s.Removed)...)
		if why == "" {
			return nodes, ""
		}
	}
	return snapshot.Homes(snap, 1, "", s.Removed...)
}

// lossWords describes what is lost with a shard: its tables, and the amount of data in the last
// report.
func lossWords(snap *snapshot.Snapshot, s *metapb.Shard) string {
	var tables []string
	for _, id := range slices.Sorted(maps.Keys(snap.Tables)) {
		t := snap.Tables[id]
		switch {
		case !slices.Contains(t.Shards(), s.Id):
		case slices.Contains(t.Writable().Shards(), s.Id) && len(t.Shards()) == 1:
			tables = append(tables, fmt.Sprintf("all rows of %s.%s", t.Database, t.Name))
		case t.Options[schema.OptionPartitions] != "" && slices.Contains(t.Writable().Shards(), s.Id):
			tables = append(tables, fmt.Sprintf("a part of the rows of %s.%s", t.Database, t.Name))
		default:
			tables = append(tables, fmt.Sprintf("older rows of %s.%s", t.Database, t.Name))
		}
	}
	size, where := "its size has not been reported to the present leader of the metadata group", []string{}
	for _, id := range s.Replicas {
		r := snap.Replica(id, s)
		if snap.Nodes[id] == nil {
			continue
		}
		where = append(where, fmt.Sprintf("node %s, last reported %s ago", snap.Label(id),
			snapshot.Round(snap.SilentFor(id))))
		if r != nil && r.SegmentBytes+r.MemtableBytes > 0 {
			size = fmt.Sprintf("about %d bytes, up to entry %d of its log", r.SegmentBytes+r.MemtableBytes, r.LastIndex)
		}
	}
	if len(where) == 0 {
		where = []string{"nodes that were removed"}
	}
	on := strings.Join(where, ", ")
	if len(tables) == 0 {
		return fmt.Sprintf("no rows: it holds no table (on %s)", on)
	}
	return fmt.Sprintf("%s (%s; on %s)", snapshot.Few(tables), size, on)
}
