package write

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/pipeline"
)

// fakeMeta is a metadata group in a map.
type fakeMeta struct {
	mu      sync.Mutex
	tables  map[string]*schema.Table
	changed chan struct{}
	nextID  uint64
	ensured int
	full    bool // new tables are refused, as beyond a quota
	shards  uint32
	hold    chan struct{} // if set, EnsureSchema waits for it
	entered chan struct{} // if set, receives a value at every EnsureSchema
	// stale has the tables of the local view until Fresh has waited. A nil value means that the view does not have the
	// table.
	stale map[string]*schema.Table
	cut   bool // Fresh waits until its deadline
	fresh int
}

func newFakeMeta() *fakeMeta {
	return &fakeMeta{tables: map[string]*schema.Table{}, changed: make(chan struct{}), nextID: 100, shards: 1}
}

func (m *fakeMeta) Table(db, name string) (*schema.Table, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.stale[db+"."+name]; ok {
		return t, t != nil
	}
	t, ok := m.tables[db+"."+name]
	return t, ok
}

func (m *fakeMeta) Fresh(ctx context.Context) error {
	if m.cut {
		<-ctx.Done()
		return errs.Wrap(errs.ShardNotReady, ctx.Err(), "read the metadata")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fresh++
	if len(m.stale) > 0 {
		m.stale = nil
		m.announce()
	}
	return nil
}

func (m *fakeMeta) ShardRetired(uint32) bool { return false }

func (m *fakeMeta) TableByID(id uint64) (*schema.Table, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.tables {
		if t.ID == id {
			return t, true
		}
	}
	return nil, false
}

func (m *fakeMeta) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.changed
}

func (m *fakeMeta) Propose(_ context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	if cmd.GetEnsureSchema() == nil {
		return nil, errs.New(errs.ShardNotReady, "the metadata group has no leader") // because a writer needs schemas only
	}
	if m.entered != nil {
		m.entered <- struct{}{}
	}
	if m.hold != nil {
		<-m.hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ensured++
	res := &metapb.Result{}
	next := map[string]*schema.Table{}
	for _, d := range cmd.GetEnsureSchema().Tables {
		key := d.Database + "." + d.Name
		old := m.tables[key]
		t := &schema.Table{Database: d.Database, Name: d.Name, NextColumnID: 1, Options: d.Options}
		if old != nil {
			c := *old
			c.Columns = append([]schema.Column(nil), old.Columns...)
			t = &c
		} else {
			if d.NoCreate {
				return nil, errs.New(errs.InvalidArguments, "Table `%s` does not exist, and `auto_create_table` hint is disabled",
					d.Name)
			}
			if m.full {
				return nil, schema.TooManyTables(d.Database, d.Name, 3, 3)
			}
			m.nextID++
			t.ID = m.nextID
			t.Placement = []schema.Placement{{Epoch: 1, ShardID: uint32(t.ID) % m.shards}}
		}
		t.Version++
		t.Index()
		for _, p := range d.Columns {
			want := schema.ColumnFromProto(p)
			if have := t.Column(want.Name); have != nil {
				made, ok := have.For(want, schema.ConflictRuleOf(t.Options))
				if !ok || have.Semantic != want.Semantic {
					return nil, &metaclient.ConflictError{Conflicts: []*metapb.Conflict{{
						Database: d.Database, Table: d.Name, Column: want.Name, Existing: have.ToProto(), Wanted: p,
					}}}
				}
				*have = made
				continue
			}
			if d.NoCreate {
				return nil, errs.New(errs.InvalidArguments,
					"Column `%s` of table `%s` does not exist, and `auto_create_table` hint is disabled", want.Name, d.Name)
			}
			want.ID = t.NextColumnID
			t.NextColumnID++
			t.Columns = append(t.Columns, want)
			t.Index()
		}
		next[key] = t
		res.Tables = append(res.Tables, t.ToProto())
	}
	for k, t := range next {
		m.tables[k] = t
		delete(m.stale, k)
	}
	m.announce()
	return res, nil
}

func (m *fakeMeta) announce() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// put stores a table, as if another node had changed it.
func (m *fakeMeta) put(t *schema.Table) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tables[t.Database+"."+t.Name] = t.Index()
	m.announce()
}

// sent is one batch that a shard received.
type sent struct {
	shard uint32
	batch *column.Batch
	flags byte // from the header, proto/column/FORMAT.md
}

