package explore

import (
	"context"
	"net/http"

	"cordwood/router/explore/hits"
	"cordwood/router/explore/scope"
)

type hitsRequest struct {
	scope.Request
	Buckets *int    `json:"buckets"`
	Step    string  `json:"step"`
	By      *string `json:"by"`
	Top     *int    `json:"top"`
	TZ      string  `json:"tz"`
}

// HitsAnswer is the answer of Hits.
type HitsAnswer struct {
	Head
	*hits.Answer
}

// numberOr returns the number in a request, or the default.
func numberOr(n *int, usual int) int {
	if n != nil {
		return *n
	}
	return usual
}

// Hits answers with counts over time.
func (h *Handler) Hits() http.HandlerFunc {
	return answering(h, func(ctx context.Context, c *call, req *hitsRequest) (any, error) {
		s, limit, err := c.countingScope(ctx, req.Request)
		if err != nil {
			return nil, err
		}
		q := hits.Request{
			Buckets: numberOr(req.Buckets, 120), Step: req.Step, Top: numberOr(req.Top, 8), Zone: req.TZ,
			Exact: req.Exact, Budget: limit,
		}
		if req.By != nil {
			q.By = *req.By
		}
		a, err := hits.Count(ctx, s, q)
		if err != nil {
			return nil, err
		}
		head, err := c.headOfCounts(ctx, s, a.SampledRows, a.SampledOf)
		if err != nil {
			return nil, err
		}
		return HitsAnswer{head, a}, nil
	})
}
