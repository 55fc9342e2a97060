package patterns

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
	"cordwood/router/query/statement"
)

// slow is a source of a table with the given number of rows. Its queries end with errWhole if they run in the request's
// own context, which has no limit, and otherwise when their time is up. It counts those with a limit, and of these the
// ones for a sample.
type slow struct {
	request          context.Context
	rows             int64
	table            *schema.Table
	limited, sampled int
}

var errWhole = errors.New("counted without a budget")

// Table implements scope.Source.
func (s *slow) Table(context.Context, string, string) (*schema.Table, error) { return s.table, nil }

// Tables implements scope.Source.
func (s *slow) Tables(context.Context, string) ([]*schema.Table, error) { return nil, nil }

// CheckCondition implements scope.Source.
func (s *slow) CheckCondition(context.Context, string, string) error { return nil }

// Extents implements scope.Source.
func (s *slow) Extents(context.Context, []*schema.Table) (map[uint64]*query.Extent, error) {
	return map[uint64]*query.Extent{s.table.ID: {Rows: s.rows, Segments: []query.Segment{
		{MinTime: 1_000, MaxTime: 9_000, Rows: s.rows},
	}}}, nil
}

// Execute implements scope.Source.
func (s *slow) Execute(ctx context.Context, r query.Request, _ func(context.Context, query.Result) error) error {
	if ctx == s.request {
		return errWhole
	}
	if s.limited++; strings.Contains(r.Statements[0].(*statement.Query).Text, " UNION ALL ") {
		s.sampled++
	}
	<-ctx.Done()
	return errs.New(errs.Cancelled, "the query was aborted")
}

// TestBudget checks which rows are counted if the time never suffices: all of them, if there are few, then a sample,
// and then a smaller one, which has no limit.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rows             int64
		limit            time.Duration
		limited, sampled int
	}{
		{budget.LeastSample, time.Millisecond, 0, 0},
		{budget.LeastSample + 1, time.Millisecond, 1, 0},
		{500_000, 30 * time.Millisecond, 2, 1},
		{budget.MaxExact, 30 * time.Millisecond, 1, 1},
		{budget.MaxExact, 150 * time.Millisecond, 1, 1},
		{budget.MaxExact + 1, 30 * time.Millisecond, 1, 1},
	} {
		table := &schema.Table{ID: 1, Database: "public", Name: "app", Columns: []schema.Column{
			{Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp},
			{Name: "message", Type: schema.String},
		}}
		s := &slow{request: t.Context(), rows: test.rows, table: table.Index()}
		from := "1970-01-01T00:00:00Z"
		sc, err := scope.Resolve(t.Context(), s, scope.Request{Tables: []string{"app"}, From: &from}, time.Unix(10, 0), 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Find(t.Context(), sc, Request{Limit: 1, Budget: test.limit})
		if !errors.Is(err, errWhole) || s.limited != test.limited || s.sampled != test.sampled {
			t.Errorf("%d rows in %s: %d counts with a limit, %d of samples, want %d and %d; the error is %v", test.rows,
				test.limit, s.limited, s.sampled, test.limited, test.sampled, err)
		}
	}
}
