package explore

import (
	"context"
	"net/http"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"cordwood/proto/lazyregexp"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/fields"
	"cordwood/router/explore/scope"
	"cordwood/router/explore/search"
	"cordwood/router/query/format"
)

type fieldsRequest struct{ scope.Request }

// FieldsAnswer is the answer of Fields.
type FieldsAnswer struct {
	Head
	*fields.Answer
}

// Fields answers with the columns of the tables.
func (h *Handler) Fields() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *fieldsRequest) (any, error) {
		s, err := c.scope(ctx, req.Request)
		if err != nil {
			return nil, err
		}
		a, err := h.fields.Of(ctx, s)
		if err != nil {
			return nil, err
		}
		return FieldsAnswer{c.head(s), a}, nil
	})
}

type compileRequest struct {
	scope.Request
	Plan bool `json:"plan"`
}

// CompileAnswer is the answer of Compile.
type CompileAnswer struct {
	Head
	SQL    string         `json:"sql"`
	Tokens []search.Token `json:"tokens"`
}

// shownLimit is the LIMIT in the SELECT that Compile returns.
const shownLimit = 200

// Compile answers with the SQL of a search. It does not run it.
func (h *Handler) Compile() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *compileRequest) (any, error) {
		s, err := c.scope(ctx, req.Request)
		if err != nil {
			return nil, err
		}
		var read *budget.Read
		if req.Plan {
			if read, err = plan(ctx, s); err != nil {
				return nil, err
			}
		}
		a := CompileAnswer{Head: c.head(s), SQL: s.SQL(shownLimit), Tokens: s.Query.Tokens}
		if a.Tokens == nil {
			a.Tokens = []search.Token{}
		}
		a.Read = read
		return a, nil
	})
}

// planned matches the line of EXPLAIN about a table: the number of segments to read, the number of all segments, and
// the rows in memory.
var planned = lazyregexp.New(`(\d+) of (\d+) segments; (?:(\d+) of (\d+) rows in memory)?`)

// plan returns the estimate of EXPLAIN for counting the rows in the range.
func plan(ctx context.Context, s *scope.Scope) (*budget.Read, error) {
	extents, err := s.Extents(ctx)
	if err != nil {
		return nil, err
	}
	read := &budget.Read{Rows: budget.Estimate(s, extents).Rows}
	for _, t := range s.Tables {
		sql := "EXPLAIN SELECT count(*) FROM " + t.From() + s.Where(t)
		err := s.Run(ctx, sql, func(rec arrow.RecordBatch) error {
			text := format.Text(rec.Column(1))
			for i := range int(rec.NumRows()) {
				for _, m := range planned.FindAllStringSubmatch(text(i), -1) {
					read.Segments += number(m[1])
					read.Of += number(m[2])
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return read, nil
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // the text has digits only
	return n
}
