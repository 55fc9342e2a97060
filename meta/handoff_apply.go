package meta

import (
	"maps"
	"slices"
	"time"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// This file applies the commands that move tables to other shards together with all their rows. Tables that merge
// rows are always moved in this way. Tables that keep every row are moved so on request, and then
// lose their placement history.
//
// begin     the table has a copy: an id, and shards
// close     the next epoch is closed: no shard takes writes
// finish    the copy replaces the table: its id, its shards, and the epoch after that; the handoff
// is cancelled instead if a shard of either was created again or recovered since the copy was
// started
// give up   the copy is dropped; if the table was closed, its shards take writes again
//
// A copy that is never finished has an id that is dropped in the end, like the id of a table: late
// writes into it are refused, and its rows are removed.

// Shards that have handed a table over are remembered, because they know which requests with a key
// they took. keptHistory is the number of placements that are remembered. That is far more than a
// table gets while such requests may be repeated, because each handoff copies all rows. Before
// protocol version 7, the placements of the last keyHistory were remembered, by the clocks of the
// proposers of each step.
const (
	keptHistory = 16
	keyHistory  = 2 * time.Hour
)

// applyHandoff applies the steps of PlaceTable that have a name.
func applyHandoff(tx *catalog.Tx, cmd *metapb.PlaceTable, now int64, c *change) (*metapb.Result, error) {
	t, err := placedTable(tx, cmd.TableId)
	if err != nil {
		return nil, err
	}
	name := schema.TableLabel(t.Database, t.Name)
	last := t.Placement[len(t.Placement)-1]
	switch {
	case last.Epoch != cmd.Epoch:
		return nil, errs.New(errs.RequestOutdated,
			"Table `%s` is in epoch %d and not %d: it was placed again meanwhile; read the table again",
			name, last.Epoch, cmd.Epoch)
	case cmd.Step == metapb.PlaceTable_STEP_BEGIN:
		return beginHandoff(tx, t, cmd, now, c)
	case t.Handoff.GetTableId() != cmd.HandoffId || t.Handoff == nil:
		return nil, errs.New(errs.RequestOutdated, "Table `%s`: handoff %d is not the current one; read the table again",
			name, cmd.HandoffId)
	}
	switch cmd.Step {
	case metapb.PlaceTable_STEP_CLOSE:
		if last.Closed {
			return nil, errs.New(errs.RequestOutdated, "Table `%s` is closed already", name)
		}
		t.Placement = append(t.Placement, &schemapb.Placement{
			Epoch: last.Epoch + 1, ShardId: last.ShardId, MoreShards: last.MoreShards, SinceUnixNano: now, Closed: true,
		})
	case metapb.PlaceTable_STEP_GIVE_UP:
		if err := giveUpHandoff(tx, t, c, now); err != nil {
			return nil, err
		}
	case metapb.PlaceTable_STEP_FINISH:
		if !last.Closed {
			return nil, errs.New(errs.IllegalState,
				"Table `%s` still takes writes: it cannot be handed over before it is closed", name)
		}
		lost, err := recreated(tx, t)
		if err != nil {
			return nil, err
		}
		if !lost {
			return finishHandoff(tx, t, now, c)
		}
		if err := giveUpHandoff(tx, t, c, now); err != nil {
			return nil, err
		}
	}
	t.Version++
	c.Tables = []*schemapb.Table{t}
	return &metapb.Result{Tables: c.Tables, DroppedTables: c.DroppedTables}, tx.Tables.Put(t)
}

// placedTable returns a table that has rows in at least one shard.
func placedTable(tx *catalog.Tx, id uint64) (*schemapb.Table, error) {
	t, err := tx.Tables.ByID(id)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, errs.New(errs.TableNotFound, "Table %d not found; it may have been dropped, or handed over", id)
	case len(t.Placement) == 0:
		return nil, errs.New(errs.IllegalState, "Table `%s` has no shard with rows to hand over",
			schema.TableLabel(t.Database, t.Name))
	}
	return t, nil
}

func beginHandoff(
	tx *catalog.Tx, t *schemapb.Table, cmd *metapb.PlaceTable, now int64, c *change,
) (*metapb.Result, error) {
	name := schema.TableLabel(t.Database, t.Name)
	switch {
	case t.Placement[len(t.Placement)-1].Closed:
		return nil, errs.New(errs.IllegalState, "Table `%s` is closed: cancel the running handoff first", name)
	case len(t.Placement) >= catalog.MaxEpochs:
		return nil, errs.New(errs.InvalidArguments, "Table `%s` was placed %d times, the maximum: "+
			"truncate it, or copy its rows into a new table, to move it again", name, len(t.Placement))
	}
	if err := needShards(tx, name, cmd.ShardIds); err != nil {
		return nil, err
	}
	if err := forgetHandoff(tx, t, c, now); err != nil {
		return nil, err
	}
	id, err := tx.Tables.NextID()
	if err != nil {
		return nil, err
	}
	t.Handoff = &schemapb.Handoff{TableId: id, ShardIds: cmd.ShardIds}
	if t.Handoff.Incarnations, err = incarnations(tx, t); err != nil {
		return nil, err
	}
	t.Version++
	c.Tables = []*schemapb.Table{t}
	return &metapb.Result{Tables: c.Tables, DroppedTables: c.DroppedTables}, tx.Tables.Put(t)
}

