package pipeline

import "sync/atomic"

// NewColumns counts the columns that one batch of a request adds to tables. It shares the request's total with the
// other batches, which may run concurrently. A NewColumns must be used by one goroutine only; the total may be used by
// many.
type NewColumns struct {
	all *atomic.Int64 // the total of the request
	own int64
}

// ShareNewColumns returns counters for the batches of a request.
func ShareNewColumns(batches int) []NewColumns {
	all := new(atomic.Int64)
	out := make([]NewColumns, batches)
	for i := range out {
		out[i].all = all
	}
	return out
}

// GiveBack subtracts the batch's columns, before the batch runs again.
func (n *NewColumns) GiveBack() {
	n.all.Add(-n.own)
	n.own = 0
}

// take counts a column. It returns false if the limit is reached.
func (n *NewColumns) take(most int) bool {
	if n.all.Add(1) > int64(most) {
		n.all.Add(-1)
		return false
	}
	n.own++
	return true
}

// give subtracts a column.
func (n *NewColumns) give() {
	n.all.Add(-1)
	n.own--
}

// takeColumn counts a new column. It returns false if the request has reached its limit.
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

// giveColumn subtracts a new column.
func (s *sink) giveColumn() {
	s = s.top()
	s.newColumns--
	if s.req.MaxNewColumns > 0 && s.req.NewColumns != nil {
		s.req.NewColumns.give()
	}
}
