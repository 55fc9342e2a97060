package explore

import (
	"context"
	"time"

	"cordwood/router/explore/budget"
	"cordwood/router/explore/scope"
	"cordwood/router/httpapi/exchange"
)

// Head has the common members of all answers.
type Head struct {
	Range Range `json:"range"`
	// Tables are the names of the tables that match the request's patterns.
	Tables []string `json:"tables"`
	// Where is the SQL condition of the search.
	Where string `json:"where"`
	Took  int64  `json:"took_ms"`
	// Read is the estimated amount of data in the range, from the first and last times in the files.
	Read *budget.Read `json:"read,omitempty"`
	// Exact is true if no number was estimated from a sample.
	Exact   bool     `json:"exact"`
	Sample  *Sample  `json:"sample,omitempty"`
	Partial *Partial `json:"partial,omitempty"`
}

// Range is the time range. From is null if the range starts at the first row.
type Range struct {
	From *string `json:"from"`
	To   string  `json:"to"`
}

// Sample has the number of sampled rows, and the number of all rows.
type Sample struct {
	Rows int64 `json:"rows"`
	Of   int64 `json:"of"`
}

// Partial lists what is missing if a partial answer was allowed.
type Partial struct {
	Segments []string `json:"segments,omitempty"`
	Shards   []string `json:"shards,omitempty"`
}

// head returns the head of an answer, once all queries have run.
func (c *call) head(s *scope.Scope) Head {
	h := Head{Range: Range{To: s.Range.To.Format(time.RFC3339Nano)}, Where: s.Conditions(), Exact: true}
	if !s.Range.From.IsZero() {
		from := s.Range.From.Format(time.RFC3339Nano)
		h.Range.From = &from
	}
	for _, t := range s.Tables {
		h.Tables = append(h.Tables, t.Def.Name)
	}
	if len(s.Partial) > 0 {
		h.Partial = &Partial{}
		for _, missing := range s.Partial {
			text := exchange.NamedNodes(c.r, missing.String())
			if missing.Segment != "" {
				h.Partial.Segments = append(h.Partial.Segments, text)
			} else {
				h.Partial.Shards = append(h.Partial.Shards, text)
			}
		}
	}
	h.Took = time.Since(c.start).Milliseconds()
	return h
}

// headWithRead returns the head with an estimate of how much was read.
func (c *call) headWithRead(ctx context.Context, s *scope.Scope) (Head, error) {
	extents, err := s.Extents(ctx)
	if err != nil {
		return Head{}, err
	}
	read := budget.Estimate(s, extents)
	h := c.head(s)
	h.Read = &read
	return h, nil
}

// headOfCounts is like headWithRead, for counts. If of is 0, the counts are exact. Otherwise they were estimated from
// a sample of the given number of rows, out of of rows.
func (c *call) headOfCounts(ctx context.Context, s *scope.Scope, rows, of int64) (Head, error) {
	h, err := c.headWithRead(ctx, s)
	h.noteSample(rows, of)
	return h, err
}

// noteSample records that counts were estimated from a sample of the given number of rows, out of of rows. If of is
// 0, the counts are exact.
func (h *Head) noteSample(rows, of int64) {
	if of > 0 {
		h.Exact, h.Sample = false, &Sample{Rows: rows, Of: of}
	}
}
