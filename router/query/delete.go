package query

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/query/statement"
)

// The maximum size of a piece of a deletion, in rows and in bytes. A piece is held in memory.
const (
	deleteRows  = 32 << 10
	deleteBytes = 4 << 20
)

// delete finds the rows that meet the condition and writes a deletion for each identity, piece by piece. It
// returns how many there were.
//
// It deletes the rows that exist when it begins. A row with one of these identities that is written while it runs
// is either deleted or kept, depending on the order of the writes.
func (s *Service) delete(ctx context.Context, st *statement.Delete, req *Request) (Result, error) {
	database, names := req.Database, s.names.of(ctx)
	t, err := names.writable(st.Name, database)
	if err != nil {
		return Result{}, err
	}
	// The number of deleted rows shows what they contain.
	if err := access.From(ctx).Require(reads(t.Database, t.Name)); err != nil {
		return Result{}, err
	}
	switch {
	case t.AppendMode():
		return Result{}, errs.New(errs.Unsupported,
			"DELETE FROM %s.%s: the table has append_mode='true', which keeps every row; use the ttl option, TRUNCATE TABLE "+
				"or DROP TABLE", t.Database, t.Name)
	case statement.HasQuery(st.Where):
		return Result{}, noQuery(t)
	case names.ttl(t).Instant:
		return Result{}, nil
	}
	leave, err := s.reader.gate.Enter(ctx, access.From(ctx).Share())
	if err != nil {
		return Result{}, err
	}
	defer leave()
	alone, err := s.reader.shards.Analyze(ctx, &shardpb.AnalyzeRequest{
		Sql:      statement.Alone(st.Where),
		Database: t.Database, Share: access.From(ctx).KnownShare(),
	})
	switch {
	case err != nil:
		return Result{}, explainKeys(t, st.Where, statement.InAlone(err))
	case len(alone.Tables) > 0:
		return Result{}, noQuery(t)
	}
	stream, _, err := s.reader.follow(ctx, req, func() (r *stream, _ []words.Missing, err error) {
		if t, err = names.writable(st.Name, database); err == nil {
			r, err = s.reader.deletable(ctx, t, st.Where, req, req.behind != nil)
		}
		return r, nil, err
	})
	if err != nil {
		return Result{}, explainKeys(t, st.Where, err)
	}
	defer stream.close()
	d := &deletion{writer: s.cfg.Writer, table: t}
	err = d.run(ctx, stream)
	if err != nil && d.done > 0 {
		err = errs.Wrap(errs.Internal, err, "%s deleted before", words.Say(d.done, "row was", "rows were"))
	}
	if err != nil {
		return Result{}, errs.Wrap(errs.Internal, explainKeys(t, st.Where, err), "DELETE FROM %s.%s", t.Database, t.Name)
	}
	return Result{AffectedRows: d.done}, nil
}

// noQuery returns the error of a condition that reads tables.
func noQuery(t *schema.Table) error {
	return errs.New(errs.Unsupported, "DELETE FROM %s.%s: the condition cannot contain a query, but it uses %s",
		t.Database, t.Name, keyNames(t))
}

// keyTable returns the table without its fields.
func keyTable(t *schema.Table) *schema.Table {
	k := *t
	k.Columns = nil
	for _, c := range t.Columns {
		if c.Semantic != schema.Field {
			k.Columns = append(k.Columns, c)
		}
	}
	return k.Index()
}

// deletable queries the identities to delete. The engine has only the key columns, so it refuses conditions on
// other columns.
func (r *reader) deletable(ctx context.Context, t *schema.Table, where string, req *Request,
	unchecked bool,
) (*stream, error) {
	if len(t.Placement) == 0 {
		return nil, errs.New(errs.TableUnavailable, "table %s.%s has no shard yet; try again", t.Database, t.Name)
	}
	keys := keyTable(t)
	names := make([]string, len(keys.Columns))
	for i, c := range keys.Columns {
		names[i] = schema.QuoteIdent(c.Name)
	}
	qt := r.queryTable(&shardpb.TableName{Database: t.Database, Name: t.Name}, t, keys.ToProto())
	head := "SELECT " + strings.Join(names, ", ") + " FROM " + schema.QuoteIdent(t.Database) + "." +
		schema.QuoteIdent(t.Name) + " WHERE ("
	stream, err := r.ask(ctx, &shardpb.QueryRequest{
		Sql: head + where + "\n)", Database: t.Database, Tables: []*shardpb.QueryTable{qt}, Unchecked: unchecked,
		Share: access.From(ctx).KnownShare(), Timezone: req.Timezone,
	})
	if err != nil {
		return nil, statement.InCondition(err, len(head))
	}
	return stream, nil
}

