package processor

import (
	"errors"
	"math"
	"sort"
	"strconv"
	"strings"

	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/router/pipeline/digits"
	"cordwood/router/pipeline/document"
	"cordwood/router/pipeline/processor/grok"
	"cordwood/router/vrl/pattern"
	"cordwood/router/vrl/value"
)

// compileGrok: grok parses a text with named patterns, for example %{IPORHOST:client} %{WORD:method}
// %{NUMBER:bytes:int}.
//
//	pattern, patterns:   a string, a list of strings; they are tried in order and the
//	                     first that matches counts. Required.
//	pattern_definitions: map of names to regular expressions, which may use names too.
//	                     They go before the patterns of the library.
//	ignore_no_match:     true leaves a record alone that no pattern matches; false
//	                     (default) makes that an error
//	prefix:              text in front of the names of all fields; default none
//
// A captured part, %{NAME:field}, %{NAME:field:type} or (?<field>regex), becomes a field of the record. If the field
// list gives a new name, it becomes a member of an object with that name. The type is string (default), int, float or
// bool. A part that did not match any text is left out. The field itself stays, unless a part has its name. A pattern
// may match anywhere in the text. Begin it with ^ to match at the start only. Regular expressions are RE2.
func compileGrok(o *Options) Apply {
	fields := o.Fields()
	prefix := o.String("prefix", "")
	ignore := o.Bool("ignore_no_match", false)
	definitions := grokDefinitions(o)
	var patterns []*grok.Pattern
	size := 0
	for _, n := range patternNodes(o.Map) {
		if p := compileGrokPattern(n, definitions); p != nil {
			if len(p.Fields()) == 0 {
				n.Fault("the pattern captures nothing; give a part a name, such as %%{IP:client}")
			}
			patterns = append(patterns, p)
			size += p.Size()
		}
	}
	longest := min(maxGrokText, maxGrokSteps/max(size, 1))
	return fields.EachString(func(rec *Record, fl *Field, s string) error {
		if len(s) > longest {
			return rec.Fail(fl.In.Text, value.NewString(s),
				"the text has %d bytes, and at most %d are matched with these patterns", len(s), longest)
		}
		var few [fewPlaces]int
		for _, p := range patterns {
			if err := rec.Spend(pattern.Cost(len(s), p.Size())); err != nil {
				return err
			}
			if match := p.Match(s, few[:]); match != nil {
				return spreadGrok(rec.spread(fl, prefix), p, s, match)
			}
		}
		if ignore {
			return nil
		}
		return rec.Fail(fl.In.Text, value.NewString(s), "no pattern matches")
	})
}

// The limits of a grok processor. The steps are for the worst case: instructions of all patterns times bytes of the
// text.
const (
	maxGrokDefinitions = 1000
	maxGrokText        = 256 << 10
	maxGrokSteps       = 1 << 29
)

func grokDefinitions(o *Options) map[string]string {
	n := o.Get("pattern_definitions")
	if n == nil {
		return nil
	}
	entries := n.Map().Entries()
	if len(entries) > maxGrokDefinitions {
		n.Fault("%d definitions, at most %d are allowed", len(entries), maxGrokDefinitions)
		return nil
	}
	definitions := map[string]string{}
	for i := range entries {
		e := &entries[i]
		if e.Key == "" || strings.ContainsAny(e.Key, ":{}") {
			e.KeyFault("%q cannot be the name of a pattern", Cut(e.Key))
		} else if text, ok := e.Value.String(); ok {
			definitions[e.Key] = text
		}
	}
	for i := range entries {
		if _, ok := definitions[entries[i].Key]; ok {
			compileGrokPattern(entries[i].Value, definitions)
		}
	}
	return definitions
}

// compileGrokPattern compiles the pattern at n; nil if it has a fault.
func compileGrokPattern(n *document.Node, definitions map[string]string) *grok.Pattern {
	text, ok := n.String()
	if !ok {
		return nil
	}
	if text == "" {
		n.Fault("the pattern is empty")
		return nil
	}
	if !affordable(n, 0) {
		return nil
	}
	p, err := grok.Compile(text, definitions)
	if err == nil {
		if !affordable(n, p.Size()) {
			return nil
		}
		return p
	}
	n.Spend(refusedInstructions / 4)
	suggestion := ""
	if unknown := (*grok.UnknownPatternError)(nil); errors.As(err, &unknown) {
		var names []string
		for name := range grok.Library {
			names = append(names, name)
		}
		for name := range definitions {
			names = append(names, name)
		}
		sort.Strings(names)
		suggestion = nearest.DidYouMean(", ", unknown.Name, names)
	}
	n.Fault("invalid grok pattern: %s%s", err, suggestion)
	return nil
}

func spreadGrok(out spread, p *grok.Pattern, s string, match []int) error {
	defer out.done()
	fields := p.Fields()
	for i := range fields {
		f := &fields[i]
		text, ok := f.Text(s, match)
		if !ok {
			continue
		}
		v, ok := out.rec.grokValue(f.Type, text)
		if !ok {
			return out.rec.Fail(out.fl.In.Text, value.NewString(text), "the part %q is not %s", Cut(f.Name), grokTypes[f.Type])
		}
		out.add(f.Name, v)
	}
	return nil
}

var grokTypes = [...]string{
	grok.String: "a string",
	grok.Int:    "an integer",
	grok.Float:  "a number",
	grok.Bool:   "a boolean",
}

// grokValue converts a text. The fraction of an integer is dropped, and digits that do not fit a float are lost.
// The record counts both.
func (r *Record) grokValue(t grok.Type, text string) (value.Value, bool) {
	switch t {
	case grok.Int:
		return r.grokInt(text)
	case grok.Float:
		f, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil || math.IsNaN(f) || math.IsInf(f, 0):
			return value.None, false
		case f == 0 && value.Underflows(text):
			r.NoteVanished()
		case f != 0 && !digits.Kept(text, f, schema.Float64):
			r.noteGrok(false, true)
		}
		return value.NewFloat(f), true
	case grok.Bool:
		switch {
		case strings.EqualFold(text, "true"):
			return value.NewBool(true), true
		case strings.EqualFold(text, "false"):
			return value.NewBool(false), true
		}
		return value.None, false
	}
	return value.NewString(text), true
}

// grokInt converts the text of a number to an integer.
func (r *Record) grokInt(text string) (value.Value, bool) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return value.NewInt(i), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) {
		return value.None, false
	}
	if d, ok := digits.Parse(text); ok {
		if i, fraction, ok := d.Whole(); ok {
			r.noteGrok(fraction, false)
			return value.NewInt(i), true
		}
	}
	// The text is hexadecimal, or the integer does not fit.
	if f <= -1<<63 || f >= 1<<63 {
		return value.None, false
	}
	r.noteGrok(f != math.Trunc(f), false)
	return value.NewInt(int64(f)), true
}
