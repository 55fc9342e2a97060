package loki

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/errs"
	"cordwood/router/loki/lines"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/series"
	"cordwood/router/loki/translate"
)

// Logs is a request for entries.
type Logs struct {
	Query *logql.Log
	Span
	// Limit is the maximum number of entries.
	Limit int
	// Forward returns the oldest entries, oldest first, instead of the newest.
	Forward bool
	// Interval is the minimum time between two entries of a stream; 0 means no minimum.
	Interval time.Duration
}

// Logs returns entries, sorted by their time, after the pipeline of the query.
func (r *Reader) Logs(ctx context.Context, req *Logs) ([]*lines.Entry, error) {
	tables, err := r.tables(ctx, req.Query.Matchers)
	if err != nil {
		return nil, err
	}
	var out []*lines.Entry
	for _, t := range tables {
		found, err := r.entriesOf(ctx, t, req)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if len(tables) > 1 {
		slices.SortStableFunc(out, func(a, b *lines.Entry) int {
			if req.Forward {
				return cmp.Compare(a.Nanos, b.Nanos)
			}
			return cmp.Compare(b.Nanos, a.Nanos)
		})
	}
	if req.Interval > 0 {
		out = thin(out, req.Interval)
	}
	out = out[:min(len(out), req.Limit)]
	r.stats.Entries += int64(len(out))
	return out, nil
}

// entriesOf returns the entries of a table.
func (r *Reader) entriesOf(ctx context.Context, t *translate.Table, req *Logs) ([]*lines.Entry, error) {
	q, err := t.Compile(req.Query)
	if err != nil {
		return nil, err
	}
	order, limit := " DESC", req.Limit
	if req.Forward {
		order = " ASC"
	}
	if req.Interval > 0 {
		limit = MaxEntries
	}
	sql := "SELECT " + selected(t) + " FROM " + t.From() + where(within(t, req.Span), q.Where()) +
		" ORDER BY " + t.Time() + order + limitOf(limit)
	pipeline := lines.New(req.Query)
	var out []*lines.Entry
	err = r.run(ctx, sql, func(ctx context.Context, rec arrow.RecordBatch) error {
		return entries(t, rec, func(e *lines.Entry) error {
			r.stats.Bytes += int64(len(e.Line))
			if kept, err := pipeline.Run(ctx, e); !kept || err != nil {
				return err
			}
			if r.kept += e.Size(); r.kept > maxAnswer {
				return errs.New(errs.InvalidArguments,
					"the entries of the answer have more than %d MiB: lower the limit, or shorten "+
						"lines with line_format", maxAnswer>>20)
			}
			out = append(out, e)
			return nil
		})
	})
	return out, err
}

// thin drops each entry that follows another one of its stream in less than interval.
func thin(list []*lines.Entry, interval time.Duration) []*lines.Entry {
	last := map[string]int64{}
	return slices.DeleteFunc(list, func(e *lines.Entry) bool {
		key := series.Key(e.Labels)
		at, seen := last[key]
		if seen && math.Abs(float64(e.Nanos-at)) < float64(interval) {
			return true
		}
		last[key] = e.Nanos
		return false
	})
}
