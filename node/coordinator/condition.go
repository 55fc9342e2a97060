package coordinator

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"cordwood/proto/metapb"
	"cordwood/router/httpapi"
)

// The verdicts on the cluster. docs/operating.md has the table of what leads to which.
const (
	healthOK       = "ok"
	healthStarting = "starting" // a new cluster, whose first shards are being made
	healthUnknown  = "unknown"  // nothing is known to be wrong, but not all has been heard of
	healthDegraded = "degraded" // it works, and something is to be done
	healthBroken   = "broken"   // something does not work
)

// The conditions of a shard that say whether it can be written and read.
const (
	conditionLed      = "led"       // a replica leads it
	conditionStarting = "starting"  // it is new, and its replicas are not all there yet
	conditionUnknown  = "unknown"   // nobody has said that it leads, and not all have been heard of
	conditionElecting = "electing"  // enough replicas are there, and elect a leader; requests wait
	conditionNone     = "no leader" // it can be neither written nor read
)

const (
	// electionTime is how long the replicas of a shard may take to elect a leader. Requests wait for
	// longer than that.
	electionTime = 10 * time.Second
	// startingTime is for how long a new shard may be without a leader.
	startingTime = 30 * time.Second
	// foundingTime is for how long a cluster may be without a shard.
	foundingTime = 5 * time.Minute
)

// health is the cluster in one word.
func (p *picture) health(problems []httpapi.ClusterProblem) string {
	has := func(severity string) bool {
		return slices.ContainsFunc(problems, func(p httpapi.ClusterProblem) bool { return p.Severity == severity })
	}
	switch {
	case has(critical):
		return healthBroken
	case has(warning):
		return healthDegraded
	case len(p.unknown()) > 0:
		return healthUnknown
	case p.founding():
		return healthStarting
	}
	return healthOK
}

// founding tells whether the first shards of the cluster are still being made.
func (p *picture) founding() bool {
	return len(p.shards) == 0 || p.runs(func(op *metapb.Operation) bool { return op.Kind == KindShardAdd && op.Notes[noteInitial] != "" }) != nil
}

// stops tells whether a node said in its last report that it is stopping, or about to stop. It counts
// as missing.
func (p *picture) stops(id string) bool { return p.nodes[id].GetReport().GetStopping() }

// present tells whether a node answers and stays.
func (p *picture) present(id string) bool { return p.alive(id) && !p.hushed(id) && !p.stops(id) }

// isNew tells whether a node was registered while the present leader of the metadata has led, and has
// not reported yet.
func (p *picture) isNew(id string) bool {
	n := p.nodes[id]
	registered := time.Unix(0, n.GetNode().GetRegisteredUnixNano())
	return n != nil && n.Report == nil && !n.Down && !p.hushed(id) && p.now.Sub(registered) < min(p.cfg.DownAfter, time.Duration(p.status.LeadingNanos))
}

// unknown are nodes of which it is not known how they are: the leader of the metadata is new, and they
// have not reported to it yet. After silentAfter they count as silent.
func (p *picture) unknown() []string {
	return slices.DeleteFunc(p.unheard(), func(id string) bool { return p.isNew(id) || p.hushed(id) })
}

// condition says whether a shard can be written and read.
func (p *picture) condition(s *metapb.Shard) string {
	g := p.groups[s.Id]
	led := g.leader != "" && !p.hushed(g.leader)
	switch {
	case p.newborn(s) && (!led || len(p.readyVoters(s, s.Replicas)) < len(s.Replicas)):
		return conditionStarting
	case led:
		return conditionLed
	case p.untold(s):
		return conditionUnknown
	case p.enoughPresent(s) && p.leaderlessFor(s) < electionTime:
		return conditionElecting
	}
	return conditionNone
}

// newborn tells whether a shard was made by an operation that has not ended, a moment ago: it holds no
// rows yet.
func (p *picture) newborn(s *metapb.Shard) bool {
	return p.runs(func(op *metapb.Operation) bool {
		base, err := strconv.ParseUint(op.Notes[noteBase], 10, 32)
		return op.Kind == KindShardAdd && err == nil && uint64(s.Id) > base && p.now.Sub(time.Unix(0, op.UpdatedUnixNano)) < startingTime
	}) != nil
}

