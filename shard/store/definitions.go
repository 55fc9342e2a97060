package store

import (
	"net/http"
	"slices"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/rules"
)

// Definitions answers questions about the table definitions in the log, and what they mean for
// batches. Each answer is computed under the lock, so it is consistent.
type Definitions struct{ tables *Tables }

// Table returns the version of the definition that the replica has applied, and the epoch in which
// the table takes rows here.
func (df *Definitions) Table(id uint64) (version, epoch uint32, known bool) {
	tb := df.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	d := tb.State.Tables[id]
	if d == nil {
		return 0, 0, false
	}
	return d.Version, d.Writable().Epoch, true
}

// TableIDs returns the tables for which the replica has a definition, in no particular order.
func (df *Definitions) TableIDs() []uint64 {
	tb := df.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	ids := make([]uint64, 0, len(tb.State.Tables))
	for id := range tb.State.Tables {
		ids = append(ids, id)
	}
	return ids
}

// Dropped reports whether a table was dropped, as far as that is remembered.
func (df *Definitions) Dropped(id uint64) bool {
	tb := df.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	_, gone := tb.State.Dropped[id]
	return gone
}

// Newer returns which of the definitions are newer than the shard's, and the applied index.
func (df *Definitions) Newer(tables []*schemapb.Table,
	defs []*rules.Definition,
) (news []*schemapb.Table, index uint64) {
	tb := df.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for i, d := range defs {
		_, gone := tb.State.Dropped[d.ID]
		if old := tb.State.Tables[d.ID]; !gone && (old == nil || d.NewerThan(old)) {
			news = append(news, tables[i])
		}
	}
	return news, tb.AppliedIndex
}

// TookOver reports whether a replica has all rows of a table that was moved to its shard: its log
// shows that the copy is complete. A copy has epoch 1 and the table a later one, and no writer
// knows the later one before the last row of the copy is in the log.
func (df *Definitions) TookOver(tableID uint64) bool {
	tb := df.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	d := tb.State.Tables[tableID]
	return d != nil && d.Writable().Epoch > 1
}

// admitted is the decision of the rules about a write before it is proposed.
type admitted struct {
	Need  []uint64 // tables whose definitions are missing
	Fresh []bool   // by batch: whether it was not appended before
	Some  bool     // whether any batch is fresh
	// Known contains the definitions of the tables of fresh batches. The definitions are immutable,
	// unlike the maps of the state.
	Known   rules.Admission
	Index   uint64
	LogOnly bool // there is another replica, or there will be one soon
}

// Admit applies the rules to the batches and definitions of a write.
func (df *Definitions) Admit(headers []column.Header, defs []*rules.Definition) (a admitted, err error) {
	tb := df.tables
	a.Fresh = make([]bool, len(headers))
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	adm := rules.Admission{State: tb.State, Leader: true}
	adm.Learn(defs)
	for i := range headers {
		v, err := adm.Admit(&headers[i])
		switch v {
		case rules.Refused:
			return a, err
		case rules.NeedsTable:
			a.Need = appendNew(a.Need, headers[i].TableID)
		case rules.Admitted:
			if h := &headers[i]; rules.Keyed(h) && tb.State.KeyReused(h) {
				return a, errs.New(errs.InvalidArguments,
					"the Idempotency-Key was used for another body or other parameters within the last %d minutes, and nothing of "+
						"this request is stored: send it with another key", int(rules.KeyTTL.Minutes())).
					WithStatus(http.StatusUnprocessableEntity)
			}
			a.Fresh[i], a.Some = true, true
		}
	}
	a.Known = rules.Admission{State: &rules.State{ShardID: tb.cfg.ID}, Tables: map[uint64]*rules.Definition{}}
	for i := range headers {
		if a.Fresh[i] {
			a.Known.Tables[headers[i].TableID] = adm.Table(headers[i].TableID)
		}
	}
	a.Index, a.LogOnly = tb.AppliedIndex, tb.logOnly
	return a, nil
}

// HasKey reports whether a batch of a request with a key was appended. A key is forgotten after rules.KeyTTL.
func (df *Definitions) HasKey(session, seq uint64) bool {
	tb := df.tables
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	return tb.State.HasKey(session, seq)
}

// Gone reports whether one of the tables was dropped here, as far as the shard remembers. Its rows
// may be in another shard with another id, so a view that was taken before the call may have all
// rows or none.
func (tb *Tables) Gone(tableIDs ...uint64) error {
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for _, id := range tableIDs {
		if _, gone := tb.State.Dropped[id]; gone {
			return TableGone(tb.cfg.ID, id)
		}
	}
	return nil
}

// Outdated returns an error if the shard has a newer definition of one of the tables. A router
// without access to the metadata may have an old definition. It would search for the newest rows in
// former shards, or lack new columns.
func (tb *Tables) Outdated(tables []*schemapb.Table) error {
	epochs := make([]uint32, len(tables))
	for i, t := range tables {
		epochs[i] = schema.FromProto(t).Writable().Epoch
	}
	tb.mu.RLock()
	defer tb.mu.RUnlock()
	for i, t := range tables {
		epoch := epochs[i]
		if d := tb.State.Tables[t.Id]; d != nil && (d.Version > t.Version || d.Writable().Epoch > epoch) {
			return errs.New(errs.TableUnavailable,
				"shard %d: table %s.%s was changed (version %d, epoch %d), and the query uses an older definition (version %d, "+
					"epoch %d)",
				tb.cfg.ID, t.Database, t.Name, d.Version, d.Writable().Epoch, t.Version, epoch).WithReason(errs.SchemaStale)
		}
	}
	return nil
}

// appendNew appends an id unless it is listed.
func appendNew(ids []uint64, id uint64) []uint64 {
	if slices.Contains(ids, id) {
		return ids
	}
	return append(ids, id)
}
