package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"cordwood/meta/placement"
	"cordwood/node/coordinator/operation"
	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/words"
)

// The steps of shard-remove, in addition to stepMark, stepParts, stepClean and stepUndo.
const (
	stepQuiet  = "quiet"  // nothing reads the shard, and it remembers no keys of requests
	stepRetire = "retire" // the metadata no longer list the shard
)

const (
	// removalMoves is the number of tables that may leave a shard at a time.
	removalMoves = 2
	// removalTries is the number of tries to move a table off a shard; each try makes several
	// copies.
	removalTries = 3
	// minEmpty is the minimum time for which a shard must have had no table. Routers may use a copy of the metadata
	// that is up to ten seconds old, and the next report of a shard's nodes shows whether routers still use it.
	minEmpty = 10*time.Second + snapshot.SilentAfter
	// KeysRemembered is the time for which a shard remembers keys of requests; it equals
	// rules.KeyTTL of package shard.
	KeysRemembered = 15 * time.Minute
	// maxEmpty is the time, since its last table left, after which a shard cannot remember any key, whatever its
	// replicas report. A reopened replica does not know how much time has passed since the last entry of its log.
	maxEmpty = KeysRemembered + minEmpty
)

// removeShard implements shard-remove: the tables of a shard are moved to other shards, and then
// the shard is retired. It can be cancelled until then.
func removeShard(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	p := op.GetShardRemove()
	s := snap.Shards[p.GetShardId()]
	if s == nil {
		return removeReplicas(snap, op)
	}
	if op.Cancel || p.Undo != "" {
		return keepShard(snap, op, s)
	}
	if op.Step == "" {
		if why := whyNoRemoval(snap, op, s); why != "" {
			return failed("end", "%s", why)
		}
	}
	switch why := whyShardStays(snap, s); {
	case why != "" && s.Retiring:
		return keepFrom(why)
	case why != "":
		return failed("end", "%s", why)
	case !s.Retiring:
		return call(stepMark, fmt.Sprintf("shard %d gets no new tables", s.Id), setRetiring(snap, s, true))
	}
	left := snap.Groups[s.Id].Bytes
	total := max(op.TotalBytes, left)
	running, ended := snap.Parts(op.Id)
	if moves := removals(snap, s.Id); len(moves) > 0 {
		return rememberEmpty(op, 0, moveTables(snap, op, moves, running, ended).copied(total-left, total))
	}
	if len(running) > 0 {
		return waitForParts(snap, op, running, ended).copied(total-left, total)
	}
	empty := snap.EmptyFor[uint64(s.Id)]
	if why := whyNeeded(snap, op, s); why != "" {
		return rememberEmpty(op, empty, wait(stepQuiet, "%s", why).copied(total, total))
	}
	if empty < minEmpty {
		return wait(stepQuiet, "no table is on shard %d; it stays for %s, since routers may not know that yet", s.Id,
			minEmpty).copied(total, total)
	}
	return call(stepRetire, fmt.Sprintf("no table needs shard %d: it is removed", s.Id), &act{
		what: "retire shard", propose: command(snap, func(c *metapb.Command) {
			c.Op = &metapb.Command_RetireShard{RetireShard: &metapb.RetireShard{ShardId: s.Id, Version: s.Version}}
		}),
	}).copied(total, total)
}

// rememberEmpty records how long the shard has been without tables. It rounds to minutes, since each change is
// stored.
func rememberEmpty(op *metapb.Operation, empty time.Duration, d decision) decision {
	nanos := int64(empty.Truncate(time.Minute))
	if nanos == op.GetShardRemove().GetEmptyNanos() {
		return d
	}
	return d.remember(func(op *metapb.Operation) { operation.ShardRemoveProgress(op).EmptyNanos = nanos })
}

func setRetiring(snap *snapshot.Snapshot, s *metapb.Shard, retiring bool) *act {
	return changeShard(snap, "set whether a shard retires", s, func(c *metapb.ChangeShard) {
		c.Change = &metapb.ChangeShard_Retiring{Retiring: retiring}
	})
}

