package scope

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/query"
	"cordwood/router/query/statement"
)

// ErrStop is returned by a function passed to Run to end the query early without an error.
var ErrStop = errors.New("scope: enough rows")

// maxSQL is the longest statement that the engine accepts, in bytes.
const maxSQL = 256 << 10

// For returns a Scope without tables, to run statements about a database.
func For(source Source, database string) *Scope { return &Scope{Database: database, source: source} }

// Run runs a SELECT and passes each batch of its rows to each. The batch is valid until each returns.
func (s *Scope) Run(ctx context.Context, sql string, each func(arrow.RecordBatch) error) error {
	if len(sql) > maxSQL {
		return errs.New(errs.InvalidArguments, "the statement for the request over %d tables has %d bytes: at most %d "+
			"are allowed; use fewer tables or fields, or search for fewer words", len(s.Tables), len(sql), maxSQL)
	}
	statements, err := statement.Parse(sql)
	if err != nil {
		return err
	}
	req := query.Request{
		Statements: statements, Database: s.Database, AllowPartial: s.req.AllowPartial, Timeout: s.timeout,
	}
	if s.req.Consistency == "any" {
		req.MaxStaleness = staleness
	}
	err = s.source.Execute(ctx, req, func(_ context.Context, res query.Result) error {
		for _, missing := range res.Partial {
			if !slices.Contains(s.Partial, missing) {
				s.Partial = append(s.Partial, missing)
			}
		}
		for res.Rows.Next() {
			switch err := each(res.Rows.RecordBatch()); {
			case errors.Is(err, ErrStop):
				return nil
			case err != nil:
				return err
			}
		}
		return res.Rows.Err()
	})
	return statement.WithoutPosition(err)
}

// Extents returns the extent of each table by its id.
func (s *Scope) Extents(ctx context.Context) (map[uint64]*query.Extent, error) {
	tables := make([]*schema.Table, len(s.Tables))
	for i, t := range s.Tables {
		tables[i] = t.Def
	}
	return s.source.Extents(ctx, tables)
}

// BeginAtFirstRow sets the missing start of a range to the first row of the tables. If there is no row, it sets the
// start to the end of the range.
func (s *Scope) BeginAtFirstRow(ctx context.Context) error {
	if !s.Range.From.IsZero() {
		return nil
	}
	first := s.Range.To
	for _, t := range s.Tables {
		sql := "SELECT min(" + Ident(t.Def.TimeIndex().Name) + ") FROM " + t.From()
		err := s.Run(ctx, sql, func(rec arrow.RecordBatch) error {
			times, ok := rec.Column(0).(*array.Timestamp)
			if ok && rec.NumRows() > 0 && !times.IsNull(0) {
				if at := TimeOf(int64(times.Value(0)), t.Def.TimeIndex().Type); at.Before(first) {
					first = at
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.Range.From = first
	return nil
}
