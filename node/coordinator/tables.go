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
	"cordwood/proto/schema"
)

// The steps of table-move and table-partition.
const (
	stepPlace = "place" // other shards take the table's writes from the next epoch on
	stepSeal  = "seal"  // the former ones know that they no longer do
)

// moveTable is table-move and table-partition: other shards take a table's writes. Its
// rows stay where they are and are found there, unless the table merges them or is to take
// them along: see handOver.
func (p *picture) moveTable(op *metapb.Operation) decision {
	t := p.tables[op.TableId]
	if t == nil {
		if c := p.handedOver(op); c != nil {
			return p.tellNew(op, c)
		}
		return failed("end", "%s is gone: it was dropped or truncated", subject(p, op))
	}
	if takesRows(op, t) || t.Handoff != nil {
		return p.handOver(op, t)
	}
	now := t.Writable()
	if op.Notes[noteEpoch] == "" {
		return p.beginMove(op, t)
	}
	epoch, err := strconv.ParseUint(op.Notes[noteEpoch], 10, 32)
	if err != nil {
		return failed("end", "the note %s is %q, which is no number", noteEpoch, op.Notes[noteEpoch])
	}
	if uint64(now.Epoch) == epoch {
		if op.Cancel {
			return cancelled("the writes of table %s.%s stay where they were", t.Database, t.Name)
		}
		return call(stepPlace, fmt.Sprintf("%s the writes of table %s.%s", shardsTake(op.ToShards), t.Database, t.Name), &act{
			what: "place table", propose: p.command(func(c *metapb.Command) {
				c.Op = &metapb.Command_PlaceTable{PlaceTable: &metapb.PlaceTable{TableId: t.ID, Epoch: now.Epoch, ShardIds: op.ToShards}}
			}),
		})
	}
	return p.seal(op, t)
}

// beginMove checks a move of a table and remembers how it was before.
func (p *picture) beginMove(op *metapb.Operation, t *schema.Table) decision {
	if op.Cancel {
		return cancelled("the writes of table %s.%s stay where they were", t.Database, t.Name)
	}
	to := op.ToShards
	if len(to) == 0 {
		n, err := strconv.Atoi(op.Notes[noteCount])
		if err != nil || n < 1 {
			return failed("end", "neither shards nor a number of partitions are given")
		}
		to = placement.Emptiest(p.shardLoads(), p.tableLoads(), t.Writable().Shards(), n)
	}
	if why := p.refusePlace(op, t, to); why != "" {
		return failed("end", "%s", why)
	}
	if slices.Equal(to, t.Writable().Shards()) && (!takesRows(op, t) || len(t.Shards()) == len(to)) {
		return finished("%s the writes of table %s.%s already", shardsTake(to), t.Database, t.Name)
	}
	d := decision{step: stepPlace, reason: "begins", again: true, toShards: to}
	return d.note(noteEpoch, strconv.FormatUint(uint64(t.Writable().Epoch), 10)).note(noteOld, idList(t.Writable().Shards()))
}

// refusePlace says why shards cannot take the writes of a table; empty: they can.
func (p *picture) refusePlace(op *metapb.Operation, t *schema.Table, to []uint32) string {
	if len(to) == 0 {
		return fmt.Sprintf("no shard can take the writes of table %s.%s: none has a leader", t.Database, t.Name)
	}
	for i, id := range to {
		if p.shards[id] == nil {
			return fmt.Sprintf("there is no shard %d", id)
		}
		if slices.Contains(to[:i], id) {
			return fmt.Sprintf("shard %d is given twice", id)
		}
		if p.groups[id].leader == "" {
			return "the writes cannot go there: " + p.leaderless(p.shards[id])
		}
	}
	if v := p.status.GetClusterVersion(); !movable(t) && v < metapb.ProtocolHandoff {
		return fmt.Sprintf("table %s.%s merges rows of one identity (append_mode is not true): it can be moved or spread once the cluster uses protocol version %d, now it uses %d; upgrade all nodes", t.Database, t.Name, metapb.ProtocolHandoff, v)
	} else if movable(t) && takesRows(op, t) && v < metapb.ProtocolHandoffAppend {
		return fmt.Sprintf("table %s.%s keeps all rows (append_mode is true): it can take them along once the cluster uses protocol version %d, now it uses %d; upgrade all nodes, or move its writes alone", t.Database, t.Name, metapb.ProtocolHandoffAppend, v)
	}
	return ""
}

