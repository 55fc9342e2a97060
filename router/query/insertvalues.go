package query

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// computed has the values of the expressions of an INSERT, each in a column of its own.
type computed struct {
	rec arrow.RecordBatch
	at  map[valuePlace]int
}

// valuePlace is a place in the rows of an INSERT.
type valuePlace struct{ row, index int }

// compute lets the engine evaluate the expressions of an INSERT, all in one query. They read no tables. The caller must
// release the result, which is nil if there are no expressions.
func (s *Service) compute(ctx context.Context, st *statement.Insert, req *Request) (*computed, error) {
	if len(st.Expressions) == 0 {
		return nil, nil
	}
	q, err := computingQuery(st)
	if err != nil {
		return nil, err
	}
	caller := access.From(ctx)
	database := st.Name.Database
	if database == "" {
		database = req.Database
	}
	leave, err := s.reader.gate.EnterDatabase(ctx, database, caller.Share())
	if err != nil {
		return nil, err
	}
	defer leave()
	analysis, err := s.reader.shards.Analyze(ctx, &shardpb.AnalyzeRequest{
		Sql: q.sql, Database: database, Share: caller.KnownShare(),
	})
	if err != nil {
		return nil, q.moved(err)
	}
	if len(analysis.Tables) > 0 {
		return nil, errQueryInValues()
	}
	stream, err := s.reader.ask(ctx, &shardpb.QueryRequest{
		Sql: q.sql, Database: database, Share: caller.KnownShare(), Timezone: req.Timezone,
	})
	if err != nil {
		return nil, q.moved(err)
	}
	defer stream.close()
	c := &computed{at: map[valuePlace]int{}}
	for stream.Next() {
		rec := stream.RecordBatch()
		if rec.NumRows() == 0 {
			continue
		}
		if c.rec != nil || rec.NumRows() > 1 {
			c.release()
			return nil, errs.New(errs.Unsupported, "an expression in VALUES returns several rows; use INSERT … SELECT")
		}
		rec.Retain()
		c.rec = rec
	}
	if err := stream.Err(); err != nil {
		c.release()
		return nil, q.moved(err)
	}
	if c.rec == nil {
		return nil, errs.New(errs.Unsupported, "an expression in VALUES returns no row; use INSERT … SELECT")
	}
	for i, e := range st.Expressions {
		c.at[valuePlace{e.Row, e.Index}] = i
	}
	return c, nil
}

func errQueryInValues() error {
	return errs.New(errs.Unsupported, "VALUES cannot contain a query; use INSERT … SELECT")
}

// nearestRow is what the engine advises for a column that does not exist: the only column of the query.
const nearestRow = `; the nearest names are "cordwood_row"`

// computing is the query for the expressions of an INSERT.
type computing struct {
	sql string
	st  *statement.Insert
	// begins has the places of the expressions in the query.
	begins []int
}

// computingQuery returns the query for the expressions. It has one more column, so the engine refuses aggregates.
func computingQuery(st *statement.Insert) (computing, error) {
	q := computing{st: st}
	var b strings.Builder
	b.WriteString("SELECT ")
	for _, e := range st.Expressions {
		if statement.HasQuery(e.Text) {
			return q, errQueryInValues()
		}
		b.WriteByte('(')
		q.begins = append(q.begins, b.Len())
		b.WriteString(e.Text)
		b.WriteString("\n), ")
	}
	b.WriteString("cordwood_row FROM (VALUES (1)) AS cordwood_rows(cordwood_row)")
	q.sql = b.String()
	return q, nil
}

// moved converts the position in an error.
func (q computing) moved(err error) error {
	if err != nil && strings.Contains(err.Error(), "must appear in the GROUP BY clause") {
		return errs.New(errs.PlanQuery, "VALUES cannot contain aggregates such as count(*)")
	}
	if e := (*errs.Error)(nil); errors.As(err, &e) && strings.Contains(e.Msg, nearestRow) {
		plain := *e
		plain.Msg = strings.Replace(e.Msg, nearestRow, "; expressions in VALUES have no columns", 1)
		err = &plain
	}
	return statement.MovedTo(err, func(at int) (int, bool) {
		for i := len(q.begins) - 1; i >= 0; i-- {
			if e := q.st.Expressions[i]; at >= q.begins[i] {
				return e.At + min(at-q.begins[i], len(e.Text)), true
			}
		}
		return 0, false
	})
}

// value returns the value of the expression at a place, for a column.
func (c *computed) value(row, index int, col *schema.Column, now time.Time) (value, error) {
	i := c.at[valuePlace{row, index}]
	convert, err := converterOf(c.rec.Column(i), c.rec.Schema().Field(i), col, now)
	if err != nil {
		return value{}, err
	}
	return convert(0)
}

func (c *computed) release() {
	if c != nil && c.rec != nil {
		c.rec.Release()
	}
}
