package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cordwood/meta/placement"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// picture is the cluster at one moment, as the rules of this package see it. It is not
// changed after it was made; the rules are functions of it and of nothing else.
type picture struct {
	now    time.Time
	cfg    Config
	status *metapb.StatusResponse
	nodes  map[string]*metapb.NodeStatus
	shards map[uint32]*metapb.Shard
	groups map[uint32]*group
	tables map[uint64]*schema.Table
	rates  rates
	// copies are what was answered of handoffs, by the id of the copy and by shard.
	copies map[uint64]map[uint32]copying
	// stable is how long the set of nodes that hold shards has not changed.
	stable time.Duration
	// gathered tells whether all nodes that may hold shards are known and have reported.
	gathered bool
	// measured is for how long rates have been taken.
	measured time.Duration
	// hot is for how long tables with partitions=auto have been above what one shard
	// should take.
	hot map[uint64]time.Duration
	// closed is for how long tables have been closed, and unchanged for how long operations have been as
	// they are; at least, since a new leader begins anew.
	closed, unchanged map[uint64]time.Duration
	// paired is for how long shards of one replica have had two voters because of an operation.
	paired map[uint64]time.Duration
	// trusting takes nodes that are not heard of yet for alive: for what is shown, in which
	// the first second of a new leader is not to look like the loss of everything. What is
	// decided waits instead.
	trusting bool
}

// group is the raft group of a shard, as its leader says.
type group struct {
	leader           string // empty: nobody leads, as far as is known
	term             uint64
	voters, learners []string
	last             uint64 // index of its log
	applied          uint64 // by the leader
	bytes            int64  // of one replica
}

func (g *group) has(node string) bool {
	return slices.Contains(g.voters, node) || slices.Contains(g.learners, node)
}

// membership is what a call that changed a group answered, until the leader reports it.
type membership struct {
	voters, learners []string
	leader           string // that leadership was handed to; empty: as it was
	at               time.Time
}

func newPicture(now time.Time, cfg Config, status *metapb.StatusResponse, tables []*schema.Table, answered map[uint32]membership) *picture {
	p := &picture{
		now: now, cfg: cfg, status: status, nodes: map[string]*metapb.NodeStatus{}, shards: map[uint32]*metapb.Shard{},
		groups: map[uint32]*group{}, tables: map[uint64]*schema.Table{}, rates: rates{shard: map[uint32]float64{}, table: map[uint64]float64{}},
	}
	for _, n := range status.Nodes {
		p.nodes[n.GetNode().GetId()] = n
	}
	for _, t := range tables {
		p.tables[t.ID] = t
	}
	for _, s := range status.Shards {
		p.shards[s.Id] = s
		p.groups[s.Id] = p.groupOf(s, answered[s.Id])
	}
	return p
}

func (p *picture) groupOf(s *metapb.Shard, answered membership) *group {
	g := &group{}
	var heard time.Time
	for _, n := range p.status.Nodes {
		r := p.replica(n.GetNode().GetId(), s)
		if r == nil {
			continue
		}
		g.bytes = max(g.bytes, r.SegmentBytes+r.MemtableBytes)
		if r.State == stateLeader && (g.leader == "" || r.Term > g.term) && !n.Down {
			g.leader, g.term, g.last, g.applied = n.Node.Id, r.Term, r.LastIndex, r.AppliedIndex
			g.voters, g.learners = r.Voters, r.Learners
			heard = p.now.Add(-time.Duration(n.SilentNanos))
		}
	}
	if g.leader != "" && answered.at.After(heard) {
		if len(answered.voters) > 0 {
			g.voters, g.learners = answered.voters, answered.learners
		}
		if answered.leader != "" && p.alive(answered.leader) {
			g.leader = answered.leader
		}
	}
	return g
}

// The states of replicas in reports that mean something here.
const stateLeader, stateInstalling, stateFailed = "Leader", "Installing", "Failed"

// replica is what a node reported of its replica of a shard, or nil.
func (p *picture) replica(node string, s *metapb.Shard) *metapb.ReplicaReport {
	for _, r := range p.nodes[node].GetReport().GetReplicas() {
		if r.ShardId == s.Id && r.Incarnation == s.Incarnation {
			return r
		}
	}
	return nil
}

// alive tells whether a node has reported lately.
func (p *picture) alive(node string) bool {
	n := p.nodes[node]
	return n != nil && !n.Down && (n.Report != nil || p.trusting)
}

