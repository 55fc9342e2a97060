package translate

import (
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/router/loki/logql"
)

// template returns the SQL text of a template, and how many times as long as the stored texts it may be.
func (q *Query) template(t *logql.Template) (sql string, grown float64) {
	if len(t.Parts) == 0 {
		return "''", 1
	}
	var parts []string
	for _, p := range t.Parts {
		if p.Label == "" {
			parts = append(parts, quote(p.Literal))
			continue
		}
		sql, by := q.line, q.lineGrown
		if p.Label != logql.Line {
			sql, by = q.label(p.Label), q.growth(p.Label)
		}
		for _, c := range p.Calls {
			sql = q.bounded(call(c, sql))
			if c.Func == "Replace" || c.Func == "replace" {
				by *= max(1, float64(len(c.Args[1]))/float64(len(c.Args[0])))
			}
		}
		grown += by
		parts = append(parts, sql)
	}
	return q.bounded("concat(" + strings.Join(parts, ", ") + ")"), max(1, grown)
}

// spaces are the characters that templates trim.
const spaces = "' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"

// call returns SQL for a function of a template.
func call(c logql.Call, of string) string {
	switch c.Func {
	case "ToUpper", "upper":
		return "upper(" + of + ")"
	case "ToLower", "lower":
		return "lower(" + of + ")"
	case "TrimSpace", "trim":
		return "trim(" + of + ", " + spaces + ")"
	case "Trim":
		return "trim(" + of + ", " + quote(c.Args[0]) + ")"
	case "TrimPrefix":
		return "CASE WHEN starts_with(" + of + ", " + quote(c.Args[0]) + ") THEN substr(" + of + ", length(" +
			quote(c.Args[0]) + ") + 1) ELSE " + of + " END"
	case "TrimSuffix":
		return "CASE WHEN suffix(" + of + ", " + quote(c.Args[0]) + ") THEN left(" + of + ", length(" + of + ") - length(" +
			quote(c.Args[0]) + ")) ELSE " + of + " END"
	case "Replace", "replace":
		return "replace(" + of + ", " + quote(c.Args[0]) + ", " + quote(c.Args[1]) + ")"
	case "default":
		return "coalesce(nullif(" + of + ", ''), " + quote(c.Args[0]) + ")"
	case "trunc":
		n, _ := strconv.Atoi(c.Args[0]) // the parser has checked it
		if n < 0 {
			return "right(" + of + ", " + strconv.Itoa(-n) + ")"
		}
		return "left(" + of + ", " + strconv.Itoa(n) + ")"
	case "contains":
		return truth("contains", of, c.Args[0])
	case "hasPrefix":
		return truth("starts_with", of, c.Args[0])
	case "hasSuffix":
		return truth("suffix", of, c.Args[0])
	}
	return of // printf "%s"
}

// truth returns SQL for the text true or false by a function that compares two texts.
func truth(function, of, with string) string {
	return "CASE WHEN " + function + "(" + of + ", " + quote(with) + ") THEN 'true' ELSE 'false' END"
}

// condition returns the SQL condition of a label filter.
func (q *Query) condition(c logql.Cond) string {
	switch c := c.(type) {
	case *logql.And:
		return "(" + q.condition(c.A) + " AND " + q.condition(c.B) + ")"
	case *logql.Or:
		return "(" + q.condition(c.A) + " OR " + q.condition(c.B) + ")"
	case *logql.Text:
		q.useLabel(c.Name)
		return q.bounded(q.matchLabel(&c.Matcher))
	case *logql.Compare:
		q.useLabel(c.Name)
		return q.bounded(q.compare(c))
	}
	q.err = errs.New(errs.Internal, "conditions of type %T are not implemented", c)
	return "FALSE"
}

// matchLabel returns the condition of a matcher on a label of the pipeline. If no stage has changed the label, it
// compares the column itself.
func (q *Query) matchLabel(m *logql.Matcher) string {
	_, changed := q.labels[m.Name]
	_, set := q.parsed[m.Name]
	if !changed && !set && !q.kept && len(q.parsers) == 0 && m.Name != ErrorLabel {
		return q.table.matcher(m)
	}
	return matchText(m, q.label(m.Name))
}

// compare returns the condition that compares a label with a number. A label that is not a number does not meet it,
// unless the query uses __error__.
func (q *Query) compare(c *logql.Compare) string {
	text := q.numericLabel(c.Name)
	number := numberOf(text, c.Kind)
	condition := number + " " + strings.Replace(c.Op, "!=", "<>", 1) + " " + float(c.Value)
	if !q.tolerant {
		return "coalesce(" + condition + ", FALSE)"
	}
	bad := "(" + text + " <> '' AND " + number + " IS NULL)"
	before := q.failure()
	q.fail(bad, FilterError)
	if before != "''" {
		bad = "(" + before + " <> '' OR " + bad + ")"
	}
	return "(coalesce(" + condition + ", FALSE) OR " + bad + ")"
}

// asksForErrors reports whether a stage uses the label __error__.
func asksForErrors(stages []logql.Stage) bool {
	for _, s := range stages {
		if f, ok := s.(*logql.LabelFilter); ok && AsksForErrors(f.Cond) {
			return true
		}
	}
	return false
}

// AsksForErrors reports whether a condition uses the label __error__.
func AsksForErrors(c logql.Cond) bool {
	switch c := c.(type) {
	case *logql.And:
		return AsksForErrors(c.A) || AsksForErrors(c.B)
	case *logql.Or:
		return AsksForErrors(c.A) || AsksForErrors(c.B)
	case *logql.Text:
		return c.Name == ErrorLabel
	}
	return false
}