// removeReplicas waits until the nodes that answer have deleted their replicas of a retired shard.
func removeReplicas(snap *snapshot.Snapshot, op *metapb.Operation) decision {
	id := op.GetShardRemove().GetShardId()
	if op.Step == "" { // the number of replicas at the time of the request
		return failed("end", "%s", whyNoShard(snap, id))
	}
	var deleting, away []string
	for _, s := range snap.Status.GetRetiredShards() {
		for _, node := range s.Removed {
			switch {
			case s.Id != id || snap.Nodes[node] == nil:
			case snap.Alive(node) || slices.Contains(snap.Unheard(), node):
				deleting = append(deleting, node)
			default:
				away = append(away, node)
			}
		}
	}
	switch {
	case len(deleting) > 0:
		return wait(stepClean, "%s the replica of shard %d", nodesDelete(snap, deleting), id)
	case len(away) > 0:
		return finished("shard %d was removed; %s the replica once it is back", id,
			nodesDelete(snap, away)).copied(op.TotalBytes, op.TotalBytes)
	}
	return finished("shard %d was removed, and its replicas are deleted", id).copied(op.TotalBytes, op.TotalBytes)
}

func nodesDelete(snap *snapshot.Snapshot, nodes []string) string {
	if len(nodes) == 1 {
		return "node " + snap.Label(nodes[0]) + " deletes"
	}
	return "nodes " + snap.Labels(nodes) + " delete"
}

// whyNoRemoval returns why a removal of a shard must not start, or an empty text.
func whyNoRemoval(snap *snapshot.Snapshot, op *metapb.Operation, s *metapb.Shard) string {
	if v := snap.Status.GetClusterVersion(); v < metapb.ProtocolRetire {
		return fmt.Sprintf("shard %d cannot be removed before the cluster uses protocol version %d; it uses %d: "+
			"upgrade all nodes first", s.Id, metapb.ProtocolRetire, v)
	}
	for _, o := range snap.Running() {
		switch {
		case o.Id == op.Id:
		case o.Kind == operation.ShardRemove && operation.About(o) == s.Id && (op.Id == 0 || o.Id < op.Id):
			return fmt.Sprintf("operation %d removes shard %d already", o.Id, s.Id)
		case o.GetShardAdd().GetBegun() && s.Id > o.GetShardAdd().Base: // its retry would create another
			return fmt.Sprintf("operation %d creates shard %d: wait until it has ended", o.Id, s.Id)
		}
	}
	return ""
}

// whyShardStays returns the reason why a shard cannot be retired in the present state of the cluster, or an empty
// text.
func whyShardStays(snap *snapshot.Snapshot, s *metapb.Shard) string {
	others := len(otherShards(snap, s.Id))
	if others == 0 {
		return fmt.Sprintf("shard %d cannot be removed: there is no other shard that stays; "+
			"add one with 'cordwood shard add'", s.Id)
	}
	safe := len(sheltering(snap, s))
	for _, id := range slices.Sorted(maps.Keys(snap.Tables)) {
		t := snap.Tables[id]
		if safe == 0 && slices.Contains(t.Shards(), s.Id) {
			return fmt.Sprintf("shard %d cannot be removed: its rows have %d replicas, and no other shard has as many, "+
				"so the rows of "+
				"table %s.%s would have fewer; give another shard %d replicas with 'cordwood shard replicas SHARD %d'",
				s.Id, snapshot.Want(s), t.Database, t.Name, snapshot.Want(s), snapshot.Want(s))
		}
		n, err := strconv.Atoi(t.Options[schema.OptionPartitions])
		if err == nil && n > others && slices.Contains(t.Writable().Shards(), s.Id) {
			return fmt.Sprintf("shard %d cannot be removed: table %s.%s has the option partitions=%d, and only %s would be "+
				"left; "+
				"add shards with 'cordwood shard add', or run 'cordwood table set %s partitions=%d'",
				s.Id, t.Database, t.Name, n, words.Count(others, "other shard"), schema.FormatTableName(t.Database, t.Name), others)
		}
	}
	return ""
}

// otherShards returns, by id, the shards that are left if a shard is retired.
func otherShards(snap *snapshot.Snapshot, id uint32) (out []uint32) {
	for _, s := range snap.Status.Shards {
		if s.Id != id && !s.Retiring {
			out = append(out, s.Id)
		}
	}
	slices.Sort(out)
	return out
}

// sheltering returns, by id, the shards that are left if a shard is retired and that have at least as many replicas.
func sheltering(snap *snapshot.Snapshot, s *metapb.Shard) []uint32 {
	return slices.DeleteFunc(otherShards(snap, s.Id), func(id uint32) bool {
		return snapshot.Want(snap.Shards[id]) < snapshot.Want(s)
	})
}

