package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/meta/placement"
	"cordwood/proto/metapb"
)

// The steps of shard-add and replica-change that reshape does not have.
const (
	stepMake  = "make"
	stepStart = "start"
	stepWant  = "want"
)

// openTime is how long shard-add waits for all replicas of shards that have leaders.
const openTime = 10 * time.Second

// maxNewShards bounds one shard-add.
const maxNewShards = 256

// addShards makes new shards, each on the nodes that have least.
func (p *picture) addShards(op *metapb.Operation) decision {
	count, err := strconv.Atoi(cmp.Or(op.Notes[noteCount], "1"))
	if err != nil || count < 1 || count > maxNewShards {
		return failed("end", "%q shards are asked for: from 1 to %d can be made at a time", op.Notes[noteCount], maxNewShards)
	}
	if other := p.runs(func(o *metapb.Operation) bool { return o.Kind == KindShardAdd && o.Id < op.Id }); other != nil {
		if op.Cancel && op.Notes[noteBase] == "" {
			return cancelled("no shard was made")
		}
		return wait(orStep(op, stepMake), "operation %d makes shards first", other.Id)
	}
	if op.Notes[noteBase] == "" {
		return decision{step: stepMake, reason: "begins", again: true}.note(noteBase, strconv.FormatUint(uint64(p.lastShard()), 10))
	}
	base, err := strconv.ParseUint(op.Notes[noteBase], 10, 32)
	if err != nil {
		return failed("end", "the note %s is %q, which is no number", noteBase, op.Notes[noteBase])
	}
	var made []uint32
	for id := range p.shards {
		if uint64(id) > base {
			made = append(made, id)
		}
	}
	slices.Sort(made)
	if op.Cancel && len(made) < count {
		d := cancelled("%d of %d shards were made, which stay: %s", len(made), count, shardNames(made))
		d.toShards = made
		return d
	}
	if len(made) < count {
		return p.makeShard(op, len(made), count)
	}
	for _, id := range made {
		if p.groups[id].leader == "" {
			d := wait(stepStart, "%s", p.leaderless(p.shards[id]))
			d.toShards = made
			if op.Cancel {
				d = finished("made %s, of which shard %d has no leader yet", shardNames(made), id)
				d.toShards = made
			}
			return d
		}
	}
	for _, id := range made { // the first rows are to find all replicas there
		if s := p.shards[id]; !op.Cancel && p.unchanged[op.Id] < openTime && len(p.readyVoters(s, s.Replicas)) < len(p.livingReplicas(s)) {
			d := wait(stepStart, "not all replicas of shard %d are ready yet", id)
			d.toShards = made
			return d
		}
	}
	d := finished("made %s", shardNames(made))
	d.toShards = made
	return d
}

func shardNames(ids []uint32) string {
	if len(ids) == 0 {
		return "none"
	}
	var out []string
	for _, id := range ids {
		out = append(out, strconv.FormatUint(uint64(id), 10))
	}
	if len(ids) == 1 {
		return "shard " + out[0]
	}
	return "shards " + strings.Join(out, ", ")
}

// shardsTake and shardsHave are shards, and the verb that goes with so many; takeOf is the
// verb alone.
func shardsTake(ids []uint32) string { return shardNames(ids) + " " + takeOf(ids) }

func shardsHave(ids []uint32) string {
	if len(ids) == 1 {
		return shardNames(ids) + " has"
	}
	return shardNames(ids) + " have"
}

func takeOf(ids []uint32) string {
	if len(ids) == 1 {
		return "takes"
	}
	return "take"
}

func (p *picture) makeShard(op *metapb.Operation, made, count int) decision {
	replicas := int(cmp.Or(op.Want, p.status.GetSettings().GetReplication(), 1))
	nodes, why := p.homes(replicas, op.ToNode)
	if why != "" {
		return wait(stepMake, "%d of %d shards are made; %s", made, count, why)
	}
	return call(stepMake, fmt.Sprintf("%d of %d shards are made", made, count), &act{what: "create shard", propose: p.command(func(c *metapb.Command) {
		c.Op = &metapb.Command_CreateShard{CreateShard: &metapb.CreateShard{Replicas: nodes, Want: uint32(replicas), ShardId: p.lastShard() + 1}}
	})})
}

