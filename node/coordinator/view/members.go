package view

import (
	"slices"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// absence describes what the missing voters do and what the user should do. stopping means that they announced their
// stop.
func absence(one, stopping, ended bool) (does, advice string) {
	switch {
	case one && stopping && ended:
		return "has stopped", "start it again"
	case one && stopping:
		return "is stopping", "start it again once it has ended"
	case one:
		return "does not answer", "check whether other nodes reach it, and start it again if it does not run"
	case stopping && ended:
		return "have stopped", "start them again"
	case stopping:
		return "are stopping", "start them again once they have ended"
	}
	return "do not answer", "check whether other nodes reach them, and start them again if they do not run"
}

// metadata reports missing voters of the metadata group, and a group that tolerates no more
// failures than a smaller one would.
func (d *diagnosis) metadata() {
	snap := d.snap
	if len(snap.Status.Members) == 0 {
		return
	}
	var silent, stopping []string
	ended := true
	for _, m := range snap.MetaVoters() {
		switch {
		case snap.MetaPresent(m):
		case snap.Stopping(m.NodeId):
			stopping = append(stopping, m.NodeId)
			ended = ended && hasStopped(snap, m.NodeId)
		default:
			silent = append(silent, m.NodeId)
		}
	}
	missing := slices.Concat(silent, stopping)
	does, advice := absence(len(missing) == 1, len(silent) == 0, ended)
	switch tolerance := snap.MetaTolerance("", snap.MetaPresent); {
	case len(missing) > 0 && tolerance <= 0:
		d.add(warning, advice+"; a voter whose node is lost is replaced after a while, if another node has the role meta",
			"of the %d voters of the metadata group, %s %s: if another one fails, schemas and placement cannot change",
			len(snap.MetaVoters()), snap.Labels(missing), does)
	case len(missing) > 0:
		d.add(warning, advice, "voter %s of the metadata group %s", snap.Labels(missing), does)
	case len(snap.MetaVoters())%2 == 0:
		severity := info
		if slices.ContainsFunc(snap.Status.Shards, func(s *metapb.Shard) bool { return snapshot.Want(s) > 2 }) {
			severity = warning // other shards should survive the loss of a node
		}
		d.add(severity, "add a node with the role meta, which becomes a voter by itself",
			"the metadata group has %d voters, which tolerate no more than %d do: %d may fail", len(snap.MetaVoters()),
			len(snap.MetaVoters())-1, max(tolerance, 0))
		d.offer(addNode)
	}
}
