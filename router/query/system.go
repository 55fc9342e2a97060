package query

import (
	"context"
	"fmt"
	"strings"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

// systemTable is a table whose rows are made when a statement reads it.
type systemTable struct {
	// id is added to systemTableID.
	id             uint64
	database, name string
	columns        []schema.Column
	rows           func(f *facts, w *rowWriter) error
}

// systemTables are all of them.
var systemTables = []*systemTable{
	schemataTable, tablesTable, columnsTable,
	nodesTable, shardsTable, segmentsTable, pipelinesTable,
}

// systemTable finds a system table; its name is not case-sensitive.
func (s *Service) systemTable(database, name string) (*systemTable, error) {
	var names []string
	for _, t := range systemTables {
		if !strings.EqualFold(t.database, database) {
			continue
		}
		if strings.EqualFold(t.name, name) {
			return t, nil
		}
		names = append(names, t.name)
	}
	return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist%s; there are %s",
		database, name, didYouMean(name, names), strings.Join(names, ", "))
}

// systemTableID is above the ids of all other tables.
const systemTableID = 1 << 63

// schema is the definition that the engine is told. It has no time index.
func (t *systemTable) schema() *schema.Table {
	def := &schema.Table{ID: systemTableID + t.id, Database: t.database, Name: t.name, Version: 1, Columns: make([]schema.Column, len(t.columns))}
	for i, c := range t.columns {
		c.ID, c.Semantic = uint32(i+1), schema.Field
		def.Columns[i] = c
	}
	def.NextColumnID = uint32(len(t.columns) + 1)
	return def.Index()
}

// A batch of a system table ends at so many rows or bytes.
const (
	systemBatchRows  = 16384
	systemBatchBytes = 4 << 20
)

// encode makes the rows and returns them inline.
func (t *systemTable) encode(f *facts) (*shardpb.QueryTable, error) {
	def := t.schema()
	w := &rowWriter{header: column.Header{TableID: def.ID, SchemaVersion: def.Version}, def: def}
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
}

// add adds a row. Its values are in the order of the columns: string, int64, int,
// uint32, uint64 or nil, as the column's type wants.
func (w *rowWriter) add(values ...any) {
	if w.b.Rows() == 0 && len(w.cols) == 0 {
		for _, c := range w.def.Columns {
			w.cols = append(w.cols, w.b.Add(c))
		}
	}
	row := w.b.Rows()
	for i, v := range values {
		col := w.cols[i]
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
		default:
			panic(fmt.Sprintf("system table %s.%s: column %s: no form for %T", w.def.Database, w.def.Name, col.Name, v))
		}
	}
	w.b.EndRow()
	if w.b.Rows() >= systemBatchRows || row&255 == 255 && w.b.ByteSize() > systemBatchBytes {
		w.flush()
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

// facts is what the system tables of one statement are made from. What takes a call
// to the shards is asked for once, and only if a table needs it.
type facts struct {
	service *Service
	ctx     context.Context
	system  []*systemTable

	stats    []*shardpb.ShardStats
	segments bool // stats have segments
	asked    bool
}

func (f *facts) meta() Meta { return f.service.cfg.Meta }

// shards asks all shards how they are.
func (f *facts) shards(segments bool) ([]*shardpb.ShardStats, error) {
	if f.asked && (f.segments || !segments) {
		return f.stats, nil
	}
	stats, err := f.service.cfg.Shards.Stats(f.ctx, segments)
	if err != nil {
		return nil, err
	}
	f.stats, f.segments, f.asked = stats, segments, true
	return stats, nil
}

// leaders has one element a shard: what its leader says, or else the replica that is
// furthest.
func (f *facts) leaders(segments bool) (map[uint32]*shardpb.ShardStats, error) {
	all, err := f.shards(segments)
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
func moment(name string) schema.Column {
	return schema.Column{Name: name, Type: schema.TimestampNanosecond}
}

// orNull is nil for an empty text.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
