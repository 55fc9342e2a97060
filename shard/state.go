package shard

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/manifest"
	"cordwood/shard/query"
)

const (
	// sessionWindow is how many sequence numbers behind its highest one a session
	// remembers. It is part of the replicated state: a change needs a new entry version.
	sessionWindow = 1024
	// sessionTTL is how long, by the replicated clock, a session lives after its last
	// append, and sweepEvery how often the dead ones are looked for.
	sessionTTL = 30 * time.Minute
	sweepEvery = time.Minute
	// maxSessions bounds the sessions; beyond it the one idle for longest is forgotten.
	maxSessions = 1024

	// maxTableColumns bounds the columns of a table: a Parquet file cannot have more
	// than 32,767.
	maxTableColumns = 30_000
)

// state is what all replicas of the shard agree on, besides the rows. It changes in
// Apply only, by entries alone.
type state struct {
	shardID uint32
	// clock is the highest leader's time of all entries; it never goes back.
	clock  int64
	tables map[uint64]*tableDef
	// dropped are the tables dropped in the last manifest.TombstoneTTL, with the clock
	// at the drop.
	dropped map[uint64]int64
	// expired is what expired last of each table.
	expired  map[uint64]manifest.Expiry
	sessions map[uint64]*session
	// unlogged are the sessions of batches that did not go through the log. It is the
	// one thing here that is this replica's own: Apply does not look at it.
	unlogged map[uint64]*session
	// dirty are the tables whose definitions changed since the last freeze.
	dirty map[uint64]struct{}
	// drops are the tables dropped since the last freeze, expires those of which rows
	// expired.
	drops   []uint64
	expires map[uint64]struct{}
}

type tableDef struct {
	*schema.Table
	stored manifest.Table
	byID   []columnAt // by id
	// merge is how rows of one identity become one.
	merge query.Merge
	// instant: rows are thrown away at once. skipWAL: they do not go through the log.
	instant, skipWAL bool
	// physical is the name of the physical table, "" if there is none: the table shares
	// its segments with those of the same one, whatever its size.
	physical string
	// fault, if set, is why rows of the table could not be flushed; none are taken.
	fault error
}

type columnAt struct {
	id uint32
	at int32
}

// loadTableDef returns the definition that t holds.
func loadTableDef(t manifest.Table) (*tableDef, error) {
	p, err := t.Decode()
	if err != nil {
		return nil, err
	}
	return newTableDef(p, t), nil
}

// newTableDef returns the definition p, whose encoded form is stored.
func newTableDef(p *schemapb.Table, stored manifest.Table) *tableDef {
	d := &tableDef{Table: schema.FromProto(p), stored: stored, byID: make([]columnAt, len(p.Columns))}
	d.merge = query.MergeOf(d.Table)
	d.instant = d.Options[schema.OptionTTL] == "instant"
	d.skipWAL = d.Options[schema.OptionSkipWAL] == "true"
	d.physical = d.Options[schema.OptionPhysicalTable]
	for i := range d.Columns {
		d.byID[i] = columnAt{d.Columns[i].ID, int32(i)}
	}
	slices.SortStableFunc(d.byID, func(a, b columnAt) int { return cmp.Compare(a.id, b.id) })
	timeIndexes := 0
	for i := range d.Columns {
		c := &d.Columns[i]
		at, _ := d.column(c.ID)
		twice := at != i
		switch {
		case c.ID == 0 || c.ID == schema.DeletedColumnID || twice:
			d.fault = fmt.Errorf("column %q has id %d, which is not its own", c.Name, c.ID)
		case !c.Type.Valid() || p.Columns[i].Type != schemapb.Type(c.Type):
			d.fault = fmt.Errorf("column %q has the unknown type %d", c.Name, p.Columns[i].Type)
		case c.Semantic == schema.Timestamp:
			timeIndexes++
			if !c.Type.IsTimestamp() {
				d.fault = fmt.Errorf("time index %q has type %s", c.Name, c.Type)
			}
		}
	}
	if d.fault == nil && timeIndexes != 1 {
		d.fault = fmt.Errorf("the table has %d time indexes, want one", timeIndexes)
	}
	if len(d.Columns) > maxTableColumns {
		d.fault = fmt.Errorf("the table has %d columns, at most %d can be stored", len(d.Columns), maxTableColumns)
	}
	return d
}

