package pipeline

import (
	"maps"
	"slices"
	"strings"

	"cordwood/proto/nearest"
	"cordwood/router/pipeline/processor"
)

// seenFields records which fields of records a transform list has seen, for Request.TellAbsent.
type seenFields struct {
	listed []bool // by position in the list
	others map[string]bool
}

// maxAbsent limits the number of warnings about fields that no record had.
const maxAbsent = 8

// note records the fields of a record that is about to be stored.
func (s *seenFields) note(p *Pipeline, rec *processor.Record) {
	if s.others == nil {
		s.listed, s.others = make([]bool, len(p.transform)), map[string]bool{}
	}
	for i, c := range p.transform {
		if _, ok := rec.Get(c.in); ok {
			s.listed[i] = true
		}
	}
	o := rec.Value.Object()
	for i := range o.Len() {
		if key := o.Key(i); !p.consumed[key] && !s.others[key] {
			s.others[strings.Clone(key)] = true
		}
	}
}

// warnings names the listed fields that no record had, and the most similar field that is not listed. A field
// with on_failure or a default may be absent, so it is listed only if there is a similar field.
func (s *seenFields) warnings(p *Pipeline) (out []string) {
	others := slices.Sorted(maps.Keys(s.others))
	for i, had := range s.listed {
		if had || len(out) == maxAbsent {
			continue
		}
		c := p.transform[i]
		suggestion := nearest.DidYouMean("; ", c.in.Text, others)
		if c.onFailure != failRecord && suggestion == "" {
			continue
		}
		out = append(out, "no record had the field "+quoted(c.in.Text)+" of the transform list"+suggestion)
	}
	return out
}
