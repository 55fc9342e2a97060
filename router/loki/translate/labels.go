package translate

import (
	"maps"
	"slices"
	"strings"
)

// failure is an error of the entries that meet the condition.
type failure struct{ condition, name string }

// Label returns SQL for a label after the pipeline. An empty text means that an entry does not have the label.
func (q *Query) Label(name string) (string, error) {
	q.useLabel(name)
	sql := q.label(name)
	return sql, q.err
}

// numericLabel returns SQL for a label that becomes a number.
func (q *Query) numericLabel(name string) string {
	q.numeric = true
	defer func() { q.numeric = false }()
	return q.label(name)
}

func (q *Query) label(name string) string {
	if name == ErrorLabel {
		return q.failure()
	}
	label, other := q.indexed(name), "''"
	if _, changed := q.labels[name]; label == "" || changed || name != TableLabel && name != ServiceLabel {
		other = q.other(name) // the labels named above have a value in every entry
	}
	switch {
	case label == "":
		return other
	case other == "''":
		return label
	}
	return q.bounded("coalesce(nullif(" + label + ", ''), " + other + ")")
}

// indexed returns SQL for an indexed label, or an empty string if there is none.
func (q *Query) indexed(name string) string {
	sql, set := q.labels[name]
	if !set && !q.kept {
		sql, _ = q.table.label(name)
	}
	return sql
}

// other returns SQL for structured metadata or a parsed label.
func (q *Query) other(name string) string {
	var found []string
	for _, sql := range []string{q.parsedLabel(name), q.meta(name)} {
		if sql != "''" {
			found = append(found, sql)
		}
	}
	return q.first(found)
}

// parsedLabel returns SQL for a label that stages found or set.
func (q *Query) parsedLabel(name string) string {
	if sql, ok := q.parsed[name]; ok {
		return sql
	}
	var found []string
	for _, p := range q.parsers { // the first parser wins
		found = append(found, q.found(p, name)...)
	}
	return q.first(found)
}

// meta returns SQL for structured metadata.
func (q *Query) meta(name string) string {
	sql, ok := q.metadata[name]
	if !ok && !q.kept {
		sql, ok = q.table.metadata(name)
	}
	if !ok {
		return "''"
	}
	return sql
}

// found returns SQL for the values that a parser finds for a label; a value is null or empty if there is none. If an
// entry has an indexed label of the same name, or had one before the pipeline, the parsed label gets the suffix
// _extracted.
func (q *Query) found(p parser, name string) []string {
	var out []string
	if of, ok := strings.CutSuffix(name, extracted); ok {
		if label, ok := q.table.label(of); ok {
			if sql := p.find(of); sql != "" {
				out = append(out, "CASE WHEN "+label+" <> '' THEN "+sql+" END")
			}
		}
	}
	if sql := p.find(name); sql != "" {
		if label, ok := q.table.label(name); ok && p.changed(name) { // else the label hides it
			sql = "CASE WHEN " + label + " = '' THEN " + sql + " END"
		}
		out = append(out, sql)
	}
	return out
}

// first returns SQL for the first text that is not empty.
func (q *Query) first(texts []string) string {
	switch {
	case len(texts) == 0:
		return "''"
	case len(texts) == 1 && !strings.HasPrefix(texts[0], "CASE WHEN "):
		return texts[0]
	}
	for i, sql := range texts {
		texts[i] = "nullif(" + sql + ", '')"
	}
	return q.bounded("coalesce(" + strings.Join(append(texts, "''"), ", ") + ")")
}

// extracted is the suffix of a parsed label if the entry has an indexed label of the same name.
const extracted = "_extracted"

// addParser adds a stage that finds labels in the line.
func (q *Query) addParser(find func(label string) string) {
	labels, kept := maps.Clone(q.labels), q.kept
	p := parser{find: find, grown: q.lineGrown, changed: func(name string) bool {
		_, set := labels[name]
		return set || kept
	}}
	for name, old := range q.parsed {
		if found := q.found(p, name); len(found) > 0 {
			q.parsed[name] = q.first(append([]string{old}, found...))
		}
	}
	q.parsers = append(q.parsers, p)
}

// failure returns SQL for the label __error__.
func (q *Query) failure() string {
	if len(q.failures) == 0 {
		return "''"
	}
	var b strings.Builder
	b.WriteString("CASE")
	when := func(f failure) { b.WriteString(" WHEN " + f.condition + " THEN " + quote(f.name)) }
	for _, f := range slices.Backward(q.failures) { // the last one wins
		if f.name != FilterError {
			when(f)
		}
	}
	for _, f := range q.failures { // an error of a label filter does not replace another one
		if f.name == FilterError {
			when(f)
		}
	}
	return q.bounded(b.String() + " ELSE '' END")
}

func (q *Query) fail(condition, name string) {
	q.failures = append(q.failures, failure{condition, name})
}
