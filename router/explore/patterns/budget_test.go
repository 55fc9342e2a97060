package patterns

import (
	"context"
	"errors"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
)

// slow is a source of a table with the given number of rows. Its queries end at their deadline, or with errWhole if
// they have no deadline.
type slow struct {
	rows    int64
	table   *schema.Table
	limited int
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
func (s *slow) Execute(ctx context.Context, _ query.Request, _ func(context.Context, query.Result) error) error {
	if _, ok := ctx.Deadline(); !ok {
		return errWhole
	}
	s.limited++
	<-ctx.Done()
	return errs.New(errs.QueryTimeout, "the query was aborted")
}

// TestBudgetWithoutSample checks that, if there are too few rows for a sample, they are counted once and without the
// budget.
func TestBudgetWithoutSample(t *testing.T) {
	t.Parallel()
	for rows, limited := range map[int64]int{budget.SampleRows: 0, budget.SampleRows + 1: 1, budget.MaxExact + 1: 0} {
		table := &schema.Table{ID: 1, Database: "public", Name: "app", Columns: []schema.Column{
			{Name: "ts", Type: schema.TimestampMillisecond, Semantic: schema.Timestamp},
			{Name: "message", Type: schema.String},
		}}
		s := &slow{rows: rows, table: table.Index()}
		from := "1970-01-01T00:00:00Z"
		sc, err := scope.Resolve(t.Context(), s, scope.Request{Tables: []string{"app"}, From: &from}, time.Unix(10, 0), 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Find(t.Context(), sc, Request{Limit: 1, Budget: time.Millisecond})
		if !errors.Is(err, errWhole) || s.limited != limited {
			t.Errorf("%d rows: %d counts with a budget, want %d; the error is %v", rows, s.limited, limited, err)
		}
	}
}