// homes chooses the nodes of a new shard: first, if it is set and can take one, then those
// with the fewest replicas, in zones that have none yet as long as there are such; none of not.
func (p *picture) homes(n int, first string, not ...string) (nodes []string, why string) {
	have, heads := map[string]int{}, map[string]int{}
	for _, s := range p.status.Shards {
		for i, id := range slices.Concat(s.Replicas, s.Learners) {
			have[id]++
			if i == 0 {
				heads[id]++
			}
		}
	}
	up := 0
	for _, node := range p.status.Nodes {
		if id := node.GetNode().GetId(); p.takes(id) == "" && !slices.Contains(not, id) {
			up++
		}
	}
	if up < n {
		return nil, fmt.Sprintf("a shard of %d replicas needs as many nodes that hold shards, and %d are up: add %d", n, up, n-up)
	}
	zones := map[string]bool{}
	for len(nodes) < n {
		best := ""
		for _, node := range p.status.Nodes {
			id := node.GetNode().GetId()
			if p.takes(id) != "" || slices.Contains(nodes, id) || slices.Contains(not, id) {
				continue
			}
			if best == "" || p.betterHome(id, best, first, zones, have, heads) {
				best = id
			}
		}
		nodes = append(nodes, best)
		if z := p.zone(best); z != "" {
			zones[z] = true
		}
	}
	// The first one tends to lead: that should not always be the same node.
	slices.SortFunc(nodes, func(a, b string) int {
		return cmp.Or(compareBool(b == first, a == first), cmp.Compare(heads[a], heads[b]), cmp.Compare(a, b))
	})
	return nodes, ""
}

func (p *picture) betterHome(a, b, first string, zones map[string]bool, have, heads map[string]int) bool {
	return cmp.Or(
		compareBool(b == first, a == first),
		compareBool(zones[p.zone(a)], zones[p.zone(b)]),
		cmp.Compare(have[a], have[b]), cmp.Compare(heads[a], heads[b]), cmp.Compare(a, b)) < 0
}

// compareBool has false come before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// changeReplicas is replica-change: a shard gets another number of replicas.
func (p *picture) changeReplicas(op *metapb.Operation) decision {
	s := p.shards[op.ShardId]
	if s == nil {
		return failed("end", "there is no shard %d", op.ShardId)
	}
	if op.Want < 1 || op.Want > 7 {
		return failed("end", "shard %d is to have %d replicas: from 1 to 7 are possible", op.ShardId, op.Want)
	}
	_, chosen := op.Notes[noteWas]
	if !chosen {
		if op.Cancel {
			return cancelled("shard %d was not changed", s.Id)
		}
		adds, drops, why := p.chooseReplicas(s, int(op.Want))
		if why != "" {
			return failed("end", "%s", why)
		}
		d := decision{step: stepWant, reason: "nodes are chosen", again: true}
		return d.note(noteWas, strconv.FormatUint(uint64(want(s)), 10)).note(noteAdd, strings.Join(adds, ",")).note(noteDrop, strings.Join(drops, ","))
	}
	if s.Want != op.Want && op.Notes[noteUndo] == "" && !op.Cancel {
		return call(stepWant, fmt.Sprintf("%d replicas are wanted", op.Want), p.changeShard("change the wanted replicas", s, func(c *metapb.ChangeShard) {
			c.Change = &metapb.ChangeShard_Want{Want: op.Want}
		}))
	}
	d := p.reshape(op, s.Id, list(op.Notes[noteAdd]), list(op.Notes[noteDrop]))
	if d.end == metapb.OperationState_OPERATION_STATE_DONE {
		d.reason = fmt.Sprintf("shard %d has %d replicas, on %s", s.Id, len(s.Replicas), p.names(s.Replicas))
	}
	return d
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// afterHas leaves out of a reason of the planner how many replicas a shard has on the way there.
func afterHas(reason string) string {
	if _, why, ok := strings.Cut(reason, "; "); ok && strings.HasPrefix(reason, "has ") {
		return why
	}
	return reason
}

// chooseReplicas asks the planner which nodes get a replica of a shard, or lose theirs, so
// that it has n.
func (p *picture) chooseReplicas(s *metapb.Shard, n int) (adds, drops []string, why string) {
	nodes := p.placementNodes()
	for i := range nodes {
		nodes[i].Moves = 0 // it waits by itself
	}
	shards := p.placementShards()
	for i := range shards {
		shards[i].Busy = shards[i].ID != s.Id
		if shards[i].ID == s.Id {
			shards[i].Want = n
		}
	}
	have := slices.Clone(s.Replicas)
	for len(have) != n {
		plan := placement.Make(nodes, shards, placement.Limits{NodeMoves: 16})
		i := slices.IndexFunc(plan.Moves, func(m placement.Move) bool { return m.Shard == s.Id && (m.From == "") != (m.To == "") })
		if i < 0 {
			for _, b := range plan.Blocked {
				if b.Shard == s.Id {
					return nil, nil, fmt.Sprintf("shard %d cannot have %d replicas: %s", s.Id, n, afterHas(b.Reason))
				}
			}
			return nil, nil, fmt.Sprintf("shard %d cannot have %d replicas now: nodes that hold some do not answer", s.Id, n)
		}
		m := plan.Moves[i]
		if m.To != "" {
			adds, have = append(adds, m.To), append(have, m.To)
		} else {
			drops = append(drops, m.From)
			have = slices.DeleteFunc(have, func(id string) bool { return id == m.From })
		}
		for j := range shards {
			if shards[j].ID == s.Id {
				shards[j].Replicas = slices.Clone(have)
			}
		}
	}
	return adds, drops, ""
}
