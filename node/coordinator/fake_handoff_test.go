package coordinator

import (
	"errors"
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
)

// fakeCopy is a shard's copy of a table's rows, by the rules of package shard. It catches up after a while, and is
// complete once the shard has recorded that the table is closed. It is lost if its node dies.
type fakeCopy struct {
	node     string
	caught   time.Time
	complete time.Time // zero while the shard still takes writes
}

// place applies the steps by which a table gets other shards with its rows. It fails the test if
// rows would be lost.
func (w *world) place(cmd *metapb.PlaceTable, now int64) (*metapb.Result, error) {
	t := w.tables[cmd.TableId]
	if t == nil || t.Writable().Epoch != cmd.Epoch {
		return nil, refused("the table is in another epoch")
	}
	next := *t
	next.Placement, next.Version = slices.Clone(t.Placement), t.Version+1
	last := &next.Placement[len(next.Placement)-1]
	if cmd.Step <= metapb.PlaceTable_STEP_BEGIN {
		for _, id := range cmd.ShardIds {
			if s := w.shards[id]; s == nil || s.Retiring {
				return nil, refused("shard %d accepts no tables", id)
			}
		}
	}
	switch {
	case cmd.Step == metapb.PlaceTable_STEP_UNSPECIFIED:
		if !t.AppendMode() {
			w.fail("table %d merges rows, and its rows would be in two shards", t.ID)
		}
		if t.Handoff != nil {
			return nil, refused("it is being handed over")
		}
		next.Placement = append(next.Placement, schema.Placement{
			Epoch: cmd.Epoch + 1, ShardID: cmd.ShardIds[0], More: cmd.ShardIds[1:], Since: now + int64(w.skew),
		})
	case cmd.Step == metapb.PlaceTable_STEP_BEGIN:
		if last.Closed {
			return nil, refused("it is closed")
		}
		w.lastCopy++
		next.Handoff = &schema.Handoff{ID: w.lastCopy, Shards: cmd.ShardIds, Incarnations: map[uint32]uint32{}}
		for _, id := range slices.Concat(t.Shards(), cmd.ShardIds) {
			next.Handoff.Incarnations[id] = w.shards[id].Incarnation
		}
	case t.Handoff == nil || t.Handoff.ID != cmd.HandoffId:
		return nil, refused("another handoff")
	case cmd.Step == metapb.PlaceTable_STEP_CLOSE:
		if last.Closed {
			return nil, refused("it is closed")
		}
		next.Placement = append(next.Placement, schema.Placement{
			Epoch: cmd.Epoch + 1, ShardID: last.ShardID, More: last.More, Since: now + int64(w.skew), Closed: true,
		})
	case cmd.Step == metapb.PlaceTable_STEP_GIVE_UP, cmd.Step == metapb.PlaceTable_STEP_FINISH && w.recreated(t.Handoff):
		w.givenUp = append(w.givenUp, t.Handoff.ID)
		next.Handoff = nil
		if last.Closed {
			next.Placement = next.Placement[:len(next.Placement)-1]
			next.Placement[len(next.Placement)-1].Epoch = last.Epoch + 1
		}
	case cmd.Step == metapb.PlaceTable_STEP_FINISH:
		for _, id := range t.Shards() {
			c := w.copies[t.Handoff.ID][id]
			if !last.Closed || c == nil || c.complete.IsZero() || time.Now().Before(c.complete) {
				w.fail("table %d is handed over without all rows of shard %d: %+v", t.ID, id, c)
			}
		}
		delete(w.tables, t.ID)
		next.ID, next.Handoff = t.Handoff.ID, nil
		for i := range next.Placement {
			next.Placement[i].Handed = true
		}
		next.Placement = append(next.Placement[:len(next.Placement)-1], schema.Placement{
			Epoch: cmd.Epoch + 1, ShardID: t.Handoff.Shards[0], More: t.Handoff.Shards[1:], Since: now + int64(w.skew),
		})
	}
	w.tables[next.ID] = &next
	return &metapb.Result{}, nil
}

// recreated reports whether a shard of a handoff has been created again since.
func (w *world) recreated(h *schema.Handoff) bool {
	for id, was := range h.Incarnations {
		if w.shards[id].Incarnation != was {
			return true
		}
	}
	return false
}

// handOver answers the request to a node to copy a table.
func (w *world) handOver(node string, req *shardpb.HandOverRequest) (*shardpb.HandOverResponse, error) {
	id := req.Table.Handoff.TableId
	if w.copies[id] == nil {
		w.copies[id] = map[uint32]*fakeCopy{}
	}
	c := w.copies[id][req.ShardId]
	if req.Begin {
		if g := w.groups[req.ShardId]; g.leader == "" {
			return nil, errors.New("no leader")
		}
		switch {
		case c == nil:
			c = &fakeCopy{node: node, caught: time.Now().Add(2 * time.Second)}
			w.copies[id][req.ShardId] = c
		case c.node != node:
			w.fail("shard %d copies table %d on node %s into what node %s has copied", req.ShardId, req.Table.Id, node, c.node)
		}
	}
	restart := w.restarted[node]
	if c == nil || c.node != node || !time.Now().Before(restart) && restart.After(c.caught.Add(-2*time.Second)) {
		return &shardpb.HandOverResponse{Unknown: true}, nil
	}
	resp := &shardpb.HandOverResponse{DoneBytes: 50, TotalBytes: 100, CaughtUp: !time.Now().Before(c.caught)}
	if w.broken[node] > 0 {
		w.broken[node]--
		resp.Error = "the disk is broken"
	}
	if s := w.shards[w.recreate]; s != nil && resp.CaughtUp { // only once
		s.Incarnation += 1000
		w.recreate = 0
	}
	if resp.Complete = !c.complete.IsZero() && !time.Now().Before(c.complete); resp.Complete {
		resp.DoneBytes = 100
	}
	return resp, nil
}

