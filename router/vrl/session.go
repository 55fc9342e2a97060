package vrl

import (
	"slices"

	"cordwood/router/vrl/compile"
	"cordwood/router/vrl/diag"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// A Session runs programs one after another with a common event and common variables, like an interactive prompt.
// It belongs to one goroutine.
type Session struct {
	options     Options
	event, meta value.Value
	names       []string
	values      []value.Value
}

// NewSession returns a session with an event.
func NewSession(o Options, event value.Value) *Session {
	return &Session{options: o, event: event, meta: value.NewObject(value.MakeFields(0))}
}

// Event returns the current event.
func (s *Session) Event() value.Value { return s.event.Share() }

// Variables returns the names of the variables that programs have set.
func (s *Session) Variables() []string { return slices.Clone(s.names) }

// Eval compiles and runs a program and returns its value. The error is a *Diagnostics
// or an *Error.
func (s *Session) Eval(source string) (value.Value, []*diag.Diagnostic, error) {
	o := s.options
	o.Event, o.Meta = kind.Of(s.event), kind.Of(s.meta)
	vars := make([]compile.Variable, len(s.names))
	for i, name := range s.names {
		vars[i] = compile.Variable{Name: name, Kind: kind.Of(s.values[i])}
	}
	p, warnings, err := compileWith(source, o, vars)
	if err != nil {
		return value.Value{}, nil, err
	}
	f := p.frames.Get().(*fn.Frame)
	copy(f.Slots, s.values)
	v, err := p.run(f, nil, &s.event, &s.meta)
	for name, slot := range p.code.Variables {
		if slot >= len(s.values) {
			s.names, s.values = append(s.names, name), append(s.values, f.Slots[slot].Share())
		} else {
			s.values[slot] = f.Slots[slot].Share()
		}
	}
	return v.Share(), warnings, err
}
