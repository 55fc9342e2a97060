package pipeline

import "sync/atomic"

// NewColumns counts the columns that one batch of a request adds to tables, together with the columns of its other
// batches, which may be made at the same time. It belongs to one goroutine; what it shares does not.
type NewColumns struct {
	all *atomic.Int64 // of the request
	own int64
}

// ShareNewColumns returns the counts of the batches of a request.
func ShareNewColumns(batches int) []NewColumns {
	all := new(atomic.Int64)
	out := make([]NewColumns, batches)
	for i := range out {
		out[i].all = all
	}
	return out
}

// GiveBack takes the columns of the batch back, for another run of it.
func (n *NewColumns) GiveBack() {
	n.all.Add(-n.own)
	n.own = 0
}

// take counts a column, unless there are so many already.
func (n *NewColumns) take(most int) bool {
	if n.all.Add(1) > int64(most) {
		n.all.Add(-1)
		return false
	}
	n.own++
	return true
}

// give takes a column back.
func (n *NewColumns) give() {
	n.all.Add(-1)
	n.own--
}

// takeColumn counts a new column, unless the request has as many as it may.
func (s *sink) takeColumn() bool {
	s = s.top()
	most, shared := s.req.MaxNewColumns, s.req.NewColumns
	switch {
	case most > 0 && shared != nil && !shared.take(most):
		return false
	case most > 0 && shared == nil && s.newColumns >= most:
		return false
	}
	s.newColumns++
	return true
}

// giveColumn takes a new column back.
func (s *sink) giveColumn() {
	s = s.top()
	s.newColumns--
	if s.req.MaxNewColumns > 0 && s.req.NewColumns != nil {
		s.req.NewColumns.give()
	}
}
