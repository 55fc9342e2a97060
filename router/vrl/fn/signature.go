package fn

import "strings"

// Signature returns the function's signature, for example name(a: string, [b: integer]).
func (f *Function) Signature() string {
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = p.Name + ": " + p.Kind.String()
		switch {
		case p.Optional && !p.Default.IsNull():
			params[i] += " = " + p.Default.String()
		case p.Optional:
			params[i] = "[" + params[i] + "]"
		}
	}
	s := f.Name + "(" + strings.Join(params, ", ") + ")"
	if f.Closure != nil {
		names := make([]string, len(f.Closure.Params))
		for i, p := range f.Closure.Params {
			names[i] = p.Value
		}
		s += " -> |" + strings.Join(names, ", ") + "| { … }"
	}
	return s
}