// seal tells the former shards, in whose logs there are no rows of the table after that.
func (p *picture) seal(op *metapb.Operation, t *schema.Table) decision {
	sealed := list(op.Notes[noteSealed])
	takes := t.Writable().Shards()
	for _, text := range list(op.Notes[noteOld]) {
		id64, err := strconv.ParseUint(text, 10, 32)
		id := uint32(id64)
		if err != nil || slices.Contains(sealed, text) || slices.Contains(takes, id) || p.shards[id] == nil {
			continue
		}
		g := p.groups[id]
		if g.leader == "" {
			return wait(stepSeal, "new writes go to %s; the former shard cannot be told: %s", shardNames(takes), p.leaderless(p.shards[id]))
		}
		d := call(stepSeal, fmt.Sprintf("shard %d is told that it no longer takes the writes", id), &act{
			what: "seal table", define: &defineAct{shard: id, leader: g.leader, tableID: t.ID},
		})
		d.then = map[string]string{noteSealed: strings.Join(append(sealed, text), ",")}
		return d
	}
	return finished("%s the writes of table %s.%s", shardsTake(takes), t.Database, t.Name)
}

func idList(ids []uint32) string {
	var out []string
	for _, id := range ids {
		out = append(out, strconv.FormatUint(uint64(id), 10))
	}
	return strings.Join(out, ",")
}

// splitHot moves tables away from a shard until it takes in about half.
func (p *picture) splitHot(op *metapb.Operation) decision {
	if p.shards[op.ShardId] == nil {
		return failed("end", "there is no shard %d", op.ShardId)
	}
	running, ended := p.children(op.Id)
	if len(running) > 0 {
		return p.waitFor(op, running, ended)
	}
	moves := len(ended)
	if op.Cancel {
		return cancelled("%d tables were moved", moves)
	}
	if moves > 0 {
		return finished("%d tables were moved away from shard %d", moves, op.ShardId)
	}
	if p.measured < measureFor {
		return wait("measure", "what tables take in is measured")
	}
	tables := p.tableLoads()
	total := 0.0
	for _, t := range tables {
		if t.Shard == op.ShardId {
			total += t.Rate
		}
	}
	chosen := hottest(tables, op.ShardId, total)
	if len(chosen) == 0 {
		return finished("nothing was moved: shard %d takes in %.1f MiB/s, and no table of it can be moved that would make it less by half or a part of that; a single hot table is spread by the option partitions", op.ShardId, total/(1<<20))
	}
	others := slices.DeleteFunc(p.shardLoads(), func(s placement.ShardLoad) bool { return s.ID == op.ShardId })
	targets := placement.Emptiest(others, tables, nil, len(others))
	if len(targets) == 0 {
		return failed("end", "there is no other shard: 'cordwood shard add' makes one")
	}
	var parts []*metapb.Operation
	for i, t := range chosen {
		parts = append(parts, part(op, KindTableMove, func(o *metapb.Operation) {
			o.TableId, o.ToShards = t.ID, []uint32{targets[i%len(targets)]}
			o.Reason = fmt.Sprintf("takes in %.1f MiB/s of a hot shard", t.Rate/(1<<20))
		}))
	}
	return p.begin(op, "parts", parts)
}

// measureFor is how long a leader looks at what tables take in before it splits a shard.
const measureFor = 10 * time.Second

// maxSplit bounds the tables that one split moves.
const maxSplit = 64

// hottest are tables of a shard that together take in up to half of what it does.
func hottest(tables []placement.TableLoad, shard uint32, total float64) []placement.TableLoad {
	var own, out []placement.TableLoad
	for _, t := range tables {
		if t.Shard == shard && !t.Fixed && t.Rate > 0 {
			own = append(own, t)
		}
	}
	slices.SortStableFunc(own, func(a, b placement.TableLoad) int { return cmp.Compare(b.Rate, a.Rate) })
	left := total / 2
	for _, t := range own {
		if t.Rate <= left*1.1 && len(out) < maxSplit {
			out = append(out, t)
			left -= t.Rate
		}
	}
	return out
}