// explainKeys returns an error that names the columns which a condition may use.
func explainKeys(t *schema.Table, where string, err error) error {
	if errs.CodeOf(err) != errs.ColumnNotFound {
		return err
	}
	for _, name := range statement.Names(where) {
		for _, c := range t.Columns {
			if c.Semantic == schema.Field && strings.EqualFold(c.Name, name) {
				return errs.New(errs.Unsupported, "DELETE FROM %s.%s: column %q is not a key column; the condition may use %s",
					t.Database, t.Name, c.Name, keyNames(t))
			}
		}
	}
	return err
}

func keyNames(t *schema.Table) string {
	var tags []string
	for _, c := range t.Tags() {
		tags = append(tags, `"`+c.Name+`"`)
	}
	index := `the time index "` + t.TimeIndex().Name + `"`
	if len(tags) == 0 {
		return index + " only"
	}
	return "the tags " + strings.Join(tags, ", ") + " and " + index
}

// deletion is a DELETE in progress.
type deletion struct {
	writer Writer
	table  *schema.Table
	rows   *column.Builder
	cols   []*column.Col // of the columns of the query
	mark   *column.Col
	done   int64
}

// begin begins a piece.
func (d *deletion) begin() {
	keys := keyTable(d.table)
	d.rows = &column.Builder{}
	d.cols = make([]*column.Col, len(keys.Columns))
	for _, first := range []bool{true, false} { // the time index comes first
		for i, c := range keys.Columns {
			if (c.Semantic == schema.Timestamp) == first {
				d.cols[i] = d.rows.Add(c)
			}
		}
	}
	d.mark = d.rows.Add(schema.DeletedColumn())
}

// add adds the identities of a batch to the piece, and sends the piece when it is full.
func (d *deletion) add(ctx context.Context, rec arrow.RecordBatch) error {
	for row := range int(rec.NumRows()) {
		if d.rows == nil {
			d.begin()
		}
		at := d.rows.Rows()
		for i, col := range d.cols {
			if err := setCell(col, at, rec.Column(i), row); err != nil {
				return err
			}
		}
		d.mark.SetInt(at, 1)
		d.rows.EndRow()
		if at+1 >= deleteRows || at&255 == 255 && d.rows.ByteSize() > deleteBytes {
			if err := d.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush sends the piece.
func (d *deletion) flush(ctx context.Context) error {
	if d.rows == nil || d.rows.Rows() == 0 {
		return nil
	}
	n := d.rows.Rows()
	_, err := d.writer.Write(ctx, &pipeline.Output{
		Records: n,
		Tables: []*pipeline.TableRows{{
			Database: d.table.Database, Table: d.table.Name, Existing: d.table, NoCreate: true,
			Rows: d.rows,
		}},
	})
	d.rows = nil
	if err == nil {
		d.done += int64(n)
	}
	return err
}

// run writes a deletion for each row of a stream.
func (d *deletion) run(ctx context.Context, rows *stream) error {
	for rows.Next() {
		if err := d.add(ctx, rows.RecordBatch()); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return d.flush(ctx)
}

// integerAt returns the value of an array of integers or booleans; ok is false for others.
func integerAt(from arrow.Array, row int) (v int64, ok bool) {
	switch a := from.(type) {
	case *array.Boolean:
		if a.Value(row) {
			v = 1
		}
	case *array.Int8:
		v = int64(a.Value(row))
	case *array.Int16:
		v = int64(a.Value(row))
	case *array.Int32:
		v = int64(a.Value(row))
	case *array.Int64:
		v = a.Value(row)
	case *array.Uint8:
		v = int64(a.Value(row))
	case *array.Uint16:
		v = int64(a.Value(row))
	case *array.Uint32:
		v = int64(a.Value(row))
	case *array.Uint64:
		v = int64(a.Value(row))
	default:
		return 0, false
	}
	return v, true
}

// setCell copies a value of an answer to a column of the same type.
func setCell(col *column.Col, at int, from arrow.Array, row int) error {
	if from.IsNull(row) {
		col.SetNull(at)
		return nil
	}
	if v, ok := integerAt(from, row); ok {
		col.SetInt(at, v)
		return nil
	}
	switch a := from.(type) {
	case *array.Float32:
		col.SetFloat(at, float64(a.Value(row)))
	case *array.Float64:
		col.SetFloat(at, a.Value(row))
	case *array.String:
		col.SetString(at, a.Value(row))
	case *array.LargeString:
		col.SetString(at, a.Value(row))
	case *array.Binary:
		col.SetBytes(at, a.Value(row))
	case *array.LargeBinary:
		col.SetBytes(at, a.Value(row))
	case *array.Timestamp:
		unit := a.DataType().(*arrow.TimestampType).Unit
		if want := col.Type.UnitsPerSecond(); want != int64(1e9/unit.Multiplier()) {
			return errs.New(errs.Internal, "column %s of type %s: the answer has %s", col.Name, col.Type, a.DataType())
		}
		col.SetInt(at, int64(a.Value(row)))
	default:
		return errs.New(errs.Internal, "column %s of type %s: the answer has %s", col.Name, col.Type, a.DataType())
	}
	return nil
}
