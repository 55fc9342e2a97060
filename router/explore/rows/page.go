package rows

import (
	"context"
	"slices"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/explore/scope"
)

// Request has the parameters for reading a page.
type Request struct {
	Limit  int
	Newest bool
	// Cursor is the end of an earlier page. At is the time, or the id of a row, at which the page starts. At most one of
	// them is set.
	Cursor, At string
	// Columns lists the columns to show; nil means all.
	Columns []string
	Now     time.Time
}

// Page is a page of rows.
type Page struct {
	Rows []*Row
	// Next is the cursor of the next page; empty if there is none.
	Next string
}

// Read returns a page of the rows of s. A cursor contains the range of the first page, and sets the range of s.
func Read(ctx context.Context, s *scope.Scope, req Request) (*Page, error) {
	if req.Limit < 1 || req.Limit > MaxLimit {
		return nil, errs.New(errs.InvalidArguments, "limit is %d: it must be from 1 to %d", req.Limit, MaxLimit)
	}
	most, err := s.MaxValueBytes()
	if err != nil {
		return nil, err
	}
	f := &fetcher{scope: s, newest: req.Newest, shape: shape{most: most, columns: req.Columns}}
	of := s.Fingerprint()
	after, err := begin(s, &req, of)
	if err != nil {
		return nil, err
	}
	rows, more, err := f.page(ctx, after, req.Limit)
	if err != nil {
		return nil, err
	}
	page := &Page{Rows: rows}
	if more {
		last := rows[len(rows)-1].place
		page.Next = (&cursor{issued: req.Now, newest: req.Newest, of: of, rng: s.Range, last: last}).String()
	}
	return page, nil
}

// begin returns the position after which a page starts; nil means the first row.
func begin(s *scope.Scope, req *Request, of uint64) (*cursor, error) {
	switch {
	case req.Cursor != "" && req.At != "":
		return nil, errs.New(errs.InvalidArguments, "cursor and at are both given: give only one of them")
	case req.Cursor != "":
		c, err := parseCursor(req.Cursor)
		if err != nil {
			return nil, err
		}
		if c.of != of || c.newest != req.Newest {
			return nil, errs.New(errs.InvalidArguments,
				"the cursor belongs to another search, or a column of the table was dropped: send it with the scope and the "+
					"order of the answer that it comes from, or send the request without it")
		}
		if age := req.Now.Sub(c.issued); age > cursorLife || age < -cursorLife {
			return nil, errs.New(errs.InvalidArguments, "the cursor is older than an hour: send the request without it, or "+
				"with at")
		}
		s.Range = c.rng
		return c, nil
	case req.At != "":
		if t, ok := scope.ParseTime(req.At); ok {
			return before(t, req.Newest), nil
		}
		p, err := parseID(req.At)
		if err != nil {
			return nil, errs.New(errs.InvalidArguments,
				"at is %.80q: it must be the id of a row, or a time such as 2026-01-05T10:00:00Z", req.At)
		}
		if len(s.Tables) == 1 {
			p.table = s.Tables[0].Def.Name
			p.number--
			return &cursor{last: p}, nil
		}
		return before(p.at, req.Newest), nil
	}
	return nil, nil //nolint:nilnil // no row comes before the first row
}

// before returns the position before all rows with a time, in the order of a page.
func before(t time.Time, newest bool) *cursor {
	if newest {
		return &cursor{last: place{at: t.Add(1)}, whole: true}
	}
	return &cursor{last: place{at: t.Add(-1)}, whole: true}
}

// list has rows of one table after a position. Unless it is complete, more rows may follow the last one.
type list struct {
	rows     []*Row
	complete bool
}

// page returns the first n rows after a position, and whether there are more.
func (f *fetcher) page(ctx context.Context, after *cursor, n int) (rows []*Row, more bool, err error) {
	lists := make([]list, len(f.scope.Tables))
	var horizon *place // the position up to which all lists are complete
	for i, t := range f.scope.Tables {
		l, err := f.fetch(ctx, t, after, n+1)
		if err != nil {
			return nil, false, err
		}
		lists[i] = l
		rows = append(rows, l.rows...)
		if !l.complete {
			more = true
			if last := l.rows[len(l.rows)-1].place; horizon == nil || compare(last, *horizon, f.newest) < 0 {
				horizon = &last
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b *Row) int { return compare(a.place, b.place, f.newest) })
	if horizon != nil {
		for i, r := range rows {
			if compare(r.place, *horizon, f.newest) > 0 {
				rows = rows[:i]
				break
			}
		}
	}
	if len(rows) > n {
		rows, more = rows[:n], true
	}
	for _, r := range rows {
		r.ID = r.id()
	}
	return rows, more, nil
}