// untold tells whether it is not known yet how a shard is: nobody has said that it leads,
// and a node that may was not heard of yet.
func (p *picture) untold(s *metapb.Shard) bool {
	return p.groups[s.Id].leader == "" && slices.ContainsFunc(p.unheard(), func(id string) bool { return !p.hushed(id) && slices.Contains(s.Replicas, id) })
}

// unheard are the nodes of which it is not known whether they are alive: they have not
// reported since the leader began to lead, and that is not long ago.
func (p *picture) unheard() (ids []string) {
	for id, n := range p.nodes {
		if n.Report == nil && !n.Down {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// lost tells whether a node has been silent for so long that its replicas are replaced.
func (p *picture) lost(node string) bool {
	n := p.nodes[node]
	return n == nil || n.Down && time.Duration(n.SilentNanos) >= p.cfg.ReplaceAfter
}

func (p *picture) silent(node string) time.Duration {
	return time.Duration(p.nodes[node].GetSilentNanos())
}

// name is a node in words.
func (p *picture) name(id string) string {
	if n := p.nodes[id].GetNode().GetName(); n != "" && n != id {
		return n
	}
	return cmp.Or(id, "unknown")
}

func (p *picture) zone(id string) string { return p.nodes[id].GetNode().GetZone() }

// holdsShards tells whether a node has the role of shards.
func holdsShards(n *metapb.Node) bool { return slices.Contains(n.GetRoles(), "shard") }

func inMeta(n *metapb.Node) bool { return slices.Contains(n.GetRoles(), "meta") }

// takes tells whether a node may get replicas, and if not, why.
func (p *picture) takes(id string) (why string) {
	n := p.nodes[id]
	switch {
	case n == nil:
		return fmt.Sprintf("there is no node %s", id)
	case !holdsShards(n.Node):
		return fmt.Sprintf("node %s does not hold shards: its roles are %v", p.name(id), n.Node.Roles)
	case n.Node.State == metapb.NodeState_NODE_STATE_DRAINING || n.Node.State == metapb.NodeState_NODE_STATE_DRAINED:
		return fmt.Sprintf("node %s is drained: 'cordwood node undrain' lets it take part again", p.name(id))
	case !p.alive(id):
		return fmt.Sprintf("node %s does not answer", p.name(id))
	case p.stops(id):
		return fmt.Sprintf("node %s is stopping", p.name(id))
	case n.GetReport().GetDiskFull():
		return fmt.Sprintf("the disk of node %s is full", p.name(id))
	case p.unreachable(id):
		return fmt.Sprintf("node %s cannot be reached by others", p.name(id))
	case p.flushesFail(id):
		return fmt.Sprintf("node %s cannot write files of rows", p.name(id))
	}
	return ""
}

// leaving tells whether a node gives its replicas away.
func (p *picture) leaving(id string) bool {
	state := p.nodes[id].GetNode().GetState()
	return state == metapb.NodeState_NODE_STATE_DRAINING || state == metapb.NodeState_NODE_STATE_DRAINED
}

// emptied tells whether a node is on its way out and nothing needs it any more.
func (p *picture) emptied(id string) bool {
	return p.leaving(id) && p.member(id) == nil && !slices.ContainsFunc(p.status.Shards, func(s *metapb.Shard) bool { return slices.Contains(s.Replicas, id) })
}

// want is how many replicas a shard is to have.
func want(s *metapb.Shard) int {
	if s.Want > 0 {
		return int(s.Want)
	}
	return max(len(s.Replicas), 1)
}

func majority(n int) int { return n/2 + 1 }

// tolerance is how many of the voters may fail before the group cannot work; negative:
// it cannot.
func (p *picture) tolerance(voters []string) int {
	living := 0
	for _, id := range voters {
		if p.alive(id) && !p.unreachable(id) {
			living++
		}
	}
	return living - majority(len(voters))
}

// running are the operations that have not ended, by id.
func (p *picture) running() []*metapb.Operation {
	var out []*metapb.Operation
	for _, op := range p.status.Operations {
		if op.State == metapb.OperationState_OPERATION_STATE_RUNNING {
			out = append(out, op)
		}
	}
	slices.SortFunc(out, func(a, b *metapb.Operation) int { return cmp.Compare(a.Id, b.Id) })
	return out
}

// runs finds a running operation.
func (p *picture) runs(match func(*metapb.Operation) bool) *metapb.Operation {
	for _, op := range p.running() {
		if match(op) {
			return op
		}
	}
	return nil
}

func (p *picture) children(parent uint64) (running, ended []*metapb.Operation) {
	for _, op := range p.status.Operations {
		switch {
		case op.Parent != parent:
		case op.State == metapb.OperationState_OPERATION_STATE_RUNNING:
			running = append(running, op)
		default:
			ended = append(ended, op)
		}
	}
	return running, ended
}

// lastShard is the highest id of a shard.
func (p *picture) lastShard() uint32 {
	last := uint32(0)
	for id := range p.shards {
		last = max(last, id)
	}
	return last
}

// led counts the shards that each node leads.
func (p *picture) led() map[string]int {
	out := map[string]int{}
	for _, g := range p.groups {
		if g.leader != "" {
			out[g.leader]++
		}
	}
	return out
}

// placementNodes are the nodes as the planner sees them.
func (p *picture) placementNodes() []placement.Node {
	busy := map[string]int{}
	for _, op := range p.running() {
		if op.Kind == KindShardMove || op.Kind == KindReplicaRepair || op.Kind == KindReplicaRebuild {
			busy[op.FromNode]++
			busy[op.ToNode]++
		}
	}
	var out []placement.Node
	for _, n := range p.status.Nodes {
		id := n.GetNode().GetId()
		if !holdsShards(n.Node) {
			continue
		}
		m := placement.Node{
			ID: id, Zone: n.Node.Zone, Capacity: n.GetReport().GetDiskCapacity(), Used: n.GetReport().GetDiskUsed(), Moves: busy[id],
		}
		switch {
		case p.lost(id) || n.Down && p.leaving(id):
			m.State = placement.Down
		case p.leaving(id):
			m.State = placement.Draining
		case p.takes(id) != "":
			m.State = placement.Away
		}
		if m.Capacity == 0 && m.State == placement.Up {
			m.Capacity = 1 << 50 // its disk could not be measured: that is no reason to take nothing
		}
		out = append(out, m)
	}
	return out
}

// placementShards are the shards as the planner sees them. Those that move are where they will
// be: else a node would be given replicas again and again until the first of them have come, and
// then too many.
func (p *picture) placementShards() []placement.Shard {
	busy, moves := map[uint32]bool{}, map[uint32]*metapb.Operation{}
	for _, op := range p.running() {
		busy[op.ShardId] = true
		if op.Kind == KindShardMove || op.Kind == KindReplicaRepair {
			moves[op.ShardId] = op
		}
	}
	var out []placement.Shard
	for _, s := range p.status.Shards {
		replicas := s.Replicas
		if op := moves[s.Id]; op != nil && !op.Cancel && op.Notes[noteUndo] == "" {
			replicas = slices.DeleteFunc(slices.Clone(replicas), func(id string) bool { return id == op.FromNode })
			if op.ToNode != "" && !slices.Contains(replicas, op.ToNode) {
				replicas = append(replicas, op.ToNode)
			}
		}
		out = append(out, placement.Shard{
			ID: s.Id, Want: want(s), Replicas: replicas, Bytes: p.groups[s.Id].bytes, Ingest: p.rates.shard[s.Id],
			Busy: busy[s.Id] || len(s.Learners) > 0,
		})
	}
	return out
}

// shardLoads and tableLoads are what the planner of tables sees.
func (p *picture) shardLoads() []placement.ShardLoad {
	var out []placement.ShardLoad
	for _, s := range p.status.Shards {
		g := p.groups[s.Id]
		l := placement.ShardLoad{ID: s.Id, Node: g.leader, Open: g.leader != "" && !p.leaving(g.leader) && p.takes(g.leader) == ""}
		if l.Node == "" && len(s.Replicas) > 0 {
			l.Node = s.Replicas[0]
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b placement.ShardLoad) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

func (p *picture) tableLoads() []placement.TableLoad {
	busy := map[uint64]bool{}
	for _, op := range p.running() {
		busy[op.TableId] = true
	}
	var out []placement.TableLoad
	for _, t := range p.tables {
		w := t.Writable()
		shards := w.Shards()
		settled := p.now.Sub(time.Unix(0, w.Since)) >= p.cfg.TableRest
		for _, id := range shards {
			out = append(out, placement.TableLoad{
				ID: t.ID, Shard: id, Rate: p.rates.table[t.ID] / float64(len(shards)),
				Fixed: busy[t.ID] || len(shards) > 1 || !settled,
			})
		}
	}
	slices.SortFunc(out, func(a, b placement.TableLoad) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Shard, b.Shard))
	})
	return out
}

// movable tells whether the writes of a table may go to another shard while its rows
// stay: rows of one identity must meet in one shard to become one.
func movable(t *schema.Table) bool { return t.AppendMode() }

// takesRows tells whether an operation has a table take its stored rows along.
func takesRows(op *metapb.Operation, t *schema.Table) bool {
	return !movable(t) || op.Notes[noteRows] != ""
}
