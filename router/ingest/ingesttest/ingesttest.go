// Package ingesttest provides a Service for tests of receivers that writes nothing to disk. The pipelines are real, and
// rows for the shards are kept so that tests can read them.
package ingesttest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/router/access"
	"cordwood/router/ingest"
	"cordwood/router/pipeline"
	"cordwood/router/write"
)

// Now is the arrival time of all records, 2024-07-04 08:31:00 UTC.
var Now = time.Date(2024, 7, 4, 8, 31, 0, 0, time.UTC)

// Row is a stored row: its non-null values by column. A timestamp is a time.Time, and JSON is a string.
type Row map[string]any

// Store is a fake of the catalog, the shards and the stored pipelines. The databases public and shop exist.
type Store struct {
	mu        sync.Mutex // guards the fields below
	tables    map[string]*schema.Table
	rows      map[string][]Row
	columns   map[string][]schema.Column
	options   map[string]map[string]string
	refuse    map[string]error
	pressed   map[string]bool
	pipelines map[string]string
	keys      map[write.Key]bool
	writes    int
	lookups   int
	full      error
}

// New returns a Service with an empty Store. change may alter its settings.
func New(t testing.TB, change ...func(*ingest.Config)) (*ingest.Service, *Store) {
	t.Helper()
	st := &Store{
		tables: map[string]*schema.Table{}, rows: map[string][]Row{}, columns: map[string][]schema.Column{},
		options: map[string]map[string]string{},
		refuse:  map[string]error{}, pressed: map[string]bool{}, pipelines: map[string]string{}, keys: map[write.Key]bool{},
	}
	stored, err := ingest.NewPipelines(st, pipeline.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := ingest.Config{
		Catalog:   st,
		Writer:    st,
		Pipelines: stored,
		Now:       func() time.Time { return Now },
		Writable:  st.writable,
		Lookup:    st.lookup,
	}
	for _, c := range change {
		c(&cfg)
	}
	s, err := ingest.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, st
}

// Caller returns a caller with the right access.ReadWrite, ReadOnly or WriteOnly.
func Caller(right access.Right) *access.Caller {
	return &access.Caller{
		Sender:  access.Sender{User: "ann", Right: right, Proof: "password"},
		Address: netip.MustParseAddr("192.0.2.1"),
	}
}

// Rows returns the rows of a table such as public.logs, in the order in which they were stored.
func (s *Store) Rows(table string) []Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rows[table])
}

// Columns returns the distinct columns of the rows of a table, in the order of their first use.
func (s *Store) Columns(table string) []schema.Column {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.columns[table])
}

// Options returns the options that a table would be created with.
func (s *Store) Options(table string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options[table]
}

// Tables returns the tables that have rows.
func (s *Store) Tables() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for t := range s.rows {
		out = append(out, t)
	}
	slices.Sort(out)
	return out
}

// Writes returns the number of writes, including refused ones.
func (s *Store) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Keys returns the keys of the requests that were stored.
func (s *Store) Keys() []write.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []write.Key
	for k := range s.keys {
		out = append(out, k)
	}
	return out
}

// Create creates a table before a test sends rows. Its columns get ids in order.
func (s *Store) Create(database, name string, columns ...schema.Column) {
	s.CreateWith(nil, database, name, columns...)
}

// CreateWith is like Create, with table options.
func (s *Store) CreateWith(options map[string]string, database, name string, columns ...schema.Column) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range columns {
		columns[i].ID = uint32(i + 1) //nolint:gosec // it is small
	}
	t := &schema.Table{
		ID: uint64(len(s.tables) + 1), Database: database, Name: name, Columns: columns, Options: options,
	}
	s.tables[database+"."+name] = t.Index()
}

// Put stores a pipeline.
func (s *Store) Put(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pipelines[name] = text
}

// Refuse makes writes to a table fail with err, or succeed again if err is nil.
func (s *Store) Refuse(table string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse[table] = err
}

// Press makes the shards of a table busy or not busy.
func (s *Store) Press(table string, busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pressed[table] = busy
}

// Fill refuses all rows with err, as if a disk were full, or accepts them again if err is nil.
func (s *Store) Fill(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.full = err
}

func (s *Store) writable() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full
}

