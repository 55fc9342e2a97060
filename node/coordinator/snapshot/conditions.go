package snapshot

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/words"
)

// The conditions of a shard: whether it can be written and read.
const (
	ConditionLed      = "led"       // a replica leads it
	ConditionStarting = "starting"  // it is new, and not all its replicas are ready
	ConditionUnknown  = "unknown"   // no node has reported as its leader, but one that may lead has not reported yet
	ConditionElecting = "electing"  // enough replicas are up to elect a leader; requests wait
	ConditionNone     = "no leader" // it can be neither written nor read
)

const (
	// ElectionTime is the time that the replicas of a shard may take to elect a leader. Requests wait longer than
	// this.
	ElectionTime = 10 * time.Second
	// startingTime is the time that a new shard may be without a leader.
	startingTime = 30 * time.Second
)

// Condition returns the condition of a shard.
func (snap *Snapshot) Condition(s *metapb.Shard) string {
	g := snap.Groups[s.Id]
	led := g.Leader != "" && !snap.Silent(g.Leader)
	switch {
	case starts(snap, s) && (!led || len(snap.ReadyVoters(s, s.Replicas)) < len(s.Replicas)):
		return ConditionStarting
	case led:
		return ConditionLed
	case leaderUnknown(snap, s):
		return ConditionUnknown
	case canElect(snap, s) && snap.LeaderlessFor(s) < ElectionTime:
		return ConditionElecting
	}
	return ConditionNone
}

// Empty reports whether a shard is being removed and has no tables any more: none has rows on it or is written to it.
// No rows are lost with such a shard.
func (snap *Snapshot) Empty(s *metapb.Shard) bool {
	if !s.Retiring {
		return false
	}
	for _, t := range snap.Tables {
		if slices.Contains(t.Shards(), s.Id) || t.Handoff != nil && slices.Contains(t.Handoff.Shards, s.Id) {
			return false
		}
	}
	return true
}

// starts reports whether a shard was created recently by an operation that has not ended. Such a
// shard has no rows yet.
func starts(snap *Snapshot, s *metapb.Shard) bool {
	return snap.FindRunning(func(op *metapb.Operation) bool {
		p := op.GetShardAdd()
		return p.GetBegun() && s.Id > p.Base && snap.Now.Sub(time.Unix(0, op.UpdatedUnixNano)) < startingTime
	}) != nil
}

// leaderUnknown reports whether no node has claimed to lead a shard, while a node that could has
// not reported yet.
func leaderUnknown(snap *Snapshot, s *metapb.Shard) bool {
	return snap.Groups[s.Id].Leader == "" &&
		slices.ContainsFunc(snap.Unheard(), func(id string) bool { return slices.Contains(s.Replicas, id) })
}

// canElect reports whether enough voters of a shard are present to elect a leader.
func canElect(snap *Snapshot, s *metapb.Shard) bool {
	voters, n := snap.voters(s), 0
	for _, id := range voters {
		if r := snap.Replica(id, s); snap.Present(id) && !snap.Unreachable(id) && (r == nil || r.State != StateFailed) {
			n++
		}
	}
	return n >= Majority(len(voters))
}

// voters returns the voters of a shard as its leader reports them, or if it has no leader, as the
// metadata lists them.
func (snap *Snapshot) voters(s *metapb.Shard) []string {
	if g := snap.Groups[s.Id]; g.Leader != "" {
		return g.Voters
	}
	return s.Replicas
}

// LeaderlessFor returns for how long no node has reported that it leads a shard. A leader of the metadata group with
// an older program does not report this; then the result is the maximum.
func (snap *Snapshot) LeaderlessFor(s *metapb.Shard) time.Duration {
	for _, led := range snap.Status.ShardsLed {
		if led.ShardId == s.Id {
			return time.Duration(led.SilentNanos)
		}
	}
	return math.MaxInt64
}

// WhyLeaderless returns why a shard has no leader.
func (snap *Snapshot) WhyLeaderless(s *metapb.Shard) string {
	var away []string
	for _, id := range s.Replicas {
		if !snap.Alive(id) {
			away = append(away, snap.Name(id))
		}
	}
	if len(away) == 0 {
		return fmt.Sprintf("shard %d has no leader yet", s.Id)
	}
	return fmt.Sprintf("shard %d has no leader: %d of its %s %s not answer, on %s", s.Id, len(away),
		words.Count(len(s.Replicas), "replica"),
		words.Pick(len(away), "does", "do"), strings.Join(away, ", "))
}

// Founding reports whether the first shards of the cluster are still being created.
func (snap *Snapshot) Founding() bool {
	return len(snap.Shards) == 0 || snap.FindRunning(func(op *metapb.Operation) bool {
		return op.GetShardAdd().GetInitial()
	}) != nil
}

// Want returns the wanted number of replicas of a shard.
func Want(s *metapb.Shard) int {
	if s.Want > 0 {
		return int(s.Want)
	}
	return max(len(s.Replicas), 1)
}
