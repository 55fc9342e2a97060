package coordinator

import (
	"slices"
	"time"

	"cordwood/node/coordinator/operation"
	"cordwood/proto/metapb"
)

// staying counts the other shards that are not retiring.
func (w *world) staying(id uint32) (n int) {
	for _, s := range w.shards {
		if s.Id != id && !s.Retiring {
			n++
		}
	}
	return n
}

// retire retires a shard by the rules of package meta. It fails the test if the shard is needed for a
// reason that the metadata do not know.
func (w *world) retire(c *metapb.RetireShard) error {
	s := w.shards[c.ShardId]
	switch {
	case s == nil || s.Version != c.Version:
		return refused("shard %d was changed meanwhile", c.ShardId)
	case !s.Retiring || w.staying(s.Id) == 0:
		return refused("shard %d is not being removed", s.Id)
	}
	for _, t := range w.tables {
		if slices.Contains(t.Shards(), s.Id) || t.Handoff != nil && slices.Contains(t.Handoff.Shards, s.Id) {
			return refused("table %d needs it", t.ID)
		}
	}
	for _, o := range w.ops {
		if o.State != metapb.OperationState_OPERATION_STATE_RUNNING {
			continue
		}
		if o.ShardId == s.Id || slices.Contains(o.ToShards, s.Id) {
			return refused("operation %d needs it", o.Id)
		}
		if o.Kind == operation.ShardDrop && operation.About(o) == s.Id {
			w.fail("shard %d is removed while operation %d creates it again", s.Id, o.Id)
		}
	}
	if w.reads[s.Id] > 0 || time.Now().Before(w.keys[s.Id]) {
		w.fail("shard %d is removed while a query reads it, or it remembers keys", s.Id)
	}
	if since := time.Since(w.leftAt(s.Id)); since < 10*time.Second {
		w.fail("shard %d is removed %s after its last table has left", s.Id, since)
	}
	s.Removed = append(s.Removed, slices.Concat(s.Replicas, s.Learners)...)
	s.Replicas, s.Learners = nil, nil
	s.Version++
	w.retired[s.Id] = s
	delete(w.shards, s.Id)
	return nil
}

// leftAt returns the time at which the last table that was moved left a shard.
func (w *world) leftAt(id uint32) (at time.Time) {
	for _, t := range w.tables {
		for i, p := range t.Placement[:len(t.Placement)-1] {
			since := time.Unix(0, t.Placement[i+1].Since)
			if p.Handed && slices.Contains(p.Shards(), id) && since.After(at) {
				at = since
			}
		}
	}
	return at
}

// removes returns the record of a shard-remove.
func removes(shard uint32) *metapb.Operation {
	return &metapb.Operation{
		Kind:     operation.ShardRemove,
		Progress: &metapb.Operation_ShardRemove{ShardRemove: &metapb.ShardRemoveProgress{ShardId: shard}},
	}
}

// removalScenarios retire shards.
func removalScenarios() []scenario {
	gone := func(w *world, id uint32) bool {
		return w.shards[id] == nil && w.retired[id] != nil && len(w.retired[id].Removed) == 0
	}
	return []scenario{
		{
			"take an empty shard away", func(w *world) *world { return w.node("a", "b").shard(1, "a").shard(1, "b") },
			removes(2),
			func(w *world) bool { return gone(w, 2) && w.shards[1] != nil },
		},
		{
			"take a shard away with its tables", func(w *world) *world {
				w.node("a", "b", "c").shard(3, "a", "b", "c").shard(3, "b", "c", "a").shard(3, "c", "a", "b")
				// One table has only old rows there, one merges rows, and one is written there
				// and elsewhere.
				w.table(7, nil, 2).placed(7, 1).table(8, map[string]string{"append_mode": "false"}, 2).table(9, nil, 1, 2)
				w.reads[2], w.keys[2] = 0, time.Now().Add(40*time.Second)
				return w
			},
			removes(2),
			func(w *world) bool {
				for name, want := range map[string][]uint32{"t7": {1}, "t8": {3}, "t9": {1, 3}} {
					if t := w.copyOf(name); !slices.Equal(t.Shards(), want) {
						return false
					}
				}
				return gone(w, 2)
			},
		},
	}
}
