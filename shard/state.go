package shard

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/manifest"
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
	maxSessions = 10_000

	// maxTableColumns bounds the columns of a table: a Parquet file cannot have more
	// than 32,767.
	maxTableColumns = 30_000
)

// state is what all replicas of the shard agree on, besides the rows. It changes in
// Apply only, by entries alone.
type state struct {
	shardID uint32
	// clock is the highest leader's time of all entries; it never goes back.
	clock    int64
	tables   map[uint64]*tableDef
	dropped  map[uint64]struct{}
	sessions map[uint64]*session
	// dirty are the tables whose definitions changed since the last freeze.
	dirty map[uint64]struct{}
	// drops are the tables dropped since the last freeze.
	drops []uint64
}

type tableDef struct {
	*schema.Table
	stored *schemapb.Table
	byID   map[uint32]int
	// fault, if set, is why rows of the table could not be flushed; none are taken.
	fault error
}

func newTableDef(p *schemapb.Table) *tableDef {
	d := &tableDef{Table: schema.FromProto(p), stored: p, byID: make(map[uint32]int, len(p.Columns))}
	timeIndexes := 0
	for i := range d.Columns {
		c := &d.Columns[i]
		_, twice := d.byID[c.ID]
		switch {
		case c.ID == 0 || twice:
			d.fault = fmt.Errorf("column %q has id %d, which is not its own", c.Name, c.ID)
		case !c.Type.Valid() || p.Columns[i].Type != schemapb.Type(c.Type):
			d.fault = fmt.Errorf("column %q has the unknown type %d", c.Name, p.Columns[i].Type)
		case c.Semantic == schema.Timestamp:
			timeIndexes++
			if !c.Type.IsTimestamp() {
				d.fault = fmt.Errorf("time index %q has type %s", c.Name, c.Type)
			}
		}
		d.byID[c.ID] = i
	}
	if d.fault == nil && timeIndexes != 1 {
		d.fault = fmt.Errorf("the table has %d time indexes, want one", timeIndexes)
	}
	if len(d.Columns) > maxTableColumns {
		d.fault = fmt.Errorf("the table has %d columns, at most %d can be stored", len(d.Columns), maxTableColumns)
	}
	return d
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

func newState(shardID uint32, m *manifest.State) *state {
	st := &state{
		shardID: shardID, clock: m.Clock, tables: make(map[uint64]*tableDef, len(m.Tables)),
		dropped: make(map[uint64]struct{}, len(m.Dropped)), sessions: make(map[uint64]*session, len(m.Sessions)),
		dirty: map[uint64]struct{}{},
	}
	for _, t := range m.Tables {
		st.tables[t.Id] = newTableDef(t)
	}
	for _, id := range m.Dropped {
		st.dropped[id] = struct{}{}
	}
	for _, s := range m.Sessions {
		ses := &session{high: s.High, last: s.LastUnixNano}
		copy(ses.seen[:], s.Seen)
		st.sessions[s.ID] = ses
	}
	return st
}

// storedSessions returns the sessions as the manifest keeps them, by ascending id.
func (st *state) storedSessions() []manifest.Session {
	out := make([]manifest.Session, 0, len(st.sessions))
	for _, id := range slices.Sorted(maps.Keys(st.sessions)) {
		s := st.sessions[id]
		out = append(out, manifest.Session{ID: id, High: s.high, Seen: slices.Clone(s.seen[:]), LastUnixNano: s.last})
	}
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
func (st *state) note(h *column.Header) {
	if h.Session == 0 {
		return
	}
	s := st.sessions[h.Session]
	if s == nil {
		if len(st.sessions) >= maxSessions {
			st.evict()
		}
		s = &session{high: h.Seq}
		st.sessions[h.Session] = s
	}
	s.add(h.Seq, st.clock)
}

// evict forgets the session that was idle for longest, the lowest id among equals.
func (st *state) evict() {
	var oldest uint64
	for id, s := range st.sessions {
		o := st.sessions[oldest]
		if o == nil || cmp.Or(cmp.Compare(s.last, o.last), cmp.Compare(id, oldest)) < 0 {
			oldest = id
		}
	}
	delete(st.sessions, oldest)
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

// drop forgets a table for ever.
func (st *state) drop(id uint64) {
	if _, gone := st.dropped[id]; gone {
		return
	}
	delete(st.tables, id)
	delete(st.dirty, id)
	st.dropped[id] = struct{}{}
	st.drops = append(st.drops, id)
}

// admission is the state as one write sees it: with the definitions that came with
// it, and with the batches that an entry appends before it.
type admission struct {
	*state
	tables map[uint64]*tableDef
	ids    map[batchID]struct{}
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
		at, ok := d.byID[v.ID]
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
		defs = append(defs, newTableDef(p))
	}
	return defs, nil
}
