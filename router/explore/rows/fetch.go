package rows

import (
	"container/heap"
	"context"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/router/explore/scope"
)

// fetcher reads rows of a scope in one order.
type fetcher struct {
	scope  *scope.Scope
	newest bool
	shape  shape
	// more has additional conditions for the rows.
	more []string
	// endless means that the time range of the scope does not apply.
	endless bool
}

// where returns the WHERE clause for the rows of t.
func (f *fetcher) where(t *scope.Table, conditions ...string) string {
	if !f.endless {
		conditions = append(conditions, f.scope.Times(t))
	}
	return scope.WhereAll(append(append(conditions, t.Condition), f.more...)...)
}

// bytes returns the size limit of the encoded rows that are held for one table.
func (f *fetcher) bytes() int { return pageBytes / len(f.scope.Tables) }

// fetch returns the first n rows of t after a position. If rows are large, it returns fewer, but at least one if
// there is any.
func (f *fetcher) fetch(ctx context.Context, t *scope.Table, after *cursor, n int) (list, error) {
	var out []*Row
	bound := "TRUE"
	beyond := ">"
	if f.newest {
		beyond = "<"
	}
	if after != nil {
		if !after.whole {
			rows, complete, err := f.fetchTime(ctx, t, &after.last, n)
			if err != nil || !complete || len(rows) >= n {
				return list{rows, false}, err
			}
			out = rows
		}
		bound = t.Compare(beyond, after.last.at)
	}
	rows, complete, err := f.fetchOrdered(ctx, t, bound, n-len(out))
	if err != nil {
		return list{}, err
	}
	if complete {
		return list{append(out, rows...), true}, nil
	}
	// The rows of the last time may be incomplete, and are not sorted.
	last := rows[len(rows)-1].at
	k := slices.IndexFunc(rows, func(r *Row) bool { return r.at.Equal(last) })
	out = append(out, rows[:k]...)
	begin := place{at: last, table: t.Def.Name}
	if f.newest {
		begin.hash = 1<<64 - 1
	}
	rows, _, err = f.fetchTime(ctx, t, &begin, n-len(out))
	if out = append(out, rows...); err == nil && len(out) == 0 { // the rows have expired meanwhile
		return f.fetch(ctx, t, &cursor{last: place{at: last}, whole: true}, n)
	}
	return list{out, false}, err
}

func size(r *Row) int { return len(r.V) + 200 }

// fetchOrdered returns n rows that meet a condition on the time, sorted by time. Rows with the same time are
// sorted by their hashes.
func (f *fetcher) fetchOrdered(ctx context.Context, t *scope.Table, bound string,
	n int,
) (rows []*Row, complete bool, err error) {
	direction := ""
	if f.newest {
		direction = " DESC"
	}
	sql := "SELECT * FROM " + t.From() + f.where(t, bound) + " ORDER BY " +
		scope.Ident(t.Def.TimeIndex().Name) + direction + " LIMIT " + strconv.Itoa(n)
	held := 0
	complete = true
	err = f.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		b, err := newBatch(rec, t, &f.shape)
		if err != nil {
			return err
		}
		for i := range int(rec.NumRows()) {
			r := b.row(b.place(i), i)
			rows = append(rows, r)
			if len(rows) == n {
				complete = false // the statement has no more rows
			}
			if held += size(r); held > f.bytes() {
				complete = false
				return scope.ErrStop
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	f.arrange(rows)
	return rows, complete, nil
}

// arrange sorts rows that are sorted only by time into their total order, and numbers identical rows.
func (f *fetcher) arrange(rows []*Row) {
	slices.SortStableFunc(rows, func(a, b *Row) int { return compare(a.place, b.place, f.newest) })
	for i := 1; i < len(rows); i++ {
		if a, b := rows[i-1], rows[i]; a.at.Equal(b.at) && a.hash == b.hash {
			b.number = a.number + 1
		}
	}
}

// fetchTime returns the first n rows after a position that have the same time, and whether there are no other
// rows with this time. It reads all of them, and keeps only those that it returns.
func (f *fetcher) fetchTime(ctx context.Context, t *scope.Table, after *place,
	n int,
) (rows []*Row, complete bool, err error) {
	h := &farthest{newest: f.newest, most: f.bytes()}
	complete = true
	// equal counts the rows that are identical to the row at the position. Up to its number, they are rows before it
	// or the row itself.
	equal := 0
	sql := "SELECT * FROM " + t.From() + f.where(t, t.Compare("=", after.at))
	err = f.scope.Run(ctx, sql, func(rec arrow.RecordBatch) error {
		b, err := newBatch(rec, t, &f.shape)
		if err != nil {
			return err
		}
		for i := range int(rec.NumRows()) {
			p := b.place(i)
			if p.hash == after.hash && p.table == after.table {
				equal++
				p.number = equal
			}
			if compare(p, *after, f.newest) <= 0 {
				continue
			}
			if h.full(n) && compare(p, h.rows[0].place, f.newest) >= 0 {
				complete = false
				continue
			}
			heap.Push(h, b.row(p, i))
			for len(h.rows) > n || h.held > h.most && len(h.rows) > 1 {
				heap.Pop(h)
				complete = false
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	slices.SortStableFunc(h.rows, func(a, b *Row) int { return compare(a.place, b.place, f.newest) })
	for i := 1; i < len(h.rows); i++ {
		if a, b := h.rows[i-1], h.rows[i]; a.hash == b.hash {
			b.number = a.number + 1
		}
	}
	return h.rows, complete, nil
}

// farthest is a heap with the row that comes last in the order of the rows at the top.
type farthest struct {
	rows   []*Row
	newest bool
	// held is the size of the rows in bytes, and most is the limit of this size.
	held, most int
}

// full reports whether another row must replace one in the heap.
func (h *farthest) full(n int) bool { return len(h.rows) >= n || h.held > h.most }

// Len implements heap.Interface.
func (h *farthest) Len() int { return len(h.rows) }

// Less implements heap.Interface.
func (h *farthest) Less(i, j int) bool {
	return compare(h.rows[i].place, h.rows[j].place, h.newest) > 0
}

// Swap implements heap.Interface.
func (h *farthest) Swap(i, j int) { h.rows[i], h.rows[j] = h.rows[j], h.rows[i] }

// Push implements heap.Interface.
func (h *farthest) Push(x any) {
	r := x.(*Row) //nolint:forcetypeassert // only rows are pushed
	h.rows = append(h.rows, r)
	h.held += size(r)
}

// Pop implements heap.Interface.
func (h *farthest) Pop() any {
	r := h.rows[len(h.rows)-1]
	h.rows = h.rows[:len(h.rows)-1]
	h.held -= size(r)
	return r
}
