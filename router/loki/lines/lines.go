// Package lines runs pipelines of LogQL over entries in memory: to show the entries of a query with their labels, and
// to follow new ones. It has the same rules as package translate, which turns pipelines into SQL. A test compares the
// results of both packages.
//
// A Pipeline is immutable and may be used concurrently. An Entry belongs to its caller.
package lines

import (
	"context"

	"cordwood/router/loki/logql"
	"cordwood/router/loki/translate"
)

// Entry is a line with its labels. Labels with an empty value do not exist.
type Entry struct {
	// Nanos is the time since 1970.
	Nanos int64
	Line  string
	// Labels are the indexed labels, Metadata is the structured metadata, and Parsed are the labels that stages found or
	// set.
	Labels, Metadata, Parsed map[string]string
	// removed are the indexed labels that stages removed or replaced.
	removed map[string]bool
}

// Size returns the approximate memory of the entry, in bytes.
func (e *Entry) Size() int {
	n := len(e.Line)
	for _, labels := range []map[string]string{e.Labels, e.Metadata, e.Parsed} {
		for name, v := range labels {
			n += len(name) + len(v)
		}
	}
	return n
}

// Get returns the value of a label, or an empty string if there is none.
func (e *Entry) Get(name string) string {
	if v := e.Labels[name]; v != "" {
		return v
	}
	if v := e.Parsed[name]; v != "" {
		return v
	}
	return e.Metadata[name]
}

// set makes name a parsed label with the value. An empty value removes the label.
func (e *Entry) set(name, value string) {
	e.remove(name)
	if value == "" {
		return
	}
	if e.Parsed == nil {
		e.Parsed = map[string]string{}
	}
	e.Parsed[name] = value
}

func (e *Entry) remove(name string) {
	e.removeIndexed(name)
	delete(e.Metadata, name)
	delete(e.Parsed, name)
}

func (e *Entry) removeIndexed(name string) {
	if e.Labels[name] == "" {
		return
	}
	delete(e.Labels, name)
	if e.removed == nil {
		e.removed = map[string]bool{}
	}
	e.removed[name] = true
}

// found sets a label that a parser found, unless an earlier stage found or set it. If the entry has an indexed label of
// the same name, or had one before the pipeline, the new label gets a suffix.
func (e *Entry) found(name, value string) {
	if value == "" || name == "" {
		return
	}
	if e.Labels[name] != "" || e.removed[name] {
		if name += "_extracted"; e.Labels[name] != "" {
			return
		}
	}
	if e.Parsed[name] == "" {
		e.set(name, value)
	}
}

// fail sets the label __error__. An error of a label filter does not replace another one.
func (e *Entry) fail(name string) {
	if name != translate.FilterError || e.Get(translate.ErrorLabel) == "" {
		e.set(translate.ErrorLabel, name)
	}
}

// Pipeline has the stages of a query.
type Pipeline struct {
	stages   []logql.Stage
	tolerant bool
}

// New returns the pipeline of a query.
func New(log *logql.Log) *Pipeline {
	p := &Pipeline{stages: log.Stages}
	for _, s := range log.Stages {
		if f, ok := s.(*logql.LabelFilter); ok {
			p.tolerant = p.tolerant || translate.AsksForErrors(f.Cond)
		}
	}
	return p
}

// Run runs the stages on an entry. kept is false if a stage filters it out. A stage of a long line may take long, so
// Run fails when ctx is done.
func (p *Pipeline) Run(ctx context.Context, e *Entry) (kept bool, err error) {
	for _, s := range p.stages {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if parse, ok := s.(*logql.JSON); ok {
			if err := parseJSON(ctx, parse, e); err != nil {
				return false, err
			}
			continue
		}
		if !p.stage(s, e) {
			return false, nil
		}
	}
	return true, nil
}

