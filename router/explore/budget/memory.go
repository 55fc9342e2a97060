package budget

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/schema"
	"cordwood/router/explore/scope"
	"cordwood/router/query"
)

// Ask returns a function that asks for the extents of tables, and for the times of the rows in memory if there are
// many.
func Ask(source scope.Source) func(ctx context.Context, tables []*schema.Table) (map[uint64]*query.Extent, error) {
	return func(ctx context.Context, tables []*schema.Table) (map[uint64]*query.Extent, error) {
		extents, err := source.Extents(ctx, tables)
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			e := extents[t.ID]
			if e == nil || t.TimeIndex() == nil {
				continue
			}
			if e.Memory, err = inMemory(ctx, source, t, e); err != nil && ctx.Err() != nil {
				return nil, err
			}
		}
		return extents, nil
	}
}

// inMemory returns the rows in memory, if there are many and their times can be found: they are after the times of all
// files, as those of rows that arrive in time. Otherwise it returns nil.
func inMemory(ctx context.Context, source scope.Source, t *schema.Table, e *query.Extent) (*query.Segment, error) {
	rows, last := e.Rows, int64(math.MinInt64)
	for _, seg := range e.Segments {
		rows, last = rows-seg.Rows, max(last, seg.MaxTime)
	}
	if rows <= LeastSample {
		return nil, nil
	}
	of, after := &scope.Table{Def: t, Condition: "TRUE"}, "TRUE"
	if len(e.Segments) > 0 {
		after = of.Compare(">", scope.TimeOf(last, t.TimeIndex().Type))
	}
	out := &query.Segment{Table: t.ID, Rows: rows}
	found := false
	index := scope.Ident(t.TimeIndex().Name)
	sql := "SELECT min(" + index + "), max(" + index + ") FROM " + of.From() + scope.WhereAll(after)
	err := scope.For(source, t.Database).Run(ctx, sql, func(rec arrow.RecordBatch) error {
		first, ok := rec.Column(0).(*array.Timestamp)
		newest, also := rec.Column(1).(*array.Timestamp)
		if ok && also && rec.NumRows() > 0 && !first.IsNull(0) {
			out.MinTime, out.MaxTime, found = int64(first.Value(0)), int64(newest.Value(0)), true
		}
		return nil
	})
	if err != nil || !found {
		return nil, err
	}
	return out, nil
}
