package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// foundingTime is the time for which a cluster may have no shard.
const foundingTime = 5 * time.Minute

// starting reports new shards and nodes.
func (d *diagnosis) starting() {
	snap := d.snap
	var shards, nodes []string
	for _, s := range snap.Status.Shards {
		if snap.Condition(s) == snapshot.ConditionStarting {
			shards = append(shards, strconv.FormatUint(uint64(s.Id), 10))
		}
	}
	for _, n := range snap.Status.Nodes {
		if id := n.GetNode().GetId(); snap.Joining(id) {
			nodes = append(nodes, snap.Label(id))
		}
	}
	if len(shards) > 0 {
		word := "shard " + shards[0] + " is new and starts: it holds"
		if len(shards) > 1 {
			word = "shards " + snapshot.Few(shards) + " are new and start: they hold"
		}
		d.add(info, "nothing: requests to new tables wait until it has started", "%s no rows yet", word)
	}
	if len(nodes) > 0 {
		slices.Sort(nodes)
		d.add(info, "nothing: nodes report every second", "new nodes, which have not reported yet: %s", snapshot.Few(nodes))
	}
}

// leaderlessShards reports shards without a leader.
func (d *diagnosis) leaderlessShards() {
	snap := d.snap
	for _, s := range snap.Status.Shards {
		switch c := snap.Condition(s); {
		case snap.Empty(s):
			d.leaving(s)
		case c == snapshot.ConditionElecting:
			d.electing(s)
		case c == snapshot.ConditionNone:
			d.leaderless(s)
		}
	}
	if len(snap.Status.Shards) > 0 {
		return
	}
	n, severity := snap.Status.GetSettings().GetInitialShards(), warning
	_, why := snapshot.Homes(snap, int(max(snap.Status.GetSettings().GetReplication(), 1)), "")
	switch {
	case time.Duration(snap.Status.LeadingNanos) >= foundingTime:
		severity = critical
	case why == "":
		severity = info
	}
	advice := "nothing: that takes some seconds"
	if why != "" {
		advice = fmt.Sprintf("start %d or more nodes with the role shard", max(snap.Status.GetSettings().GetReplication(), 1))
	}
	d.add(severity, advice, "there is no shard yet: rows can be neither written nor read; %d are to be created", n)
}

// leaving reports a shard without tables whose removal waits for replicas that do not report.
func (d *diagnosis) leaving(s *metapb.Shard) {
	away := slices.DeleteFunc(slices.Clone(s.Replicas), d.snap.Present)
	if len(away) == 0 {
		return
	}
	of := ""
	if op := d.snap.FindRunning(func(o *metapb.Operation) bool {
		return o.Kind == operation.ShardRemove && operation.About(o) == s.Id
	}); op != nil {
		of = fmt.Sprintf(" (operation %d)", op.Id)
	}
	d.add(warning,
		fmt.Sprintf("start node %s again; otherwise the removal continues once the node has been silent, and the shard "+
			"without tables, for %s; if its data is lost for good, 'cordwood shard drop %d' lets the removal continue at once",
			d.snap.Labels(away), snapshot.Round(d.snap.Limits.ReplaceAfter), s.Id),
		"shard %d holds no table and is being removed%s: the removal waits for its replica on node %s, which does not report",
		s.Id, of, d.snap.Labels(away))
}

// electing reports a shard whose replicas are electing a leader. If all of them are present,
// leadership was transferred, and there is nothing to do.
func (d *diagnosis) electing(s *metapb.Shard) {
	snap := d.snap
	severity, missing := info, []string{}
	for _, id := range s.Replicas {
		if !snap.Present(id) {
			severity, missing = warning, append(missing, id)
		}
	}
	without := ""
	if len(missing) > 0 {
		without = " without " + snap.Labels(missing)
	}
	d.add(severity, fmt.Sprintf("nothing, if it has one within %s: requests wait meanwhile", snapshot.ElectionTime),
		"shard %d elects a leader%s; the last leader reported %s ago", s.Id, without, snapshot.Round(snap.LeaderlessFor(s)))
}

