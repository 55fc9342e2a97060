package query

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/router/access"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

// maxReturned limits the memory of the rows of RETURNING, in bytes.
const maxReturned = 32 << 20

// checkReturning returns an error if the rows of RETURNING might differ from the rows that are stored.
func checkReturning(t *schema.Table, st *statement.Insert, rows *column.Builder, req *Request) error {
	switch {
	case req.Key != (write.Key{}):
		return errs.New(errs.Unsupported, "RETURNING is not available with the header Idempotency-Key, because a repetition "+
			"stores nothing and would return other values; leave out the header")
	case statement.HasQuery(st.Returning):
		return errs.New(errs.Unsupported, "RETURNING cannot contain a query; use expressions of the columns of the table")
	case t.AppendMode() || t.MergeMode() == schema.MergeLastRow:
		return nil
	}
	nulls := 0
	for _, col := range rows.Cols() {
		nulls += col.Nulls()
	}
	if nulls > 0 || len(rows.Cols()) < len(t.Columns) {
		return errs.New(errs.Unsupported, "RETURNING is not available for a row with nulls, because the table has "+
			"merge_mode='last_non_null' and may keep older values in their place; give all columns values")
	}
	return nil
}

// returning computes the rows of RETURNING before the rows are stored, so that nothing is stored if it fails. The
// engine evaluates the expressions over the rows of the statement. The caller must release the result.
func (s *Service) returning(ctx context.Context, t *schema.Table, st *statement.Insert, rows *column.Builder,
	req *Request,
) (*keptRows, error) {
	caller := access.From(ctx)
	if err := checkReturning(t, st, rows, req); err != nil {
		return nil, err
	}
	leave, err := s.reader.gate.EnterDatabase(ctx, t.Database, caller.Share())
	if err != nil {
		return nil, err
	}
	defer leave()
	q := returningQuery(t, st)
	analysis, err := s.reader.shards.Analyze(ctx, &shardpb.AnalyzeRequest{
		Sql: q.sql, Database: t.Database, Share: caller.KnownShare(),
	})
	if err != nil {
		return nil, q.moved(err)
	}
	if len(analysis.Tables) != 1 {
		return nil, errs.New(errs.Unsupported, "RETURNING cannot read other tables; use expressions of the columns of the "+
			"table")
	}
	def := unstored(t)
	stream, err := s.reader.ask(ctx, &shardpb.QueryRequest{
		Sql: q.sql, Database: t.Database, Share: caller.KnownShare(), Timezone: req.Timezone,
		Tables: []*shardpb.QueryTable{{
			Name: analysis.Tables[0], Table: def.ToProto(), Inline: true, InlineBatches: encodeRows(def, rows),
		}},
	})
	if err != nil {
		return nil, q.moved(err)
	}
	defer stream.close()
	kept, err := keep(stream, rows.Rows())
	return kept, q.moved(err)
}

// returned is the query for the rows of RETURNING.
type returned struct {
	sql string
	// by is the distance from a place in the query to the same place in the statement.
	by int
}

// moved converts the position in an error.
func (q returned) moved(err error) error {
	if err != nil && strings.Contains(err.Error(), "must appear in the GROUP BY clause") {
		return errs.New(errs.PlanQuery, "RETURNING cannot contain aggregates such as count(*); use expressions that have "+
			"one value for each row")
	}
	return statement.Moved(err, q.by)
}

// returningQuery returns the query for the rows of RETURNING. It has one more column, the time index. So the engine
// refuses aggregates, which would return a row for all rows together.
func returningQuery(t *schema.Table, st *statement.Insert) returned {
	const head = "SELECT "
	name := schema.QuoteIdent(t.Database) + "." + schema.QuoteIdent(t.Name)
	from := name
	if st.Alias != "" {
		name = schema.QuoteIdent(st.Alias)
		from += " AS " + name
	}
	return returned{
		sql: head + st.Returning + "\n, " + name + "." + schema.QuoteIdent(t.TimeIndex().Name) + " FROM " + from,
		by:  st.ReturningAt - len(head),
	}
}

// unstored returns the definition of a table for rows that are sent with a query. The engine must not take them for
// rows of the stored table.
func unstored(t *schema.Table) *schema.Table {
	def := *t
	def.ID, def.Handoff, def.Columns = systemTableID+1<<62+t.ID, nil, slices.Clone(t.Columns)
	for i := range def.Columns {
		c := &def.Columns[i] // its values may exceed what is known of the stored ones
		*c = schema.Column{ID: c.ID, Name: c.Name, Type: c.Type, Semantic: schema.Field}
	}
	return def.Index()
}

// encodeRows returns the rows as batches of a table.
func encodeRows(def *schema.Table, rows *column.Builder) (batches [][]byte) {
	h := column.Header{TableID: def.ID, SchemaVersion: def.Version}
	for from, to := range rows.Chunks(systemBatchBytes) {
		batches = append(batches, rows.EncodeRange(nil, h, from, to))
	}
	return batches
}

// keptRows are rows in memory.
type keptRows struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	next    int
}

// keep reads all rows of a query of RETURNING, without their last column. There must be as many as were inserted.
func keep(from *stream, inserted int) (*keptRows, error) {
	last := from.Schema().NumFields() - 1
	meta := from.Schema().Metadata()
	k := &keptRows{schema: arrow.NewSchema(from.Schema().Fields()[:last], &meta)}
	rows, bytes := 0, uint64(0)
	for from.Next() {
		rec := from.RecordBatch()
		rows += int(rec.NumRows())
		for _, c := range rec.Columns() {
			bytes += c.Data().SizeInBytes()
		}
		if bytes > maxReturned {
			k.release()
			return nil, errs.New(errs.InvalidArguments, "RETURNING has more than %d MiB of values; insert fewer rows, or "+
				"return fewer columns", maxReturned>>20)
		}
		k.batches = append(k.batches, array.NewRecordBatch(k.schema, rec.Columns()[:last], rec.NumRows()))
	}
	err := from.Err()
	if err == nil && rows != inserted {
		err = errs.New(errs.Unsupported, "RETURNING makes %s of %s; use expressions that have one value for each row",
			words.Count(rows, "row"), words.Count(inserted, "row"))
	}
	if err != nil {
		k.release()
		return nil, err
	}
	return k, nil
}

func (k *keptRows) release() {
	for _, rec := range k.batches {
		rec.Release()
	}
	k.batches = nil
}

// Schema implements format.Rows.
func (k *keptRows) Schema() *arrow.Schema { return k.schema }

// Next implements format.Rows.
func (k *keptRows) Next() bool {
	k.next++
	return k.next <= len(k.batches)
}

// RecordBatch implements format.Rows.
func (k *keptRows) RecordBatch() arrow.RecordBatch { return k.batches[k.next-1] }

// Err implements format.Rows.
func (k *keptRows) Err() error { return nil }
