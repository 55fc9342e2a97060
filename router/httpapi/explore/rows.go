package explore

import (
	"cmp"
	"context"
	"net/http"

	"cordwood/proto/errs"
	"cordwood/router/explore/rows"
	"cordwood/router/explore/scope"
)

type rowsRequest struct {
	scope.Request
	Limit   *int     `json:"limit"`
	Cursor  string   `json:"cursor"`
	At      string   `json:"at"`
	Order   string   `json:"order"`
	Columns []string `json:"columns"`
}

// RowsAnswer is the answer of Rows.
type RowsAnswer struct {
	Head
	Columns []rows.Column `json:"columns"`
	Rows    []*rows.Row   `json:"rows"`
	// Next is the cursor of the next page; null on the last page.
	Next *string `json:"next"`
}

// usualLimit is the default number of rows on a page.
const usualLimit = 200

// Rows answers with a page of rows.
func (h *Handler) Rows() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *rowsRequest) (any, error) {
		if req.Order = cmp.Or(req.Order, "newest"); req.Order != "newest" && req.Order != "oldest" {
			return nil, errs.New(errs.InvalidArguments, "order is %.40q: it must be newest or oldest", req.Order)
		}
		s, err := c.scope(ctx, req.Request)
		if err != nil {
			return nil, err
		}
		columns, err := shownColumns(s, req.Columns)
		if err != nil {
			return nil, err
		}
		q := rows.Request{
			Limit: usualLimit, Newest: req.Order == "newest", Cursor: req.Cursor, At: req.At, Columns: req.Columns, Now: c.now,
		}
		if req.Limit != nil {
			q.Limit = *req.Limit
		}
		page, err := rows.Read(ctx, s, q)
		if err != nil {
			return nil, err
		}
		head, err := c.headWithRead(ctx, s)
		if err != nil {
			return nil, err
		}
		a := RowsAnswer{Head: head, Columns: columns, Rows: notNil(page.Rows)}
		if page.Next != "" {
			a.Next = &page.Next
		}
		return a, nil
	})
}

// notNil returns a list that is not nil, so that JSON has an empty list and not null.
func notNil(list []*rows.Row) []*rows.Row {
	if list == nil {
		return []*rows.Row{}
	}
	return list
}

// shownColumns returns the columns with the given names, or all if no names are given.
func shownColumns(s *scope.Scope, names []string) ([]rows.Column, error) {
	all := rows.Columns(s)
	if names == nil {
		return all, nil
	}
	byName := map[string]rows.Column{}
	for _, col := range all {
		byName[col.Name] = col
	}
	out := []rows.Column{}
	for _, name := range names {
		col, ok := byName[name]
		if !ok {
			return nil, errs.New(errs.ColumnNotFound, "columns: the tables have no column %.100q", name)
		}
		out = append(out, col)
	}
	return out, nil
}

// place identifies a row.
type place struct {
	DB    string `json:"db"`
	Table string `json:"table"`
	ID    string `json:"id"`
}

// scope returns a scope with only the table of the row.
func (p *place) scope(ctx context.Context, c *call, more scope.Request) (*scope.Scope, error) {
	if p.Table == "" || p.ID == "" {
		return nil, errs.New(errs.InvalidArguments, `table and id are required: name the row as {"table":"app","id":"…"}`)
	}
	more.DB, more.Tables = p.DB, []string{p.Table}
	s, err := c.scope(ctx, more)
	if err == nil && len(s.Tables) > 1 {
		err = errs.New(errs.InvalidArguments, "table is %.100q: it must be the name of one table", p.Table)
	}
	return s, err
}

type rowRequest struct {
	place
	AllowPartial bool   `json:"allow_partial"`
	Consistency  string `json:"consistency"`
}

// RowAnswer is the answer of Row.
type RowAnswer struct {
	Took    int64         `json:"took_ms"`
	Columns []rows.Column `json:"columns"`
	*rows.Row
	Partial *Partial `json:"partial,omitempty"`
}

// Row answers with one row.
func (h *Handler) Row() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *rowRequest) (any, error) {
		s, err := req.scope(ctx, c, scope.Request{AllowPartial: req.AllowPartial, Consistency: req.Consistency})
		if err != nil {
			return nil, err
		}
		row, err := rows.Find(ctx, s, req.ID)
		if err != nil {
			return nil, err
		}
		head := c.head(s)
		return RowAnswer{Took: head.Took, Columns: rows.Columns(s), Row: row, Partial: head.Partial}, nil
	})
}

type contextRequest struct {
	place
	Before        *int          `json:"before"`
	After         *int          `json:"after"`
	Same          []string      `json:"same"`
	Cursors       *rows.Cursors `json:"cursors"`
	AllowPartial  bool          `json:"allow_partial"`
	Consistency   string        `json:"consistency"`
	MaxValueBytes *int          `json:"max_value_bytes"`
}

// ContextAnswer is the answer of Context.
type ContextAnswer struct {
	Head
	Columns []rows.Column `json:"columns"`
	// Before and After are sorted by time, the oldest first.
	Before  []*rows.Row  `json:"before"`
	Row     *rows.Row    `json:"row"`
	After   []*rows.Row  `json:"after"`
	Same    []string     `json:"same"`
	Cursors rows.Cursors `json:"cursors"`
}

// usualAround is the default number of rows before and after a row.
const usualAround = 20

// Context answers with the rows around a row.
func (h *Handler) Context() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *contextRequest) (any, error) {
		s, err := req.scope(ctx, c, scope.Request{
			AllowPartial: req.AllowPartial, Consistency: req.Consistency, MaxValueBytes: req.MaxValueBytes,
		})
		if err != nil {
			return nil, err
		}
		q := rows.AroundRequest{
			ID: req.ID, Before: usualAround, After: usualAround, Same: req.Same, Cursors: req.Cursors, Now: c.now,
		}
		if req.Before != nil {
			q.Before = *req.Before
		}
		if req.After != nil {
			q.After = *req.After
		}
		a, err := rows.ReadAround(ctx, s, q)
		if err != nil {
			return nil, err
		}
		return ContextAnswer{
			Head: c.head(s), Columns: rows.Columns(s), Before: notNil(a.Before), Row: a.Row,
			After: notNil(a.After), Same: a.Same,
			Cursors: a.Cursors,
		}, nil
	})
}