// column returns where the column of that id is; the first one if there are several.
func (d *tableDef) column(id uint32) (at int, ok bool) {
	i, ok := slices.BinarySearchFunc(d.byID, id, func(c columnAt, id uint32) int { return cmp.Compare(c.id, id) })
	if !ok {
		return 0, false
	}
	return int(d.byID[i].at), true
}

// session remembers which batches of a writer were appended.
type session struct {
	high uint64
	// seen has bit i of word i/64 set if number high-i was appended.
	seen [sessionWindow / 64]uint64
	last int64
}

// lookup tells whether number seq was appended; known is false if it is too old to tell.
func (s *session) lookup(seq uint64) (appended, known bool) {
	if seq > s.high {
		return false, true
	}
	back := s.high - seq
	if back >= sessionWindow {
		return false, false
	}
	return s.seen[back/64]&(1<<(back%64)) != 0, true
}

// add notes that number seq was appended.
func (s *session) add(seq uint64, now int64) {
	s.last = now
	if seq > s.high {
		s.shift(seq - s.high)
		s.high = seq
	}
	back := s.high - seq
	s.seen[back/64] |= 1 << (back % 64)
}

// shift makes every number lie n further back.
func (s *session) shift(n uint64) {
	if n >= sessionWindow {
		clear(s.seen[:])
		return
	}
	words, bits := int(n/64), n%64
	for i := len(s.seen) - 1; i >= 0; i-- {
		var w uint64
		if i >= words {
			w = s.seen[i-words] << bits
			if bits > 0 && i > words {
				w |= s.seen[i-words-1] >> (64 - bits)
			}
		}
		s.seen[i] = w
	}
}

func newState(shardID uint32, m *manifest.State) (*state, error) {
	st := &state{
		shardID: shardID, clock: m.Clock, tables: make(map[uint64]*tableDef, len(m.Tables)),
		dropped: make(map[uint64]int64, len(m.Dropped)), sessions: make(map[uint64]*session, len(m.Sessions)),
		unlogged: map[uint64]*session{},
		expired:  make(map[uint64]manifest.Expiry, len(m.Expired)), dirty: map[uint64]struct{}{}, expires: map[uint64]struct{}{},
	}
	for _, t := range m.Tables {
		d, err := loadTableDef(t)
		if err != nil {
			return nil, err
		}
		st.tables[t.ID] = d
	}
	for _, d := range m.Dropped {
		st.dropped[d.TableID] = d.At
	}
	for _, x := range m.Expired {
		st.expired[x.TableID] = x
	}
	for _, s := range m.Sessions {
		ses := &session{high: s.High, last: s.LastUnixNano}
		copy(ses.seen[:], s.Seen)
		if s.Unlogged {
			st.unlogged[s.ID] = ses
		} else {
			st.sessions[s.ID] = ses
		}
	}
	return st, nil
}

// storedSessions returns the sessions as the manifest keeps them, by ascending id.
func (st *state) storedSessions() []manifest.Session {
	out := make([]manifest.Session, 0, len(st.sessions)+len(st.unlogged))
	for unlogged, sessions := range map[bool]map[uint64]*session{false: st.sessions, true: st.unlogged} {
		for id, s := range sessions {
			out = append(out, manifest.Session{ID: id, Unlogged: unlogged, High: s.high, Seen: slices.Clone(s.seen[:]), LastUnixNano: s.last})
		}
	}
	slices.SortFunc(out, func(a, b manifest.Session) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.High, b.High))
	})
	return out
}

// tick moves the clock to the time of an entry and forgets sessions that are dead by
// it. What it does depends on the clock alone, so that every replica does the same.
func (st *state) tick(now int64) {
	before := st.clock
	st.clock = max(st.clock, now)
	if before/int64(sweepEvery) == st.clock/int64(sweepEvery) {
		return
	}
	for id, s := range st.sessions {
		if st.clock-s.last > int64(sessionTTL) {
			delete(st.sessions, id)
		}
	}
	for id, at := range st.dropped {
		if st.clock-at > int64(manifest.TombstoneTTL) {
			delete(st.dropped, id)
		}
	}
}