// enoughPresent tells whether the voters of a shard whose nodes are there can elect a leader.
func (p *picture) enoughPresent(s *metapb.Shard) bool {
	voters := s.Replicas
	if g := p.groups[s.Id]; g.leader != "" {
		voters = g.voters
	}
	n := 0
	for _, id := range voters {
		if r := p.replica(id, s); p.present(id) && !p.unreachable(id) && (r == nil || r.State != stateFailed) {
			n++
		}
	}
	return n >= majority(len(voters))
}

// leaderlessFor is for how long nobody has said that it leads a shard. If the leader of the metadata is
// of a version that does not tell, that is for ever.
func (p *picture) leaderlessFor(s *metapb.Shard) time.Duration {
	for _, led := range p.status.ShardsLed {
		if led.ShardId == s.Id {
			return time.Duration(led.SilentNanos)
		}
	}
	return math.MaxInt64
}

// clusterTolerance is how many more nodes may fail in the worst case, and what stops first; negative:
// that does not work already. What is new or not known yet does not count.
func (p *picture) clusterTolerance() (int, string) {
	lowest, what := max(p.metaLeft("", p.metaPresent), 0), "the metadata group" // its leader has answered
	for _, s := range p.status.Shards {
		condition := p.condition(s)
		if condition == conditionStarting || condition == conditionUnknown {
			continue
		}
		voters := s.Replicas
		if g := p.groups[s.Id]; g.leader != "" {
			voters = g.voters
		}
		left := len(p.readyVoters(s, voters)) - majority(len(voters))
		for _, id := range p.unknown() {
			if slices.Contains(voters, id) {
				left++
			}
		}
		if condition == conditionNone {
			left = min(left, -1)
		} else {
			left = max(left, 0)
		}
		if left < lowest {
			lowest, what = left, subject(p, &metapb.Operation{ShardId: s.Id})
		}
	}
	return lowest, what
}

// starting says which shards and nodes are new.
func (d *diagnosis) starting() {
	p := d.p
	var shards, nodes []string
	for _, s := range p.status.Shards {
		if p.condition(s) == conditionStarting {
			shards = append(shards, strconv.FormatUint(uint64(s.Id), 10))
		}
	}
	for _, n := range p.status.Nodes {
		if id := n.GetNode().GetId(); p.isNew(id) {
			nodes = append(nodes, p.label(id))
		}
	}
	if len(shards) > 0 {
		word := "shard " + shards[0] + " is new and starts: it holds"
		if len(shards) > 1 {
			word = "shards " + few(shards) + " are new and start: they hold"
		}
		d.add(info, "nothing: requests to new tables wait until it has started", "%s no rows yet", word)
	}
	if len(nodes) > 0 {
		slices.Sort(nodes)
		d.add(info, "nothing: nodes report every second", "new nodes, which have not reported yet: %s", few(nodes))
	}
}

// stoppingNodes tells of nodes that said that they stop.
func (d *diagnosis) stoppingNodes() {
	p := d.p
	for _, n := range p.status.Nodes {
		id := n.GetNode().GetId()
		switch {
		case n.Down || !p.stops(id):
		case p.hushed(id):
			d.add(warning, "start it again: nothing is lost, and no other node should be stopped before", "node %s has stopped, as it said; it was last heard of %s ago", p.label(id), round(p.silent(id)))
		default:
			d.add(warning, "start it again once it has ended; no other node should be stopped before", "node %s is stopping: it counts as missing", p.label(id))
		}
	}
}

