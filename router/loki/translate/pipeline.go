package translate

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/loki/logql"
)

// ErrorLabel is the label with the error of a stage.
const ErrorLabel = "__error__"

// The values of the label __error__.
const (
	JSONError    = "JSONParserErr"
	LogfmtError  = "LogfmtParserErr"
	FilterError  = "LabelFilterErr"
	ExtractError = "SampleExtractionErr"
	// TemplateError occurs in memory only: the SQL has a size limit of its own.
	TemplateError = "TemplateFormatErr"
)

// maxExpression is the maximum size of the SQL of a label or line, in bytes: a template may use labels that are
// templates themselves.
const maxExpression = 32 << 10

// maxGrowth limits how many times as long as a line or label the text of templates may be in SQL. The engine computes
// the texts of thousands of rows at a time.
const maxGrowth = 100

// Query is a selector with a pipeline, for one table. It is not safe for concurrent use.
type Query struct {
	table      *Table
	conditions []string

	line   string
	column string // the line if it is a column itself, or empty
	// labels, parsed and metadata have the labels of each kind that stages set or removed: indexed ones, those that
	// stages found or set, and structured metadata. If an entry has several of a name, the first of these kinds wins.
	labels, parsed, metadata map[string]string
	// grown has the labels that templates may make longer, and the factor of each. lineGrown is the factor of the line.
	grown     map[string]float64
	lineGrown float64
	// kept is true if a stage keep removed all labels that are not in labels, parsed or metadata.
	kept bool
	// parsers are the stages since keep that find labels in the line.
	parsers []parser
	parses  bool
	// failures are the errors of stages so far.
	failures []failure
	// tolerant is true if the query uses the label __error__: then entries with errors pass label filters.
	tolerant bool
	err      error
}

// failure is an error of the entries that meet the condition.
type failure struct{ condition, name string }

// parser is a stage that finds labels in the line.
type parser struct {
	// find returns SQL for a label in the line, or an empty string if the line cannot have it.
	find func(label string) string
	// changed reports whether a stage before has removed or replaced an indexed label.
	changed func(name string) bool
	// grown is how many times as long as the stored line the line of the stage may be.
	grown float64
}

// Compile translates a selector and a pipeline for the table.
func (t *Table) Compile(log *logql.Log) (*Query, error) {
	q := &Query{
		table: t, line: t.LineSQL(), labels: map[string]string{}, parsed: map[string]string{},
		metadata: map[string]string{}, grown: map[string]float64{}, lineGrown: 1, tolerant: asksForErrors(log.Stages),
	}
	if t.Message != nil {
		q.column = schema.QuoteIdent(t.Message.Name)
	}
	for i := range log.Matchers {
		q.add(t.matcher(&log.Matchers[i]))
	}
	for _, s := range log.Stages {
		q.stage(s)
		if q.err != nil {
			return nil, q.err
		}
	}
	return q, nil
}

// Where returns the condition for the rows of the entries.
func (q *Query) Where() []string { return q.conditions }

// Line returns the SQL text of the line after the pipeline.
func (q *Query) Line() (string, error) {
	q.use("the line", q.lineGrown)
	return q.line, q.err
}

// Parses reports whether the pipeline may find labels in the line whose names are unknown.
func (q *Query) Parses() bool { return q.parses }

// Kept returns the labels that a stage keep kept, and those that later stages set. ok is false if there is no such
// stage, or if a parser follows it.
func (q *Query) Kept() (names []string, ok bool) {
	if !q.kept || len(q.parsers) > 0 {
		return nil, false
	}
	all := maps.Clone(q.labels)
	maps.Copy(all, q.parsed)
	maps.Copy(all, q.metadata)
	return slices.Sorted(maps.Keys(all)), true
}

func (q *Query) add(condition string) {
	if condition != "TRUE" {
		q.conditions = append(q.conditions, condition)
	}
}

// bounded returns an expression, or an empty text with q.err set if the expression is too large.
func (q *Query) bounded(sql string) string {
	if len(sql) > maxExpression && q.err == nil {
		q.err = errs.New(errs.InvalidArguments, "the pipeline becomes an SQL expression of more than %d bytes: use fewer "+
			"labels in templates", maxExpression)
	}
	if q.err != nil {
		return "''"
	}
	return sql
}