// lookup implements ingest.Config.Lookup.
func (s *Store) lookup(_ context.Context, q *ingest.Lookup) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lookups++
	var out []string
	for _, row := range s.rows[q.Database+"."+q.Table] {
		text, _ := row[q.Column].(string)
		at := row[pipeline.DefaultTimestampColumn].(time.Time).UnixNano()
		if text >= q.Low && text < q.High && at >= q.Since && (q.Until == 0 || at <= q.Until) && len(out) < q.Limit {
			out = append(out, text)
		}
	}
	return out, nil
}

// Lookups returns the number of look-ups.
func (s *Store) Lookups() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookups
}

// Database implements ingest.Catalog.
func (s *Store) Database(name string) (*schemapb.Database, bool) {
	return &schemapb.Database{Name: name}, name == "public" || name == "shop"
}

// Table implements ingest.Catalog.
func (s *Store) Table(database, name string) (*schema.Table, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tables[database+"."+name]
	return t, ok
}

// Full implements ingest.Writer.
func (s *Store) Full(string, string) error { return nil }

// Pressed implements ingest.Writer.
func (s *Store) Pressed(database, table string) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Second, s.pressed[database+"."+table]
}

// WriteKeyed implements ingest.Writer. If the key is known, it stores nothing.
func (s *Store) WriteKeyed(_ context.Context, out *pipeline.Output, key write.Key) (write.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	var res write.Result
	for _, t := range out.Tables {
		name := t.Database + "." + t.Table
		if err := s.refuse[name]; err != nil {
			return write.Result{}, err
		}
		if s.pressed[name] {
			return write.Result{}, errs.New(errs.ShardBusy, "the shards of table %s are busy", name).WithRetryAfter(time.Second)
		}
		if !t.Internal {
			res.Rows += t.Count()
			res.Groups = append(res.Groups, write.Group{AffectedRows: t.Count()})
		}
	}
	if key.Text != "" {
		if s.keys[key] {
			return res, nil
		}
		s.keys[key] = true
	}
	for _, t := range out.Tables {
		if t.Count() > 0 {
			s.keep(t)
		}
	}
	return res, nil
}

// keep stores the rows of a table.
func (s *Store) keep(t *pipeline.TableRows) {
	name := t.Database + "." + t.Table
	if len(t.Parts) > 0 {
		panic("ingesttest: a test sends so many rows that they are encoded in parts")
	}
	s.options[name] = t.Options
	for _, c := range t.Rows.Cols() {
		if !slices.ContainsFunc(s.columns[name], func(have schema.Column) bool { return have.Name == c.Name }) {
			s.columns[name] = append(s.columns[name], c.Column)
		}
	}
	t.Rows.Finish()
	for row := range t.Rows.Rows() {
		out := Row{}
		for _, c := range t.Rows.Cols() {
			if !c.IsNull(row) {
				out[c.Name] = cell(c, row)
			}
		}
		s.rows[name] = append(s.rows[name], out)
	}
}

// cell returns a value that is not null.
func cell(c *column.Col, row int) any {
	switch t := c.Type; {
	case t.IsBytes():
		return string(c.Bytes(row))
	case t.IsFloat():
		return c.Float(row)
	case t == schema.Boolean:
		return c.Int(row) != 0
	case t.IsTimestamp():
		per := t.UnitsPerSecond()
		v := c.Int(row)
		return time.Unix(v/per, v%per*(1e9/per)).UTC()
	case t == schema.Uint64:
		return uint64(c.Int(row)) //nolint:gosec // its bits
	}
	return c.Int(row)
}

// Pipeline implements pipelines.Meta.
func (s *Store) Pipeline(name string) (*metapb.PipelineVersion, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.pipelines[name]; !ok {
		return nil, false
	}
	return &metapb.PipelineVersion{Name: name, Version: 1}, true
}

// Pipelines implements ingest.StoredPipelines.
func (s *Store) Pipelines() []*metapb.PipelineVersion {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*metapb.PipelineVersion
	for _, name := range slices.Sorted(maps.Keys(s.pipelines)) {
		list = append(list, &metapb.PipelineVersion{Name: name, Version: 1})
	}
	return list
}

// PipelineVersion implements pipelines.Meta.
func (s *Store) PipelineVersion(name string, _ int64) (*metapb.PipelineVersion, bool) {
	return s.Pipeline(name)
}

// PipelineText implements pipelines.Meta.
func (s *Store) PipelineText(_ context.Context, name string, _ int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.pipelines[name]
	if !ok {
		return nil, fmt.Errorf("no pipeline %s", name)
	}
	return []byte(text), nil
}
