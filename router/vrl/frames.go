package vrl

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
)

// Frames has the memory of programs between the records of a request, so that a run need not get it and give it back.
// It belongs to one goroutine. The zero Frames is empty.
type Frames struct{ held []heldFrame }

type heldFrame struct {
	program *Program
	frame   *fn.Frame
}

// of returns the memory of p, prepared for the next run.
func (s *Frames) of(p *Program) *fn.Frame {
	for i := range s.held {
		if h := &s.held[i]; h.program == p {
			h.frame.Clear()
			return h.frame
		}
	}
	f := p.frames.Get().(*fn.Frame)
	s.held = append(s.held, heldFrame{p, f})
	return f
}

// Release gives the memory back. The strings of the last records can then be freed.
func (s *Frames) Release() {
	for _, h := range s.held {
		h.frame.Release()
		h.program.frames.Put(h.frame)
	}
	clear(s.held)
	s.held = s.held[:0]
}

// RunFramed is RunMetered with the memory in s. The caller must release s after the last record.
func (p *Program) RunFramed(s *Frames, m *fn.Meter, event, meta *value.Value) (value.Value, error) {
	return p.run(s.of(p), m, event, meta)
}