// Label returns SQL for a label after the pipeline. An empty text means that an entry does not have the label.
func (q *Query) Label(name string) (string, error) {
	q.useLabel(name)
	sql := q.label(name)
	return sql, q.err
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

// stage applies a stage to the query.
func (q *Query) stage(s logql.Stage) {
	switch s := s.(type) {
	case *logql.LineFilter:
		q.use("the line", q.lineGrown)
		q.add(lineFilter(s, q.line, q.column, q.table.isSearched()))
	case *logql.LabelFilter:
		q.add(q.condition(s.Cond))
	case *logql.JSON:
		q.json(s.List)
	case *logql.Logfmt:
		q.logfmt(s)
	case *logql.Regexp:
		q.regexp(s)
	case *logql.Pattern:
		q.pattern(s)
	case *logql.Unpack:
		q.unpack()
	case *logql.LineFormat:
		sql, grown := q.template(s.Template)
		q.setLine(sql)
		q.lineGrown = grown
	case *logql.LabelFormat:
		q.labelFormat(s.Sets)
	case *logql.Drop:
		q.drop(s.Names)
	case *logql.Keep:
		q.keepOnly(s.Names)
	case *logql.Decolorize:
		q.setLine(`regexp_replace(` + q.line + `, '\x1b\[[0-9;]*m', '', 'g')`)
	default:
		q.err = errs.New(errs.Internal, "stages of type %T are not implemented", s)
	}
}

func (q *Query) setLine(sql string) { q.line, q.column = q.bounded(sql), "" }

func (q *Query) labelFormat(sets []logql.LabelSet) {
	for _, s := range sets {
		if s.Template != nil {
			sql, grown := q.template(s.Template)
			q.set(s.Name, sql)
			q.grown[s.Name] = grown
			continue
		}
		q.rename(s.Name, s.From)
	}
}

// rename gives a label the value of another one, which it removes. If that one has no value, nothing changes.
func (q *Query) rename(name, from string) {
	value := q.label(from)
	if value == "''" || name == from {
		return
	}
	grown := max(q.growth(name), q.growth(from))
	has := "CASE WHEN " + value + " <> '' THEN "
	if label := q.indexed(name); label != "" {
		q.labels[name] = q.bounded(has + "'' ELSE " + label + " END")
	}
	if meta := q.meta(name); meta != "''" {
		q.metadata[name] = q.bounded(has + "'' ELSE " + meta + " END")
	}
	q.parsed[name] = q.bounded(has + value + " ELSE " + q.parsedLabel(name) + " END")
	q.grown[name] = grown
	q.set(from, "''")
}

// set sets a label.
func (q *Query) set(name, sql string) {
	q.parsed[name], q.metadata[name] = sql, "''"
	if q.indexed(name) != "" {
		q.labels[name] = "''"
	}
}

func (q *Query) drop(names []logql.NameMatch) {
	for _, n := range names {
		switch {
		case n.Name == ErrorLabel:
			q.dropError(n.Match)
		case n.Match == nil:
			q.set(n.Name, "''")
		default:
			q.change(n.Name, "CASE WHEN "+matchText(n.Match, q.label(n.Name))+" THEN '' ELSE ", " END")
		}
	}
}

// change wraps the SQL of a label in before and after.
func (q *Query) change(name, before, after string) {
	if label := q.indexed(name); label != "" {
		q.labels[name] = q.bounded(before + label + after)
	}
	if meta := q.meta(name); meta != "''" {
		q.metadata[name] = q.bounded(before + meta + after)
	}
	q.parsed[name] = q.bounded(before + q.parsedLabel(name) + after)
}

// dropError removes the label __error__ if its value meets m.
func (q *Query) dropError(m *logql.Matcher) {
	q.failures = slices.DeleteFunc(q.failures, func(f failure) bool { return m == nil || m.Matches(f.name) })
}

// keepOnly removes all labels except the given ones and __error__.
func (q *Query) keepOnly(names []logql.NameMatch) {
	labels, parsed, metadata := map[string]string{}, map[string]string{}, map[string]string{}
	for _, n := range names {
		q.grown[n.Name] = q.growth(n.Name)
		before, after := "", ""
		if n.Match != nil {
			before, after = "CASE WHEN "+matchText(n.Match, q.label(n.Name))+" THEN ", " ELSE '' END"
		}
		if label := q.indexed(n.Name); label != "" {
			labels[n.Name] = q.bounded(before + label + after)
		}
		parsed[n.Name] = q.bounded(before + q.parsedLabel(n.Name) + after)
		if meta := q.meta(n.Name); meta != "''" {
			metadata[n.Name] = q.bounded(before + meta + after)
		}
	}
	q.labels, q.parsed, q.metadata, q.kept, q.parsers = labels, parsed, metadata, true, nil
}

// use refuses a label or the line before the engine computes it, if templates may make it too long. what names it.
func (q *Query) use(what string, grown float64) {
	if grown > maxGrowth && q.err == nil {
		q.err = errs.New(errs.InvalidArguments, "templates may make %.80s %.3g times as long, and at most %d times is "+
			"possible in a filter or a metric: use shorter replacements, or fewer labels in templates", what, grown, maxGrowth)
	}
}

func (q *Query) useLabel(name string) {
	grown := q.growth(name)
	if name == ErrorLabel { // it may depend on each line and label
		grown = slices.Max(append(slices.Collect(maps.Values(q.grown)), grown, q.lineGrown))
	}
	q.use("the label "+name, grown)
}

// growth returns how many times as long as the stored texts a label may be.
func (q *Query) growth(name string) float64 {
	grown := max(1, q.grown[name])
	for _, p := range q.parsers {
		grown = max(grown, p.grown)
	}
	return grown
}

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
	text := q.label(c.Name)
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
