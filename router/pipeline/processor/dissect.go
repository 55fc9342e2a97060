package processor

import (
	"fmt"
	"strings"

	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/value"
)

const (
	// maxPatterns limits the number of patterns of a processor.
	maxPatterns = 256
	// maxSeparatorBytes limits the length of the text that a processor inserts between parts, and thus the size of a
	// result.
	maxSeparatorBytes = 64
)

// compileDissect: dissect extracts fields from strings with patterns of literal text and names
// (dissect_pattern.go). The first pattern that matches is used.
//
//	pattern, patterns: one pattern or a list; if both are given, the later one
//	append_separator: the text between joined captures; default one space
//
// A new name in the field list is ignored. The source field stays, existing fields are overwritten, and a pair with
// an empty key is left out.
func compileDissect(o *Options) Apply {
	fields := o.Fields()
	separator := o.String("append_separator", " ")
	if len(separator) > maxSeparatorBytes {
		o.Fault("append_separator has %d bytes, at most %d are allowed", len(separator), maxSeparatorBytes)
	}
	patterns := dissectors(o, separator)
	return fields.EachString(func(rec *Record, fl *Field, s string) error {
		for i := range patterns {
			if patterns[i].apply(rec, s) {
				return nil
			}
		}
		if rec.Quiet {
			return errQuiet
		}
		return rec.Fail(fl.In.Text, value.NewString(s), "No matching pattern found%s", whyNoMatch(patterns, s))
	})
}

// dissector is a compiled pattern.
type dissector struct {
	*dissectPattern
	outputs   captures
	joins     []joined
	separator string
}

func dissectors(o *Options, separator string) []dissector {
	key, n := o.OneOf("pattern", "patterns")
	if n == nil {
		o.Fault(`"pattern" or "patterns" is required`)
		return nil
	}
	nodes := []*document.Node{n}
	if key == "patterns" {
		nodes = n.List()
	}
	if len(nodes) == 0 && n.IsList() {
		n.Fault("the list of patterns is empty")
	}
	if len(nodes) > maxPatterns {
		n.Fault("%d patterns, at most %d are allowed", len(nodes), maxPatterns)
		return nil
	}
	var out []dissector
	for _, n := range nodes {
		text, ok := n.String()
		if !ok {
			continue
		}
		if len(text) > maxPatternBytes {
			n.Fault("the pattern has %d bytes, at most %d are allowed", len(text), maxPatternBytes)
			continue
		}
		p, err := parseDissect(text)
		if err != nil {
			n.Fault("invalid dissect pattern: %s", err)
			continue
		}
		out = append(out, newDissector(o, p, separator))
	}
	return out
}

func newDissector(o *Options, p *dissectPattern, separator string) dissector {
	var names []string
	var of []*capture
	for i := range p.captures {
		if c := &p.captures[i]; c.kind == captureField || c.kind == captureAppend {
			names, of = append(names, c.name), append(of, c)
		}
	}
	o.DeclareTexts(names...)
	outputs, places := newCaptures(o, names)
	for i, c := range of {
		c.place = places[i]
	}
	return dissector{p, outputs, p.joins(), separator}
}

// apply stores the fields that the pattern finds in s in the record. If the pattern does not match, it returns
// false, and the record is unchanged.
func (d *dissector) apply(rec *Record, s string) bool {
	if !strings.HasPrefix(s, d.prefix) {
		return false
	}
	if len(d.joins) > 0 || d.pairs > 0 {
		return d.applyAll(rec, s)
	}
	var few [fewCaptures]value.Value
	values := d.outputs.values(few[:])
	rest := s[len(d.prefix):]
	for i := range d.captures {
		c := &d.captures[i]
		text, after, ok := c.match(rest)
		if !ok {
			return false
		}
		if c.kind == captureField {
			values[c.place] = value.NewString(text)
		}
		rest = after
	}
	d.outputs.set(rec, values)
	return true
}

// match reads the text of a capture and the literal after it at the start of s.
func (c *capture) match(s string) (text, rest string, ok bool) {
	var at int
	switch len(c.until) {
	case 0:
		return s, "", true
	case 1:
		at = strings.IndexByte(s, c.until[0])
	default:
		at = strings.Index(s, c.until)
	}
	if at < 0 {
		return "", "", false
	}
	text, rest = s[:at], s[at+len(c.until):]
	if c.padded {
		for strings.HasSuffix(text, c.pad) {
			text = text[:len(text)-len(c.pad)]
		}
		for strings.HasPrefix(rest, c.until) {
			rest = rest[len(c.until):]
		}
	}
	return text, rest, true
}

// applyAll does what apply does, for patterns with joins and pairs.
func (d *dissector) applyAll(rec *Record, s string) bool {
	var fewTexts [fewCaptures]string
	texts := fewTexts[:]
	if len(d.captures) > len(texts) {
		texts = make([]string, len(d.captures))
	}
	rest := s[len(d.prefix):]
	for i := range d.captures {
		text, after, ok := d.captures[i].match(rest)
		if !ok {
			return false
		}
		texts[i], rest = text, after
	}
	var few [fewCaptures]value.Value
	values := d.outputs.values(few[:])
	for i := range d.captures {
		if c := &d.captures[i]; c.kind == captureField {
			values[c.place] = value.NewString(texts[i])
		}
	}
	for i := range d.joins {
		values[d.joins[i].place] = d.join(rec, &d.joins[i], texts)
	}
	d.outputs.set(rec, values)
	if d.pairs > 0 {
		d.setPairs(rec, texts)
	}
	return true
}

func (d *dissector) join(rec *Record, j *joined, texts []string) value.Value {
	if len(j.parts) == 1 {
		return value.NewString(texts[j.parts[0]])
	}
	b := rec.Scratch[:0]
	for i, part := range j.parts {
		if i > 0 {
			b = append(b, d.separator...)
		}
		b = append(b, texts[part]...)
	}
	rec.Scratch = b
	return rec.Text(b)
}

func (d *dissector) setPairs(rec *Record, texts []string) {
	for i := range d.captures {
		key := &d.captures[i]
		if key.kind != captureKey || texts[i] == "" {
			continue
		}
		for k := range d.captures {
			if c := &d.captures[k]; c.kind == captureValue && c.place == key.place {
				rec.SetKey(texts[i], value.NewString(texts[k]))
			}
		}
	}
}

// whyNoMatch describes which text is missing, and where, for the pattern that matched the longest part of s.
func whyNoMatch(patterns []dissector, s string) string {
	farthest, why := -1, ""
	for i := range patterns {
		d := &patterns[i]
		if !strings.HasPrefix(s, d.prefix) {
			if farthest < 0 {
				farthest, why = 0, fmt.Sprintf(", the text does not begin with %q", Cut(d.prefix))
			}
			continue
		}
		rest := s[len(d.prefix):]
		for k := range d.captures {
			_, after, ok := d.captures[k].match(rest)
			if !ok {
				if at := len(s) - len(rest); at > farthest {
					farthest, why = at, fmt.Sprintf(", %q is missing after byte %d, at the end of %s", Cut(d.captures[k].until), at,
						d.captures[k])
				}
				break
			}
			rest = after
		}
	}
	if len(patterns) > 1 && why != "" {
		return ", the nearest fails:" + why[1:]
	}
	return why
}
