package shard

import (
	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// admission is the state as one write sees it: with the definitions that came with
// it, and with the batches that an entry appends before it.
type admission struct {
	*state
	tables map[uint64]*tableDef
	ids    map[batchID]struct{}
	// leader has it look at the batches, too, that did not go through the log.
	leader bool
}

type batchID struct{ session, seq uint64 }

// table returns the newest definition of a table.
func (a *admission) table(id uint64) *tableDef {
	if d := a.tables[id]; d != nil {
		return d
	}
	return a.state.tables[id]
}

// learn adds the definitions of a write.
func (a *admission) learn(defs []*tableDef) {
	for _, d := range defs {
		if old := a.table(d.ID); old == nil || d.newer(old) {
			if a.tables == nil {
				a.tables = map[uint64]*tableDef{}
			}
			a.tables[d.ID] = d
		}
	}
}

// verdict is what admit says of a batch.
type verdict int

const (
	admitted  verdict = iota // append it
	duplicate                // it was appended before
	needTable                // its table's definition is missing or too old
	refused
)

// admit decides about a batch by its header. The rules depend on the state alone,
// so that the leader, before it proposes, and every replica, when it applies, say
// the same of the same state.
func (a *admission) admit(h *column.Header) (verdict, error) {
	if h.Session != 0 {
		if _, ok := a.ids[batchID{h.Session, h.Seq}]; ok {
			return duplicate, nil
		}
		appended, known := a.seen(h)
		// Apply must not even look: unlogged batches are appended beside it.
		if a.leader && !appended {
			if s := a.unlogged[h.Session]; s != nil {
				appended, _ = s.lookup(h.Seq)
			}
		}
		if appended {
			return duplicate, nil
		}
		if !known {
			return refused, errs.New(errs.RequestOutdated,
				"shard %d: batch %d of session %016x is more than %d behind the newest one: whether it was appended is no longer known; send its rows again as a new request",
				a.shardID, h.Seq, h.Session, sessionWindow).WithReason(errs.OutcomeUnknown)
		}
	}
	if _, gone := a.dropped[h.TableID]; gone {
		return refused, errs.New(errs.TableNotFound, "shard %d: table id %d was dropped", a.shardID, h.TableID).WithReason(errs.TableGone)
	}
	d := a.table(h.TableID)
	if d == nil || h.SchemaVersion > d.Version {
		return needTable, nil
	}
	if w := d.Writable(); len(d.Placement) > 0 {
		switch {
		case h.Epoch > w.Epoch:
			return needTable, nil
		case h.Epoch < w.Epoch || !w.Takes(a.shardID):
			return refused, errs.New(errs.RequestOutdated, "shard %d: table %q: the batch is of epoch %d, its writes go to %s since epoch %d",
				a.shardID, d.Name, h.Epoch, w, w.Epoch).WithReason(errs.WrongEpoch)
		}
	}
	if h.SchemaVersion < d.MinWriterVersion {
		return refused, errs.New(errs.RequestOutdated, "shard %d: table %q: the batch was made for schema version %d, at least %d is needed; map its rows to the present schema",
			a.shardID, d.Name, h.SchemaVersion, d.MinWriterVersion).WithReason(errs.SchemaStale)
	}
	return admitted, nil
}

// accept compares the columns of a batch with its table, which admit has let in.
func (a *admission) accept(b *column.Batch) error {
	d := a.table(b.TableID)
	bad := func(format string, args ...any) error {
		return errs.Wrap(errs.InvalidArguments, errs.New(errs.InvalidArguments, format, args...),
			"shard %d: table %q: batch %d of session %016x", a.shardID, d.Name, b.Seq, b.Session).WithReason(errs.BadBatch)
	}
	if d.fault != nil {
		return bad("version %d of the table cannot be stored: %s", d.Version, d.fault)
	}
	timed := false
	for i := range b.Cols {
		v := &b.Cols[i]
		at, ok := d.column(v.ID)
		if v.ID == schema.DeletedColumnID && d.merge != query.Append && v.Type == schema.Boolean {
			continue
		}
		if !ok {
			return bad("column id %d is not in version %d of the table", v.ID, d.Version)
		}
		c := &d.Columns[at]
		if c.Type != v.Type {
			// It may be from before the table widened the column.
			switch w := v.Type.Widens(c.Type); {
			case w == schema.WidensNever || c.Semantic != schema.Field:
				return bad("column %q has type %s, in the table it has %s", c.Name, v.Type, c.Type)
			case w == schema.WidensIfExact && !v.Exact():
				return bad("column %q has integers beyond 2^53, which type %s of the table would round", c.Name, c.Type)
			}
		}
		if c.Semantic == schema.Timestamp {
			if v.Nulls > 0 {
				return bad("time index %q is null in %d rows", c.Name, v.Nulls)
			}
			timed = true
		}
	}
	if !timed && b.Rows > 0 {
		return bad("the time index is missing")
	}
	return nil
}
