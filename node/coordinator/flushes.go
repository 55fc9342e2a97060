package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/proto/metapb"
)

// A replica whose flushes fail, although its disk has room, keeps its rows in its log and in its
// memory, until it takes no more: the disk does not do its part, whatever the log says.

// flushesFailAfter is for how long flushes must have failed to count: one that failed
// is tried again, and a disk may stand still for a moment.
const flushesFailAfter = 30 * time.Second

// cannotFlush tells for how long a replica could not flush, and why; "" if it can.
func (p *picture) cannotFlush(id string, s *metapb.Shard) (why string, since time.Duration) {
	r := p.replica(id, s)
	if !p.alive(id) || !p.failsToFlush(id, r) {
		return "", 0
	}
	return cmp.Or(r.GetFlushError(), "not known"), time.Duration(r.GetFlushFailingNanos())
}

// failsToFlush tells whether a replica has not been flushed for long, by a report of its node. What a
// full disk does is decided elsewhere.
func (p *picture) failsToFlush(node string, r *metapb.ReplicaReport) bool {
	return time.Duration(r.GetFlushFailingNanos()) >= flushesFailAfter && !p.nodes[node].GetReport().GetDiskFull()
}

// unfit tells whether a replica should not lead: it lacks rows, or soon takes no more.
func (p *picture) unfit(id string, s *metapb.Shard) bool {
	why, _ := p.cannotFlush(id, s)
	return why != "" || p.damaged(id, s)
}

// flushesFail tells whether a replica on a node cannot flush: the node gets no others.
func (p *picture) flushesFail(id string) bool {
	return slices.ContainsFunc(p.nodes[id].GetReport().GetReplicas(), func(r *metapb.ReplicaReport) bool { return p.failsToFlush(id, r) })
}

// replaceStuck moves a replica that could not flush for as long as a node may be silent to another
// node, if there is one.
func (p *picture) replaceStuck() *act {
	if p.count(KindReplicaRepair) >= maxRepairs {
		return nil
	}
	for _, s := range p.status.Shards {
		g := p.groups[s.Id]
		if g.leader == "" || len(s.Learners) > 0 || p.runs(func(op *metapb.Operation) bool { return op.ShardId == s.Id }) != nil {
			continue
		}
		for _, id := range s.Replicas {
			why, since := p.cannotFlush(id, s)
			if why == "" || since < p.cfg.ReplaceAfter || id == g.leader && len(s.Replicas) > 1 || p.leaving(id) {
				continue
			}
			to := p.homeBeside(s, id)
			if to == "" || p.refuseMove(s.Id, id, to) != "" {
				continue
			}
			return p.starting(KindReplicaRepair, fmt.Sprintf("node %s could not flush it for %s: %s", p.name(id), round(since), why), func(op *metapb.Operation) {
				op.ShardId, op.FromNode, op.ToNode, op.TotalBytes = s.Id, id, to, g.bytes
			})
		}
	}
	return nil
}

// homeBeside is the node that should get the replica of a shard in the place of another one; empty:
// there is none. It prefers zones that have none of the shard's other replicas, and nodes
// with few replicas.
func (p *picture) homeBeside(s *metapb.Shard, instead string) string {
	zones, have, heads := map[string]bool{}, map[string]int{}, map[string]int{}
	for _, id := range s.Replicas {
		if z := p.zone(id); z != "" && id != instead {
			zones[z] = true
		}
	}
	for _, other := range p.status.Shards {
		for _, id := range slices.Concat(other.Replicas, other.Learners) {
			have[id]++
		}
	}
	best := ""
	for _, n := range p.status.Nodes {
		id := n.GetNode().GetId()
		if p.takes(id) != "" || slices.Contains(s.Replicas, id) {
			continue
		}
		if best == "" || p.betterHome(id, best, "", zones, have, heads) {
			best = id
		}
	}
	return best
}

// stuckReplicas tells of replicas that cannot flush, and what is done about it.
func (d *diagnosis) stuckReplicas() {
	p := d.p
	for _, s := range p.status.Shards {
		for _, id := range s.Replicas {
			why, since := p.cannotFlush(id, s)
			if why == "" {
				continue
			}
			severity, effect := warning, "it takes no more rows when its memory is full"
			if id == p.groups[s.Id].leader {
				severity, effect = critical, "it leads, and refuses rows when its memory is full"
			}
			advice := fmt.Sprintf("look at the disk of node %s, the rights of its data folder, and its limit of open files", p.label(id))
			switch op := p.runs(func(o *metapb.Operation) bool { return o.ShardId == s.Id }); {
			case op != nil:
				advice += fmt.Sprintf("; operation %d (%s) is at the shard", op.Id, op.Kind)
			case p.homeBeside(s, id) == "":
				advice += "; there is no other node that could get the replica"
			case since < p.cfg.ReplaceAfter:
				advice += fmt.Sprintf("; the replica goes to another node in %s", round(p.cfg.ReplaceAfter-since))
			}
			d.add(severity, advice, "shard %d: its replica on node %s could not write rows from memory to files for %s (%s); they are in its log, and %s", s.Id, p.label(id), round(since), why, effect)
		}
	}
}
