package coordinator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"cordwood/meta/placement"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

// automatic says what the cluster does without being asked: the first thing that is to be
// done, or nil.
func automatic(p *picture) *act {
	for _, rule := range []func(*picture) *act{
		(*picture).initialShards, (*picture).tendMeta, (*picture).repairShards, (*picture).rebuildReplicas, (*picture).replaceStuck, (*picture).dropCopies, (*picture).shardsForNewNodes,
		(*picture).partitionTables, (*picture).spreadTables, (*picture).leadSound,
		(*picture).balanceReplicas, (*picture).balanceLeaders, (*picture).forgetReplaced, (*picture).raiseVersion, (*picture).trimHistory,
	} {
		if a := rule(p); a != nil {
			return a
		}
	}
	return nil
}

// starting begins an operation that nobody asked for.
func (p *picture) starting(kind, reason string, set func(*metapb.Operation)) *act {
	op := part(nil, kind, set)
	op.Reason = reason
	return &act{what: "start " + kind, starts: []*metapb.Operation{op}}
}

// initialShards makes the shards of a new cluster, once all nodes that are seeds have come, or, if it
// is not known which nodes there will be, no other has followed for a moment.
func (p *picture) initialShards() *act {
	set := p.status.GetSettings()
	if set.GetInitialShards() == 0 {
		return nil
	}
	if p.runs(func(op *metapb.Operation) bool { return op.Kind == KindShardAdd }) != nil {
		return nil
	}
	if slices.ContainsFunc(p.status.Operations, func(op *metapb.Operation) bool {
		return op.Notes[noteInitial] != "" && op.State == metapb.OperationState_OPERATION_STATE_CANCELLED
	}) {
		next := &metapb.Settings{Replication: set.Replication, RebalancePaused: set.RebalancePaused}
		return &act{what: "no more initial shards, as they were cancelled", propose: p.command(func(c *metapb.Command) {
			c.Op = &metapb.Command_SetSettings{SetSettings: &metapb.SetSettings{Settings: next}}
		})}
	}
	replicas := int(max(set.Replication, 1))
	if _, why := p.homes(replicas, ""); why != "" || p.stable < p.cfg.Settle && !p.gathered {
		return nil
	}
	return p.starting(KindShardAdd, "the first shards of the cluster", func(op *metapb.Operation) {
		op.Want = uint32(replicas)
		op.Notes = map[string]string{noteCount: strconv.FormatUint(uint64(set.InitialShards), 10), noteInitial: "true"}
	})
}

// maxRepairs bounds the repairs that run at a time, beside the limit for each node.
const maxRepairs = 16

// repairShards replaces the replicas of nodes that have been silent for long, and adds
// those that are missing, of shards that work without them.
func (p *picture) repairShards() *act {
	if p.count(KindReplicaRepair) >= maxRepairs {
		return nil
	}
	plan := placement.Make(p.placementNodes(), p.placementShards(), placement.Limits{})
	for _, m := range plan.Moves {
		g := p.groups[m.Shard]
		repair := m.From == "" || m.To == "" || p.lost(m.From)
		if !repair || g.leader == "" || m.From != "" && m.To != "" && p.drained(m.From) {
			continue
		}
		return p.starting(KindReplicaRepair, p.relabel(m.Reason), func(op *metapb.Operation) {
			op.ShardId, op.FromNode, op.ToNode, op.TotalBytes = m.Shard, m.From, m.To, m.Bytes
		})
	}
	return nil
}

// drained tells whether a running operation empties a node.
func (p *picture) drained(id string) bool {
	return p.runs(func(op *metapb.Operation) bool {
		return op.NodeId == id && (op.Kind == KindNodeDrain || op.Kind == KindNodeDecommission)
	}) != nil
}

func (p *picture) count(kind string) int {
	n := 0
	for _, op := range p.running() {
		if op.Kind == kind {
			n++
		}
	}
	return n
}

// shardsForNewNodes makes shards for a node that has come and holds none, so that new
// tables and hot ones have it take their writes at once. There are never more than a few
// shards a node because of it; then, and for a node that was drained before, replicas are
// moved there instead.
func (p *picture) shardsForNewNodes() *act {
	if p.status.GetSettings().GetInitialShards() > 0 || len(p.shards) == 0 || p.stable < p.cfg.Settle {
		return nil
	}
	if p.runs(func(op *metapb.Operation) bool { return op.Kind == KindShardAdd || op.Kind == KindRebalance }) != nil {
		return nil
	}
	holding, nodes := map[string]bool{}, 0
	for _, s := range p.status.Shards {
		for _, id := range slices.Concat(s.Replicas, s.Learners) {
			holding[id] = true
		}
	}
	for _, n := range p.status.Nodes {
		if holdsShards(n.Node) {
			nodes++
		}
	}
	for _, n := range p.status.Nodes {
		id := n.GetNode().GetId()
		if holding[id] || p.takes(id) != "" || !p.joined(n.Node) || p.rebuildsOn(id) {
			continue
		}
		others := max(len(holding), 1)
		per := (len(p.shards) + others - 1) / others
		count := min(per, p.cfg.ShardsPerNode, p.cfg.ShardsPerNode*nodes-len(p.shards))
		if count <= 0 || p.returned(id) {
			if p.status.GetSettings().GetRebalancePaused() || p.rested(KindRebalance) < p.cfg.RebalanceRest {
				continue
			}
			return p.starting(KindRebalance, fmt.Sprintf("node %s holds no shard", p.name(id)), func(*metapb.Operation) {})
		}
		return p.starting(KindShardAdd, fmt.Sprintf("node %s has come", p.name(id)), func(op *metapb.Operation) {
			op.ToNode = id
			op.Notes = map[string]string{noteCount: strconv.Itoa(count)}
		})
	}
	return nil
}

