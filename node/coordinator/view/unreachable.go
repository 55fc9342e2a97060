package view

import (
	"fmt"
	"slices"
	"strconv"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// apart reports two nodes that do not reach each other: both report, and each reports that the other does not answer.
// If only other nodes reported a node, it might merely be suspended.
func (d *diagnosis) apart() {
	snap := d.snap
	silent := func(a, b string) bool {
		return snap.Alive(a) && !snap.Silent(a) && slices.ContainsFunc(snap.Nodes[a].GetReport().GetUnreached(),
			func(u *metapb.Unreached) bool { return u.Silent && u.NodeId == b })
	}
	for i, n := range snap.Status.Nodes {
		for _, other := range snap.Status.Nodes[i+1:] {
			if a, b := n.GetNode().GetId(), other.GetNode().GetId(); silent(a, b) && silent(b, a) {
				d.add(warning, "check the network between them: requests between them fail or take longer",
					"nodes %s and %s do not reach each other, and others reach both", snap.Label(a), snap.Label(b))
			}
		}
	}
}

// unreachableNodes reports nodes that report but cannot be reached by others.
func (d *diagnosis) unreachableNodes() {
	snap := d.snap
	for _, n := range snap.Status.Nodes {
		id := n.GetNode().GetId()
		from := slices.DeleteFunc(slices.Clone(n.GetReport().GetUnreached()), func(u *metapb.Unreached) bool {
			return u.Silent || !snap.Alive(u.NodeId)
		})
		if !snap.Alive(id) || len(from) == 0 && !snap.Unreachable(id) {
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
			who = snap.Labels(ids)
		}
		if !snap.Unreachable(id) {
			d.add(warning,
				fmt.Sprintf("check the network from %s to it: requests between them fail or take longer", who),
				"node %s: its port %s cannot be reached from %s%s, but from others", snap.Label(id), n.Node.RpcAddr, who, reason)
			continue
		}
		advice := "allow connections to that port: check firewalls and network policies in front of it, " +
			"and whether --advertise-addr is an address that others can reach"
		d.add(warning, advice, "node %s: its port %s cannot be reached from %s%s, although its own connections work; "+
			"other nodes lead its shards if they can, and its replicas fall behind",
			snap.Label(id), n.Node.RpcAddr, who, reason)
		var led []string
		for _, s := range snap.Status.Shards {
			if snap.Groups[s.Id].Leader == id {
				led = append(led, strconv.FormatUint(uint64(s.Id), 10))
			}
		}
		if len(led) > 0 {
			word := "shard " + led[0] + " is led by it anyway: its rows"
			if len(led) > 1 {
				word = "shards " + snapshot.Few(led) + " are led by it anyway: their rows"
			}
			d.add(critical, advice, "node %s cannot be reached, and %s can only be written and read through itself until "+
				"enough others are up to lead without it", snap.Label(id), word)
		}
	}
}
