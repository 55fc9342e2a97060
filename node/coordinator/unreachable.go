package coordinator

import (
	"fmt"
	"slices"
	"strconv"

	"cordwood/proto/metapb"
)

// unreachable tells whether a node that counts as alive said in its last report that most of
// the others cannot reach its port. It leads nothing that others can lead, and must not be
// given anything.
func (p *picture) unreachable(id string) bool {
	return p.alive(id) && p.nodes[id].GetReport().GetUnreachable()
}

// apart tells of two nodes that do not reach each other: both report, and each says that the
// other one does not answer it. Of one that is named by others alone it would not be known
// whether it just stands still.
func (d *diagnosis) apart() {
	p := d.p
	silent := func(a, b string) bool {
		return p.alive(a) && !p.hushed(a) && slices.ContainsFunc(p.nodes[a].GetReport().GetUnreached(), func(u *metapb.Unreached) bool { return u.Silent && u.NodeId == b })
	}
	for i, n := range p.status.Nodes {
		for _, other := range p.status.Nodes[i+1:] {
			if a, b := n.GetNode().GetId(), other.GetNode().GetId(); silent(a, b) && silent(b, a) {
				d.add(warning, "look at the network between them: what one of them wants of the other fails or takes longer",
					"nodes %s and %s do not reach each other, and others reach both", p.label(a), p.label(b))
			}
		}
	}
}

// unreachableNodes tells of nodes that report, but that others cannot reach.
func (d *diagnosis) unreachableNodes() {
	p := d.p
	for _, n := range p.status.Nodes {
		id := n.GetNode().GetId()
		from := slices.DeleteFunc(slices.Clone(n.GetReport().GetUnreached()), func(u *metapb.Unreached) bool { return u.Silent || !p.alive(u.NodeId) })
		if !p.alive(id) || len(from) == 0 && !p.unreachable(id) {
			continue
		}
		var ids []string
		reason := ""
		for _, u := range from {
			ids = append(ids, u.NodeId)
			if reason == "" && u.Reason != "" {
				reason = " (" + u.Reason + ")"
			}
		}
		who := "others"
		if len(ids) > 0 {
			who = p.labels(ids)
		}
		if !p.unreachable(id) {
			d.add(warning, fmt.Sprintf("look at the network from %s to it: what one of them wants of the other fails or takes longer", who),
				"node %s: its port %s cannot be reached from %s%s, but from others", p.label(id), n.Node.RpcAddr, who, reason)
			continue
		}
		advice := "let connections to that port in: look at firewalls and network policies before it, and whether --advertise-addr is where others find it"
		d.add(warning, advice, "node %s: its port %s cannot be reached from %s%s, although its own connections work; what others can lead is led by them, and its replicas fall behind",
			p.label(id), n.Node.RpcAddr, who, reason)
		var led []string
		for _, s := range p.status.Shards {
			if p.groups[s.Id].leader == id {
				led = append(led, strconv.FormatUint(uint64(s.Id), 10))
			}
		}
		if len(led) > 0 {
			word := "shard " + led[0] + " is led by it all the same: its rows"
			if len(led) > 1 {
				word = "shards " + few(led) + " are led by it all the same: their rows"
			}
			d.add(critical, advice, "node %s cannot be reached, and %s can only be written and read through itself until others are enough to lead without it", p.label(id), word)
		}
	}
}