// Unwrap returns the number in a label of an entry on which the stages ran. found is false if the entry does not have
// the label, or if a filter after unwrap removes it. number is false if the label is not a number.
func (p *Pipeline) Unwrap(u *logql.Unwrap, as logql.Kind, e *Entry) (v float64, number, found bool) {
	text := e.Get(u.Name)
	if text == "" {
		return 0, false, false
	}
	if v, number = logql.ParseAs(text, as); !number {
		e.fail(translate.ExtractError)
	}
	for _, f := range u.Filters {
		if !p.meets(f.Cond, e) {
			return 0, false, false
		}
	}
	return v, number, true
}

func (p *Pipeline) stage(s logql.Stage, e *Entry) bool {
	switch s := s.(type) {
	case *logql.LineFilter:
		return s.Matches(e.Line)
	case *logql.LabelFilter:
		return p.meets(s.Cond, e)
	case *logql.Logfmt:
		parseLogfmt(s, e)
	case *logql.Regexp:
		parseRegexp(s, e)
	case *logql.Pattern:
		values, found := s.Match(e.Line)
		for i, part := range s.Parts {
			if found[i] && part.Name != "_" {
				e.found(part.Name, values[i])
			}
		}
	case *logql.Unpack:
		unpack(e)
	case *logql.LineFormat:
		if line, ok := fill(s.Template, e); ok {
			e.Line = line
		} else {
			e.fail(translate.TemplateError)
		}
	case *logql.LabelFormat:
		labelFormat(s, e)
	case *logql.Drop:
		for _, n := range s.Names {
			if n.Match == nil || n.Match.Matches(e.Get(n.Name)) {
				e.remove(n.Name)
			}
		}
	case *logql.Keep:
		keep(s, e)
	case *logql.Decolorize:
		e.Line = colours.ReplaceAllString(e.Line, "")
	}
	return true
}

func labelFormat(s *logql.LabelFormat, e *Entry) {
	for _, set := range s.Sets {
		if set.Template == nil {
			if value := e.Get(set.From); value != "" { // else the label keeps its value, as in Loki
				e.remove(set.From)
				e.set(set.Name, value)
			}
		} else if text, ok := fill(set.Template, e); ok {
			e.set(set.Name, text)
		} else {
			e.fail(translate.TemplateError)
		}
	}
}

func keep(s *logql.Keep, e *Entry) {
	kept := map[string]bool{translate.ErrorLabel: true}
	for _, n := range s.Names {
		if n.Match == nil || n.Match.Matches(e.Get(n.Name)) {
			kept[n.Name] = true
		}
	}
	for name := range e.Labels {
		if !kept[name] {
			e.removeIndexed(name)
		}
	}
	for _, labels := range []map[string]string{e.Metadata, e.Parsed} {
		for name := range labels {
			if !kept[name] {
				delete(labels, name)
			}
		}
	}
}

// meets reports whether an entry meets a condition of a label filter.
func (p *Pipeline) meets(c logql.Cond, e *Entry) bool {
	switch c := c.(type) {
	case *logql.And:
		a := p.meets(c.A, e) // both sides may set an error
		b := p.meets(c.B, e)
		return a && b
	case *logql.Or:
		a := p.meets(c.A, e)
		b := p.meets(c.B, e)
		return a || b
	case *logql.Text:
		return c.Matches(e.Get(c.Name))
	case *logql.Compare:
		return p.compare(c, e)
	}
	return false
}

func (p *Pipeline) compare(c *logql.Compare, e *Entry) bool {
	text := e.Get(c.Name)
	failed := p.tolerant && e.Get(translate.ErrorLabel) != ""
	if text == "" {
		return failed
	}
	v, ok := logql.ParseAs(text, c.Kind)
	if !ok {
		if p.tolerant {
			e.fail(translate.FilterError)
		}
		return p.tolerant
	}
	return failed || holds(v, c.Op, c.Value)
}

func holds(v float64, op string, than float64) bool {
	switch op {
	case "=":
		return v == than
	case "!=":
		return v != than
	case ">":
		return v > than
	case ">=":
		return v >= than
	case "<":
		return v < than
	}
	return v <= than
}