// leaderless reports a shard that does not work.
func (d *diagnosis) leaderless(s *metapb.Shard) {
	snap := d.snap
	var away, stopping, quiet []string
	for _, id := range s.Replicas {
		switch {
		case !snap.Alive(id):
			away = append(away, id)
		case snap.Stopping(id):
			stopping = append(stopping, id)
		case snap.Silent(id):
			quiet = append(quiet, id)
		}
	}
	gone := slices.Concat(away, stopping)
	if len(gone) == 0 {
		d.leaderlessThere(s, quiet)
		return
	}
	silence := "does not answer"
	switch {
	case len(away) == 0 && len(stopping) > 0:
		silence = "has announced its stop"
	case len(stopping) > 0 || len(away) > 1:
		silence = "do not answer"
	}
	switch {
	case len(s.Replicas) == 1:
		d.add(critical, fmt.Sprintf("start node %s again with its data folder: the rows are there; "+
			"if they are lost for good, 'cordwood shard drop %d' creates the shard again without them",
			snap.Labels(gone), s.Id),
			"shard %d is unavailable: its only replica is on node %s, which %s", s.Id, snap.Labels(gone), silence)
	case len(s.Replicas)-len(gone) < snapshot.Majority(len(s.Replicas)):
		d.add(critical,
			fmt.Sprintf("start nodes %s again; if most of the replicas are lost for good, see 'cordwood recover --help'",
				snap.Labels(gone)),
			"shard %d is unavailable: %d of its %d replicas, on %s, do not answer, and a majority is needed", s.Id, len(gone),
			len(s.Replicas), snap.Labels(gone))
	default:
		d.add(critical, "check the logs of "+snap.Labels(s.Replicas)+": the other replicas should have elected a leader",
			"shard %d has no leader since %s %s", s.Id, snap.Labels(gone), silence)
	}
}

// leaderlessThere reports a shard that does not work although none of its nodes counts as down. quiet lists the nodes
// that last reported a few seconds ago.
func (d *diagnosis) leaderlessThere(s *metapb.Shard, quiet []string) {
	snap := d.snap
	switch {
	case len(quiet) == len(s.Replicas):
		d.add(critical, fmt.Sprintf("check whether node %s runs, and start it again if not: the rows are on its disk",
			snap.Labels(quiet)),
			"shard %d is unavailable: node %s, which holds it, last reported %s ago", s.Id, snap.Labels(quiet),
			snapshot.Round(snap.SilentFor(quiet[0])))
	case 2*len(quiet) >= len(s.Replicas):
		d.add(critical,
			fmt.Sprintf("check whether nodes %s run, and start them again if not: the other replicas are not a majority",
				snap.Labels(quiet)),
			"shard %d may have no leader: %d of its %d replicas, on %s, last reported %s ago", s.Id, len(quiet),
			len(s.Replicas), snap.Labels(quiet), snapshot.Round(snap.SilentFor(quiet[0])))
	case len(quiet) > 0:
		d.add(critical, "check the logs of "+snap.Labels(s.Replicas)+": the other replicas should have elected a leader",
			"shard %d may have no leader: node %s last reported %s ago", s.Id, snap.Labels(quiet),
			snapshot.Round(snap.SilentFor(quiet[0])))
	default:
		d.add(critical, "check the logs of "+snap.Labels(s.Replicas),
			"shard %d has no leader: its rows can be neither written nor read", s.Id)
	}
}

// blockedRepairs returns, by shard, why replicas on nodes that are down cannot be replaced, even
// before a repair is tried.
func blockedRepairs(snap *snapshot.Snapshot) map[uint32]string {
	nodes := snapshot.PlannerNodes(snap)
	for i, n := range nodes {
		if snap.Nodes[n.ID].Down {
			nodes[i].State = placement.Down
		}
	}
	out := map[uint32]string{}
	for _, b := range placement.Make(nodes, snapshot.PlannerShards(snap), placement.Limits{NodeMoves: 1 << 20}).Blocked {
		out[b.Shard] = snap.Relabel(b.Reason)
	}
	return out
}

// missingReplicas reports shards that have too few replicas, grouped by what the cluster does about
// it.
func (d *diagnosis) missingReplicas() {
	snap := d.snap
	blocked := blockedRepairs(snap)
	groups, order := map[string][]string{}, []string{}
	for _, s := range snap.Status.Shards {
		living := len(snap.LivingReplicas(s))
		if c := snap.Condition(s); living >= snapshot.Want(s) || snap.Empty(s) ||
			c != snapshot.ConditionLed && c != snapshot.ConditionElecting {
			continue
		}
		advice := "nothing: the replicas are replaced when their nodes have been silent for " +
			snapshot.Round(snap.Limits.ReplaceAfter)
		if op := snap.FindRunning(func(o *metapb.Operation) bool { return o.ShardId == s.Id }); op != nil {
			advice = fmt.Sprintf("nothing: operation %d (%s) repairs it", op.Id, op.Kind)
		} else if why := blocked[s.Id]; why != "" {
			advice = why
		}
		key := fmt.Sprintf("%d of %d\x00%s", living, snapshot.Want(s), advice)
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], strconv.FormatUint(uint64(s.Id), 10))
	}
	for _, key := range order {
		numbers, advice, _ := strings.Cut(key, "\x00")
		word := "shard"
		if len(groups[key]) > 1 {
			word = "shards"
		}
		d.add(warning, advice, "%s %s: %s replicas answer", word, snapshot.Few(groups[key]), numbers)
	}
}