// joined tells whether a node came after the first shards had been made: those are as
// many as the operator asked for, and may be fewer than nodes.
func (p *picture) joined(n *metapb.Node) bool {
	for _, op := range p.status.Operations {
		if op.Notes[noteInitial] != "" && op.EndedUnixNano > 0 && n.RegisteredUnixNano <= op.EndedUnixNano {
			return false
		}
	}
	return true
}

// returned tells whether a node was drained before.
func (p *picture) returned(id string) bool {
	return slices.ContainsFunc(p.status.Operations, func(op *metapb.Operation) bool {
		return op.NodeId == id && op.Kind == KindNodeDrain
	})
}

// rested is how long ago the last operation of a kind ended.
func (p *picture) rested(kind string) time.Duration {
	last := time.Time{}
	for _, op := range p.status.Operations {
		if op.Kind == kind && op.EndedUnixNano > 0 && endTime(op).After(last) {
			last = endTime(op)
		}
	}
	return p.now.Sub(last)
}

// partitionTables spreads tables over as many shards as their option partitions says, and
// those with partitions=auto over one more while they are hot.
func (p *picture) partitionTables() *act {
	if p.count(KindTablePartition) >= maxTableMoves {
		return nil
	}
	open := 0
	for _, s := range p.shardLoads() {
		if s.Open {
			open++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(p.tables)) {
		t := p.tables[id]
		text := t.Options[schema.OptionPartitions]
		if text == "" || p.runs(func(op *metapb.Operation) bool { return op.TableId == id }) != nil {
			continue
		}
		have := len(t.Writable().Shards())
		target, reason := have, ""
		if text == schema.PartitionsAuto {
			if p.hot[id] < p.cfg.HotFor {
				continue
			}
			target = have + 1
			reason = fmt.Sprintf("takes in %.1f MiB/s, more than %d shards should", p.rates.table[id]/(1<<20), have)
		} else if n, err := strconv.Atoi(text); err == nil {
			target = n
			reason = "the option partitions is " + text
		}
		if target = min(target, max(open, have)); target == have || target < 1 {
			continue
		}
		if p.recentlyFailed(KindTablePartition, id) {
			continue
		}
		return p.starting(KindTablePartition, reason, func(op *metapb.Operation) {
			op.TableId = id
			op.Notes = map[string]string{noteCount: strconv.Itoa(target)}
		})
	}
	return nil
}

// recentlyFailed keeps what fails from being begun again and again.
func (p *picture) recentlyFailed(kind string, table uint64) bool {
	return slices.ContainsFunc(p.status.Operations, func(op *metapb.Operation) bool {
		return op.Kind == kind && op.TableId == table && op.State != metapb.OperationState_OPERATION_STATE_RUNNING &&
			op.State != metapb.OperationState_OPERATION_STATE_DONE && p.now.Sub(endTime(op)) < p.cfg.TableRest
	})
}

// maxTableMoves bounds the tables that are moved at a time without being asked for.
const maxTableMoves = 4

// spreadTables moves hot tables to shards that take in little: those of new nodes.
func (p *picture) spreadTables() *act {
	if p.status.GetSettings().GetRebalancePaused() || p.count(KindTableMove) > 0 || p.count(KindRebalance) > 0 {
		return nil
	}
	for _, m := range placement.SpreadTables(p.shardLoads(), p.tableLoads(), placement.TableLimits{Moves: 1}) {
		if p.recentlyFailed(KindTableMove, m.Table) {
			continue
		}
		return p.starting(KindTableMove, m.Reason, func(op *metapb.Operation) {
			op.TableId, op.ToShards = m.Table, []uint32{m.To}
		})
	}
	return nil
}

// balanceSpread is by how much nodes must differ for replicas to be moved without being asked for.
const balanceSpread = 0.3

// balanceReplicas starts a rebalance if nodes have been far apart, nothing else is under
// way, and the last one was long ago.
func (p *picture) balanceReplicas() *act {
	if p.status.GetSettings().GetRebalancePaused() || len(p.running()) > 0 || p.stable < p.cfg.RebalanceRest ||
		p.rested(KindRebalance) < p.cfg.RebalanceRest || time.Duration(p.status.LeadingNanos) < p.cfg.Settle {
		return nil
	}
	plan := placement.Make(p.placementNodes(), p.placementShards(), placement.Limits{Spread: balanceSpread})
	if len(plan.Moves) == 0 || len(plan.Blocked) > 0 {
		return nil
	}
	return p.starting(KindRebalance, p.relabel(plan.Moves[0].Reason), func(*metapb.Operation) {})
}

// balanceLeaders hands one shard on if a node leads many more than another one that has
// a replica of it. Nodes that are about to restart are left alone.
func (p *picture) balanceLeaders() *act {
	led := p.led()
	var best *act
	bestGap := 1
	for _, s := range p.status.Shards {
		g := p.groups[s.Id]
		if g.leader == "" || p.runs(func(op *metapb.Operation) bool { return op.ShardId == s.Id }) != nil {
			continue
		}
		to := p.successor(s, g, []string{g.leader})
		if to == "" || p.restarting(to) || p.unfit(to, s) {
			continue
		}
		gap := p.rank(g.leader, led) - p.rank(to, led)
		if p.nodes[g.leader].GetReport().GetStopping() {
			gap += 1 << 20
		}
		if gap > bestGap {
			bestGap, best = gap, changeGroup(s, g, to, shardpb.ChangeReplicasRequest_CHANGE_LEAD)
		}
	}
	return best
}

// restartTime is for how long a node that was drained for a restart is not given leaders.
const restartTime = 2 * time.Minute

func (p *picture) restarting(id string) bool {
	return slices.ContainsFunc(p.status.Operations, func(op *metapb.Operation) bool {
		return op.NodeId == id && op.Notes[noteMode] == modeRestart && (op.EndedUnixNano == 0 || p.now.Sub(endTime(op)) < restartTime)
	})
}

// forgetReplaced forgets a node that holds nothing and has been silent for a while, if another
// one with its name answers at its address: it was started there with an empty data folder, as
// after its disk was lost or 'cordwood recover', and the former one cannot come back beside it.
func (p *picture) forgetReplaced() *act {
	for _, n := range p.status.Nodes {
		id := n.GetNode().GetId()
		m := p.member(id) // one that learns leaves the group when it is forgotten
		if !n.Down || p.silent(id) < p.cfg.GiveUpAfter || m != nil && m.Voter || len(p.held(id)) > 0 ||
			p.runs(func(op *metapb.Operation) bool { return op.NodeId == id || op.FromNode == id || op.ToNode == id }) != nil {
			continue
		}
		if heir := p.heir(n.Node); heir != "" {
			return &act{what: fmt.Sprintf("forget node %s: node %s has its name, %s, and its address, %s", id, heir, n.Node.Name, n.Node.RpcAddr), propose: p.command(func(c *metapb.Command) {
				c.Op = &metapb.Command_RemoveNode{RemoveNode: &metapb.RemoveNode{NodeId: id}}
			})}
		}
	}
	return nil
}

// heir is a node that answers and that came later, with the name and the address of another one;
// empty: there is none.
func (p *picture) heir(n *metapb.Node) string {
	for _, o := range p.status.Nodes {
		m := o.GetNode()
		if m.GetId() != n.GetId() && p.alive(m.GetId()) && o.Report != nil && m.GetName() == n.GetName() &&
			m.GetRpcAddr() == n.GetRpcAddr() && n.GetRpcAddr() != "" && m.GetRegisteredUnixNano() > n.GetRegisteredUnixNano() {
			return m.Id
		}
	}
	return ""
}

// raiseVersion lets the cluster use what all its nodes know, once they have agreed for a
// while.
func (p *picture) raiseVersion() *act {
	lowest := uint32(0)
	for _, n := range p.status.Nodes {
		known := cmp.Or(n.GetReport().GetMaxProtocol(), n.GetNode().GetMaxProtocol(), 1)
		if !p.alive(n.GetNode().GetId()) {
			return nil // it may come back as an older program
		}
		if lowest == 0 || known < lowest {
			lowest = known
		}
	}
	if lowest <= p.status.ClusterVersion || time.Duration(p.status.LeadingNanos) < p.cfg.FinaliseAfter || p.stable < p.cfg.FinaliseAfter {
		return nil
	}
	return &act{what: fmt.Sprintf("raise the version of the cluster to %d", lowest), propose: p.command(func(c *metapb.Command) {
		c.Op = &metapb.Command_SetClusterVersion{SetClusterVersion: &metapb.SetClusterVersion{Version: lowest}}
	})}
}

// How many operations that have ended are kept.
const keepHistory, trimHistoryAt = 200, 250

func (p *picture) trimHistory() *act {
	ended := 0
	for _, op := range p.status.Operations {
		if op.State != metapb.OperationState_OPERATION_STATE_RUNNING {
			ended++
		}
	}
	if ended < trimHistoryAt {
		return nil
	}
	return &act{what: "forget old operations", propose: p.command(func(c *metapb.Command) {
		c.Op = &metapb.Command_DropOperations{DropOperations: &metapb.DropOperations{Keep: keepHistory}}
	})}
}
