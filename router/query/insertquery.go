package query

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

// The largest batch of rows of a query that is stored at once. The bytes are counted before a row is added.
const (
	queryBatchRows  = 10_000
	queryBatchBytes = 4 << 20
)

// insertQuery carries out an INSERT with a query. The rows are stored in batches while the query runs, each batch like
// an INSERT of its own. After an error, the batches that were stored remain, and the error has the number of their
// rows. The query reads the rows that were there when it began, also if it reads the same table.
func (s *Service) insertQuery(ctx context.Context, st *statement.Insert, req *Request, each resultFunc) error {
	if err := s.checkInsertQuery(ctx, st, req); err != nil {
		return err
	}
	t, err := s.names.of(ctx).writable(st.Name, req.Database)
	if err != nil {
		return err
	}
	named := *st
	if named.Columns == nil { // columns that are added while the query runs get no values
		for _, c := range t.Columns {
			named.Columns = append(named.Columns, c.Name)
		}
	}
	in := &queryInsert{service: s, st: &named, req: req}
	if in.now, err = s.nowIn(req.Timezone); err != nil {
		return err
	}
	if _, err := in.prepare(ctx, t); err != nil {
		return err
	}
	inner := *req
	inner.Limited, inner.AllowPartial, inner.MaxStaleness = false, false, 0
	err = s.reader.query(ctx, &statement.Query{Text: st.Query}, &inner, in.store)
	req.readRecorded = inner.readRecorded
	if req.behind == nil {
		req.behind = inner.behind
	}
	if err != nil {
		return statement.Moved(err, st.QueryAt)
	}
	return each(ctx, Result{AffectedRows: in.stored, Warnings: in.warnings()})
}

// checkInsertQuery returns an error for what an INSERT cannot have together with a query.
func (s *Service) checkInsertQuery(ctx context.Context, st *statement.Insert, req *Request) error {
	switch {
	case req.Key != (write.Key{}):
		return errs.New(errs.Unsupported, "INSERT … SELECT is not available with the header Idempotency-Key, because the "+
			"query may return other rows when it is repeated; leave out the header")
	case st.Returning != "":
		return errs.New(errs.Unsupported, "INSERT … SELECT … RETURNING is not available; leave out RETURNING, and select "+
			"the rows afterwards")
	}
	return s.mayStore(ctx, st)
}

// queryInsert stores the rows of a query.
type queryInsert struct {
	service *Service
	st      *statement.Insert // with the names of all columns that get values
	req     *Request
	now     time.Time

	stored  int64
	taken   int64               // rows of the query in earlier batches
	expired *pipeline.TableRows // has the number of rows that have expired
	changed pipeline.Changes
	noted   []string
}

// prepare returns the columns that get values, the time index first. Errors name columns, so the caller must be
// allowed to read the table if there is ON CONFLICT.
func (in *queryInsert) prepare(ctx context.Context, t *schema.Table) ([]insertColumn, error) {
	mayRead := access.From(ctx).Require(reads(t.Database, t.Name))
	if c := in.st.Conflict; c != nil {
		if mayRead != nil {
			return nil, mayRead
		}
		if !t.AppendMode() && c.Set != nil {
			return nil, errs.New(errs.Unsupported, "INSERT … SELECT … ON CONFLICT DO UPDATE is not available; leave out ON "+
				"CONFLICT: rows replace older rows with the same key in this table")
		}
		if err := checkConflict(t, in.st, &column.Builder{}); err != nil {
			return nil, err
		}
	}
	return insertColumns(t, in.st, mayRead == nil)
}

