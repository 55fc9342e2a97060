package query

import (
	"context"
	"errors"
	"strconv"
	"time"

	"cordwood/proto/column"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/proto/zone"
	"cordwood/router/access"
	"cordwood/router/pipeline"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

// insertRounds limits how often an INSERT follows its table to a new schema.
const insertRounds = 3

// runInsert carries out an INSERT, and hands over the rows of RETURNING.
func runInsert(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
	insert := st.(*statement.Insert)
	if insert.Query != "" {
		return s.insertQuery(ctx, insert, req, each)
	}
	res, err := s.insert(ctx, insert, req)
	if err != nil {
		return err
	}
	if kept, ok := res.Rows.(*keptRows); ok {
		defer kept.release()
		if req.Limited {
			res.Rows = &limited{Rows: kept, left: req.Limit}
		}
	}
	return each(ctx, res)
}

// insert stores rows through the write path. When it returns, they are stored. If the request has a key, they are
// stored once. It returns the same warnings as ingestion.
func (s *Service) insert(ctx context.Context, st *statement.Insert, req *Request) (res Result, err error) {
	if err := s.mayStore(ctx, st); err != nil {
		return Result{}, err
	}
	if _, err := s.names.of(ctx).writable(st.Name, req.Database); err != nil {
		return Result{}, err
	}
	c, err := s.compute(ctx, st, req)
	if err != nil {
		return Result{}, err
	}
	defer c.release()
	for round := 1; ; round++ {
		t, err := s.names.of(ctx).writable(st.Name, req.Database)
		if err != nil {
			return Result{}, err
		}
		res, err := s.insertInto(ctx, t, st, c, req)
		if errors.Is(err, write.ErrSchemaChanged) && round < insertRounds {
			continue
		}
		if err != nil {
			return Result{}, errs.Wrap(errs.Internal, err, "INSERT INTO %s.%s", t.Database, t.Name)
		}
		return res, nil
	}
}

// mayStore returns an error if rows cannot be stored now, or if the caller may store rows only by a pipeline.
func (s *Service) mayStore(ctx context.Context, st *statement.Insert) error {
	if err := s.cfg.Writable(); err != nil {
		return errs.Wrap(errs.StorageUnavailable, err, "INSERT INTO %s", st.Name)
	}
	caller := access.From(ctx)
	if only := caller.Fixed.Pipeline; caller.IngestOnly && only != "" && only != pipeline.IdentityName {
		return errs.New(errs.PermissionDenied, "%s may store rows only by the pipeline %s, and not by INSERT",
			caller.User, only)
	}
	return nil
}

// insertInto stores the rows in the table as it is defined now.
func (s *Service) insertInto(ctx context.Context, t *schema.Table, st *statement.Insert, c *computed, req *Request,
) (res Result, err error) {
	now, err := s.nowIn(req.Timezone)
	if err != nil {
		return Result{}, err
	}
	names, mayRead := s.names.of(ctx), access.From(ctx).Require(reads(t.Database, t.Name))
	if mayRead != nil && (st.Returning != "" || st.Conflict != nil) { // errors name columns
		return Result{}, mayRead
	}
	rows, changed, err := insertRows(t, st, c, now, mayRead == nil)
	if err == nil {
		err = checkConflict(t, st, rows)
	}
	if err != nil {
		return Result{}, err
	}
	if st.Returning != "" {
		kept, err := s.returning(ctx, t, st, rows, req)
		if err != nil {
			return Result{}, err
		}
		res.Rows = kept
		defer func() {
			if err != nil {
				kept.release()
			}
		}()
	}
	table, discard := names.rowsFor(t, rows, now)
	if discard {
		return Result{Rows: res.Rows}, nil
	}
	result, err := s.storeRows(ctx, table, req.statementKey())
	if err != nil {
		return Result{}, err
	}
	res.AffectedRows = int64(result.Rows)
	res.Warnings = append(changed.Warnings(), result.Warnings...)
	if table.Expired > 0 {
		res.Warnings = append(res.Warnings, table.ExpiredWarning())
	}
	return res, nil
}

// rowsFor returns rows for a table, which must exist. If discard is true, the table discards its rows.
func (n names) rowsFor(t *schema.Table, rows *column.Builder, now time.Time) (r *pipeline.TableRows, discard bool) {
	ttl := n.ttl(t)
	r = &pipeline.TableRows{Database: t.Database, Table: t.Name, Existing: t, NoCreate: true, Rows: rows}
	if limit, ok := ttl.ExpiredBefore(now, t.TimeIndex().Type); ok {
		r.Expired = rows.Cols()[0].Below(limit)
	}
	return r, ttl.Instant
}

// storeRows stores the rows of an INSERT, if the quotas of their database admit them.
func (s *Service) storeRows(ctx context.Context, table *pipeline.TableRows, key write.Key) (write.Result, error) {
	rows, bytes := int64(table.Rows.Rows()), int64(table.Rows.ByteSize())
	if q := s.cfg.Quotas; q != nil {
		if err := q.Take(table.Database, rows, bytes); err != nil {
			return write.Result{}, err
		}
	}
	result, err := s.cfg.Writer.WriteKeyed(ctx, &pipeline.Output{
		Records: int(rows),
		Tables:  []*pipeline.TableRows{table},
	}, key)
	if s.cfg.Quotas != nil && err != nil && errs.ReasonOf(err) != errs.OutcomeUnknown {
		s.cfg.Quotas.GiveBack(table.Database, rows, bytes)
	}
	return result, err
}

// nowIn returns the current time in a time zone.
func (s *Service) nowIn(name string) (time.Time, error) {
	loc, err := zone.Load(name)
	if err != nil {
		return time.Time{}, err
	}
	return s.cfg.Now().In(loc), nil
}

// statementKey returns the key of the current statement, because two statements that store into the same table
// are not repetitions of each other. The first statement has the key of the request, like an ingestion.
func (r *Request) statementKey() write.Key {
	key := r.Key
	if key.Text != "" && r.statement > 0 {
		// No client's key has a line feed.
		key.Text += "\n" + strconv.Itoa(r.statement)
	}
	return key
}

// insertColumn is a column that gets values: from the rows, or the same for all.
type insertColumn struct {
	*schema.Column
	from int // index in a row of values, or -1
	same statement.Literal
	col  *column.Col
}

// insertRows returns typed rows with the time index first. It counts values that are changed when stored.
func insertRows(t *schema.Table, st *statement.Insert, results *computed, now time.Time, suggest bool,
) (rows *column.Builder, changed pipeline.Changes, err error) {
	columns, err := insertColumns(t, st, suggest)
	if err != nil {
		return nil, changed, err
	}
	b := &column.Builder{}
	for i := range columns {
		columns[i].col = b.Add(*columns[i].Column)
	}
	for row, values := range st.Values {
		for i := range columns {
			c := &columns[i]
			l := c.same
			if c.from >= 0 {
				l = values[c.from]
			}
			if l.Kind == statement.Default {
				l = defaultOf(c.Column)
			}
			var v value
			if l.Kind == statement.Computed {
				v, err = results.value(row, c.from, c.Column, now)
			} else {
				v, err = valueOf(l, c.Type, now)
			}
			if err != nil {
				return nil, changed, errs.Wrap(errs.InvalidArguments, err, "row %d, column %q", row+1, c.Name)
			}
			if v.null && c.NotNull {
				return nil, changed, errs.New(errs.InvalidArguments, "row %d: column %q must not be null: give it a value",
					row+1, c.Name)
			}
			put(c.col, row, v)
			changed.Add(v.changed)
		}
		b.EndRow()
	}
	return b, changed, nil
}

// insertColumns pairs the columns of the table with the values of a row, the time index first. Columns with only
// null are left out.
func insertColumns(t *schema.Table, st *statement.Insert, suggest bool) ([]insertColumn, error) {
	from := make(map[string]int, len(t.Columns))
	if st.Columns == nil {
		if n := len(st.Values[0]); n != len(t.Columns) {
			return nil, errs.New(errs.InvalidArguments,
				"a row has %s, but the table has %s; name the columns that they are for", words.Count(n, "value"),
				words.Count(len(t.Columns), "column"))
		}
		for i, c := range t.Columns {
			from[c.Name] = i
		}
	}
	for i, name := range st.Columns {
		if t.Column(name) == nil {
			return nil, findNoColumn(t, name, suggest)
		}
		if _, twice := from[name]; twice {
			return nil, errs.New(errs.InvalidArguments, "column %q is listed twice", name)
		}
		from[name] = i
	}
	columns := make([]insertColumn, 0, len(t.Columns))
	for i := range t.Columns {
		c := insertColumn{Column: &t.Columns[i], from: -1}
		if at, ok := from[c.Name]; ok {
			c.from = at
		} else if c.same = defaultOf(c.Column); c.same.Kind == statement.Null {
			if c.NotNull {
				return nil, errs.New(errs.InvalidArguments, "column %q must not be null and has no default: give it a value",
					c.Name)
			}
			continue
		}
		if c.Semantic == schema.Timestamp {
			columns = append([]insertColumn{c}, columns...)
		} else {
			columns = append(columns, c)
		}
	}
	return columns, nil
}

// defaultOf returns the column's default as a literal: now() for a time index without one.
func defaultOf(c *schema.Column) statement.Literal {
	if c.Default == nil {
		if c.Semantic == schema.Timestamp {
			return statement.Literal{Kind: statement.Now}
		}
		return statement.Literal{}
	}
	l, err := statement.ParseLiteral(*c.Default)
	if err != nil || l.Kind == statement.Default {
		return statement.Literal{} // CREATE TABLE would have refused this default
	}
	return l
}

func put(col *column.Col, row int, v value) {
	switch {
	case v.null:
		col.SetNull(row)
	case col.Type.IsBytes():
		col.SetString(row, v.s)
	case col.Type.IsFloat():
		col.SetFloat(row, v.f)
	default:
		col.SetInt(row, v.i)
	}
}