// seen tells whether a batch was appended before, and whether that is known.
func (st *state) seen(h *column.Header) (appended, known bool) {
	s := st.sessions[h.Session]
	if s == nil {
		return false, true
	}
	return s.lookup(h.Seq)
}

// note remembers that a batch was appended.
func (st *state) note(h *column.Header) { note(st.sessions, h, st.clock) }

// noteUnlogged remembers that a batch was appended without the log.
func (st *state) noteUnlogged(h *column.Header, now int64) {
	if st.unlogged[h.Session] == nil {
		for id, s := range st.unlogged {
			if now-s.last > int64(sessionTTL) {
				delete(st.unlogged, id)
			}
		}
	}
	note(st.unlogged, h, now)
}

func note(sessions map[uint64]*session, h *column.Header, now int64) {
	if h.Session == 0 {
		return
	}
	s := sessions[h.Session]
	if s == nil {
		if len(sessions) >= maxSessions {
			evict(sessions)
		}
		s = &session{high: h.Seq}
		sessions[h.Session] = s
	}
	s.add(h.Seq, now)
}

// evict forgets the session that was idle for longest, the lowest id among equals.
func evict(sessions map[uint64]*session) {
	var oldest uint64
	for id, s := range sessions {
		o := sessions[oldest]
		if o == nil || cmp.Or(cmp.Compare(s.last, o.last), cmp.Compare(id, oldest)) < 0 {
			oldest = id
		}
	}
	delete(sessions, oldest)
}

// define takes over a definition if it is newer than the one known.
func (st *state) define(d *tableDef) {
	if _, gone := st.dropped[d.ID]; gone {
		return
	}
	if old := st.tables[d.ID]; old != nil && !d.newer(old) {
		return
	}
	st.tables[d.ID] = d
	st.dirty[d.ID] = struct{}{}
}

// newer tells whether d should replace old.
func (d *tableDef) newer(old *tableDef) bool {
	if d.Version != old.Version {
		return d.Version > old.Version
	}
	return d.Writable().Epoch > old.Writable().Epoch
}

// drop forgets a table; that it was dropped is remembered for manifest.TombstoneTTL.
func (st *state) drop(id uint64) {
	if _, gone := st.dropped[id]; gone {
		return
	}
	delete(st.tables, id)
	delete(st.dirty, id)
	delete(st.expired, id)
	delete(st.expires, id)
	st.dropped[id] = st.clock
	st.drops = append(st.drops, id)
}

// expire notes that rows of a table have expired, and tells whether that is news:
// cutoffs do not go back.
func (st *state) expire(c cutoff, order uint64) bool {
	if st.tables[c.tableID] == nil || c.before <= st.expired[c.tableID].Before && st.expired[c.tableID].Order > 0 {
		return false
	}
	st.expired[c.tableID] = manifest.Expiry{TableID: c.tableID, Before: c.before, Order: order}
	st.expires[c.tableID] = struct{}{}
	return true
}

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
		case h.Epoch < w.Epoch || w.ShardID != a.shardID:
			return refused, errs.New(errs.RequestOutdated, "shard %d: table %q: the batch is of epoch %d, its writes go to shard %d since epoch %d",
				a.shardID, d.Name, h.Epoch, w.ShardID, w.Epoch).WithReason(errs.WrongEpoch)
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
			return bad("column %q has type %s, in the table it has %s", c.Name, v.Type, c.Type)
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

// parseTables decodes definitions that came with a write.
func parseTables(encoded [][]byte) ([]*tableDef, error) {
	var defs []*tableDef
	for _, b := range encoded {
		p := &schemapb.Table{}
		if err := proto.Unmarshal(b, p); err != nil {
			return nil, err
		}
		// The bytes are part of an entry of the log, which is larger.
		defs = append(defs, newTableDef(p, manifest.Table{ID: p.Id, Def: bytes.Clone(b)}))
	}
	return defs, nil
}
