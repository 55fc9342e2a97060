package coordinator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/metapb"
)

// silentAfter is how long a node may not have been heard of without a word: reports come each
// second. It counts as down, and others take over from it, some seconds later.
const silentAfter = 3 * time.Second

// hushed tells whether a node that counts as alive has not been heard of for a moment.
func (p *picture) hushed(id string) bool { return p.alive(id) && p.silent(id) >= silentAfter }

// unheardNodes tells of nodes of which a new leader of the metadata group does not know yet.
func (d *diagnosis) unheardNodes() {
	if ids := d.p.unknown(); len(ids) > 0 {
		d.add(info, "ask again in a few seconds", "the state of these nodes is not known yet: %s; they have not reported to the leader of the metadata group, which has led for %s",
			d.p.labels(ids), round(time.Duration(d.p.status.LeadingNanos)))
	}
}

// silentNodes tells of nodes that will count as down soon.
func (d *diagnosis) silentNodes() {
	p := d.p
	for _, n := range p.status.Nodes {
		if id := n.GetNode().GetId(); p.hushed(id) && !p.stops(id) {
			d.add(warning, "look whether it runs; what only it holds does not answer meanwhile", "node %s was last heard of %s ago; after %s it counts as down", p.label(id), round(p.silent(id)), p.cfg.DownAfter)
		}
	}
}

// unready says why a replica that votes cannot do its part although its node answers; empty:
// it can, its node does not answer, or its files are damaged, which is told elsewhere.
func (p *picture) unready(id string, s *metapb.Shard) string {
	if !p.alive(id) || p.stops(id) || p.nodes[id].Report == nil || !slices.Contains(s.Replicas, id) || p.damaged(id, s) {
		return ""
	}
	g, r := p.groups[s.Id], p.replica(id, s)
	switch {
	case r == nil:
		return "is not open yet"
	case r.State == stateFailed, id == g.leader:
		return ""
	case p.unreachable(id):
		return "is told nothing by the others, which cannot reach it"
	case r.State == stateInstalling:
		return fmt.Sprintf("takes over the state of another one (%d of %d bytes)", r.InstallDoneBytes, r.InstallTotalBytes)
	case g.leader != "" && r.Leader == "":
		return "knows no leader"
	case !r.CaughtUp && g.applied > r.AppliedIndex+maxLag:
		return fmt.Sprintf("lacks %d entries of the log", g.applied-r.AppliedIndex)
	case !r.CaughtUp && g.leader != "" && r.CommitIndex == 0:
		return "has not heard from the leader yet"
	}
	return ""
}

// readyVoters are those of some voters of a shard that can do their part.
func (p *picture) readyVoters(s *metapb.Shard, voters []string) (out []string) {
	for _, id := range voters {
		if r := p.replica(id, s); p.present(id) && r != nil && r.State != stateFailed && p.unready(id, s) == "" {
			out = append(out, id)
		}
	}
	return out
}

// unreadyReplicas tells of replicas that run behind: the others answer queries meanwhile, and
// no other one should fail.
func (d *diagnosis) unreadyReplicas() {
	p := d.p
	groups, order := map[[2]string][]string{}, [][2]string{}
	for _, s := range p.status.Shards {
		for _, id := range s.Replicas {
			why := p.unready(id, s)
			if leader := p.groups[s.Id].leader; why == "" || leader == "" || p.hushed(leader) || p.unreachable(id) || p.condition(s) == conditionStarting { // there is worse to say, or nothing
				continue
			}
			if strings.HasPrefix(why, "lacks") || strings.HasPrefix(why, "takes") {
				why = fmt.Sprintf("that of shard %d %s", s.Id, why) // each has a number of its own
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
		d.add(warning, "nothing, if it has just started: it catches up, and until then no other node should be stopped; if that stays, look at its log",
			"node %s is not ready: %s %s cannot be used (%s); queries go to other replicas", p.label(key[0]), word, few(groups[key]), key[1])
	}
}
