package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/words"
)

// MaxLag is the number of entries that a replica may lag behind its leader and still count as
// caught up. Reports are a second old, so a lower limit would not be more exact.
const MaxLag = 1000

// flushesFailAfter is the time after which failing flushes of a replica count as a fault. A failed flush is retried,
// and a disk may stall for a moment.
const flushesFailAfter = 30 * time.Second

// CaughtUp reports whether a replica may vote.
func (snap *Snapshot) CaughtUp(s *metapb.Shard, g *Group, id string) bool {
	r := snap.Replica(id, s)
	return r != nil && r.CaughtUp && r.State != StateInstalling && r.State != StateFailed &&
		r.AppliedIndex+MaxLag >= g.Last
}

// LagWords describes how far behind a replica is.
func LagWords(r *metapb.ReplicaReport, g *Group) string {
	switch {
	case r == nil:
		return "not reported"
	case r.State == StateFailed:
		return "failed: see the log of its node"
	case r.InstallTotalBytes > 0 && r.InstallDoneBytes < r.InstallTotalBytes:
		return "copying segments"
	case g.Last > r.AppliedIndex:
		return "catching up with the log"
	}
	return "catching up"
}

// WhyUnready returns the reason why a voting replica cannot serve although its node answers. It is empty if the
// replica can serve, if its node does not answer, or if its files are damaged, since other lines report these cases.
func (snap *Snapshot) WhyUnready(id string, s *metapb.Shard) string {
	if !snap.Alive(id) || snap.Stopping(id) || snap.Nodes[id].Report == nil || !slices.Contains(s.Replicas, id) ||
		snap.Damaged(id, s) {
		return ""
	}
	g, r := snap.Groups[s.Id], snap.Replica(id, s)
	switch {
	case r == nil:
		return "is not open yet"
	case r.State == StateFailed, id == g.Leader:
		return ""
	case snap.Unreachable(id):
		return "receives nothing from the others, which cannot reach it"
	case r.State == StateInstalling:
		return fmt.Sprintf("copies the state of another one (%d of %d bytes)", r.InstallDoneBytes, r.InstallTotalBytes)
	case g.Leader != "" && r.Leader == "" && !snap.settles(s):
		return "has no known leader"
	case r.CaughtUp:
		return ""
	case g.Applied > r.AppliedIndex+MaxLag:
		return fmt.Sprintf("lacks %s of the log", words.Count(g.Applied-r.AppliedIndex, "entry"))
	case g.Leader != "" && r.CommitIndex == 0 && !snap.settles(s):
		return "has not heard from the leader yet"
	}
	return ""
}

// settleTime is the time that the followers of a new leader may take to report that they know it. Each node reports
// once a second, at its own moment.
const settleTime = 5 * time.Second

// settles reports, for display, whether a shard has a new leader. Decisions wait for the reports
// instead.
func (snap *Snapshot) settles(s *metapb.Shard) bool {
	if !snap.Trusting {
		return false
	}
	for _, led := range snap.Status.ShardsLed {
		if led.ShardId == s.Id {
			return led.LedNanos > 0 && time.Duration(led.LedNanos) < settleTime
		}
	}
	return false
}

// ReadyVoters returns which of the voters of a shard can serve.
func (snap *Snapshot) ReadyVoters(s *metapb.Shard, voters []string) (out []string) {
	for _, id := range voters {
		if r := snap.Replica(id, s); snap.Present(id) && r != nil && r.State != StateFailed && snap.WhyUnready(id, s) == "" {
			out = append(out, id)
		}
	}
	return out
}

// LivingReplicas returns the voters of a shard on nodes that answer and are not stopping.
func (snap *Snapshot) LivingReplicas(s *metapb.Shard) []string {
	return slices.DeleteFunc(slices.Clone(s.Replicas), func(id string) bool {
		return !snap.Alive(id) || snap.Stopping(id)
	})
}

// Damaged reports whether a replica lacks rows because its files are damaged.
func (snap *Snapshot) Damaged(node string, s *metapb.Shard) bool {
	r := snap.Replica(node, s)
	return r.GetDamagedSegments() > 0 || r.GetFilesDamaged()
}

// CannotFlush returns the reason why a replica could not flush, and for how long. The reason is empty if it can
// flush. A replica that cannot flush keeps its rows in its log and in memory until the memory is full. Since its log
// works, raft considers it healthy.
func (snap *Snapshot) CannotFlush(id string, s *metapb.Shard) (why string, since time.Duration) {
	r := snap.Replica(id, s)
	if !snap.Alive(id) || !snap.failsToFlush(id, r) {
		return "", 0
	}
	return cmp.Or(r.GetFlushError(), "not known"), time.Duration(r.GetFlushFailingNanos())
}

// failsToFlush reports whether the flushes of a replica have failed for long although its disk has
// space. Full disks are handled elsewhere.
func (snap *Snapshot) failsToFlush(node string, r *metapb.ReplicaReport) bool {
	return time.Duration(r.GetFlushFailingNanos()) >= flushesFailAfter && !snap.Nodes[node].GetReport().GetDiskFull()
}

// Unfit reports whether a replica should not lead, because it lacks rows or will soon refuse new
// rows.
func (snap *Snapshot) Unfit(id string, s *metapb.Shard) bool {
	why, _ := snap.CannotFlush(id, s)
	return why != "" || snap.Damaged(id, s)
}