// leaderlessShards tells of shards that nobody leads.
func (d *diagnosis) leaderlessShards() {
	p := d.p
	for _, s := range p.status.Shards {
		switch p.condition(s) {
		case conditionElecting:
			d.electing(s)
		case conditionNone:
			d.leaderless(s)
		}
	}
	if len(p.status.Shards) > 0 {
		return
	}
	n, severity := p.status.GetSettings().GetInitialShards(), warning
	_, why := p.homes(int(max(p.status.GetSettings().GetReplication(), 1)), "")
	switch {
	case time.Duration(p.status.LeadingNanos) >= foundingTime:
		severity = critical
	case why == "":
		severity = info
	}
	advice := "nothing: that takes some seconds"
	if why != "" {
		advice = fmt.Sprintf("start %d or more nodes with the role shard", max(p.status.GetSettings().GetReplication(), 1))
	}
	d.add(severity, advice, "there is no shard yet: rows can be neither written nor read; %d are to be made", n)
}

// electing tells of a shard whose replicas elect a leader. If all of them are there it was handed on,
// which is nothing to look after.
func (d *diagnosis) electing(s *metapb.Shard) {
	p := d.p
	severity, missing := info, []string{}
	for _, id := range s.Replicas {
		if !p.present(id) {
			severity, missing = warning, append(missing, id)
		}
	}
	without := ""
	if len(missing) > 0 {
		without = " without " + p.labels(missing)
	}
	d.add(severity, fmt.Sprintf("nothing, if it has one within %s: requests wait meanwhile", electionTime),
		"shard %d elects a leader%s; the last one was heard of %s ago", s.Id, without, round(p.leaderlessFor(s)))
}

// leaderless tells of a shard that does not work.
func (d *diagnosis) leaderless(s *metapb.Shard) {
	p := d.p
	var away, stopping, hushed []string
	for _, id := range s.Replicas {
		switch {
		case !p.alive(id):
			away = append(away, id)
		case p.stops(id):
			stopping = append(stopping, id)
		case p.hushed(id):
			hushed = append(hushed, id)
		}
	}
	gone := slices.Concat(away, stopping)
	silence := "does not answer"
	switch {
	case len(away) == 0 && len(stopping) > 0:
		silence = "has said that it stops"
	case len(stopping) > 0 || len(away) > 1:
		silence = "do not answer"
	}
	switch {
	case len(gone) == 0 && len(hushed) == len(s.Replicas):
		d.add(critical, fmt.Sprintf("look whether node %s runs, and start it again if not: the rows are on its disk", p.labels(hushed)),
			"shard %d is unavailable: node %s, which holds it, was last heard of %s ago", s.Id, p.labels(hushed), round(p.silent(hushed[0])))
	case len(gone) == 0 && 2*len(hushed) >= len(s.Replicas):
		d.add(critical, fmt.Sprintf("look whether nodes %s run, and start them again if not: the other replicas are no majority", p.labels(hushed)),
			"shard %d may have no leader: %d of its %d replicas, on %s, were last heard of %s ago", s.Id, len(hushed), len(s.Replicas), p.labels(hushed), round(p.silent(hushed[0])))
	case len(gone) == 0 && len(hushed) > 0:
		d.add(critical, "look at the logs of "+p.labels(s.Replicas)+": the other replicas should have elected a leader", "shard %d may have no leader: node %s was last heard of %s ago", s.Id, p.labels(hushed), round(p.silent(hushed[0])))
	case len(gone) == 0:
		d.add(critical, "look at the logs of "+p.labels(s.Replicas), "shard %d has no leader: its rows can be neither written nor read", s.Id)
	case len(s.Replicas) == 1:
		d.add(critical, fmt.Sprintf("start node %s again with its data folder: the rows are there; if they are lost for good, 'cordwood shard drop %d' has the shard begin anew without them", p.labels(gone), s.Id),
			"shard %d is unavailable: its only replica is on node %s, which %s", s.Id, p.labels(gone), silence)
	case len(s.Replicas)-len(gone) < majority(len(s.Replicas)):
		d.add(critical, fmt.Sprintf("start nodes %s again; if most of the replicas are lost for good, see 'cordwood recover --help'", p.labels(gone)),
			"shard %d is unavailable: %d of its %d replicas, on %s, do not answer, and a majority is needed", s.Id, len(gone), len(s.Replicas), p.labels(gone))
	default:
		d.add(critical, "look at the logs of "+p.labels(s.Replicas)+": the other replicas should have elected a leader", "shard %d has no leader since %s %s", s.Id, p.labels(gone), silence)
	}
}
