package explore

import (
	"context"
	"net/http"

	"cordwood/router/explore/patterns"
	"cordwood/router/explore/scope"
)

type patternsRequest struct {
	scope.Request
	Field  string `json:"field"`
	Limit  *int   `json:"limit"`
	Before *bool  `json:"before"`
}

// PatternsAnswer is the answer of Patterns.
type PatternsAnswer struct {
	Head
	*patterns.Answer
}

// Patterns answers with the patterns that the texts of a field share.
func (h *Handler) Patterns() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *patternsRequest) (any, error) {
		s, limit, err := c.countingScope(ctx, req.Request)
		if err != nil {
			return nil, err
		}
		a, err := patterns.Find(ctx, s, patterns.Request{
			Field: req.Field, Limit: numberOr(req.Limit, 50), Before: req.Before == nil || *req.Before, Exact: req.Exact,
			Budget: limit,
		})
		if err != nil {
			return nil, err
		}
		head, err := c.headOfCounts(ctx, s, a.SampledRows, a.SampledOf)
		if err != nil {
			return nil, err
		}
		return PatternsAnswer{head, a}, nil
	})
}
