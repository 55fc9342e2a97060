package snapshot

import (
	"slices"
	"time"
)

// Liveness is the state of a node according to its reports to the leader of the metadata group. A
// node sends one every second.
type Liveness int

const (
	// Up means that the node reports, and other nodes reach it.
	Up Liveness = iota
	// Unreachable means that the node reports that most other nodes cannot reach its port. Other nodes take over its
	// leaderships if they can, and it gets no new replicas.
	Unreachable
	// Silent means that several reports are overdue (SilentAfter). Shards that the node leads may have no leader.
	Silent
	// Unheard means that the leader is new, and the node has not reported to it yet. Nothing is
	// decided about such a node; for display it counts as alive (Snapshot.Trusting).
	Unheard
	// Down means that the node has been silent for so long that others have taken over its leaderships. The leader of
	// the metadata group decides this, after ten seconds.
	Down
	// Lost means that the node has been down for Limits.ReplaceAfter, or was removed from the
	// cluster. Its replicas, and its vote in the metadata group, move to other nodes.
	Lost
)

// SilentAfter is the age of the last report at which a node counts as silent. Nodes report every
// second; on a busy machine one or two late reports do not mean a fault.
const SilentAfter = 3 * time.Second

// Liveness returns the liveness of a node.
func (snap *Snapshot) Liveness(id string) Liveness {
	n, silent := snap.Nodes[id], snap.SilentFor(id)
	switch {
	case n == nil, n.Down && silent >= snap.Limits.ReplaceAfter:
		return Lost
	case n.Down:
		return Down
	case n.Report == nil && (!snap.Trusting || silent < SilentAfter):
		return Unheard
	case silent >= SilentAfter:
		return Silent
	case n.Report.GetUnreachable():
		return Unreachable
	}
	return Up
}

// SilentFor returns how long ago a node last reported.
func (snap *Snapshot) SilentFor(id string) time.Duration {
	return time.Duration(snap.Nodes[id].GetSilentNanos())
}

// Alive reports whether a node counts as alive: it has reported, and is not down.
func (snap *Snapshot) Alive(id string) bool {
	l := snap.Liveness(id)
	return l < Unheard || l == Unheard && snap.Trusting
}

// Silent reports whether a node that still counts as alive has missed several reports.
func (snap *Snapshot) Silent(id string) bool { return snap.Liveness(id) == Silent }

// Lost reports whether the replicas of a node are being replaced.
func (snap *Snapshot) Lost(id string) bool { return snap.Liveness(id) == Lost }

// Unreachable reports whether a node that counts as alive stated in its last report that most others cannot reach its
// port. It may have been silent since then.
func (snap *Snapshot) Unreachable(id string) bool {
	return snap.Alive(id) && snap.Nodes[id].GetReport().GetUnreachable()
}

// Stopping reports whether a node announced in its last report that it is stopping or about to stop. Such a node
// counts as alive, but as missing.
func (snap *Snapshot) Stopping(id string) bool { return snap.Nodes[id].GetReport().GetStopping() }

// Present reports whether a node answers and is not stopping.
func (snap *Snapshot) Present(id string) bool {
	return snap.Alive(id) && !snap.Silent(id) && !snap.Stopping(id)
}

// Unheard returns the nodes that have not reported to the new leader yet.
func (snap *Snapshot) Unheard() (ids []string) {
	for id := range snap.Nodes {
		if snap.Liveness(id) == Unheard {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Joining reports whether a node was registered under the present leader, and has not reported yet.
func (snap *Snapshot) Joining(id string) bool {
	if snap.Liveness(id) != Unheard {
		return false
	}
	age := snap.Now.Sub(time.Unix(0, snap.Nodes[id].GetNode().GetRegisteredUnixNano()))
	return age < min(snap.Limits.DownAfter, time.Duration(snap.Status.LeadingNanos))
}

// Unknown returns the nodes whose state is not known because the leader is new. It leaves out
// joining nodes, which are known to be starting.
func (snap *Snapshot) Unknown() []string { return slices.DeleteFunc(snap.Unheard(), snap.Joining) }
