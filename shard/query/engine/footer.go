package engine

// filters asks the filters of a segment's row groups.
func (p *plan) filters(e *Engine, part *part, pr *probe) bool { return true }
