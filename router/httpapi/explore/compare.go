package explore

import (
	"context"
	"net/http"

	"cordwood/proto/errs"
	"cordwood/router/explore/budget"
	"cordwood/router/explore/compare"
	"cordwood/router/explore/scope"
)

type compareRequest struct {
	A      scope.Request `json:"a"`
	B      scope.Request `json:"b"`
	Rest   bool          `json:"rest"`
	Fields []string      `json:"fields"`
	Top    *int          `json:"top"`
}

// CompareAnswer is the answer of Compare. The head describes the first set.
type CompareAnswer struct {
	Head
	*compare.Answer
}

// Compare answers with the fields in which two sets of rows differ.
func (h *Handler) Compare() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *compareRequest) (any, error) {
		if len(req.A.Tables) == 0 || len(req.B.Tables) == 0 {
			return nil, errs.New(errs.InvalidArguments, `a and b must both be scopes with tables, as "a":{"tables":["app"]}`)
		}
		a, err := c.scope(ctx, req.A)
		if err != nil {
			return nil, err
		}
		b, err := c.scope(ctx, req.B)
		if err != nil {
			return nil, err
		}
		limit, err := budget.Time(req.A.BudgetMillis)
		if err != nil {
			return nil, err
		}
		if req.B.BudgetMillis != nil {
			other, err := budget.Time(req.B.BudgetMillis)
			if err != nil {
				return nil, err
			}
			limit = min(limit, other)
		}
		out, err := compare.Compare(ctx, a, b, h.fields, compare.Request{
			Rest: req.Rest, Fields: req.Fields, Top: numberOr(req.Top, 20), Exact: req.A.Exact || req.B.Exact, Budget: limit,
		})
		if err != nil {
			return nil, err
		}
		head := c.head(a)
		head.noteSample(out.SampledRows, out.SampledOf)
		return CompareAnswer{head, out}, nil
	})
}