// removal is the move of a table off a shard, with its rows.
type removal struct {
	table *schema.Table
	to    []uint32
	// why, if not empty, is the reason why the table cannot be moved now.
	why string
}

// withRows returns an operation that moves a table with its rows.
var withRows = &metapb.Operation{
	Kind:     operation.TableMove,
	Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{WithRows: true}},
}

// removals returns, by id, the tables that have rows on a shard or are written there, and the
// target shards of each: the shards that take its writes now, with retiring shards replaced by the
// shards with the lowest ingest rates. No row gets fewer replicas.
func removals(snap *snapshot.Snapshot, shard uint32) (out []removal) {
	stay, safe := otherShards(snap, shard), sheltering(snap, snap.Shards[shard])
	open := slices.DeleteFunc(snapshot.ShardLoads(snap), func(l placement.ShardLoad) bool {
		return !slices.Contains(stay, l.ID)
	})
	loads := snapshot.TableLoads(snap)
	for i := range loads {
		loads[i].Rate++ // among shards with equal ingest, prefer the one with fewer tables
	}
	for _, op := range snap.Running() { // count moves of tables that are running
		for _, id := range op.ToShards {
			loads = append(loads, placement.TableLoad{
				ID:    op.TableId,
				Shard: id,
				Rate:  snap.Rates.Table[op.TableId]/float64(len(op.ToShards)) + 1,
			})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(snap.Tables)) {
		t := snap.Tables[id]
		if !slices.Contains(t.Shards(), shard) {
			continue
		}
		now := t.Writable().Shards()
		keep := slices.DeleteFunc(slices.Clone(now), func(id uint32) bool { return !slices.Contains(stay, id) })
		may := slices.DeleteFunc(slices.Clone(open), func(l placement.ShardLoad) bool {
			return !slices.Contains(safe, l.ID) && !slices.Contains(keep, l.ID)
		})
		places := slices.Compact(slices.Sorted(slices.Values(slices.Concat(safe, keep))))
		want := min(len(now), len(places))
		m := removal{table: t, to: placement.Emptiest(may, loads, keep, want)}
		if m.why = refusePlace(snap, withRows, t, m.to); m.why == "" && len(m.to) < want {
			m.why = fmt.Sprintf("table %s.%s goes to %s, and only %d of them can take tables now", t.Database, t.Name,
				words.Count(want, "other shard"), len(m.to))
		}
		for _, to := range m.to {
			if !slices.Contains(keep, to) {
				loads = append(loads, placement.TableLoad{ID: id, Shard: to, Rate: snap.Rates.Table[id]/float64(len(m.to)) + 1})
			}
		}
		out = append(out, m)
	}
	return out
}

// moveTables moves tables off a shard, a few at a time. If a table cannot be moved, the removal
// ends.
func moveTables(snap *snapshot.Snapshot, op *metapb.Operation, moves []removal,
	running, ended []*metapb.Operation,
) decision {
	var parts []*metapb.Operation
	var waits []string
	for _, m := range moves {
		if len(running)+len(parts) >= removalMoves {
			break
		}
		failures, last := failedMoves(ended, m.table.ID)
		busy := snap.FindRunning(func(o *metapb.Operation) bool { return o.TableId == m.table.ID })
		switch {
		case busy != nil && busy.Parent == op.Id:
		case busy != nil:
			waits = append(waits, fmt.Sprintf("operation %d (%s %s) has to end first", busy.Id, busy.Kind,
				snapshot.Subject(snap, busy)))
		case failures >= removalTries:
			return keepFrom(fmt.Sprintf("table %s.%s could not be moved; operation %d: %s", m.table.Database, m.table.Name,
				last.Id, last.Reason))
		case last != nil && snap.Now.Sub(operation.Ended(last)) < snap.Limits.DownAfter:
			waits = append(waits, fmt.Sprintf("table %s.%s will be moved again soon; operation %d: %s", m.table.Database,
				m.table.Name, last.Id, last.Reason))
		case m.why != "":
			waits = append(waits, m.why)
		default:
			parts = append(parts, part(op, operation.TableMove, func(o *metapb.Operation) {
				o.TableId, o.ToShards, o.Reason = m.table.ID, m.to,
					fmt.Sprintf("shard %d is removed", op.GetShardRemove().GetShardId())
				operation.TableProgress(o).WithRows = true
			}))
		}
	}
	switch {
	case len(parts) > 0:
		return startParts(stepParts, parts)
	case len(running) > 0:
		return waitForParts(snap, op, running, ended)
	}
	return wait(stepParts, "%s: %s", words.Count(len(moves), "table")+" to be moved",
		strings.Join(waits[:min(len(waits), 3)], "; "))
}

// failedMoves counts the failed moves of a table, and returns the last one.
func failedMoves(ended []*metapb.Operation, table uint64) (n int, last *metapb.Operation) {
	for _, o := range ended {
		if o.TableId != table || o.State == metapb.OperationState_OPERATION_STATE_DONE {
			continue
		}
		n++
		if last == nil || o.Id > last.Id {
			last = o
		}
	}
	return n, last
}

// whyNeeded returns the reason why a retiring shard without tables is still needed, or an empty
// text.
func whyNeeded(snap *snapshot.Snapshot, op *metapb.Operation, s *metapb.Shard) string {
	if o := snap.FindRunning(func(o *metapb.Operation) bool {
		return o.Id != op.Id && o.Kind != operation.ShardRemove &&
			(operation.About(o) == s.Id || slices.Contains(o.ToShards, s.Id))
	}); o != nil {
		return fmt.Sprintf("operation %d (%s %s) has to end first", o.Id, o.Kind, snapshot.Subject(snap, o))
	}
	for _, t := range snap.Tables {
		if t.Handoff != nil && slices.Contains(t.Handoff.Shards, s.Id) {
			return fmt.Sprintf("a copy of table %s.%s on shard %d has to be given up first",
				t.Database, t.Name, s.Id)
		}
	}
	return whyRead(snap, s)
}

// whyRead returns which readers a shard without tables still has, or which keys it still remembers. It is empty if
// there are none.
func whyRead(snap *snapshot.Snapshot, s *metapb.Shard) string {
	empty := snap.EmptyFor[uint64(s.Id)]
	for _, id := range slices.Concat(s.Replicas, s.Learners) {
		r := snap.Replica(id, s)
		switch {
		case snap.Lost(id) && empty >= maxEmpty: // every reader has ended or failed long ago
		case r == nil || !snap.Alive(id) || snap.Silent(id):
			return fmt.Sprintf("whether shard %d is still read is not known: its replica on node %s does not report; start "+
				"that node again, or, if its data is lost for good, run 'cordwood shard drop %d'", s.Id, snap.Label(id), s.Id)
		case r.Pins > 0:
			return fmt.Sprintf("%s the replica of shard %d on node %s",
				words.Say(int(r.Pins), "query or backup reads", "queries or backups read"), s.Id, snap.Label(id))
		case r.KeysNanos > 0 && empty < maxEmpty:
			left := min(time.Duration(r.KeysNanos), maxEmpty-empty)
			// Round to whole minutes: each change of the text is stored.
			return fmt.Sprintf("shard %d remembers the Idempotency-Keys of requests for %s more, so that they are not stored "+
				"twice if they are repeated",
				s.Id, words.Count(int((left+time.Minute-1)/time.Minute), "minute"))
		}
	}
	return ""
}

// keepFrom makes a removal undo its changes, starting with the next step, because of why.
func keepFrom(why string) decision {
	if len(why) > maxUndo {
		why = strings.ToValidUTF8(why[:maxUndo], "") + "…"
	}
	d := decision{step: stepUndo, reason: why, again: true}
	return d.remember(func(op *metapb.Operation) { operation.ShardRemoveProgress(op).Undo = why })
}

// maxUndo is the maximum length, in bytes, of the reason why a removal is undone.
const maxUndo = 1000

// keepShard undoes a removal: the shard takes tables again.
func keepShard(snap *snapshot.Snapshot, op *metapb.Operation, s *metapb.Shard) decision {
	if running, _ := snap.Parts(op.Id); len(running) > 0 {
		return cancelParts(snap, running)
	}
	if s.Retiring {
		return call(stepUndo, fmt.Sprintf("shard %d takes tables again", s.Id), setRetiring(snap, s, false))
	}
	if op.Cancel {
		return cancelled("shard %d stays and takes tables again; tables that have left it stay where they are", s.Id)
	}
	return failed("end", "%s; shard %d stays and takes tables again; tables that have left it stay where they are",
		op.GetShardRemove().GetUndo(), s.Id)
}
