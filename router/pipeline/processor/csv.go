package processor

import (
	"bytes"
	"strings"

	"cordwood/router/pipeline/document"
	"cordwood/router/vrl/value"
)

// maxTargets limits the number of target fields of a csv processor.
const maxTargets = 10_000

// compileCSV: csv extracts fields from one line of separated values.
//
//	target_fields: names of the fields, as a list or separated by commas
//	separator: one byte, default ,
//	quote: one byte, default "
//	trim: whether spaces around values are removed, default false
//	empty_value: what targets get if the line has no value for them, default null
//
// A value that begins with a quote ends at the next quote. It may contain separators and line breaks, and a quote
// is written as two quotes. Only the first record of the text is used, and empty lines before it are skipped.
// Surplus values are dropped. With trim, spaces before an opening quote and after a closing quote are ignored too.
func compileCSV(o *Options) Apply {
	fields := o.Fields()
	r := csvReader{separator: ',', quote: '"'}
	r.separator = oneByte(o.Get("separator"), r.separator)
	r.quote = oneByte(o.Get("quote"), r.quote)
	if r.separator == r.quote {
		o.Fault("separator and quote are the same byte, %q", r.quote)
	}
	r.trim = o.Bool("trim", false)
	absent := value.Value{}
	if n := o.Get("empty_value"); n != nil {
		if s, ok := n.String(); ok {
			absent = value.NewString(strings.Clone(s))
		}
	}
	names := csvTargets(o)
	o.DeclareTexts(names...)
	targets, places := newCaptures(o, names)
	return fields.EachString(func(rec *Record, fl *Field, s string) error {
		rest, more := strings.TrimLeft(s, "\r\n"), true
		if rest == "" {
			return rec.Fail(fl.In.Text, value.NewString(s), "the text is empty, so it has no record")
		}
		var few [fewCaptures]value.Value
		values := targets.values(few[:])
		for _, place := range places {
			v := absent
			if more {
				v, rest, more = r.value(rec, rest)
			}
			values[place] = v
		}
		targets.set(rec, values)
		return nil
	})
}

// oneByte returns the byte at n. If n is nil, it returns otherwise.
func oneByte(n *document.Node, otherwise byte) byte {
	if n == nil {
		return otherwise
	}
	s, ok := n.String()
	if !ok {
		return otherwise
	}
	if len(s) != 1 || s == "\n" || s == "\r" {
		n.Fault("expected exactly one byte that is not a line break, found %q", Cut(s))
		return otherwise
	}
	return s[0]
}

func csvTargets(o *Options) []string {
	n := o.Get("target_fields")
	if n == nil {
		o.Fault(`"target_fields" is required: the names of the fields, separated by commas`)
		return nil
	}
	faults := n.Faults()
	var names []string
	if n.IsList() {
		names = n.Strings()
	} else if s, ok := n.String(); ok {
		names = strings.Split(s, ",")
	}
	if len(names) > maxTargets {
		n.Fault("%d target fields, at most %d are allowed", len(names), maxTargets)
		return nil
	}
	seen := map[string]bool{}
	for i, s := range names {
		s = strings.TrimSpace(s)
		switch names[i] = s; {
		case s == "":
			n.Fault("the name of target field %d is empty", i+1)
		case seen[s]:
			n.Fault("the target field %q is given twice", Cut(s))
		}
		seen[s] = true
	}
	if len(names) == 0 && n.Faults() == faults {
		n.Fault("the list of target fields is empty")
	}
	return names
}

// csvReader reads the values of a record.
type csvReader struct {
	separator, quote byte
	trim             bool
}

// value reads the value at the start of s. rest is the text after its separator. more is false if the record ends
// with the value.
func (r *csvReader) value(rec *Record, s string) (v value.Value, rest string, more bool) {
	start := s
	if r.trim {
		start = r.trimLeft(s)
	}
	if r.startsWithQuote(start) {
		return r.quoted(rec, start[1:])
	}
	size, more := r.end(s)
	text := s[:size]
	if r.trim {
		text = trimSpaces(text)
	}
	if more {
		size++
	}
	return value.NewString(text), s[size:], more
}

func (r *csvReader) startsWithQuote(s string) bool { return s != "" && s[0] == r.quote }

// end returns the position of the separator or line break that ends an unquoted value.
func (r *csvReader) end(s string) (size int, more bool) {
	for i := range len(s) {
		switch s[i] {
		case r.separator:
			return i, true
		case '\n', '\r':
			return i, false
		}
	}
	return len(s), false
}

// quoted reads a value whose opening quote is just before s. Text between the closing quote and the separator
// belongs to the value. If the quote is not closed, the value ends with the text.
func (r *csvReader) quoted(rec *Record, s string) (v value.Value, rest string, more bool) {
	if at := strings.IndexByte(s, r.quote); at >= 0 && !r.startsWithQuote(s[at+1:]) {
		after := s[at+1:]
		if size, more := r.end(after); size == 0 || r.trim && trimSpaces(after[:size]) == "" {
			if more {
				size++
			}
			return value.NewString(r.trimmed(s[:at])), after[size:], more
		}
	}
	b := rec.Scratch[:0]
	for inside := true; inside; {
		at := strings.IndexByte(s, r.quote)
		if at < 0 {
			b, s = append(b, s...), ""
			break
		}
		b, s = append(b, s[:at]...), s[at+1:]
		if inside = r.startsWithQuote(s); inside {
			b, s = append(b, r.quote), s[1:]
		}
	}
	size, more := r.end(s)
	b = append(b, s[:size]...)
	rec.Scratch = b
	if r.trim {
		b = bytes.Trim(b, spaces)
	}
	if more {
		size++
	}
	return rec.Text(b), s[size:], more
}

func (r *csvReader) trimmed(s string) string {
	if r.trim {
		return trimSpaces(s)
	}
	return s
}

// trimLeft removes spaces that are not separators.
func (r *csvReader) trimLeft(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') && s[0] != r.separator {
		s = s[1:]
	}
	return s
}

// spaces are the characters that trim removes.
const spaces = " \t"

func trimSpaces(s string) string { return strings.Trim(s, spaces) }
