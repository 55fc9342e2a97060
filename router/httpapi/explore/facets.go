package explore

import (
	"context"
	"net/http"

	"cordwood/proto/errs"
	"cordwood/router/explore/facets"
	"cordwood/router/explore/scope"
)

type facetsRequest struct {
	scope.Request
	Fields []string `json:"fields"`
	Top    *int     `json:"top"`
	Own    string   `json:"own"`
}

// FacetsAnswer is the answer of Facets.
type FacetsAnswer struct {
	Head
	*facets.Answer
}

// Facets answers with the values of fields.
func (h *Handler) Facets() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *facetsRequest) (any, error) {
		if req.Own != "" && req.Own != "exclude" && req.Own != "include" {
			return nil, errs.New(errs.InvalidArguments, "own is %.40q: it must be exclude or include", req.Own)
		}
		s, limit, err := c.countingScope(ctx, req.Request)
		if err != nil {
			return nil, err
		}
		a, err := facets.Count(ctx, s, h.fields, facets.Request{
			Fields: req.Fields, Top: numberOr(req.Top, 10), Exclude: req.Own == "exclude", Exact: req.Exact, Budget: limit,
		})
		if err != nil {
			return nil, err
		}
		head, err := c.headOfCounts(ctx, s, a.SampledRows, a.SampledOf)
		if err != nil {
			return nil, err
		}
		return FacetsAnswer{head, a}, nil
	})
}

type valuesRequest struct {
	scope.Request
	Field  string `json:"field"`
	Prefix string `json:"prefix"`
	Limit  *int   `json:"limit"`
}

// ValuesAnswer is the answer of Values.
type ValuesAnswer struct {
	Head
	Values []facets.Value `json:"values"`
}

// Values answers with the values of a field that begin with a prefix.
func (h *Handler) Values() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *valuesRequest) (any, error) {
		s, err := c.scope(ctx, req.Request)
		if err != nil {
			return nil, err
		}
		list, whole, err := facets.Values(ctx, s, req.Field, req.Prefix, numberOr(req.Limit, 20))
		if err != nil {
			return nil, err
		}
		head, err := c.headWithRead(ctx, s)
		if err != nil {
			return nil, err
		}
		head.Exact = whole
		return ValuesAnswer{head, list}, nil
	})
}
