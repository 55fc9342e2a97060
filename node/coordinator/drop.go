package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// The steps of shard-drop that others do not have.
const stepAnew = "anew"

// dropShard is shard-drop: the rows of a shard are given up, since what held them is lost for
// good. It is made anew without rows on other nodes, so that its tables can be written and read
// again. What former replicas have on disk stays there, and is not taken back.
func (p *picture) dropShard(op *metapb.Operation) decision {
	id, err := strconv.ParseUint(op.Notes[noteShard], 10, 32)
	s := p.shards[uint32(id)]
	if err != nil || s == nil {
		return failed("end", "there is no shard %s", op.Notes[noteShard])
	}
	was, err := strconv.ParseUint(op.Notes[noteWas], 10, 32)
	if err != nil {
		return failed("end", "the note %s is %q, which is no number", noteWas, op.Notes[noteWas])
	}
	if uint64(s.Incarnation) > was {
		if p.groups[s.Id].leader == "" {
			return wait(stepStart, "%s", p.leaderless(s))
		}
		return finished("shard %d was made anew without rows on %s; given up are %s", s.Id, p.names(s.Replicas), op.Notes[noteLoss])
	}
	if op.Cancel {
		return cancelled("shard %d was not given up", s.Id)
	}
	if why := p.keepLost(s); why != "" {
		return failed("end", "%s", why)
	}
	homes, why := p.newHomes(s)
	if why != "" {
		return wait(stepAnew, "%s", why)
	}
	return call(stepAnew, fmt.Sprintf("shard %d begins anew, without rows, on %s", s.Id, p.names(homes)), p.changeShard("make a shard anew without rows", s, func(c *metapb.ChangeShard) {
		c.Change = &metapb.ChangeShard_MadeAnew{MadeAnew: &metapb.MadeAnew{NodeIds: homes}}
	}))
}

// keepLost says why the rows of a shard are not to be given up; empty: nobody can bring them
// back but nodes that do not answer.
func (p *picture) keepLost(s *metapb.Shard) string {
	var open, silent []string
	for _, id := range s.Replicas {
		switch r := p.replica(id, s); {
		case p.hushed(id):
			silent = append(silent, id)
		case p.alive(id) && r != nil && r.State != stateFailed:
			open = append(open, id)
		}
	}
	switch g := p.groups[s.Id]; {
	case len(silent) > 0:
		return fmt.Sprintf("shard %d is not given up: node %s was heard of %s ago, and may be alive: try again in %s", s.Id, p.labels(silent), round(p.silent(silent[0])), p.cfg.DownAfter)
	case g.leader != "":
		return fmt.Sprintf("shard %d works: node %s leads it; nothing of it is lost", s.Id, p.label(g.leader))
	case len(open) > 0:
		return fmt.Sprintf("shard %d still has a replica on %s, with its rows: start its other nodes again, or go on with that one: see 'cordwood recover --help'", s.Id, p.labels(open))
	case p.status.ClusterVersion < metapb.ProtocolAnew:
		return fmt.Sprintf("shard %d cannot be made anew before the cluster uses protocol version %d; it uses %d: that rises when all nodes run programs that know it", s.Id, metapb.ProtocolAnew, p.status.ClusterVersion)
	}
	return ""
}

// newHomes chooses the nodes for a shard that is made anew: as many as it wants, or fewer while
// there are no more, and none that has a replica of before unless there is no other.
func (p *picture) newHomes(s *metapb.Shard) (nodes []string, why string) {
	for n := want(s); n > 0; n-- {
		nodes, why = p.homes(n, "", slices.Concat(s.Replicas, s.Learners, s.Removed)...)
		if why == "" {
			return nodes, ""
		}
	}
	return p.homes(1, "", s.Removed...)
}

// loss says what is given up with a shard: tables, and how much there was when it was last
// heard of.
func (p *picture) loss(s *metapb.Shard) string {
	var tables []string
	for _, id := range slices.Sorted(maps.Keys(p.tables)) {
		t := p.tables[id]
		switch {
		case !slices.Contains(t.Shards(), s.Id):
		case slices.Contains(t.Writable().Shards(), s.Id) && len(t.Shards()) == 1:
			tables = append(tables, fmt.Sprintf("all rows of %s.%s", t.Database, t.Name))
		case t.Options[schema.OptionPartitions] != "" && slices.Contains(t.Writable().Shards(), s.Id):
			tables = append(tables, fmt.Sprintf("a part of the rows of %s.%s", t.Database, t.Name))
		default:
			tables = append(tables, fmt.Sprintf("older rows of %s.%s", t.Database, t.Name))
		}
	}
	if len(tables) == 0 {
		tables = []string{"no rows: it holds no table"}
	}
	size, where := "how much that is was not reported since the leader of the metadata began", []string{}
	for _, id := range s.Replicas {
		r := p.replica(id, s)
		if p.nodes[id] == nil {
			continue
		}
		where = append(where, fmt.Sprintf("node %s, last heard of %s ago", p.label(id), round(p.silent(id))))
		if r != nil && r.SegmentBytes+r.MemtableBytes > 0 {
			size = fmt.Sprintf("about %d bytes, up to entry %d of its log", r.SegmentBytes+r.MemtableBytes, r.LastIndex)
		}
	}
	if len(where) == 0 {
		where = []string{"nodes that were removed"}
	}
	return fmt.Sprintf("%s (%s; on %s)", few(tables), size, strings.Join(where, ", "))
}

// about is the shard that an operation is about; 0: none.
func about(op *metapb.Operation) uint32 {
	if op.Kind == KindShardDrop {
		id, _ := strconv.ParseUint(op.Notes[noteShard], 10, 32)
		return uint32(id)
	}
	return op.ShardId
}
