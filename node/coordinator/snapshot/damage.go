package snapshot

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/metapb"
)

// WhyKeepDamaged returns the reason why a damaged replica has to stay for now, or an empty text. The replica may have
// the last copy of some rows, so each of the other replicas must be complete. never means that waiting does not help.
func WhyKeepDamaged(snap *Snapshot, s *metapb.Shard, g *Group, node string) (why string, never bool) {
	switch {
	case !slices.ContainsFunc(s.Replicas, func(id string) bool { return id != node }):
		return fmt.Sprintf("shard %d has one replica, on node %s: there is no other replica to rebuild it from; "+
			"restore the damaged files from a backup", s.Id, snap.Name(node)), true
	case snap.Drained(node):
		return fmt.Sprintf("node %s is being drained, which removes its replica", snap.Name(node)), true
	case !snap.Alive(node):
		return fmt.Sprintf("node %s does not answer", snap.Name(node)), false
	case snap.Stopping(node) || snap.Nodes[node].GetReport().GetDiskFull():
		return snap.WhyNoReplicas(node), false
	case g.Leader == "":
		return snap.WhyLeaderless(s), false
	case len(g.Learners) > 0 || !slices.Equal(slices.Sorted(slices.Values(g.Voters)),
		slices.Sorted(slices.Values(s.Replicas))):
		return fmt.Sprintf("the members of shard %d change: the metadata list %s, the group has %s", s.Id,
			snap.Names(s.Replicas), snap.Names(g.Voters)), false
	}
	var lacking []string
	for _, id := range s.Replicas {
		if why := whyNoSource(snap, s, g, id); id != node && why != "" {
			lacking = append(lacking, why)
		}
	}
	if len(lacking) > 0 {
		return fmt.Sprintf("the replica of shard %d on node %s stays until all others are ready and undamaged: %s", s.Id,
			snap.Name(node), strings.Join(lacking, "; ")), false
	}
	return "", false
}

// whyNoSource returns the reason why a replica cannot replace a damaged one, or an empty text.
func whyNoSource(snap *Snapshot, s *metapb.Shard, g *Group, id string) string {
	r := snap.Replica(id, s)
	switch {
	case !snap.Alive(id) || r == nil:
		return fmt.Sprintf("node %s does not answer", snap.Name(id))
	case snap.Stopping(id):
		return fmt.Sprintf("node %s is stopping", snap.Name(id))
	case snap.Damaged(id, s):
		return fmt.Sprintf("the replica on node %s is damaged too: restore the files that it lists", snap.Name(id))
	case !snap.CaughtUp(s, g, id) && id != g.Leader:
		return fmt.Sprintf("the replica on node %s is %s", snap.Name(id), LagWords(r, g))
	}
	return ""
}

// DamageWords describes the damage of a replica.
func DamageWords(snap *Snapshot, node string, s *metapb.Shard) string {
	r := snap.Replica(node, s)
	if r.GetDamagedSegments() == 0 {
		return fmt.Sprintf("the replica on node %s does not open: %s", snap.Name(node), r.GetReason())
	}
	var files []string
	for _, d := range r.Damaged {
		files = append(files, fmt.Sprintf("%s (%d rows)", d.File, d.Rows))
	}
	if more := int(r.DamagedSegments) - len(files); more > 0 {
		files = append(files, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d damaged files on node %s: %s", r.DamagedSegments, snap.Name(node), Few(files))
}
