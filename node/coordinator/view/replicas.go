package view

import (
	"fmt"
	"strconv"
	"strings"

	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/router/httpapi/clusterapi"
)

// stuckReplicas reports replicas that cannot flush, and what the cluster does about it.
func (d *diagnosis) stuckReplicas() {
	snap := d.snap
	for _, s := range snap.Status.Shards {
		for _, id := range s.Replicas {
			why, since := snap.CannotFlush(id, s)
			if why == "" {
				continue
			}
			severity, effect := warning, "it accepts no more rows when its memory is full"
			if id == snap.Groups[s.Id].Leader {
				severity, effect = critical, "it leads, and refuses rows when its memory is full"
			}
			advice := fmt.Sprintf("check the disk of node %s, the permissions of its data folder, and its limit of open files",
				snap.Label(id))
			var actions []clusterapi.Action
			switch op := snap.FindRunning(func(o *metapb.Operation) bool { return o.ShardId == s.Id }); {
			case op != nil:
				advice += fmt.Sprintf("; operation %d (%s) is working on the shard", op.Id, op.Kind)
			case snapshot.HomeBeside(snap, s, id) == "":
				advice += "; no other node can take the replica"
				actions = []clusterapi.Action{addNode}
			case since < snap.Limits.ReplaceAfter:
				advice += fmt.Sprintf("; the replica moves to another node in %s", snapshot.Round(snap.Limits.ReplaceAfter-since))
				actions = []clusterapi.Action{{Kind: operation.ShardMove, Shard: s.Id, Node: snap.Label(id)}}
			}
			d.add(severity, advice, "shard %d: its replica on node %s could not write rows from memory to files for %s (%s); "+
				"they are in its log, and %s", s.Id, snap.Label(id), snapshot.Round(since), why, effect)
			d.offer(actions...)
		}
	}
}

// damagedReplicas reports replicas with damaged files, and what the cluster does about it.
func (d *diagnosis) damagedReplicas() {
	snap := d.snap
	for _, s := range snap.Status.Shards {
		g := snap.Groups[s.Id]
		for _, id := range s.Replicas {
			r := snap.Replica(id, s)
			if r == nil || !snap.Alive(id) || !snap.Damaged(id, s) && r.State != snapshot.StateFailed {
				continue
			}
			severity, lost := warning, ""
			if id == g.Leader {
				severity, lost = critical, ": queries that need these rows fail, or leave them out if they allow that"
			}
			text := fmt.Sprintf("shard %d: %s%s", s.Id, snapshot.DamageWords(snap, id, s), lost)
			why, never := snapshot.WhyKeepDamaged(snap, s, g, id)
			op := snap.FindRunning(func(o *metapb.Operation) bool { return o.ShardId == s.Id })
			switch {
			case op != nil:
				d.add(severity, fmt.Sprintf("nothing: operation %d (%s) repairs it", op.Id, op.Kind), "%s", text)
			case len(s.Replicas) == 1:
				d.add(severity, fmt.Sprintf("there is no other replica: stop node %s, put the files back from a backup "+
					"(docs/backup.md: One damaged file of a shard), and start it again; 'cordwood doctor --forget' gives up the rows",
					snap.Label(id)), "%s", text)
			case why != "" && never:
				d.add(severity, why, "%s", text)
			case why != "":
				d.add(severity, "it is rebuilt from the other replicas once that is possible: "+why, "%s", text)
			case !snap.Damaged(id, s):
				d.add(severity, fmt.Sprintf("check the log of node %s; the rebuild is retried; 'cordwood shard rebuild %d --node "+
					"%s' rebuilds it from the other replicas", snap.Label(id), s.Id, snap.Label(id)), "%s", text)
				d.offer(clusterapi.Action{Kind: operation.ReplicaRebuild, Shard: s.Id, Node: snap.Label(id)})
			default:
				d.add(severity, "nothing: it is rebuilt from the other replicas in a moment", "%s", text)
			}
		}
	}
}

// unreadyReplicas reports replicas that are behind. The others answer queries in the meantime, and no other replica
// may fail.
func (d *diagnosis) unreadyReplicas() {
	snap := d.snap
	groups, order := map[[2]string][]string{}, [][2]string{}
	for _, s := range snap.Status.Shards {
		for _, id := range s.Replicas {
			why := snap.WhyUnready(id, s)
			// Another line reports something worse, or there is nothing to report.
			if leader := snap.Groups[s.Id].Leader; why == "" || leader == "" || snap.Silent(leader) || snap.Unreachable(id) ||
				snap.Condition(s) == snapshot.ConditionStarting {
				continue
			}
			if strings.HasPrefix(why, "lacks") || strings.HasPrefix(why, "takes") {
				why = fmt.Sprintf("that of shard %d %s", s.Id, why) // each replica has its own number of entries
			}
			key := [2]string{id, why}
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], strconv.FormatUint(uint64(s.Id), 10))
		}
	}
	for _, key := range order {
		word := "its replica of shard"
		if len(groups[key]) > 1 {
			word = "its replicas of shards"
		}
		d.add(warning, "nothing, if it has just started: it catches up, do not stop another node until then; "+
			"if it does not catch up, check its log",
			"node %s is not ready: %s %s cannot be used (%s); queries go to other replicas", snap.Label(key[0]), word,
			snapshot.Few(groups[key]), key[1])
	}
}