// store stores all rows of the query.
func (in *queryInsert) store(ctx context.Context, res Result) error {
	fields := res.Rows.Schema().Fields()
	if len(fields) != len(in.st.Columns) {
		return errs.New(errs.InvalidArguments, "the query of INSERT has %s for %s: select a value for each column, in the "+
			"same order", words.Count(len(fields), "column"), words.Count(len(in.st.Columns), "column"))
	}
	b := &rowBatch{}
	defer b.release()
	for res.Rows.Next() {
		rec := res.Rows.RecordBatch()
		for from := 0; from < int(rec.NumRows()); {
			n, err := in.take(ctx, b, rec, from)
			if err != nil {
				return err
			}
			from += n
		}
	}
	if err := res.Rows.Err(); err != nil {
		return err
	}
	if b.builder == nil { // the types are checked even if there are no rows
		t, columns, err := in.target(ctx)
		if err != nil {
			return err
		}
		return in.wrap(t, checkFields(columns, fields))
	}
	return in.flush(ctx, b)
}

// rowBatch are rows that are stored together.
type rowBatch struct {
	table   *schema.Table
	columns []insertColumn
	builder *column.Builder // nil without rows
	changed pipeline.Changes
	bytes   int
	parts   []batchPart
}

// batchPart are the rows of a record from which a batch is made. The batch is made again if the table changes.
type batchPart struct {
	rec      arrow.RecordBatch
	from, to int
}

func (b *rowBatch) release() {
	for _, p := range b.parts {
		p.rec.Release()
	}
	*b = rowBatch{}
}

// full reports whether the batch takes no more rows.
func (b *rowBatch) full() bool {
	return b.builder != nil && (b.builder.Rows() >= queryBatchRows || b.bytes >= queryBatchBytes)
}

// take adds rows of a record to the batch until it is full, and stores it then. It returns how many rows it took.
func (in *queryInsert) take(ctx context.Context, b *rowBatch, rec arrow.RecordBatch, from int) (int, error) {
	if b.builder == nil {
		t, columns, err := in.target(ctx)
		if err != nil {
			return 0, err
		}
		b.begin(t, columns)
	}
	to, err := in.add(b, rec, from, int(rec.NumRows()))
	if err != nil {
		return 0, err
	}
	rec.Retain()
	b.parts = append(b.parts, batchPart{rec, from, to})
	if b.full() {
		return to - from, in.flush(ctx, b)
	}
	return to - from, nil
}

// target finds the table, and checks that the caller may still insert and query.
func (in *queryInsert) target(ctx context.Context) (*schema.Table, []insertColumn, error) {
	need := access.Need{Privilege: access.Insert, Action: "insert", Object: objectOf(in.st, in.req.Database)}
	need.Object.Kind = access.Table
	caller := access.From(ctx)
	if err := caller.Require(need); err != nil {
		return nil, nil, err
	}
	if err := caller.Require(access.Need{Privilege: access.Query, Action: "select"}); err != nil {
		return nil, nil, err
	}
	t, err := in.service.names.of(ctx).writable(in.st.Name, in.req.Database)
	if err != nil {
		return nil, nil, err
	}
	columns, err := in.prepare(ctx, t)
	return t, columns, err
}

// begin makes an empty builder.
func (b *rowBatch) begin(t *schema.Table, columns []insertColumn) {
	b.table, b.columns = t, columns
	b.builder, b.changed, b.bytes = &column.Builder{}, pipeline.Changes{}, 0
	for i := range columns {
		columns[i].col = b.builder.Add(*columns[i].Column)
	}
}

// add adds rows of a record until the batch is full, and returns the index of the next row.
func (in *queryInsert) add(b *rowBatch, rec arrow.RecordBatch, from, to int) (next int, err error) {
	convert := make([]converter, len(b.columns))
	for i, c := range b.columns {
		if c.from < 0 {
			v, err := valueOf(c.same, c.Type, in.now)
			if err != nil {
				return from, in.wrap(b.table, errs.Wrap(errs.InvalidArguments, err, "column %q", c.Name))
			}
			convert[i] = func(int) (value, error) { return v, nil }
			continue
		}
		if convert[i], err = converterOf(rec.Column(c.from), rec.Schema().Field(c.from), c.Column, in.now); err != nil {
			return from, in.wrap(b.table, err)
		}
	}
	for row := from; row < to; row++ {
		if b.full() {
			return row, nil
		}
		at := b.builder.Rows()
		for i := range b.columns {
			c := &b.columns[i]
			v, err := convert[i](row)
			if err == nil && v.null && c.NotNull {
				err = errs.New(errs.InvalidArguments, "it must not be null: give it a value")
			}
			if err != nil {
				return row, in.wrap(b.table, errs.Wrap(errs.InvalidArguments, err, "row %d of the query, column %q",
					in.taken+int64(at)+1, c.Name))
			}
			put(c.col, at, v)
			b.changed.Add(v.changed)
			b.bytes += len(v.s) + 8
		}
		b.builder.EndRow()
	}
	return to, nil
}

