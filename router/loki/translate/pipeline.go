package translate

import (
	"maps"
	"slices"

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
	// numeric is true while a label is found that becomes a number, so that the digits of it make no difference.
	numeric bool
	// failures are the errors of stages so far.
	failures []failure
	// tolerant is true if the query uses the label __error__: then entries with errors pass label filters.
	tolerant bool
	err      error
}

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
