package rules

import (
	"fmt"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/shard/query"
)

// Admission is the state for the decision about one write: it includes the definitions that the
// write brings, and the batches that earlier writes of the entry append.
type Admission struct {
	*State
	// Tables are the definitions that the write brings. For Accept they are the only definitions.
	Tables map[uint64]*Definition
	// IDs are the batches that the entry has appended before.
	IDs map[BatchID]struct{}
	// Leader makes batches count that were appended without the log.
	Leader bool
}

// BatchID identifies a batch: its session and its number in it.
type BatchID struct{ Session, Seq uint64 }

// IDOf returns the id of a batch.
func IDOf(h *column.Header) BatchID { return BatchID{h.Session, h.Seq} }

// Table returns the newest definition of a table.
func (a *Admission) Table(id uint64) *Definition {
	if d := a.Tables[id]; d != nil {
		return d
	}
	return a.State.Tables[id]
}

// Learn adds the definitions of a write.
func (a *Admission) Learn(defs []*Definition) {
	for _, d := range defs {
		if old := a.Table(d.ID); old == nil || d.NewerThan(old) {
			if a.Tables == nil {
				a.Tables = map[uint64]*Definition{}
			}
			a.Tables[d.ID] = d
		}
	}
}

// Verdict is the answer of Admit.
type Verdict int

// The possible verdicts.
const (
	Admitted   Verdict = iota // append the batch
	Duplicate                 // it was appended before
	NeedsTable                // the definition of the table is missing or too old
	Refused                   // Admit returns the reason
)

// Admit decides from its header whether a batch is appended. The result depends only on the state.
// The leader calls it before it proposes, and every replica calls it again when it applies; the
// results of the second call are the same on all replicas.
func (a *Admission) Admit(h *column.Header) (Verdict, error) {
	if h.Session != 0 {
		switch appended, known := a.appendedBefore(h); {
		case appended:
			return Duplicate, nil
		case !known:
			return Refused, errs.New(errs.RequestOutdated,
				"shard %d: write: batch %d of session %016x is more than %d batches older than the newest one: "+
					"it is no longer known whether it was appended; send its rows again as a new request",
				a.ShardID, h.Seq, h.Session, sessionWindow).WithReason(errs.OutcomeUnknown)
		}
	}
	if _, gone := a.Dropped[h.TableID]; gone {
		return Refused, errs.New(errs.TableNotFound, "shard %d: table id %d was dropped", a.ShardID, h.TableID).
			WithReason(errs.TableGone)
	}
	d := a.Table(h.TableID)
	if d == nil || h.SchemaVersion > d.Version {
		return NeedsTable, nil
	}
	if w := d.Writable(); len(d.Placement) > 0 {
		switch {
		case h.Epoch > w.Epoch:
			return NeedsTable, nil
		case h.Epoch < w.Epoch || !w.Takes(a.ShardID):
			return Refused, errs.New(errs.RequestOutdated,
				"shard %d: table %q: the batch has epoch %d; writes of the table go to %s since epoch %d",
				a.ShardID, d.Name, h.Epoch, w, w.Epoch).WithReason(errs.WrongEpoch)
		}
	}
	if h.SchemaVersion < d.MinWriterVersion {
		return Refused, errs.New(errs.RequestOutdated,
			"shard %d: table %q: the batch was made for schema version %d, at least %d is needed; map its rows to the "+
				"present schema",
			a.ShardID, d.Name, h.SchemaVersion, d.MinWriterVersion).WithReason(errs.SchemaStale)
	}
	return Admitted, nil
}

// appendedBefore reports whether a batch was appended before. known is false if its number is too
// old to decide.
func (a *Admission) appendedBefore(h *column.Header) (appended, known bool) {
	if _, ok := a.IDs[IDOf(h)]; ok {
		return true, true
	}
	if appended, known = a.Seen(h); appended || !a.Leader {
		return appended, known // Apply must ignore batches that were appended without the log
	}
	if s := a.unlogged[h.Session]; s != nil {
		appended, _ = s.lookup(h.Seq)
	}
	return appended, known
}

// typeFault returns the reason why a column of a table cannot take a column of a batch, or nil.
// Types may differ, because the batch may be older than a widening of the column.
func typeFault(v *column.View, c *schema.Column) error {
	if c.Type == v.Type {
		return nil
	}
	switch w := v.Type.Widens(c.Type); {
	case w == schema.WidensNever || c.Semantic != schema.Field:
		return fmt.Errorf("column %q has type %s, in the table it has %s", c.Name, v.Type, c.Type)
	case w == schema.WidensIfExact && !v.Exact():
		return fmt.Errorf("column %q has integers beyond 2^53, which type %s of the table would round", c.Name, c.Type)
	}
	return nil
}

// Accept checks the columns of a batch against its table, after Admit has admitted it.
func (a *Admission) Accept(b *column.Batch) error {
	d := a.Table(b.TableID)
	bad := func(format string, args ...any) error {
		return errs.Wrap(errs.InvalidArguments, errs.New(errs.InvalidArguments, format, args...),
			"shard %d: write to table %q: batch %d of session "+
				"%016x", a.ShardID, d.Name, b.Seq, b.Session).WithReason(errs.BadBatch)
	}
	if d.Fault != nil {
		return bad("version %d of the table cannot be stored: %s", d.Version, d.Fault)
	}
	timed := false
	for i := range b.Cols {
		v := &b.Cols[i]
		at, ok := d.columnAt(v.ID)
		if v.ID == schema.DeletedColumnID && d.Merge != query.Append && v.Type == schema.Boolean {
			continue
		}
		if !ok {
			return bad("column id %d is not in version %d of the table", v.ID, d.Version)
		}
		c := &d.Columns[at]
		if fault := typeFault(v, c); fault != nil {
			return bad("%s", fault)
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