// flush stores the rows of the batch, and empties it. If the table has changed, the batch is made again.
func (in *queryInsert) flush(ctx context.Context, b *rowBatch) error {
	defer b.release()
	for round := 1; ; round++ {
		err := in.storeBatch(ctx, b)
		if !errors.Is(err, write.ErrSchemaChanged) || round == insertRounds {
			return in.wrap(b.table, err)
		}
		t, columns, err := in.target(ctx)
		if err != nil {
			return err
		}
		b.begin(t, columns)
		for _, p := range b.parts {
			for from := p.from; from < p.to; {
				// A batch with the same rows may be a little larger, because columns have other types.
				b.bytes = 0
				if from, err = in.add(b, p.rec, from, p.to); err != nil {
					return err
				}
			}
		}
	}
}

// storeBatch stores the rows of the batch in the table as it was when the batch was made.
func (in *queryInsert) storeBatch(ctx context.Context, b *rowBatch) error {
	names := in.service.names.of(ctx)
	table, discard := names.rowsFor(b.table, b.builder, in.now)
	if discard {
		in.taken += int64(b.builder.Rows())
		return nil
	}
	if err := in.service.cfg.Writable(); err != nil {
		return errs.Wrap(errs.StorageUnavailable, err, "store the rows")
	}
	ctx, done := cancelledLater(ctx)
	defer done()
	result, err := in.service.storeRows(ctx, table, write.Key{})
	if err != nil {
		return err
	}
	in.taken += int64(b.builder.Rows())
	in.stored += int64(result.Rows)
	in.req.partly = in.stored
	in.changed.Add(b.changed)
	if in.expired != nil {
		table.Expired += in.expired.Expired
	}
	in.expired = table
	table.Rows = nil
	for _, w := range result.Warnings {
		if !slices.Contains(in.noted, w) && len(in.noted) < maxNoted {
			in.noted = append(in.noted, w)
		}
	}
	return nil
}

// writeGrace is the time in which a batch that is being stored when the statement is cancelled may be finished.
const writeGrace = 5 * time.Second

// cancelledLater returns a context that is cancelled some time after its parent, so that a batch is finished and
// counted when the client cancels the statement or its time is up.
func cancelledLater(parent context.Context) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	late := make(chan *time.Timer, 1)
	stop := context.AfterFunc(parent, func() { late <- time.AfterFunc(writeGrace, cancel) })
	return ctx, func() {
		if !stop() {
			(<-late).Stop()
		}
		cancel()
	}
}

// maxNoted limits the number of different warnings of the batches of one INSERT.
const maxNoted = 20

// warnings returns the warnings about all batches together.
func (in *queryInsert) warnings() []string {
	out := append(in.changed.Warnings(), in.noted...)
	if in.expired != nil && in.expired.Expired > 0 {
		out = append(out, in.expired.ExpiredWarning())
	}
	return out
}

// wrap adds the name of the table to an error.
func (in *queryInsert) wrap(t *schema.Table, err error) error {
	if err == nil {
		return nil
	}
	return errs.Wrap(errs.Internal, err, "INSERT INTO %s.%s", t.Database, t.Name)
}

// checkFields returns an error if a column of the query has a type that its column in the table cannot store.
func checkFields(columns []insertColumn, fields []arrow.Field) error {
	for _, c := range columns {
		if c.from < 0 {
			continue
		}
		if err := checkStorable(fields[c.from], c.Column); err != nil {
			return err
		}
	}
	return nil
}
