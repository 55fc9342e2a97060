package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// systemTable is a table whose rows are made when a statement reads it.
type systemTable struct {
	// id is added to systemTableID.
	id             uint64
	database, name string
	columns        []schema.Column
	rows           func(f *facts, w *rowWriter) error
	// needs is the privilege for reading the table. If it is Query, only rows that the caller may see are returned.
	needs access.Privilege
	// stats is how much it needs to know from the shards.
	stats statsNeed
}

// systemTables has all system tables.
var systemTables = []*systemTable{
	schemataTable, tablesTable, columnsTable,
	nodesTable, shardsTable, segmentsTable, pipelinesTable, operationsTable, queriesTable, sessionsTable,
	quotasTable,
}

// permit returns an error if the caller may not read the table.
func (t *systemTable) permit(caller *access.Caller) error {
	return caller.Require(access.Need{
		Privilege: t.needs, Action: "read", Object: access.Object{Kind: access.Table, Database: t.database, Name: t.name},
	})
}

// systemTables returns the system tables that the caller may read. Everything that lists system tables uses it.
func (n names) systemTables() []*systemTable {
	caller := n.by()
	var out []*systemTable
	for _, t := range systemTables {
		if t.permit(caller) == nil {
			out = append(out, t)
		}
	}
	return out
}

// systemTable finds a system table that the caller may read.
func (n names) systemTable(database, name string) (*systemTable, error) {
	t, err := n.findSystemTable(database, name)
	if err != nil {
		return nil, err
	}
	return t, t.permit(n.by())
}

// findSystemTable finds a system table. Its name is not case-sensitive. Errors list only tables that the caller may
// read.
func (n names) findSystemTable(database, name string) (*systemTable, error) {
	var names []string
	if strings.EqualFold(database, schema.CatalogDatabase) {
		if t := catalogTable(name); t != nil {
			return t, nil
		}
	}
	for _, t := range systemTables {
		if !strings.EqualFold(t.database, database) {
			continue
		}
		if strings.EqualFold(t.name, name) {
			return t, nil
		}
		if t.permit(n.by()) == nil {
			names = append(names, t.name)
		}
	}
	advice := ""
	switch {
	case len(names) > 0:
		advice = "; there are " + strings.Join(names, ", ")
	case strings.EqualFold(database, schema.CatalogDatabase):
		advice = "; of PostgreSQL's catalog, cordwood has the tables of PostgreSQL 15"
	}
	return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist%s%s",
		database, name, didYouMean(name, names), advice)
}

// systemTableID is above the ids of all other tables.
const systemTableID = 1 << 63

// schema returns the definition that the engine gets. It has no time index.
func (t *systemTable) schema() *schema.Table {
	def := &schema.Table{
		ID: systemTableID + t.id, Database: t.database, Name: t.name, Version: 1,
		Columns: make([]schema.Column, len(t.columns)),
	}
	for i, c := range t.columns {
		c.ID, c.Semantic = uint32(i+1), schema.Field
		def.Columns[i] = c
	}
	def.NextColumnID = uint32(len(t.columns) + 1)
	return def.Index()
}

// unused returns the columns that a statement certainly does not use. For a statement that may use other tables or
// all columns, it returns none.
func (t *systemTable) unused(sql string) (names []string) {
	if !statement.OnlyUses(sql, t.namesBut()) {
		return nil
	}
	for _, c := range t.columns {
		if statement.OnlyUses(sql, t.namesBut(c.Name)) {
			names = append(names, c.Name)
		}
	}
	return names
}