// seal gives a shard the definition of a table, and completes its copies a moment later.
func (w *world) seal(shard uint32, t *schemapb.Table) {
	if h := t.Handoff; h != nil && t.Placement[len(t.Placement)-1].Closed {
		if c := w.copies[h.TableId][shard]; c != nil && c.complete.IsZero() {
			c.complete = time.Now().Add(100*time.Millisecond + w.late)
		}
	}
}

// copyOf returns the table that has replaced a table.
func (w *world) copyOf(name string) *schema.Table {
	for _, t := range w.tables {
		if t.Name == name {
			return t
		}
	}
	return &schema.Table{Placement: []schema.Placement{{}}}
}

// placed sends the writes of a table to other shards; its rows stay where they are.
func (w *world) placed(id uint64, shards ...uint32) *world {
	t := w.tables[id]
	t.Placement = append(t.Placement, schema.Placement{
		Epoch:   t.Writable().Epoch + 1,
		ShardID: shards[0],
		More:    shards[1:],
	})
	return w
}

// handoffs returns scenarios of tables that are moved with their rows.
func handoffs() []scenario {
	merges := map[string]string{"append_mode": "false"}
	moved := func(shards ...uint32) func(w *world) bool {
		return func(w *world) bool {
			t := w.copyOf("t7")
			for _, id := range shards { // replicas may be read
				if t.ID > 1000 && w.defined[id][t.ID] != t.Writable().Epoch {
					return false
				}
			}
			return slices.Equal(t.Writable().Shards(), shards) && t.Handoff == nil && !t.Writable().Closed
		}
	}
	alone := func(shards ...uint32) func(w *world) bool {
		return func(w *world) bool { return moved(shards...)(w) && slices.Equal(w.copyOf("t7").Shards(), shards) }
	}
	return []scenario{
		{
			"hand a table over", func(w *world) *world {
				return w.node("a", "b").shard(1, "a").shard(1, "b").table(7, merges, 1)
			},
			&metapb.Operation{Kind: operation.TableMove, TableId: 7, ToShards: []uint32{2}}, moved(2),
		},
		{
			"spread a table that merges", func(w *world) *world {
				return w.node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").table(7, merges, 1)
			},
			&metapb.Operation{
				Kind:     operation.TablePartition,
				TableId:  7,
				Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{Partitions: 3}},
			}, moved(1, 2, 3),
		},
		{
			"spread the table over fewer shards", func(w *world) *world {
				return w.node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").table(7, merges, 1, 2, 3)
			},
			&metapb.Operation{
				Kind:     operation.TablePartition,
				TableId:  7,
				Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{Partitions: 1}},
			}, moved(1),
		},
		{
			"hand over while nodes fail", func(w *world) *world {
				w.node("a", "b", "c").shard(3, "a", "b", "c").shard(1, "b").table(7, merges, 1)
				w.broken["a"] = 2
				w.restarted["a"] = time.Now().Add(4500 * time.Millisecond)
				return w
			},
			&metapb.Operation{Kind: operation.TableMove, TableId: 7, ToShards: []uint32{2}}, moved(2),
		},
		{
			"hand over to a shard that is created again meanwhile", func(w *world) *world {
				w.node("a", "b").shard(1, "a").shard(1, "b").table(7, merges, 1)
				w.recreate = 2
				return w
			},
			&metapb.Operation{Kind: operation.TableMove, TableId: 7, ToShards: []uint32{2}},
			func(w *world) bool { return moved(2)(w) && slices.Contains(w.givenUp, 1001) },
		},
		{
			"hand over a table that keeps all rows, and has some in a former shard", func(w *world) *world {
				return w.node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").table(7, nil, 1).placed(7, 2)
			},
			&metapb.Operation{
				Kind: operation.TableMove, TableId: 7, ToShards: []uint32{3},
				Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{WithRows: true}},
			}, alone(3),
		},
		{
			"bring all rows of a table to the shard that takes its writes", func(w *world) *world {
				return w.node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").table(7, nil, 1, 3).placed(7, 2)
			},
			&metapb.Operation{
				Kind: operation.TableMove, TableId: 7, ToShards: []uint32{2},
				Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{WithRows: true}},
			}, alone(2),
		},
		{
			"hand over rows of a former shard that is created again meanwhile", func(w *world) *world {
				w.node("a", "b", "c").shard(1, "a").shard(1, "b").shard(1, "c").table(7, nil, 1).placed(7, 2)
				w.recreate = 1
				return w
			},
			&metapb.Operation{
				Kind: operation.TablePartition, TableId: 7,
				Progress: &metapb.Operation_Table{Table: &metapb.TableProgress{Partitions: 2, WithRows: true}},
				ToShards: []uint32{2, 3},
			},
			func(w *world) bool { return alone(2, 3)(w) && slices.Contains(w.givenUp, 1001) },
		},
		{
			"a copy that no operation owns", func(w *world) *world {
				w.node("a", "b").shard(1, "a").shard(1, "b").table(7, merges, 1).table(8, nil, 1)
				t := w.tables[7]
				t.Placement = append(t.Placement, schema.Placement{Epoch: 2, ShardID: 1, Closed: true})
				t.Handoff = &schema.Handoff{ID: 99, Shards: []uint32{2}}
				return w
			},
			&metapb.Operation{Kind: operation.TableMove, TableId: 8, ToShards: []uint32{2}}, moved(1),
		},
	}
}
