package loki

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cordwood/router/loki/lines"
	"cordwood/router/loki/logql"
	"cordwood/router/loki/translate"
)

// Field is a field in the lines of a selection, or structured metadata.
type Field struct {
	Label       string   `json:"label"`
	Type        string   `json:"type"`
	Cardinality int      `json:"cardinality"`
	Parsers     []string `json:"parsers"`
	JSONPath    []string `json:"jsonPath,omitempty"`

	values map[string]int
}

// Fields returns the fields of the newest entries of a selection, the most frequent first.
func (r *Reader) Fields(ctx context.Context, q *logql.Log, span Span, lineLimit, limit int) ([]*Field, error) {
	list, err := r.Logs(ctx, &Logs{Query: q, Span: span, Limit: lineLimit})
	if err != nil {
		return nil, err
	}
	fields := map[string]*Field{}
	for _, e := range list {
		for name, value := range e.Metadata {
			add(fields, name, value, nil, nil)
		}
		parsed, ok := lines.JSONFields(e.Line)
		for _, f := range parsed {
			path := f.Path
			add(fields, notLabel(e, f.Name), f.Text, []string{"json"}, path)
		}
		if ok {
			continue
		}
		for _, p := range lines.LogfmtPairs(e.Line) {
			add(fields, notLabel(e, translate.LabelName(p.Key)), p.Value, []string{"logfmt"}, nil)
		}
	}
	out := slices.Collect(maps.Values(fields))
	for _, f := range out {
		f.Cardinality, f.Type = len(f.values), typeOf(f.values)
	}
	slices.SortFunc(out, func(a, b *Field) int {
		if d := occurrences(b.values) - occurrences(a.values); d != 0 {
			return d
		}
		return strings.Compare(a.Label, b.Label)
	})
	return out[:min(len(out), limit)], nil
}

// Values returns the values of a field, the most frequent first.
func (f *Field) Values(limit int) []string {
	out := slices.SortedFunc(maps.Keys(f.values), func(a, b string) int {
		if d := f.values[b] - f.values[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return out[:min(len(out), limit)]
}

// occurrences returns how often a field occurs.
func occurrences(values map[string]int) (n int) {
	for _, count := range values {
		n += count
	}
	return n
}

// notLabel returns the name of a parsed label. If an indexed label has the same name, the parsed label gets a suffix.
func notLabel(e *lines.Entry, name string) string {
	if e.Labels[name] != "" {
		return name + "_extracted"
	}
	return name
}

// add counts a value of a field.
func add(fields map[string]*Field, name, value string, parsers, path []string) {
	if name == "" || value == "" {
		return
	}
	f := fields[name]
	if f == nil {
		f = &Field{Label: name, JSONPath: path, values: map[string]int{}}
		fields[name] = f
	}
	for _, p := range parsers {
		if !slices.Contains(f.Parsers, p) {
			f.Parsers = append(f.Parsers, p)
		}
	}
	f.values[value]++
}

// typeOf returns the most specific type that fits all values.
func typeOf(values map[string]int) string {
	types := []struct {
		name string
		fits func(string) bool
	}{
		{"int", func(s string) bool { _, err := strconv.ParseInt(s, 10, 64); return err == nil }},
		{"float", func(s string) bool { _, ok := logql.ParseNumber(s); return ok }},
		{"boolean", func(s string) bool { return s == "true" || s == "false" }},
		{"duration", func(s string) bool { _, ok := logql.ParseAs(s, logql.Duration); return ok }},
		{"bytes", func(s string) bool { _, ok := logql.ParseSize(s); return ok }},
	}
	for _, t := range types {
		all := true
		for v := range values {
			if all = t.fits(v); !all {
				break
			}
		}
		if all {
			return t.name
		}
	}
	return "string"
}
