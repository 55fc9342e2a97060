package budget

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
	"cordwood/router/query/statement"
)

// wait waits for some time, or until its statement is cancelled.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return errs.New(errs.Cancelled, "cancelled")
	case <-time.After(d):
		return nil
	}
}

// large has the rows of a file in which there are too many to count.
func large(source scope.Source) (*scope.Scope, map[uint64]*query.Extent) {
	s := scope.For(source, "public")
	app := table()
	app.Condition = "host = 'a'"
	s.Tables, s.Range = []*scope.Table{app}, scope.Range{To: time.Unix(1e6, 0)}
	return s, map[uint64]*query.Extent{7: {Rows: 40_000_000, Segments: []query.Segment{
		{Table: 7, Rows: 40_000_000, MinTime: 0, MaxTime: 100_000},
	}}}
}

// TestTryLarge checks that a slow count is given up as soon as a part of the rows shows that it is slow.
func TestTryLarge(t *testing.T) {
	const ms = time.Millisecond
	const limit = 1600 * ms
	for name, c := range map[string]struct {
		all, part time.Duration
		few       bool
		late      bool
		took      time.Duration
		probed    bool
	}{
		"soon":                  {all: 50 * ms, took: 50 * ms},
		"in time":               {all: time.Second, part: 100 * ms, took: time.Second, probed: true},
		"in time, slow part":    {all: 300 * ms, part: time.Hour, took: 300 * ms, probed: true},
		"slow":                  {all: time.Hour, part: 200 * ms, late: true, took: 300 * ms, probed: true},
		"slow, of few":          {all: time.Hour, part: 200 * ms, few: true, late: true, took: limit, probed: true},
		"slow, but a fast part": {all: time.Hour, part: 20 * ms, late: true, took: limit, probed: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, extents := large(nil)
				began, probed := time.Now(), false
				late, err := TryLarge(t.Context(), s, extents, limit,
					func(ctx context.Context) error { return wait(ctx, c.all) },
					func(ctx context.Context, part *Sample) (bool, error) {
						probed = true
						if n := len(part.slices[7]); n != probeSlices {
							t.Errorf("the part has %d slices", n)
						}
						return c.few, wait(ctx, c.part)
					})
				if took := time.Since(began); late != c.late || err != nil || took != c.took || probed != c.probed {
					t.Errorf("late %v, %v, after %v, probed %v, want %+v", late, err, took, probed, c)
				}
			})
		})
	}
}

// counting is a source in which each count takes some time and finds some rows.
type counting struct {
	scope.Source
	rows int64
	time time.Duration
	sql  []string
}

// Execute implements scope.Source.
func (s *counting) Execute(ctx context.Context, r query.Request,
	each func(context.Context, query.Result) error,
) error {
	if st, ok := r.Statements[0].(*statement.Query); ok {
		s.sql = append(s.sql, st.Text)
	}
	if err := wait(ctx, s.time); err != nil {
		return err
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.Append(s.rows)
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 1)
	rows, err := array.NewRecordReader(schema, []arrow.RecordBatch{rec})
	if err != nil {
		return err
	}
	return each(ctx, query.Result{Rows: rows})
}

// TestCountOfSearch checks that all of many rows are counted only if a search finds few of them soon. The search must
// be in the query of each slice.
func TestCountOfSearch(t *testing.T) {
	for name, c := range map[string]struct {
		source counting
		exact  bool
	}{
		"few":        {counting{rows: Few - 1}, true},
		"many":       {counting{rows: Few}, false},
		"few, slow":  {counting{time: 100 * time.Millisecond}, false},
		"much later": {counting{time: time.Hour}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, extents := large(&c.source)
				var counted []*Sample
				part, err := Count(t.Context(), s, extents, usualBudget, func(_ context.Context, part *Sample) error {
					counted = append(counted, part)
					return nil
				})
				if err != nil || (part == nil) != c.exact || len(counted) != 1 || counted[0] != part {
					t.Errorf("%v, %v, counted %v, want exact %v", part, err, counted, c.exact)
				}
				slices := strings.Count(strings.Join(c.source.sql, "\n"), "AND host = 'a'")
				if len(c.source.sql) != 1 || slices != probeSlices {
					t.Errorf("counted by %q", c.source.sql)
				}
			})
		})
	}
}