// namesBut returns database.table and the names of all columns except those in without.
func (t *systemTable) namesBut(without ...string) []string {
	names := []string{t.database + "." + t.name}
	for _, c := range t.columns {
		if !slices.Contains(without, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}

// The maximum size of a batch of a system table, in rows and in bytes.
const (
	systemBatchRows  = 16384
	systemBatchBytes = 4 << 20
)

// encode makes the rows and returns them inline. Columns that unused names may be left null.
func (t *systemTable) encode(f *facts, unused []string) (*shardpb.QueryTable, error) {
	def := t.schema()
	w := &rowWriter{header: column.Header{TableID: def.ID, SchemaVersion: def.Version}, def: def, unused: unused}
	if err := t.rows(f, w); err != nil {
		return nil, err
	}
	w.flush()
	return &shardpb.QueryTable{Table: def.ToProto(), Inline: true, InlineBatches: w.batches}, nil
}

// rowWriter collects rows and encodes them batch by batch.
type rowWriter struct {
	header  column.Header
	def     *schema.Table
	b       column.Builder
	cols    []*column.Col
	batches [][]byte
	unused  []string // columns that nobody reads
}

// uses reports whether the statement reads a column.
func (w *rowWriter) uses(name string) bool { return !slices.Contains(w.unused, name) }

// add adds a row. Its values are in the order of the columns: string, int64, int, uint32, uint64, bool or nil,
// according to the column's type.
func (w *rowWriter) add(values ...any) {
	if w.b.Rows() == 0 && len(w.cols) == 0 {
		for _, c := range w.def.Columns {
			col := w.b.Add(c)
			if !w.uses(c.Name) {
				col = nil
			}
			w.cols = append(w.cols, col)
		}
	}
	row := w.b.Rows()
	for i, v := range values {
		if col := w.cols[i]; col != nil {
			w.set(col, row, v)
		}
	}
	w.b.EndRow()
	if w.b.Rows() >= systemBatchRows || row&255 == 255 && w.b.ByteSize() > systemBatchBytes {
		w.flush()
	}
}

// set sets a value of a row.
func (w *rowWriter) set(col *column.Col, row int, v any) {
	switch v := v.(type) {
	case nil:
		col.SetNull(row)
	case string:
		col.SetString(row, v)
	case int64:
		col.SetInt(row, v)
	case int:
		col.SetInt(row, int64(v))
	case uint32:
		col.SetInt(row, int64(v))
	case uint64:
		col.SetInt(row, int64(v))
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		col.SetInt(row, n)
	default:
		panic(fmt.Sprintf("system table %s.%s: column %s: unsupported type %T", w.def.Database, w.def.Name, col.Name, v))
	}
}

func (w *rowWriter) flush() {
	if w.b.Rows() == 0 {
		return
	}
	w.batches = append(w.batches, w.b.Encode(nil, w.header))
	w.b.Reset()
	w.cols = w.cols[:0]
}

// facts has the data from which the system tables of one statement are made. Data from the shards is requested
// once, and only if a table needs it.
type facts struct {
	names   names
	shards  Shards
	clients clients
	quotas  Quotas // nil if nothing is limited
	ctx     context.Context
	system  []*systemTable // those that the caller may read
	// catalog is the name of the only catalog.
	catalog string
	// filter is the statement's condition on table_schema and table_name. Rows that do not match may be left out,
	// because the engine removes them anyway.
	filter statement.Filter
	// only has restrictions of tables of PostgreSQL's catalog, by table and column.
	only map[string]map[string][]int64
	// sizes are needed: the statement may show rows or bytes of a table.
	needSizes bool
	// least is the maximum of what the tables of the statement need from the shards, so that the shards are asked
	// once.
	least statsNeed

	stats map[statsNeed][]*shardpb.ShardStats
	// missing describes what rows lack because a node does not answer. warnings are about nodes of which there may be no
	// rows: a query or a session exists only while its node runs.
	missing  []words.Missing
	warnings []string
}

// statsNeed is how much data is requested from the shards.
type statsNeed int

const (
	statsTotals statsNeed = iota
	statsTables
	statsSegments
)

func (f *facts) meta() Meta { return f.names.meta }

// databases returns the stored databases that the statement may show to the caller.
func (f *facts) databases() []*schemapb.Database {
	return slices.DeleteFunc(slices.Clone(f.meta().Databases()),
		func(d *schemapb.Database) bool {
			return !f.filter.Schema.Fits(d.Name) || !schema.ReservedDatabase(d.Name) && !f.names.by().SeesDatabase(d.Name)
		})
}

// tables returns the tables of a database that the statement may show to the caller, by name. If seen is not set, these
// are the tables that the caller may read, and otherwise also tables on which the caller has another privilege.
func (f *facts) tables(database string, seen bool) []*schema.Table {
	names, named := f.filter.Table.Names()
	if !named {
		all := f.names.tables(database, seen)
		if f.filter.Table == nil {
			return all
		}
		return slices.DeleteFunc(slices.Clone(all), func(t *schema.Table) bool { return !f.filter.Table.Fits(t.Name) })
	}
	var out []*schema.Table
	for _, name := range names {
		t, ok := f.meta().Table(database, name)
		if caller := f.names.by(); ok && (seen && caller.Sees(database, name) || caller.May(reads(database, name))) {
			out = append(out, t)
		}
	}
	return out
}

// maxStatsTables is the number of tables up to which tables are requested by id.
const maxStatsTables = 1000

// shardStats requests the sizes and the state of all shards.
func (f *facts) shardStats(need statsNeed) ([]*shardpb.ShardStats, error) {
	need = max(need, f.least)
	for n := need; n <= statsSegments; n++ {
		if stats, ok := f.stats[n]; ok {
			return stats, nil
		}
	}
	req := &shardpb.StatsRequest{Segments: need == statsSegments, NoTables: need == statsTotals}
	if f.filter.Table != nil && need > statsTotals {
		for _, d := range f.databases() {
			for _, t := range f.tables(d.Name, true) {
				req.TableIds = append(req.TableIds, t.ID)
			}
		}
		if len(req.TableIds) == 0 || len(req.TableIds) > maxStatsTables {
			req.NoTables = len(req.TableIds) == 0
			req.TableIds = nil
		}
	}
	stats, err := f.shards.Stats(f.ctx, req)
	if err != nil {
		// A partial result is better than none. If the other nodes know all shards, it is even complete.
		if f.ctx.Err() != nil || len(stats) == 0 && need > statsTotals {
			return nil, err
		}
		f.noteMissing(stats, err)
	}
	// Otherwise nodes that do not answer are shown as such, because this is the purpose of these tables.
	if f.stats == nil {
		f.stats = map[statsNeed][]*shardpb.ShardStats{}
	}
	f.stats[need] = stats
	return stats, nil
}

// noteMissing notes the shards that no node has reported.
func (f *facts) noteMissing(stats []*shardpb.ShardStats, err error) {
	reported := map[uint32]bool{}
	for _, st := range stats {
		reported[st.ShardId] = true
	}
	for _, sh := range f.names.meta.Shards() {
		lacks := words.Missing{Shard: sh.Id, Reason: fmt.Sprintf("its size and state are not known: %s", err)}
		if !reported[sh.Id] && !slices.Contains(f.missing, lacks) {
			f.missing = append(f.missing, lacks)
		}
	}
}

// leaders returns one element for each shard: the report of its leader or, without one, of the most advanced
// replica.
func (f *facts) leaders(need statsNeed) (map[uint32]*shardpb.ShardStats, error) {
	all, err := f.shardStats(need)
	if err != nil {
		return nil, err
	}
	best := make(map[uint32]*shardpb.ShardStats, len(all))
	for _, s := range all {
		have := best[s.ShardId]
		leads := strings.EqualFold(s.State, "leader")
		if have == nil || leads || !strings.EqualFold(have.State, "leader") && s.AppliedIndex > have.AppliedIndex {
			best[s.ShardId] = s
		}
	}
	return best, nil
}

func text(name string) schema.Column   { return schema.Column{Name: name, Type: schema.String} }
func number(name string) schema.Column { return schema.Column{Name: name, Type: schema.Int64} }
func count(name string) schema.Column  { return schema.Column{Name: name, Type: schema.Uint64} }
func truth(name string) schema.Column  { return schema.Column{Name: name, Type: schema.Boolean} }
func moment(name string) schema.Column {
	return schema.Column{Name: name, Type: schema.TimestampNanosecond}
}

// orNull returns nil for an empty text, otherwise s.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