// incarnations returns the incarnations of the shards that have a table's rows, and of the shards
// that will get them.
func incarnations(tx *catalog.Tx, t *schemapb.Table) (map[uint32]uint32, error) {
	out := map[uint32]uint32{}
	from := catalog.Writable(t)
	if tx.ClusterVersion() >= metapb.ProtocolHandoffAppend {
		from = schema.FromProto(t).Shards()
	}
	for _, id := range slices.Concat(from, t.Handoff.ShardIds) {
		s, err := tx.Shards.Get(id)
		if err != nil {
			return nil, err
		}
		out[id] = s.GetIncarnation()
	}
	return out, nil
}

// recreated reports whether a shard that takes part in a handoff was recovered or created again
// since the copy was started. Such a shard may have lost rows of the copy, which are sent only
// once, or rows of the table that the copy has only in part.
func recreated(tx *catalog.Tx, t *schemapb.Table) (bool, error) {
	now, err := incarnations(tx, t)
	return !maps.Equal(now, t.Handoff.Incarnations), err
}

// finishHandoff replaces the table by the copy.
func finishHandoff(tx *catalog.Tx, t *schemapb.Table, now int64, c *change) (*metapb.Result, error) {
	h := t.Handoff
	t.Handoff = nil
	if err := tx.Tables.Drop(t, c.Index, now); err != nil {
		return nil, err
	}
	c.DroppedTables = []uint64{t.Id}
	if t.OriginId == 0 {
		t.OriginId = t.Id
	}
	closed := t.Placement[len(t.Placement)-1]
	var history []*schemapb.Placement
	former := t.Placement[:len(t.Placement)-1]
	byLength := tx.ClusterVersion() >= metapb.ProtocolHandoffHistory
	for i, p := range former {
		if byLength && i >= len(former)-keptHistory || !byLength && now-t.Placement[i+1].SinceUnixNano <= int64(keyHistory) {
			p.Handed = true
			history = append(history, p)
		}
	}
	t.Id, t.Version = h.TableId, t.Version+1
	t.Placement = append(history, &schemapb.Placement{
		Epoch: closed.Epoch + 1, ShardId: h.ShardIds[0], MoreShards: h.ShardIds[1:], SinceUnixNano: now,
	})
	c.Tables = []*schemapb.Table{t}
	return &metapb.Result{Tables: c.Tables, DroppedTables: c.DroppedTables}, tx.Tables.Create(t)
}

// forgetHandoff drops the copy of a table, if there is one.
func forgetHandoff(tx *catalog.Tx, t *schemapb.Table, c *change, now int64) error {
	if t.Handoff == nil {
		return nil
	}
	c.DroppedTables = append(c.DroppedTables, t.Handoff.TableId)
	if err := tx.Tables.DropCopy(t, c.Index, now); err != nil {
		return err
	}
	t.Handoff = nil
	return nil
}

// giveUpHandoff drops the copy of a table, and makes the shards of the table take its writes again.
func giveUpHandoff(tx *catalog.Tx, t *schemapb.Table, c *change, now int64) error {
	if err := forgetHandoff(tx, t, c, now); err != nil {
		return err
	}
	reopen(t, now)
	return nil
}

// reopen makes the shards of a closed table take its writes again.
func reopen(t *schemapb.Table, now int64) {
	if last := t.Placement[len(t.Placement)-1]; last.Closed {
		t.Placement = slices.Clone(t.Placement[:len(t.Placement)-1])
		before := t.Placement[len(t.Placement)-1]
		t.Placement[len(t.Placement)-1] = &schemapb.Placement{
			Epoch: last.Epoch + 1, ShardId: before.ShardId, MoreShards: before.MoreShards, SinceUnixNano: before.SinceUnixNano,
		}
	}
}

// dropTable drops a table, and its copy if there is one.
func dropTable(tx *catalog.Tx, t *schemapb.Table, now int64, c *change) error {
	if err := forgetHandoff(tx, t, c, now); err != nil {
		return err
	}
	c.DroppedTables = append(c.DroppedTables, t.Id)
	return tx.Tables.Drop(t, c.Index, now)
}

// needShards refuses placements on missing or retiring shards.
func needShards(tx *catalog.Tx, table string, ids []uint32) error {
	for _, id := range ids {
		s, err := tx.Shards.Get(id)
		if err != nil {
			return err
		}
		if s == nil {
			return errs.New(errs.ShardNotFound, "Table `%s` cannot be placed on shard %d: there is no such shard", table, id)
		}
		if s.Retiring {
			return errs.New(errs.IllegalState,
				"Table `%s` cannot be placed on shard %d, which is being removed: choose another one", table, id)
		}
	}
	return nil
}