// fakeShards stores batches, or refuses them if refuse returns an error.
type fakeShards struct {
	mu    sync.Mutex
	calls int
	got   []sent
	// refuse is called before every call. Its error is the answer to the call.
	refuse func(call int, shard uint32, heads []column.Header) error
	// keys has the ids of appended batches by shard. sealed has the definitions that shards received.
	keys    map[uint32]map[batchID]bool
	sealed  []string
	checks  int
	pressed map[uint32]bool
	ailing  map[uint32]bool
	loads   map[uint32]int64
}

func (s *fakeShards) DefineTables(_ context.Context, shard uint32, tables []*schemapb.Table) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tables {
		s.sealed = append(s.sealed, fmt.Sprintf("shard %d table %d epoch %d", shard, t.Id,
			t.Placement[len(t.Placement)-1].Epoch))
	}
	return nil
}

func (s *fakeShards) CheckKeys(_ context.Context, shard uint32, keys []*shardpb.BatchKey) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks++
	out := make([]bool, len(keys))
	for i, k := range keys {
		out[i] = s.keys[shard][batchID{k.Session, k.Sequence}]
	}
	return out, nil
}

func (s *fakeShards) Load(shard uint32) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loads[shard]
}

func (s *fakeShards) Pressed(shard uint32, _ string) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return 3 * time.Second, s.pressed[shard]
}

func (s *fakeShards) Ailing(shard uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ailing[shard]
}

func (s *fakeShards) Write(_ context.Context, shard uint32, batches [][]byte,
	tables func([]uint64) []*schemapb.Table,
) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	var all []sent
	var heads []column.Header
	for _, b := range batches {
		batch, err := column.Decode(append([]byte(nil), b...), nil)
		if err != nil {
			return 0, err
		}
		if defs := tables([]uint64{batch.TableID}); len(defs) != 1 || defs[0].Version < batch.SchemaVersion {
			return 0, errs.New(errs.TableNotFound, "no definition").WithReason(errs.TableGone)
		}
		all, heads = append(all, sent{shard, batch, b[6]}), append(heads, batch.Header)
	}
	if s.refuse != nil {
		if err := s.refuse(s.calls, shard, heads); err != nil {
			return 0, err
		}
	}
	for _, b := range all {
		id := batchID{b.batch.Session, b.batch.Seq}
		if column.KeyedSession(id.session) {
			if s.keys[shard][id] {
				continue
			}
			if s.keys == nil {
				s.keys = map[uint32]map[batchID]bool{}
			}
			if s.keys[shard] == nil {
				s.keys[shard] = map[batchID]bool{}
			}
			s.keys[shard][id] = true
		}
		s.got = append(s.got, b)
	}
	return uint64(len(s.got)), nil
}

func (s *fakeShards) rows() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, g := range s.got {
		n += g.batch.Rows
	}
	return n
}

func newWriter(t testing.TB, m *fakeMeta, s *fakeShards, change ...func(*Config)) *Writer {
	cfg := Config{Meta: m, Shards: s, RefreshWait: 50 * time.Millisecond}
	for _, f := range change {
		f(&cfg)
	}
	w, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var timeIndex = schema.Column{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp, NotNull: true}

// rows returns n rows of a table with a time index and the given fields.
func rows(table string, n int, fields ...schema.Column) *pipeline.TableRows {
	b := &column.Builder{}
	ts := b.Add(timeIndex)
	var cols []*column.Col
	for _, f := range fields {
		cols = append(cols, b.Add(f))
	}
	for i := range n {
		ts.SetInt(i, int64(i))
		for _, c := range cols {
			if c.Type.IsBytes() {
				c.SetString(i, fmt.Sprintf("value %d", i))
			} else {
				c.SetInt(i, int64(i))
			}
		}
		b.EndRow()
	}
	return &pipeline.TableRows{Database: "public", Table: table, Rows: b}
}

func field(name string, typ schema.Type) schema.Column {
	return schema.Column{Name: name, Type: typ, Semantic: schema.Field}
}

func output(tables ...*pipeline.TableRows) *pipeline.Output {
	return &pipeline.Output{Tables: tables}
}

type discard struct{ fakeShards }

func (*discard) Write(context.Context, uint32, [][]byte, func([]uint64) []*schemapb.Table) (uint64, error) {
	return 1, nil
}
